import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// A lost-and-found table in the new file, for rows that do not fit into their own table. The lost-and-found table has
/// no types and no constraints.
///
/// Columns: `_id`, `_rowid` (the original row id; NULL when it is lost), `_note`, `_confidence`, then the columns of
/// the rows, and `_more` for the columns beyond SQLite's limit.
final class LostAndFoundTable {
  let name: String
  /// The names of the rows' columns, quoted for SQL.
  private(set) var quotedColumns: [String] = []
  private let writer: SQLiteWriter
  private let quoted: String
  private var insert: SQLiteStatement
  private var names = UniqueNames()
  private let grows: Bool
  private let isUTF16: Bool
  /// The column names of the table from which the rows come.
  private let sourceNames: [String]
  private var hasMore = false

  /// Makes the table. If `columns` is nil, the columns are `c0`, `c1` and so on; a column is added whenever a row has
  /// more values than the rows before it.
  init(_ name: String, columns: [String]?, in writer: SQLiteWriter) throws {
    self.name = name
    self.writer = writer
    quoted = try SQLIdentifier.quoted(name)
    grows = columns == nil
    isUTF16 = try writer.rows("PRAGMA encoding").first?.first != .string("UTF-8")
    sourceNames = columns ?? []
    names.take(["_id", "_rowid", "_note", "_confidence", OverflowColumns.name])
    for column in sourceNames.prefix(OverflowColumns.maxColumns) {
      quotedColumns.append(try SQLIdentifier.quoted(names.uniqueColumn(column)))
    }
    let list = ["_id INTEGER PRIMARY KEY", "_rowid", "_note", "_confidence"] + quotedColumns
    try writer.execute("CREATE TABLE \(quoted)(\(list.joined(separator: ", ")))")
    insert = try Self.prepare(quoted, quotedColumns.count, writer)
  }

  private static func prepare(_ quoted: String, _ count: Int, _ writer: SQLiteWriter) throws
    -> SQLiteStatement
  {
    let marks = Array(repeating: "?", count: count + 3).joined(separator: ", ")
    return try writer.prepare("INSERT INTO \(quoted) VALUES(NULL, \(marks))")
  }

  /// Adds a row to the lost-and-found table, and returns the row's key in the column `_id`.
  func add(_ row: borrowing RecoveredRowBuffer, note: String?, confidence: Int?) throws -> Int64 {
    if grows, row.values.count > quotedColumns.count { try grow(to: row.values.count) }
    let count = min(row.values.count, quotedColumns.count)
    let more =
      row.values.count > count
      ? OverflowColumns.json(of: row, from: count, names: sourceNames) : nil
    if more != nil, !hasMore { try addMore() }
    let moreIndex = hasMore ? quotedColumns.count + 4 : 0
    let rowID = row.rowID
    // All bound bytes must be in one buffer, so the note precedes the row's own bytes in the buffer.
    var bytes = ContiguousArray((note ?? "").utf8)
    let start = bytes.count
    bytes.append(contentsOf: row.bytes)
    try insert.run(over: bytes.rawSpan) { binding in
      if let rowID { binding.integer(rowID, at: 1) } else { binding.null(at: 1) }
      if note != nil { binding.text(0, start, at: 2) } else { binding.null(at: 2) }
      if let confidence {
        binding.real(Double(confidence) / 100, at: 3)
      } else {
        binding.null(at: 3)
      }
      for index in 0..<count {
        let value = row.values[index]
        switch value.kind {
        case .null: binding.null(at: index + 4)
        case .integer: binding.integer(value.bits, at: index + 4)
        case .real:
          binding.real(Double(bitPattern: UInt64(bitPattern: value.bits)), at: index + 4)
        case .text:
          let range = value.offset..<value.offset + value.count
          if isUTF16, !value.isValid || UTF16Text.holdsNoncharacter(row.bytes, range) {
            binding.text(utf16: UTF16Text.units(of: row.bytes, range), at: index + 4)
          } else {
            binding.text(start + value.offset, value.count, at: index + 4)
          }
        case .blob: binding.blob(start + value.offset, value.count, at: index + 4)
        }
      }
      if let more { binding.text(copying: more, at: moreIndex) }
    }
    return writer.lastInsertRowID
  }

  private func grow(to count: Int) throws {
    let most = min(count, OverflowColumns.maxColumns)
    guard most > quotedColumns.count else { return }
    insert.finalize()
    while quotedColumns.count < most {
      let column = try SQLIdentifier.quoted("c\(quotedColumns.count)")
      try writer.execute("ALTER TABLE \(quoted) ADD COLUMN \(column)")
      quotedColumns.append(column)
    }
    insert = try Self.prepare(quoted, quotedColumns.count, writer)
  }

  private func addMore() throws {
    insert.finalize()
    try writer.execute(
      "ALTER TABLE \(quoted) ADD COLUMN \(try SQLIdentifier.quoted(OverflowColumns.name))")
    insert = try Self.prepare(quoted, quotedColumns.count + 1, writer)
    hasMore = true
  }

  func close() { insert.finalize() }
}
