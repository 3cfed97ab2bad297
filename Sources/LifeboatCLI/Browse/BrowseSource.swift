import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SafeText
import StoreExtraction
import Terminal

/// Reads the store, and answers the requests of the browser's model. Only one thread may use a source.
///
/// A source does long work in steps, so that it can answer other requests between the steps. Work that cannot be done
/// in steps is passed to another thread as a ``BackgroundReading``.
final class BrowseSource {
  let store: CoreDataStore
  let plans: [ExactText: RowPlan]
  let name: String
  private let reading: BackgroundReading.Place
  private let giveOut: (BackgroundReading) -> Void
  private let emit: (BrowseAnswer) -> Void

  /// A cache of the most recently used queries. The last element is the most recent.
  private var known: [BrowsedQuery] = []
  private static let maxKnown = 6
  /// A cache of the deleted rows, and of older versions of rows, for the subjects that were read most recently. The
  /// last element is the most recent.
  private var past: [(subject: BrowseSubject, rows: [RowContent], note: String?)] = []
  private static let maxPast = 3
  private var leafRows: [ExactText: LeafRows] = [:]
  private var pathTexts: [PathKey: PropertyValue] = [:]
  /// The request that ``step()`` works on; nil when no work is left.
  private var work: Work?
  /// The request that cannot be answered until another thread has read the deleted rows; nil when there is no such
  /// request.
  private var waiting: Work?

  private struct PathKey: Hashable {
    let table: ExactText
    let key: Int64
    let property: ExactText
  }

  private enum Work {
    case rows(RowsQuery, Range<Int>)
    case find(RowSearch)
    /// A request that waits until the deleted rows of its query have been read. It is then done at once, not in steps.
    case request(BrowseRequest)
  }

  /// Opens a store for the browser.
  ///
  /// `giveOut`: called with each reading, which is work that another thread must do. If the reading produces the answer
  /// `BrowseAnswer.past`, pass this answer to ``take(_:)``.
  /// `emit`: receives all other answers.
  ///
  /// - Throws: `SQLiteFileError` when the file is not a database.
  init(
    _ place: BackgroundReading.Place, name: String,
    giveOut: @escaping (BackgroundReading) -> Void, emit: @escaping (BrowseAnswer) -> Void
  ) throws {
    reading = place
    self.name = name
    self.giveOut = giveOut
    self.emit = emit
    store = try place.open()
    var plans: [ExactText: RowPlan] = [:]
    for table in store.entityTables where store.kind != .sqlite {
      if let plan = try store.plan(for: table) { plans[ExactText(table.name)] = plan }
    }
    self.plans = plans
  }

  // MARK: - Requests

  /// Whether ``step()`` has something to do.
  var hasWork: Bool { work != nil }

  func handle(_ request: BrowseRequest) {
    do {
      switch request {
      case .row(.place(let query, _)), .value(.place(let query, _), property: _),
        .place(let query, key: _):
        guard let rows = try rows(of: query) else {
          work = nil
          return waiting = .request(request)
        }
        // The positions of rows are known only after all rows are sorted. The number of deleted rows is limited, so all
        // of them are sorted here at once.
        while query.isPast, !rows.isComplete { _ = try rows.advance(toShow: 0..<1, atOnce: false) }
      default: break
      }
      switch request {
      case .cancel:
        work = nil
        waiting = nil
        emit(.working(""))
      case .contents:
        let list = ContentsList(store)
        emit(.list(.contents, list.items([:]), note: nil))
        giveOut(.counts(reading, list))
      case .rows(let query, let places):
        work = .rows(query, places)
        try step(atOnce: true)
      case .row(let reference): try answerRow(reference)
      case .value(let reference, let property):
        let content = try content(reference, longest: Self.maxBytes)
        emit(.text(.value(reference, property: property), text(of: content, property)))
      case .find(let query, let text, let from, let forward):
        work = .find(RowSearch(query, text, from: from, forward: forward))
      case .place(let query, let key):
        emit(.found(query, try rows(of: query)?.place(of: key)))
      case .keyPaths(let query): emit(.keyPaths(query, keyPaths(of: query.subject)))
      case .findings: giveOut(.findings(reading))
      case .pages: giveOut(.pages(reading))
      case .page(let number): giveOut(.page(reading, number))
      }
    } catch {
      work = nil
      emit(.failed(Self.sentence(error)))
    }
  }

  /// Takes an answer of a ``BackgroundReading``. If the answer has deleted rows, caches the rows and continues the
  /// request that waits for them. Emits any other answer unchanged.
  func take(_ answer: BrowseAnswer) {
    guard case .past(let subject, let rows, let note) = answer else { return emit(answer) }
    do {
      past.append((subject, try marked(rows, subject), note))
      if past.count > Self.maxPast { past.removeFirst() }
      guard work == nil, let waiting else { return }
      work = waiting
      self.waiting = nil
      try step(atOnce: true)
    } catch {
      emit(.failed(Self.sentence(error)))
    }
  }

  func step() {
    do { try step(atOnce: false) } catch {
      work = nil
      emit(.failed(Self.sentence(error)))
    }
  }

  static func sentence(_ error: any Error) -> String {
    Failure(error)?.message ?? "\(error)"
  }

  private func step(atOnce: Bool) throws {
    switch work {
    case nil: return
    case .request(let request):
      work = nil
      handle(request)
    case .rows(let query, let places):
      guard let rows = try rows(of: query) else {
        waiting = work
        return work = nil
      }
      let isReady = try rows.advance(toShow: places, atOnce: atOnce)
      if isReady {
        emit(.rows(query, try window(of: rows, places)))
        if let text = rows.workText { emit(.working(text)) }
      }
      if rows.isComplete {
        work = nil
        emit(.working(""))
      }
    case .find(var search):
      guard let rows = try rows(of: search.query) else {
        waiting = work
        return work = nil
      }
      let result = try search.step(rows)
      switch result {
      case .goesOn:
        work = .find(search)
        emit(.working(search.words))
      case .found(let place):
        work = nil
        emit(.working(""))
        emit(.found(search.query, place))
      }
    }
  }

  // MARK: - Rows

  /// Returns the rows of a query; nil if the query is for deleted rows that another thread has not read yet.
  private func rows(of query: RowsQuery) throws -> BrowsedQuery? {
    if let place = known.firstIndex(where: { $0.query == query }) {
      let found = known.remove(at: place)
      known.append(found)
      return found
    }
    let found: BrowsedQuery
    if query.isPast {
      guard let past = past.last(where: { $0.subject == query.subject }) else {
        emit(.working("reading deleted rows and older versions"))
        giveOut(.past(reading, query.subject))
        return nil
      }
      found = BrowsedQuery(query, past.rows, note: past.note, self)
    } else {
      found = BrowsedQuery(query, try leaves(of: query.subject.table), self)
    }
    known.append(found)
    if known.count > Self.maxKnown { known.removeFirst() }
    return found
  }

  func leaves(of name: String) throws -> LeafRows {
    if let known = leafRows[ExactText(name)] { return known }
    guard let table = store.database.schema.table(named: name) else {
      throw ExtractionError(.unknownName, "the store has no table \(name)", path: self.name)
    }
    let rows = try LeafRows(table, in: store.database)
    // Each `LeafRows` takes only twelve bytes for each leaf, but a file may have a hundred thousand tables.
    if leafRows.count >= 64 { leafRows = [:] }
    leafRows[ExactText(name)] = rows
    return rows
  }

  private func window(of rows: BrowsedQuery, _ places: Range<Int>) throws -> RowsWindow {
    let columns = columns(of: rows.query.subject)
    var window = RowsWindow(
      columns: columns.names, numeric: columns.numeric, start: places.lowerBound, rows: [],
      count: rows.count, work: rows.workText, note: rows.note, sectionStarts: rows.sectionStarts)
    for (place, content) in try rows.contents(places) {
      var shown = ShownRow(
        reference: reference(to: content, at: place, rows.query),
        key: content.key.map { String($0) } ?? "?", entity: content.entity, mark: content.mark,
        cells: columns.names.map { name in
          content.property(name).map { Self.cell($0) } ?? ""
        })
      if let section = rows.query.section, let range = rows.section(of: place) {
        let text = CellText.text(value(of: section, content))
        shown.section =
          "\(section): \(text.isEmpty ? "(none)" : text)"
          + " (\(Quantity.count(range.count)))"
        shown.beginsSection = range.lowerBound == place
      }
      window.rows.append(shown)
    }
    return window
  }

  private func reference(to content: RowContent, at place: Int, _ query: RowsQuery)
    -> RowReference
  {
    guard content.mark == .live, let key = content.key,
      (try? leaves(of: query.subject.table))?.hasRowIDs == true
    else { return .place(query, place) }
    return .live(table: query.subject.table, key: key, isRaw: query.subject.isRaw)
  }

  // MARK: - One row

  /// Returns the row that `reference` identifies, with each value cut to at most `longest` bytes; nil when the store
  /// does not have this row.
  func content(_ reference: RowReference, longest: Int) throws -> RowContent? {
    switch reference {
    case .live(let table, let key, let isRaw):
      return try leaves(of: table).row(key, longest: longest)
        .map { content($0, table: table, isRaw: isRaw) }
    case .place(let query, let place):
      return try rows(of: query)?.contents(place..<place + 1, longest: longest).first?.1
    }
  }

  private func answerRow(_ reference: RowReference) throws {
    guard let content = try content(reference, longest: RowIndex.shownBytes) else {
      let key = if case .live(_, let key, _) = reference { " with the key \(key)" } else { "" }
      return emit(.failed("there is no live row\(key) here; press d for deleted rows"))
    }
    let title = title(of: content, reference)
    emit(.list(.row(reference), items(content, reference), title: title, note: nil))
  }

  /// Converts a row of a table to a ``RowContent``. The properties have the names in the model. If `isRaw` is true, or
  /// if the table stores no entity, the properties have the names of the columns.
  func content(_ row: BrowsedRow, table: String, isRaw: Bool) -> RowContent {
    let origin = row.page.map { "page \(Quantity.count($0))" } ?? ""
    guard !isRaw, let plan = plans[ExactText(table)] else {
      let names = store.database.schema.table(named: table)?.columnNames ?? []
      return RowContent(
        entity: nil, key: row.rowID, origin: origin,
        properties: row.values.enumerated().map { column, value in
          .init(
            name: column < names.count ? names[column] : "c\(column)",
            value: PropertyValue(value, isDate: false), size: row.sizes[column])
        })
    }
    let managed = store.managedRow(row.stored, plan)
    let fields = managed.entityNumber.flatMap { plan.entities[$0]?.fields } ?? plan.fallback
    let columns = fields.filter { $0.column < row.values.count }.map(\.column)
    return RowContent(
      entity: managed.entityName, entityNumber: managed.entityNumber, key: managed.primaryKey,
      saves: managed.saveCount, origin: origin,
      properties: managed.properties.enumerated().map { place, property in
        .init(
          name: property.name, value: property.value,
          size: place < columns.count ? row.sizes[columns[place]] : nil)
      })
  }

  // MARK: - Key paths

  /// Returns the value at a key path of a row. The key path names a property of the row, or a to-one relationship and
  /// an attribute of its destination. Returns NULL when the property or the destination does not exist.
  func value(of path: String, _ content: RowContent) -> PropertyValue {
    let parts = path.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1)
    if let property = content.property(path) { return property.value }
    guard parts.count == 2, let first = content.property(String(Substring(parts[0]))),
      case .toOne(let target) = first.value, let entity = target.entityName,
      let subject = subject(ofEntity: entity)
    else { return .null }
    let key = PathKey(
      table: ExactText(subject.table), key: target.primaryKey,
      property: ExactText(String(Substring(parts[1]))))
    if let known = pathTexts[key] { return known }
    let row = try? leaves(of: subject.table).row(target.primaryKey, longest: 256)
    let value =
      row.flatMap { $0 }.flatMap {
        self.content($0, table: subject.table, isRaw: false).property(key.property.text)?.value
      } ?? .null
    if pathTexts.count >= 20_000 { pathTexts = [:] }
    pathTexts[key] = value
    return value
  }

  /// Returns `rows` with corrected marks. A row with the mark `deleted` or `older` gets the mark `older` if the store
  /// has a live row with the same key, otherwise `deleted`. Other rows do not change.
  private func marked(_ rows: [RowContent], _ subject: BrowseSubject) throws -> [RowContent] {
    guard let leaves = try? leaves(of: subject.table), leaves.hasRowIDs else { return rows }
    var isAlive: [Int64: Bool] = [:]
    return try rows.map { row in
      guard row.mark == .deleted || row.mark == .older, let key = row.key else { return row }
      let alive = try isAlive[key] ?? (leaves.row(key, longest: 0) != nil)
      isAlive[key] = alive
      var row = row
      row.mark = alive ? .older : .deleted
      return row
    }
  }
}
