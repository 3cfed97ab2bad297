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

  private(set) var rows: [Row] = []
  /// How many older versions are not shown, because there are too many.
  private(set) var restCount = 0
  /// Whether the store has entities; rows of other tables are not compared.
  private let isOfEntities: Bool
  /// The attributes that may be shown; nil for all.
  private let allowed: AllowList?
  private let lineage: (String) -> [String]
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
  ///   - allowed: the attributes that may be shown; nil for all.
  /// - Throws: `SQLiteFileError` when the device fails.
  init(_ damaged: DamagedStore, isDamaged: Bool, showing allowed: AllowList?) throws {
    self.allowed = allowed
    isOfEntities = damaged.kind != .sqlite
    let model = damaged.model
    lineage = { name in [name] + (model?.ancestors(of: name).map(\.name) ?? []) }
    var older: [(row: ManagedRow, origin: RowOrigin)] = []
    var count = 0
    let output = RecoveredRowOutput(damaged)
    _ = try output.forEachRow(.deleted) { row, _, recovered in
      guard row.entityName != nil else { return true }
      count += 1
      // More than are shown: many are equal to what the row is now.
      if older.count < Self.maxRows * 4 { older.append((row, recovered.origin)) }
      return true
    }
    let wanted = Set(older.map { Key($0.row) })
    var present: [Key: ManagedRow] = [:]
    func take(_ row: ManagedRow) -> Bool {
      let key = Key(row)
      if wanted.contains(key) { present[key] = row }
      return present.count < wanted.count
    }
    if !wanted.isEmpty {
      if isDamaged {
        _ = try output.forEachRow(.live) { row, _, _ in take(row) }
      } else {
        try CoreDataStore(path: damaged.database.path, model: model).forEachRow(
          of: Set(wanted.map(\.entity)), take)
      }
    }
    for one in older {
      let now = present[Key(one.row)]
      let lines = lines(of: one.row, now)
      guard !lines.isEmpty else {
        count -= 1
        continue
      }
      guard rows.count < Self.maxRows else { break }
      rows.append(
        Row(
          entity: one.row.entityName ?? "", key: one.row.primaryKey,
          fate: now == nil ? "deleted" : "changed", place: Self.place(one.origin),
          lines: lines))
    }
    restCount = max(0, count - rows.count)
  }

  private struct Key: Hashable {
    let entity: String
    let number: Int64

    init(_ row: ManagedRow) {
      entity = row.entityName ?? ""
      number = row.primaryKey
    }
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
    of row: ManagedRow, _ now: ManagedRow?
  ) -> [(attribute: String, before: Cell, after: Cell?)] {
    let lineage = lineage(row.entityName ?? "")
    var lines: [(attribute: String, before: Cell, after: Cell?)] = []
    for property in row.properties where allowed?.allows(property.name, of: lineage) ?? true {
      // Partners are of other rows, whose versions are not known.
      if case .toMany = property.value { continue }
      let present = now?.properties.first { $0.name == property.name }?.value
      if now == nil ? property.value == .null : property.value == present { continue }
      lines.append(
        (property.name, cell(property.value), now == nil ? nil : cell(present ?? .null)))
    }
    return lines
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
    if rows.isEmpty {
      note =
        isOfEntities
        ? "No older version of a row is left in the files."
        : "Rows are compared where a model names their entities; this file has none. lifeboat rows --deleted prints the older versions."
    }
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
