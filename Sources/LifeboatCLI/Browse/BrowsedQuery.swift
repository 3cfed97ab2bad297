import CoreDataStore
import SQLiteFile
import StoreExtraction
import Terminal

/// The rows of one query. The rows are read and sorted in steps, by calls of ``advance(toShow:atOnce:)``. In this
/// class, a *place* is the index of a row in the table's order, and a *position* is its index in the order that the
/// browser shows. Without sorting, both are equal.
final class BrowsedQuery {
  let query: RowsQuery
  /// A note about the rows for the user, for example that only the first rows are shown; nil without a note.
  private(set) var note: String?

  private enum Rows {
    case live(RowIndex)
    case past([RowContent])
  }

  private let rows: Rows
  private unowned let source: BrowseSource
  /// The rows in the order of the query. Nil while the rows are being sorted, and for a query in the table's order.
  private var order: SortedRows?
  /// The rows that have been collected so far for ``order``, before they are sorted.
  private var building = SortedRows()
  private var isOrdered: Bool
  /// The progress in percent after the last step; -1 before the first step.
  private var told = -1

  private static let leavesInStep = 8
  /// The number of rows that are added to the sort order in one step.
  private static let rowsInStep = 2_000
  /// The number of bytes at the start of each value that filters and searches examine.
  static let searchedBytes = 65_536

  init(_ query: RowsQuery, _ leaves: LeafRows, _ source: BrowseSource) {
    self.query = query
    self.source = source
    isOrdered = !query.needsOrder
    let subject = query.subject
    let definition = leaves.table.definition
    let entityColumn = definition?.columns.firstIndex { $0.name.uppercased() == "Z_ENT" }
    let keys: Set<Int64>? = if case .keys(let keys) = query.condition { Set(keys) } else { nil }
    let filter = query.filter.map { RowFilter($0) }
    rows = .live(
      RowIndex(leaves, longest: filter == nil ? 0 : Self.searchedBytes) { [unowned source] row in
        if let entities = subject.entities, let entityColumn {
          guard entityColumn < row.values.count,
            case .integer(let number) = row.values[entityColumn], entities.contains(number)
          else { return false }
        }
        switch query.condition {
        case .all: break
        case .pointing(let column, let key):
          guard column < row.values.count, row.values[column] == .integer(key) else { return false }
        case .keys:
          guard let id = row.rowID, keys?.contains(id) == true else { return false }
        }
        return filter.map { source.fits(row, $0, subject) } ?? true
      })
    if leaves.isCutOff {
      note =
        "this table has no row ids, so only its first "
        + "\(Quantity.count(LeafRows.maxKept)) rows are shown; lifeboat rows shows all"
    }
  }

  /// Creates a query of deleted rows and older versions of rows, all of which are already known.
  init(_ query: RowsQuery, _ past: [RowContent], note: String?, _ source: BrowseSource) {
    self.query = query
    self.source = source
    self.note = note
    isOrdered = !query.needsOrder
    let filter = query.filter.map { RowFilter($0) }
    rows = .past(
      past.filter { content in
        if let entities = query.subject.entities, let number = content.entityNumber,
          !entities.contains(number)
        {
          return false
        }
        switch query.condition {
        case .all: break
        case .keys(let keys): guard content.key.map(keys.contains) == true else { return false }
        case .pointing: return false
        }
        return filter?.fits(content) ?? true
      })
  }

  // MARK: - Progress

  /// The number of rows that can be shown now; 0 while the rows are being sorted.
  var count: Int { isOrdered ? order?.count ?? indexCount : 0 }
  /// Whether all rows are known, and are sorted in the order of the query.
  var isComplete: Bool { isIndexed && isOrdered }

  private var indexCount: Int {
    switch rows {
    case .live(let index): index.count
    case .past(let rows): rows.count
    }
  }

  private var isIndexed: Bool {
    if case .live(let index) = rows { index.isComplete } else { true }
  }

  /// The progress in percent: first of counting or filtering the rows, then of sorting them.
  private var share: Int {
    if case .live(let index) = rows, !index.isComplete { return Int(index.share * 100) }
    return isOrdered ? 100 : building.count * 100 / max(indexCount, 1)
  }

  /// The work that is in progress, for example "sorting, 40%"; nil when all rows are known.
  var workText: String? {
    guard !isComplete else { return nil }
    let work = isIndexed ? "sorting" : query.filter == nil ? "counting" : "filtering"
    return "\(work), \(share)%"
  }

  /// Does a part of the remaining work of the query, which is reading leaf pages or sorting rows.
  ///
  /// - Parameters:
  ///   - places: the positions of the rows to show.
  ///   - atOnce: true to do up to four steps, or fewer if these rows can be shown before; false to do one step.
  /// - Returns: true when the model of the browser must get the rows again, because more rows can be shown, all rows
  ///   are known, or the percentage has changed.
  /// - Throws: `SQLiteFileError` when the device fails.
  func advance(toShow places: Range<Int>, atOnce: Bool) throws -> Bool {
    if atOnce, count >= places.upperBound { return true }
    let before = count
    for _ in 0..<(atOnce ? 4 : 1) where !isComplete {
      try advance()
      if count >= places.upperBound { break }
    }
    // A step that changes nothing visible is not reported.
    let percent = share
    defer { told = percent }
    return isComplete || (before < places.upperBound && count > before) || percent != told
  }

  private func advance() throws {
    guard isIndexed else {
      if case .live(let index) = rows { try index.advance(Self.leavesInStep) }
      if query.needsOrder, indexCount > SortedRows.limit {
        note =
          "not sorted: more than \(Quantity.count(SortedRows.limit)) rows; press f to filter them first"
        isOrdered = true
      }
      return
    }
    guard !isOrdered else { return }
    let start = building.count
    let end = min(indexCount, start + Self.rowsInStep)
    try forEachContent(from: start, longest: 256) { place, content in
      guard place < end else { return false }
      building.add(
        place, section: query.section.map { key(source.value(of: $0, content)) } ?? .none,
        query.sort.map { key(source.value(of: $0, content)) } ?? .none)
      return place + 1 < end
    }
    // Fewer rows may be readable now than were counted, so the sorting also ends when no further row was read.
    if building.count >= indexCount || building.count == start {
      building.sort(descending: query.isDescending)
      order = building
      building = SortedRows()
      isOrdered = true
    }
  }

  private func key(_ value: PropertyValue) -> SortedRows.Key {
    switch value {
    case .null: .none
    case .integer(let number): .integer(number)
    case .boolean(let flag): .integer(flag ? 1 : 0)
    case .real(let number): .real(number)
    case .date(let date): .real(date.seconds)
    case .toOne(let target): .integer(target.primaryKey)
    default: .text(CellText.text(value))
    }
  }

  // MARK: - Rows

  /// Calls `receive` with each row of the query and its number, from the number `place` on, until `receive` returns
  /// false.
  func forEachContent(
    from place: Int, longest: Int, _ receive: (Int, RowContent) -> Bool
  ) throws {
    switch rows {
    case .live(let index):
      try index.forEachRow(from: place, longest: longest) { place, row in
        receive(
          place, source.content(row, table: query.subject.table, isRaw: query.subject.isRaw))
      }
    case .past(let rows):
      for place in max(0, place)..<max(rows.count, place) {
        guard receive(place, rows[place]) else { return }
      }
    }
  }

  /// Returns the positions of the rows in the range `part` that contain the text of `filter`.
  func places(having filter: RowFilter, in part: Range<Int>) throws -> [Int] {
    var found: [Int] = []
    switch rows {
    case .live(let index):
      try index.forEachRow(from: part.lowerBound, longest: Self.searchedBytes) { place, row in
        guard place < part.upperBound else { return false }
        if source.fits(row, filter, query.subject) { found.append(place) }
        return place + 1 < part.upperBound
      }
    case .past(let rows):
      found = part.clamped(to: rows.indices).filter { filter.fits(rows[$0]) }
    }
    return found
  }

  var isSorted: Bool { order != nil }

  /// Returns the rows in the range of positions `places`, each with its position. Positions after the last row are left
  /// out.
  func contents(_ places: Range<Int>, longest: Int = RowIndex.shownBytes) throws
    -> [(Int, RowContent)]
  {
    let places = places.clamped(to: 0..<max(count, 0))
    guard !places.isEmpty else { return [] }
    var found: [(Int, RowContent)] = []
    guard let order else {
      try forEachContent(from: places.lowerBound, longest: longest) { place, content in
        guard place < places.upperBound else { return false }
        found.append((place, content))
        return place + 1 < places.upperBound
      }
      return found
    }
    for position in places {
      let place = order.place(position)
      try forEachContent(from: place, longest: longest) { _, content in
        found.append((position, content))
        return false
      }
    }
    return found
  }

  /// Returns the position of the row with the index `place` in the sorted rows; nil when the sorted rows do not contain
  /// the row.
  func position(ofPlace place: Int) -> Int? {
    guard let order else { return place }
    return (0..<order.count).first { order.place($0) == place }
  }

  /// Searches the sorted rows for a row whose number in the index is in `places`. The search begins at the position
  /// `start`, goes forward or backward, and wraps around. Returns the position of the row; nil when the rows are not
  /// sorted, or when no such row exists.
  func position(ofAny places: Set<Int>, from start: Int, forward: Bool) -> Int? {
    guard let order, order.count > 0, !places.isEmpty else { return nil }
    let count = order.count
    for step in 0..<count {
      let position = ((start + (forward ? step : -step)) % count + count) % count
      if places.contains(order.place(position)) { return position }
    }
    return nil
  }

  /// Finds the first row, in the table's order, whose key is at least `key`. Returns the position of this row; nil when
  /// no such row is known.
  func place(of key: Int64) throws -> Int? {
    switch rows {
    case .live(let index):
      return try index.place(of: key).flatMap { position(ofPlace: $0) }
    case .past(let rows):
      return rows.firstIndex { ($0.key ?? .min) >= key }.flatMap { position(ofPlace: $0) }
    }
  }

  // MARK: - Sections

  /// Returns the positions of all rows in the section of the row at position `place`; nil if the query has no sections.
  func section(of place: Int) -> Range<Int>? {
    query.section == nil ? nil : order?.section(of: place)
  }

  /// The positions of the first rows of the sections, in ascending order, at most 1000; empty if the query has no
  /// sections.
  var sectionStarts: [Int] {
    query.section == nil ? [] : Array((order?.sectionStarts ?? []).prefix(1_000))
  }
}
