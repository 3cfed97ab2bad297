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
  /// The page shows no values.
  case none
  /// Only the values of attributes that an allow-list names.
  case listed(AllowList)
  case all
}

/// Older versions of rows that are still in the store's files, shown next to the present values of the rows. This type
/// holds row values, so it is made only for readers who may see row values.
struct ChangedRows {
  /// The text or image that a cell of the report page shows for one value.
  struct Cell: Equatable {
    var text = ""
    /// The value as a `data:` URL, if the value is a small image; nil for any other value.
    var image: String?
  }

  /// An older version of a row, as the text and images that the page shows.
  struct Row {
    let name: String
    /// What became of the row: `changed`, `deleted` or `unknown`.
    let fate: String
    /// The file and the page that contain the older version of the row, and how certain the version is, in words.
    let place: String
    let lines: [(attribute: String, before: Cell, after: Cell?)]
  }

  /// The values of a row: either its present values, or the values of an older version.
  private struct Version {
    /// Identifies the row. ``Key/name`` is the name of the row's entity, or of the row's table if no entity uses the
    /// table.
    let key: Key
    let values: [(name: String, value: PropertyValue)]
    /// The values that are incomplete or doubtful, keyed by the name of the attribute or column.
    var partial: [ExactText: PartialValue] = [:]
    /// The names under which an allow-list can list values of this row: the names of the entity and of its ancestors,
    /// or the name of the table. Empty for a table that has the same name as an entity, so that the entity's entries in
    /// the allow-list do not apply to the table.
    let lineage: [String]
  }

  private struct Key: Hashable {
    let name: ExactText
    /// Whether `name` is the name of a table, not of an entity. A table and an entity may have the same name.
    let isOfTable: Bool
    /// The primary key or row id of the row. Nil if the row is an older version and its key is lost.
    let number: Int64?
  }

  private(set) var rows: [Row] = []
  /// An upper bound for the number of older versions that are not shown. These versions were not compared with the
  /// present rows, so some of them may be equal to a present row.
  private(set) var restCount = 0
  private let allowed: AllowList?
  private let damaged: DamagedStore
  private let output: RecoveredRowOutput
  /// The number of bytes of images that may still be added to the page.
  private var room = Self.maxImageBytes

  /// The maximum number of older row versions that the page shows.
  private static let maxRows = 200
  /// The maximum number of bytes of all images on a page. `maxImage` is the maximum for a single image.
  private static let maxImageBytes = 1 << 20
  private static let maxImage = 64 << 10

  /// Reads the deleted and replaced rows of a store, and compares them with the present rows.
  ///
  /// - Parameters:
  ///   - damaged: the store, opened for recovery. The older versions are read from `damaged`.
  ///   - sound: the same store, opened for ordinary reading with the same frames of the write-ahead log. The present
  ///     rows of entities are read from `sound`. Nil for a damaged store, whose present rows are read by recovery.
  ///   - allowed: the attributes and columns whose values may be shown; nil when all values may be shown.
  /// - Throws: `SQLiteFileError` when the device fails.
  init(_ damaged: DamagedStore, _ sound: CoreDataStore?, showing allowed: AllowList?) throws {
    self.allowed = allowed
    self.damaged = damaged
    output = RecoveredRowOutput(damaged)
    var older: [(version: Version, origin: RowOrigin)] = []
    var count = 0
    func take(_ version: Version, _ origin: RowOrigin) {
      count += 1
      // More older versions are kept than are shown, because many of them are equal to the present row.
      if older.count < Self.maxRows * 4 { older.append((version, origin)) }
    }
    _ = try output.forEachRow(.deleted) { row, columns, recovered in
      if var version = version(row, number: recovered.key(of: row)) {
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
    let keys = Set(older.map(\.version.key)).filter { $0.number != nil }
    let present = try present(keys, sound)
    for (version, origin) in older {
      let now = present[version.key]
      let lines = lines(of: version, now)
      guard !lines.isEmpty else {
        count -= 1
        continue
      }
      guard rows.count < Self.maxRows else { break }
      let number = version.key.number
      rows.append(
        Row(
          name: "\(version.key.name.text) \(number.map(String.init) ?? "?")",
          fate: number == nil ? "unknown" : now == nil ? "deleted" : "changed",
          place: Self.place(origin), lines: lines))
    }
    restCount = max(0, count - rows.count)
  }

  // MARK: - Versions

  /// Returns the live versions of the rows with the keys `wanted`. A row that no longer exists has no entry.
  private func present(_ wanted: Set<Key>, _ sound: CoreDataStore?) throws -> [Key: Version] {
    var present: [Key: Version] = [:]
    func take(_ version: Version?) -> Bool {
      if let version, wanted.contains(version.key) { present[version.key] = version }
      return present.count < wanted.count
    }
    let tables = Set(wanted.filter(\.isOfTable).map(\.name)).map(\.text)
    let entities = Set(wanted.filter { !$0.isOfTable }.map(\.name)).map(\.text)
    if !tables.isEmpty { try forEachTableRow(.live, of: tables) { version, _ in take(version) } }
    if entities.isEmpty { return present }
    if let sound {
      try sound.forEachRow(of: entities) { take(version($0, number: $0.primaryKey)) }
    } else {
      _ = try output.forEachRow(.live) { row, _, recovered in
        take(version(row, number: recovered.key(of: row)))
      }
    }
    return present
  }

  /// Makes a version from a row of an entity; nil when the row's entity is unknown. `number` is the row's primary key;
  /// nil when the key is lost.
  private func version(_ row: ManagedRow, number: Int64?) -> Version? {
    guard let name = row.entityName else { return nil }
    return Version(
      key: Key(name: ExactText(name), isOfTable: false, number: number),
      values: row.properties.map { ($0.name, $0.value) },
      lineage: [name] + (damaged.model?.ancestors(of: name).map(\.name) ?? []))
  }

  /// Calls `receive` with the rows of tables that no entity uses, until `receive` returns false. Rows without a row id
  /// are left out, as are rows whose table is uncertain.
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
      // An allow-list entry for an entity does not cover a table with the same name.
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

  /// Returns a line for each attribute whose value in the older version `version` of a row differs from the value in
  /// the present version `now`. If `now` is nil, returns a line for each attribute that has a value. An attribute that
  /// has only a partial value in `version` always gets a line. Attributes that the allow-list does not name are left
  /// out.
  private mutating func lines(
    of version: Version, _ now: Version?
  ) -> [(attribute: String, before: Cell, after: Cell?)] {
    var lines: [(attribute: String, before: Cell, after: Cell?)] = []
    for (name, value) in version.values where allowed?.allows(name, of: version.lineage) ?? true {
      // To-many relationships are left out: their destinations are read from other rows, whose older versions are
      // unknown.
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
    // Browsers decode these image formats in a sandboxed process. SVG, which can contain scripts, is not one of these
    // formats.
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
      "The files still hold older versions of rows. The attributes that differ are shown. "
      + "This section shows values: pass this page on only to people who may see the values."
    if rows.isEmpty { note = "No older version of a row is left in the files." }
    if restCount > 0 {
      note += " \(rows.count) versions are shown. The files may hold up to \(restCount) more."
    }
    return [
      "note": note, "hasRows": !rows.isEmpty,
      "rows": rows.map { row -> [String: Any] in
        let missing =
          row.fate == "deleted" ? "the row is gone" : "not known: the row id is lost"
        return [
          "name": VisibleText.visible(row.name, limit: 200), "fate": row.fate, "place": row.place,
          "lines": row.lines.map { line -> [String: Any] in
            var context: [String: Any] = [
              "attribute": VisibleText.visible(line.attribute, limit: 200),
              "before": line.before.text, "after": line.after?.text ?? missing,
            ]
            if let image = line.before.image { context["beforeImage"] = image }
            if let image = line.after?.image { context["afterImage"] = image }
            return context
          },
        ]
      },
    ]
  }

  var hasImages: Bool {
    rows.contains { $0.lines.contains { $0.before.image != nil || $0.after?.image != nil } }
  }
}
