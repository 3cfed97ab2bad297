import Foundation
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// Writes notes about rows and damage into extra tables of the new file. A table is made only when there is something
/// to note.
final class RebuildNotes {
  private let writer: SQLiteWriter
  private let name: (String) -> String
  private var provenance: SQLiteStatement?
  private var moved: SQLiteStatement?

  /// Prepares for writing notes into the new file. `name` takes the wanted name of a table, and returns an unused name
  /// derived from it.
  init(_ writer: SQLiteWriter, name: @escaping (String) -> String) {
    self.writer = writer
    self.name = name
  }

  /// Notes the file, page and offset at which a row was found, and the bytes that remain of its partial values.
  func add(
    _ row: borrowing RecoveredRowBuffer, in table: String, rowID: Int64?, partial: [PartialValue],
    columns: [String]
  ) throws {
    let statement = try provenanceStatement()
    let origin = row.origin
    let facts: [SQLiteValue] = [
      .string(table), rowID.map { .integer($0) } ?? .null, .string(origin.member.rawValue),
      .integer(Int64(origin.page)), .integer(origin.offset), .string(origin.attribution.name),
      .real(Double(origin.confidence) / 100),
    ]
    guard !partial.isEmpty else { return try statement.run(facts + [.null]) }
    do throws(SQLiteWriterError) {
      try statement.run(facts + [.string(Self.json(partial, columns))])
    } catch {
      guard error.code == .tooBig else { throw error }
      // If the JSON is too long for SQLite, only the lengths of the values are recorded.
      let bare = partial.map {
        PartialValue(
          column: $0.column, have: $0.have, of: $0.of, isDoubtful: $0.isDoubtful, bytes: [])
      }
      try statement.run(facts + [.string(Self.json(bare, columns))])
    }
  }

  /// Notes that a row was moved from a separate table into its own table, where it has a new row id.
  func move(from table: String, _ rowID: Int64, to target: String, _ newRowID: Int64) throws {
    _ = try provenanceStatement()
    try moved?.run([.string(target), .integer(newRowID), .string(table), .integer(rowID)])
  }

  private func provenanceStatement() throws -> SQLiteStatement {
    if let provenance { return provenance }
    let quoted = try SQLIdentifier.quoted(name("_lifeboat_provenance"))
    try writer.execute(
      """
      CREATE TABLE \(quoted)("table" TEXT, "rowid" INTEGER, file TEXT, page INTEGER, "offset" INTEGER, \
      attribution TEXT, confidence REAL, partial TEXT)
      """)
    let statement = try writer.prepare("INSERT INTO \(quoted) VALUES(?, ?, ?, ?, ?, ?, ?, ?)")
    provenance = statement
    moved = try writer.prepare(
      "UPDATE \(quoted) SET \"table\" = ?, \"rowid\" = ? WHERE \"table\" = ? AND \"rowid\" = ?")
    return statement
  }

  func write(_ findings: [Finding]) throws {
    provenance?.finalize()
    provenance = nil
    moved?.finalize()
    moved = nil
    guard !findings.isEmpty else { return }
    let quoted = try SQLIdentifier.quoted(name("_lifeboat_findings"))
    try writer.execute(
      """
      CREATE TABLE \(quoted)(id TEXT, severity TEXT, message TEXT, file TEXT, page INTEGER, \
      "offset" INTEGER, "table" TEXT)
      """)
    let insert = try writer.prepare("INSERT INTO \(quoted) VALUES(?, ?, ?, ?, ?, ?, ?)")
    defer { insert.finalize() }
    for finding in findings {
      try insert.run([
        .string(finding.id.rawValue), .string(finding.severity.rawValue), .string(finding.message),
        .string(finding.member.rawValue), finding.page.map { .integer(Int64($0)) } ?? .null,
        finding.offset.map { .integer($0) } ?? .null,
        .string(finding.table),
      ])
    }
  }

  private struct Part: Encodable {
    let have: Int
    let of: Int
    let doubtful: Bool?
    let hex: String
  }

  /// Returns partial values as a JSON object, in the form of the NDJSON output. The value of each column is an object
  /// with the members `have` (the number of bytes found), `of` (the number of bytes of the whole value), `hex` (the
  /// bytes found), and `doubtful` if the value is in doubt.
  private static func json(_ partial: [PartialValue], _ columns: [String]) -> String {
    var parts: [String: Part] = [:]
    for value in partial {
      let name = value.column < columns.count ? columns[value.column] : "c\(value.column)"
      // Two column names can be equal as keys of a Swift dictionary although their bytes differ.
      let key = parts[name] == nil ? name : "\(name) (column \(value.column + 1))"
      parts[key] = Part(
        have: value.have, of: value.of, doubtful: value.isDoubtful ? true : nil,
        hex: Hex.string(value.bytes))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(parts)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}
