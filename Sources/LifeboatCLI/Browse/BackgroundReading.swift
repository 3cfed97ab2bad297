import ArgumentParser
import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Terminal

/// A reading of the store that cannot be done in steps. Each reading runs on its own thread, and opens the store again.
enum BackgroundReading: Sendable {
  /// The store to read, and how to open it.
  struct Place: Sendable {
    let path: String
    let logView: SQLiteDatabase.LogView
    /// The model to read the store with; nil to use the model in the store itself.
    let model: ManagedObjectModel?

    func open() throws -> CoreDataStore {
      try CoreDataStore(SQLiteDatabase.surveyed(path: path, logView: logView), model: model)
    }
  }

  case counts(Place, ContentsList)
  case findings(Place)
  case pages(Place)
  case page(Place, UInt32)
  case past(Place, BrowseSubject)

  /// The maximum number of deleted rows and older versions of rows that are kept for one table.
  static let maxPastRows = 5_000
  /// The maximum total size, in bytes, of the deleted rows and older versions of rows that are kept for one table.
  private static let maxPastBytes = 32 << 20
  /// The maximum size, in bytes, of a value of a deleted row. A longer value is cut to this size.
  private static let maxPastValue = 65_536
  /// The maximum number of runs in the list of pages that the browser shows. A run is a range of consecutive pages of
  /// the same kind that belong to the same b-tree.
  private static let maxRuns = 20_000

  /// Reads the store. Passes progress, partial results, and finally the result or the error to `emit`. Calls
  /// `isCancelled` from time to time. Once `isCancelled` returns true, the reading stops and emits nothing more.
  func run(isCancelled: () -> Bool, emit: @escaping (BrowseAnswer) -> Void) {
    do {
      switch self {
      case .counts(let place, let list): try Self.count(place, list, isCancelled, emit)
      case .findings(let place): try Self.check(place, emit)
      case .pages(let place): try Self.list(place, emit)
      case .page(let place, let number): try Self.detail(place, number, emit)
      case .past(let place, let subject): try Self.past(place, subject, isCancelled, emit)
      }
    } catch {
      emit(.failed(BrowseSource.sentence(error)))
    }
  }

  // MARK: - Entities

  private static func count(
    _ place: Place, _ list: ContentsList, _ isCancelled: () -> Bool,
    _ emit: @escaping (BrowseAnswer) -> Void
  ) throws {
    let store = try place.open()
    let byTable = Dictionary(grouping: list.subjects) { ExactText($0.table) }
    var counts: [BrowseSubject: Int] = [:]
    var said = 0
    for table in store.database.schema.tables {
      if isCancelled() { return }
      let column = table.columnNames.firstIndex { $0.uppercased() == "Z_ENT" }
      let rows = try store.database.rowCounts(of: table, byInteger: column)
      for subject in byTable[ExactText(table.name)] ?? [] {
        counts[subject] =
          subject.entities.map { $0.reduce(0) { $0 + (rows.byInteger[$1] ?? 0) } } ?? rows.count
      }
      said += 1
      // A file may have a hundred thousand tables, so after the first 63 counts the list is not sent for each new
      // count.
      if said < 64 || said % max(64, list.subjects.count / 16) == 0 {
        emit(.list(.contents, list.items(counts), note: nil))
      }
    }
    let damage = store.findings.damageCount
    emit(
      .list(
        .contents, list.items(counts),
        note: damage == 0
          ? nil
          : "\(Quantity.count(damage, "finding")) of damage met while counting; press F to see them"
      ))
  }

  // MARK: - Findings

  private static func check(_ place: Place, _ emit: @escaping (BrowseAnswer) -> Void) throws {
    var last = -1
    let check = try StoreCheck(path: place.path, logView: place.logView) { done, total in
      let percent = done * 100 / max(total, 1)
      if percent != last { emit(.working("checking, \(percent)%", isStoppable: false)) }
      last = percent
    }
    let items = check.findings.map { finding in
      let line = FindingText.line(finding)
      let isDamage = finding.severity == .damage
      return ListItem(
        label: isDamage ? "damage" : "note", text: line,
        action: finding.page.map { .page($0) } ?? .text(title: finding.id.rawValue, lines: [line]),
        tone: isDamage ? .red : nil, isLink: finding.page != nil)
    }
    let notes = check.findingCount - check.damageCount
    var note =
      check.isSound
      ? "no damage found"
      : "\(Quantity.count(check.damageCount, "finding")) of damage"
    note += ", \(Quantity.count(notes, "note"))"
    if check.findingCount > items.count {
      note += "; only the first \(Quantity.count(items.count)) of them are shown"
    }
    if !check.notChecked.isEmpty {
      note += "; not checked: " + check.notChecked.map(\.message).joined(separator: "; ")
    }
    emit(.working("", isStoppable: false))
    emit(.list(.findings, items, note: note))
  }

  // MARK: - Pages

  private static func list(_ place: Place, _ emit: @escaping (BrowseAnswer) -> Void) throws {
    let database = try SQLiteDatabase.surveyed(path: place.path, logView: place.logView)
    let total = Int(database.pageCount)
    var last = -1
    var runs: [(first: UInt32, count: Int, kind: PageKind, owner: String?)] = []
    var isCutOff = false
    let owners = try database.listPages { done in
      let percent = min(done, total) * 100 / max(total, 1)
      if percent != last { emit(.working("reading pages, \(percent)%", isStoppable: false)) }
      last = percent
    } _: { entry in
      if let run = runs.last, run.kind == entry.kind, !isCutOff,
        ExactText.isSame(run.owner, entry.owner)
      {
        runs[runs.count - 1].count += 1
      } else if runs.count < maxRuns {
        runs.append((entry.page, 1, entry.kind, entry.owner))
      } else {
        isCutOff = true
      }
    }
    var items = owners.map { owner in
      ListItem(
        label: owner.name,
        text: "\(owner.isIndex ? "index of \(owner.table)" : "table"), root "
          + "\(Quantity.count(owner.rootPage)), \(Quantity.count(owner.treePages, "page")), "
          + "\(Quantity.count(owner.overflowPages, "overflow page")), "
          + "\(Quantity.count(owner.cells, "cell")), "
          + "\(Quantity.bytes(owner.freeBytes)) free",
        action: .page(owner.rootPage), isLink: true)
    }
    items += runs.map { run in
      let end = UInt64(run.first) + UInt64(run.count) - 1
      let owner = run.owner.map { " of \($0)" } ?? ""
      let range =
        run.count == 1
        ? "page \(Quantity.count(run.first))"
        : "pages \(Quantity.count(run.first)) to \(Quantity.count(end))"
      return ListItem(
        label: range,
        text: "\(run.count == 1 ? "" : "\(Quantity.count(run.count)) of: ")"
          + run.kind.words + owner,
        action: .page(run.first),
        tone: run.kind == .unreadable ? .red : run.kind == .orphan ? .yellow : nil, isLink: true)
    }
    emit(.working("", isStoppable: false))
    emit(
      .list(
        .pages, items,
        note:
          "\(Quantity.count(total, "page")) of \(Quantity.count(database.header.pageSize)) bytes: "
          + "b-trees, then pages in order"
          + (isCutOff
            ? "; only the first \(Quantity.count(maxRuns)) runs of pages are shown" : "")))
  }

  private static func detail(
    _ place: Place, _ number: UInt32, _ emit: @escaping (BrowseAnswer) -> Void
  ) throws {
    let database = try SQLiteDatabase.surveyed(path: place.path, logView: place.logView)
    emit(.working("reading page \(Quantity.count(number))", isStoppable: false))
    guard let detail = try database.detail(ofPage: number) else {
      return emit(
        .failed(
          "there is no page \(Quantity.count(number)); the number of pages is \(Quantity.count(database.pageCount))"
        ))
    }
    let display = try DisplayOptions.parse(["--no-color"])
    let text = PageDetailText(detail: detail, database: database, display: display).text
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    emit(.working("", isStoppable: false))
    emit(
      .text(
        .page(number),
        BrowseText(
          title: "page \(Quantity.count(number))",
          lines: lines.map { String(Substring($0)) })))
  }

  // MARK: - Deleted rows

  private static func past(
    _ place: Place, _ subject: BrowseSubject, _ isCancelled: () -> Bool,
    _ emit: @escaping (BrowseAnswer) -> Void
  ) throws {
    let store = try DamagedStore(
      path: place.path, logView: place.logView, like: [], model: place.model)
    var rows: [RowContent] = []
    var bytes = 0
    var isCutOff = false
    func add(_ content: RowContent) -> Bool {
      bytes += content.properties.reduce(64) { $0 + $1.byteCount }
      guard rows.count < maxPastRows, bytes <= maxPastBytes else {
        isCutOff = true
        return false
      }
      rows.append(content)
      if rows.count % 256 == 0 { emit(.working("\(Quantity.count(rows.count)) deleted rows")) }
      return !isCancelled()
    }
    if subject.isRaw || store.kind == .sqlite {
      let columns =
        store.database.tables.first { ExactText.isSame($0.name, subject.table) }?.definition.columns
        .map(\.name)
        ?? []
      try store.database.forEachRow(.deleted, of: [subject.table]) { row in
        let (values, sizes) = cut(row.values)
        let properties = values.enumerated().map { column, value in
          RowContent.Property(
            name: column < columns.count ? columns[column] : "c\(column)",
            value: PropertyValue(value, isDate: false), size: sizes[column],
            partial: RecoveredRows.partial(row, column))
        }
        return add(content(row, key: row.rowID, properties))
      }
    } else {
      var output = RecoveredRowOutput(store)
      output.names = [subject.table]
      _ = try output.forEachRow(.deleted) { managed, columns, row in
        let properties = zip(columns, managed.properties).map { column, property in
          let (value, size) = property.value.cut(to: maxPastValue)
          return RowContent.Property(
            name: property.name, value: value, size: size,
            partial: RecoveredRows.partial(row, column))
        }
        var content = content(row, key: row.key(of: managed), properties)
        content.entity = managed.entityName
        content.entityNumber = managed.entityNumber
        content.saves = managed.saveCount
        return add(content)
      }
    }
    if isCancelled() { return }
    rows.sort { ($0.key ?? .max, $0.saves ?? 0) < ($1.key ?? .max, $1.saves ?? 0) }
    emit(.working(""))
    emit(
      .past(
        subject, rows,
        note: isCutOff
          ? "only the first \(Quantity.count(rows.count)) deleted rows are shown; lifeboat rows --deleted shows all"
          : nil))
  }

  private static func cut(_ values: [StoredValue]) -> ([StoredValue], [Int: Int]) {
    let row = BrowsedRow(rowID: nil, page: nil, values: values).cut(to: maxPastValue)
    return (row.values, row.sizes)
  }

  private static func content(
    _ row: RecoveredRow, key: Int64?, _ properties: [RowContent.Property]
  ) -> RowContent {
    let origin = row.origin
    let mark: RowMark =
      switch origin.state {
      case nil: .live
      case .deleted, .superseded: .deleted
      case .uncommitted: .uncommitted
      case .stale: .stale
      case .beforeImage: .before
      case .contradicted: .doubtful
      }
    var words = "page \(Quantity.count(origin.page))"
    if origin.member != .main { words += " of the -\(origin.member.rawValue)" }
    words += ", offset \(Quantity.count(origin.offset)), \(origin.place.rawValue)"
    if origin.confidence < 100 { words += ", confidence \(origin.confidence)%" }
    if origin.table == nil { words += ", the table is a guess" }
    return RowContent(
      entity: nil, entityNumber: nil, key: key, saves: nil, mark: mark, origin: words,
      properties: properties)
  }
}

extension RowContent.Property {
  /// The estimated memory that the value takes, in bytes.
  fileprivate var byteCount: Int {
    switch value {
    case .string(let text): 64 + text.utf8.count
    case .binary(let bytes), .uuid(let bytes): 64 + bytes.count
    case .toMany(let targets): 64 + targets.count * 32
    default: 64
    }
  }
}

extension PropertyValue {
  /// Returns the value cut to at most `limit` bytes, and the full size of the value in bytes. The size is nil if the
  /// value was not cut.
  fileprivate func cut(to limit: Int) -> (PropertyValue, Int?) {
    switch self {
    case .string(let text) where text.utf8.count > limit:
      guard case (.text(let part), let size) = BrowsedRow.cut(.text(text), to: limit) else {
        return (self, nil)
      }
      return (.string(part), size)
    case .binary(let bytes) where bytes.count > limit:
      return (.binary(Array(bytes.prefix(limit))), bytes.count)
    default: return (self, nil)
    }
  }
}
