import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SafeText
import StoreExtraction
package import SupportBundle

/// Which values of rows a page shows.
package enum ShownValues: Sendable {
  /// None: the page holds no value of a row.
  case none
  /// Only values of the attributes that an allow-list names.
  case listed(AllowList)
  /// All values.
  case all
}

/// Older versions of rows that are still in the files, beside the present values of the rows. It holds values, so it is
/// made only for readers who may see them.
struct ChangedRows {
  /// What a cell of the page shows for one value.
  struct Cell: Equatable {
    var text = ""
    /// The value as a `data:` address, if it is a small image; nil for other values.
    var image: String?
  }

  /// An older version of a row, as the page shows it.
  struct Row {
    let entity: String
    let key: Int64
    /// What became of the row: `changed` or `deleted`.
    let fate: String
    /// Where the older version was found, in words: file, page, and doubts.
    let place: String
    let lines: [(attribute: String, before: Cell, after: Cell?)]
  }

  /// The values of a row at one time: earlier, or now.
  private struct Version {
    /// The row: its entity, or its table if no entity uses the table, and its number.
    let key: Key
    /// The values with the names of their attributes or columns.
    let values: [(name: String, value: PropertyValue)]
    /// The values that are left only in part, or certain only in part, by attribute or column.
    var partial: [ExactText: PartialValue] = [:]
    /// The names under which an allow-list may allow the values: the entity and its ancestors, or the table. Empty for
    /// a table that has the name of an entity.
    let lineage: [String]
  }

  private struct Key: Hashable {
    let name: ExactText
    /// Whether the name is that of a table. An entity may have the same name.
    let isOfTable: Bool
    let number: Int64
  }

  private(set) var rows: [Row] = []
  /// The highest possible number of older versions that are not shown. They were not compared with the present rows, so
  /// some of them may be equal to these.
  private(set) var restCount = 0
  /// The attributes and columns whose values may be shown; nil for all.
  private let allowed: AllowList?
  private let damaged: DamagedStore
  private let output: RecoveredRowOutput
  /// How many bytes of images the page may still take.
  private var room = Self.maxImageBytes

  /// The most older versions that are shown.
  private static let maxRows = 200
  /// The most bytes of all images of a page together, and of one image.
  private static let maxImageBytes = 1 << 20
  private static let maxImage = 64 << 10

  /// Reads the deleted and replaced rows of a store, and compares them with the present rows.
  ///
  /// - Parameters:
  ///   - damaged: the store, read page by page.
  ///   - isDamaged: whether the store has damage, so that the present rows are read by recovery.
  ///   - allowed: the attributes and columns that may be shown; nil for all.
  /// - Throws: `SQLiteFileError` when the device fails.
  init(_ damaged: DamagedStore, isDamaged: Bool, showing allowed: AllowList?) throws {
    self.allowed = allowed
    self.damaged = damaged
    output = RecoveredRowOutput(damaged)
    var older: [(version: Version, origin: RowOrigin)] = []
    var count = 0
    func take(_ version: Version, _ origin: RowOrigin) {
      count += 1
      // More versions are kept than are shown, because many of them equal the present row.
      if older.count < Self.maxRows * 4 { older.append((version, origin)) }
    }
    _ = try output.forEachRow(.deleted) { row, columns, recovered in
      if var version = version(row) {
        version.partial = Self.partial(recovered) { column in
          columns.firstIndex(of: column).map { row.properties[$0].name }
        }
        take(version, recovered.origin)
      }
      return true
    }
    try forEachTableRow(.deleted, of: output.plainTableNames) {
      take($0, $1)
      return true
    }
    let present = try present(Set(older.map(\.version.key)), isDamaged: isDamaged)
    for (version, origin) in older {
      let now = present[version.key]
      let lines = lines(of: version, now)
      guard !lines.isEmpty else {
        count -= 1
        continue
      }
      guard rows.count < Self.maxRows else { break }
      rows.append(
        Row(
          entity: version.key.name.text, key: version.key.number,
          fate: now == nil ? "deleted" : "changed", place: Self.place(origin), lines: lines))
    }
    restCount = max(0, count - rows.count)
  }

  // MARK: - Versions

  /// The present versions of the rows with these keys. A row that is gone has no entry.
  private func present(_ wanted: Set<Key>, isDamaged: Bool) throws -> [Key: Version] {
    var present: [Key: Version] = [:]
    func take(_ version: Version?) -> Bool {
      if let version, wanted.contains(version.key) { present[version.key] = version }
      return present.count < wanted.count
    }
    let tables = Set(wanted.filter(\.isOfTable).map(\.name)).map(\.text)
    let entities = Set(wanted.filter { !$0.isOfTable }.map(\.name)).map(\.text)
    if !tables.isEmpty { try forEachTableRow(.live, of: tables) { version, _ in take(version) } }
    if entities.isEmpty { return present }
    if isDamaged {
      _ = try output.forEachRow(.live) { row, _, _ in take(version(row)) }
    } else {
      try CoreDataStore(path: damaged.database.path, model: damaged.model)
        .forEachRow(of: entities) { take(version($0)) }
    }
    return present
  }

  /// A row of an entity as a version; nil when the entity is not known.
  private func version(_ row: ManagedRow) -> Version? {
    guard let name = row.entityName else { return nil }
    return Version(
      key: Key(name: ExactText(name), isOfTable: false, number: row.primaryKey),
      values: row.properties.map { ($0.name, $0.value) },
      lineage: [name] + (damaged.model?.ancestors(of: name).map(\.name) ?? []))
  }

  /// Calls `receive` with the rows of tables that no entity uses, until it returns false. Rows without a row id, and
  /// rows whose table is not certain, are left out.
  private func forEachTableRow(
    _ selection: DamagedDatabase.Selection, of names: [String],
    _ receive: (Version, RowOrigin) -> Bool
  ) throws {
    guard !names.isEmpty else { return }
    let entityNames = Set(damaged.entities.map { ExactText($0.name) })
    try damaged.database.forEachBufferedRow(selection, of: names, readsAhead: false) { row in
      guard let number = row.rowID, let place = row.origin.table else { return true }
      let table = damaged.database.tables[place]
      let recovered = RecoveredRow(row)
      let columns = table.definition.columns
      func name(_ column: Int) -> String {
        columns.indices.contains(column) ? columns[column].name : "c\(column)"
      }
      // A permission for an entity does not cover a table with the same name.
      let version = Version(
        key: Key(name: ExactText(table.name), isOfTable: true, number: number),
        values: recovered.values.enumerated().map {
          (name($0), PropertyValue($1, isDate: false))
        },
        partial: Self.partial(recovered, name: name),
        lineage: entityNames.contains(ExactText(table.name)) ? [] : [table.name])
      return receive(version, row.origin)
    }
  }

  private static func partial(
    _ row: RecoveredRow, name: (_ column: Int) -> String?
  ) -> [ExactText: PartialValue] {
    Dictionary(
      row.partial.compactMap { part in name(part.column).map { (ExactText($0), part) } },
      uniquingKeysWith: { one, _ in one })
  }

  private static func place(_ origin: RowOrigin) -> String {
    let file = origin.member == .main ? "" : "-\(origin.member.rawValue), "
    return "\(file)page \(origin.page)"
      + (origin.state == .uncommitted ? ", never committed" : "")
      + (origin.confidence < 100 ? ", \(origin.confidence) % sure" : "")
  }

  // MARK: - Lines

  /// The attributes that differ between an older version and the present one. For a row that is gone: the attributes
  /// that have a value.
  private mutating func lines(
    of version: Version, _ now: Version?
  ) -> [(attribute: String, before: Cell, after: Cell?)] {
    var lines: [(attribute: String, before: Cell, after: Cell?)] = []
    for (name, value) in version.values where allowed?.allows(name, of: version.lineage) ?? true {
      // The objects of a to-many relationship are read from other rows, whose older versions are not known.
      if case .toMany = value { continue }
      let present = now?.values.first { ExactText.isSame($0.name, name) }?.value
      let part = version.partial[ExactText(name)].map(Self.cell)
      if part == nil, now == nil ? value == .null : value == present { continue }
      lines.append((name, part ?? cell(value), now == nil ? nil : cell(present ?? .null)))
    }
    return lines
  }

  private static func cell(_ part: PartialValue) -> Cell {
    Cell(
      text: part.of == 0
        ? "only a part of the value is left"
        : "\(part.have) of \(part.of) bytes of the value are left")
  }

  private mutating func cell(_ value: PropertyValue) -> Cell {
    switch value {
    case .null: return Cell(text: "no value")
    case .integer(let number): return Cell(text: String(number))
    case .real(let number): return Cell(text: number.description)
    case .boolean(let flag): return Cell(text: flag ? "true" : "false")
    case .string(let text): return Cell(text: VisibleText.visible(text.string, limit: 500))
    case .date(let date): return Cell(text: date.iso8601 ?? "\(date.seconds) s since 2001")
    case .uuid(let bytes): return Cell(text: UUIDText.string(bytes))
    case .binary(let bytes): return cell(bytes)
    case .external(let blob):
      guard let size = blob.sizeBytes, size <= Self.maxImageBytes,
        let bytes = try? ByteFile(blob.path).bytes(at: 0, count: Int(size))
      else { return Cell(text: "an external file that is missing or too large to show") }
      return cell(bytes)
    case .toOne(let reference):
      return Cell(
        text: VisibleText.visible("\(reference.entityName ?? "?") \(reference.primaryKey)"))
    case .toMany: return Cell()
    }
  }

  private mutating func cell(_ bytes: [UInt8]) -> Cell {
    let content = BlobContent(bytes)
    var cell = Cell(
      text: VisibleText.visible(content.summary(sizeBytes: bytes.count), limit: 500))
    // Browsers decode these image formats in a process without rights. SVG, which can hold script, is not one of them.
    if case .image(let type, _, _) = content, bytes.count <= min(room, Self.maxImage) {
      room -= bytes.count
      cell.image = "data:\(type);base64,\(Data(bytes).base64EncodedString())"
    }
    return cell
  }

  // MARK: - The page

  /// The values for the section "Before and after" of ``ReportTemplate``.
  var context: [String: Any] {
    var note =
      "Older versions of rows that are still in the files, with the attributes that differ. "
      + "This section holds values: pass it on only to people who may see them."
    if rows.isEmpty { note = "No older version of a row is left in the files." }
    if restCount > 0 {
      note += " \(rows.count) versions are shown. The files may hold up to \(restCount) more."
    }
    return [
      "note": note, "hasRows": !rows.isEmpty,
      "rows": rows.map { row -> [String: Any] in
        [
          "name": VisibleText.visible("\(row.entity) \(row.key)", limit: 200), "fate": row.fate,
          "place": row.place,
          "lines": row.lines.map { line -> [String: Any] in
            var context: [String: Any] = [
              "attribute": VisibleText.visible(line.attribute, limit: 200),
              "before": line.before.text, "after": line.after?.text ?? "the row is gone",
            ]
            if let image = line.before.image { context["beforeImage"] = image }
            if let image = line.after?.image { context["afterImage"] = image }
            return context
          },
        ]
      },
    ]
  }

  /// Whether any of the values shown is an image.
  var hasImages: Bool {
    rows.contains { $0.lines.contains { $0.before.image != nil || $0.after?.image != nil } }
  }
}
