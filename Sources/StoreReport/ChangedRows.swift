import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SafeText
import StoreExtraction
package import SupportBundle

/// Whose values a page shows.
package enum ShownValues: Sendable {
  /// Nobody's: the page holds no value of a row.
  case none
  /// Those that a list allows.
  case listed(AllowList)
  /// All.
  case all
}

/// Older versions of rows that are still in the files, beside what the rows are now. It holds values, so it is made only
/// for who may see them.
struct ChangedRows {
  /// A value, for a cell of the page.
  struct Cell: Equatable {
    var text = ""
    /// A small image, as a `data:` address; nil for other values.
    var image: String?
  }

  /// An older version of a row.
  struct Row {
    let entity: String
    let key: Int64
    /// What became of it: `changed`, `deleted`.
    let fate: String
    /// Where the older version is.
    let place: String
    let lines: [(attribute: String, before: Cell, after: Cell?)]
  }

  /// A version of a row: one that is gone, or the present one.
  private struct Version {
    /// An entity, or a table of no entity.
    let key: Key
    /// By attribute or column.
    let values: [(name: String, value: PropertyValue)]
    /// Of values that are not whole, by attribute or column.
    var partial: [String: PartialValue] = [:]
    /// Those whose permission allows the row's values: the entity and its ancestors, or the table.
    let lineage: [String]
  }

  private struct Key: Hashable {
    let name: ExactText
    /// Whether the name is of a table: an entity may have the same.
    let isOfTable: Bool
    let number: Int64
  }

  private(set) var rows: [Row] = []
  /// How many older versions are not shown, because there are too many.
  private(set) var restCount = 0
  /// The attributes that may be shown; nil for all.
  private let allowed: AllowList?
  private let damaged: DamagedStore
  private let output: RecoveredRowOutput
  /// Bytes of images that the page still has room for.
  private var room = Self.maxImageBytes

  /// The most older versions that are shown.
  private static let maxRows = 200
  /// The most bytes of images in a page, and of one.
  private static let maxImageBytes = 1 << 20
  private static let maxImage = 64 << 10

  /// Reads a store.
  ///
  /// - Parameters:
  ///   - damaged: the store, read page by page.
  ///   - isDamaged: whether the ordinary reader may miss rows.
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
      // More than are shown: many are equal to what the row is now.
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
    try forEachTableRow(.deleted, of: Set(output.plainTableNames)) {
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

  /// The rows with these keys as they are now.
  private func present(_ wanted: Set<Key>, isDamaged: Bool) throws -> [Key: Version] {
    var present: [Key: Version] = [:]
    func take(_ version: Version?) -> Bool {
      if let version, wanted.contains(version.key) { present[version.key] = version }
      return present.count < wanted.count
    }
    let tables = Set(wanted.filter(\.isOfTable).map(\.name.text))
    let entities = Set(wanted.filter { !$0.isOfTable }.map(\.name.text))
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

  /// Nil for a row of an unknown entity.
  private func version(_ row: ManagedRow) -> Version? {
    guard let name = row.entityName else { return nil }
    return Version(
      key: Key(name: ExactText(name), isOfTable: false, number: row.primaryKey),
      values: row.properties.map { ($0.name, $0.value) },
      lineage: [name] + (damaged.model?.ancestors(of: name).map(\.name) ?? []))
  }

  /// Hands on the rows of tables that are of no entity, as far as they have a row id and their table is certain.
  private func forEachTableRow(
    _ selection: DamagedDatabase.Selection, of names: Set<String>,
    _ receive: (Version, RowOrigin) -> Bool
  ) throws {
    guard !names.isEmpty else { return }
    let entityNames = Set(damaged.entities.map(\.name))
    try damaged.database.forEachBufferedRow(selection, of: names, readsAhead: false) { row in
      guard let number = row.rowID, let place = row.origin.table else { return true }
      let table = damaged.database.tables[place]
      guard names.contains(table.name) else { return true }
      let recovered = RecoveredRow(row)
      let columns = table.definition.columns
      func name(_ column: Int) -> String {
        columns.indices.contains(column) ? columns[column].name : "c\(column)"
      }
      // What is allowed of an entity is not meant for a table of the same name.
      let version = Version(
        key: Key(name: ExactText(table.name), isOfTable: true, number: number),
        values: recovered.values.enumerated().map {
          (name($0), PropertyValue($1, isDate: false))
        },
        partial: Self.partial(recovered, name: name),
        lineage: entityNames.contains(table.name) ? [] : [table.name])
      return receive(version, row.origin)
    }
  }

  private static func partial(
    _ row: RecoveredRow, name: (_ column: Int) -> String?
  ) -> [String: PartialValue] {
    Dictionary(
      row.partial.compactMap { part in name(part.column).map { ($0, part) } },
      uniquingKeysWith: { one, _ in one })
  }

  private static func place(_ origin: RowOrigin) -> String {
    let file = origin.member == .main ? "" : "-\(origin.member.rawValue), "
    return "\(file)page \(origin.page)"
      + (origin.state == .uncommitted ? ", never committed" : "")
      + (origin.confidence < 100 ? ", \(origin.confidence) % sure" : "")
  }

  // MARK: - Lines

  /// The attributes that differ; of a row that is gone, those that have a value.
  private mutating func lines(
    of version: Version, _ now: Version?
  ) -> [(attribute: String, before: Cell, after: Cell?)] {
    var lines: [(attribute: String, before: Cell, after: Cell?)] = []
    for (name, value) in version.values where allowed?.allows(name, of: version.lineage) ?? true {
      // Partners are of other rows, whose versions are not known.
      if case .toMany = value { continue }
      let present = now?.values.first { ExactText.isSame($0.name, name) }?.value
      let part = version.partial[name].map(Self.cell)
      if part == nil, now == nil ? value == .null : value == present { continue }
      lines.append((name, part ?? cell(value), now == nil ? nil : cell(present ?? .null)))
    }
    return lines
  }

  private static func cell(_ part: PartialValue) -> Cell {
    Cell(
      text: part.of == 0
        ? "a value of which only a part is left"
        : "a value of which \(part.have) of \(part.of) bytes are left")
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
      else { return Cell(text: "a file that is missing or large") }
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
    // Browsers decode these formats in a process without rights; SVG, which can hold script, is none of them.
    if case .image(let type, _, _) = content, bytes.count <= min(room, Self.maxImage) {
      room -= bytes.count
      cell.image = "data:\(type);base64,\(Data(bytes).base64EncodedString())"
    }
    return cell
  }

  // MARK: - The page

  /// What the template takes.
  var context: [String: Any] {
    var note =
      "Older versions that were not overwritten yet, with the attributes that differ. This part holds values: pass it on only to who may see them."
    if rows.isEmpty { note = "No older version of a row is left in the files." }
    if restCount > 0 { note += " \(rows.count) are shown, and \(restCount) more are there." }
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

  /// Whether the page shows images.
  var hasImages: Bool {
    rows.contains { $0.lines.contains { $0.before.image != nil || $0.after?.image != nil } }
  }
}
