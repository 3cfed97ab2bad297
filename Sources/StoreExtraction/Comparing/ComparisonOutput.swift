import Foundation
package import RowText
import SQLiteFile

extension StoreComparison {
  /// Compares the stores and writes the differences as JSON.
  ///
  /// In lines form, each line is a row that differs. The last line is the report, whose member `change` is `summary`.
  /// In object form, the output is the report, and its member `rows` lists the rows.
  ///
  /// - Parameters:
  ///   - form: lines, or one object.
  ///   - limit: the maximum number of rows to write; nil for all. The limit does not change the counts in the report.
  ///   - descriptor: an open file descriptor; it is not closed.
  /// - Returns: the report.
  /// - Throws: `SQLiteFileError` when the device fails or the output cannot be written.
  package func writeJSON(
    as form: JSONForm, limit: Int? = nil, to descriptor: Int32
  ) throws -> Report {
    var output = OutputBuffer(descriptor: descriptor)
    // If the device fails, the rows that were compared before are written.
    defer { output.flush() }
    var written = 0
    if form == .object { output.append("{\"rows\":[\n") }
    let report = try run { row in
      guard limit.map({ written < $0 }) ?? true, !output.isBroken else { return false }
      if form == .object, written > 0 { output.append(",\n") }
      output.append(json: row)
      if form == .lines { output.append("\n") }
      written += 1
      return true
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(report), as: UTF8.self)
    output.append(form == .object ? "\n]," : "{\"change\":\"summary\",")
    output.append(String(text.dropFirst()))
    output.append("\n")
    try output.finish()
    return report
  }
}

extension OutputBuffer {
  /// Appends a row that the two stores have with different values, as a JSON object. For each column that differs, the
  /// member `columns` has the old and the new value.
  fileprivate mutating func append(json row: StoreComparison.Row) {
    append("{\"change\":\"" + row.kind + "\",\"table\":")
    append(jsonString: row.table)
    member("entity", row.entity)
    append(row.entity == nil ? ",\"rowid\":" : ",\"pk\":")
    if let rowID = row.rowID { append(integer: rowID) } else { append("null") }
    append(",\"columns\":{")
    for (index, column) in row.columns.enumerated() {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(jsonString: column.name)
      append(":{")
      if let place = column.old, let old = row.change.old {
        append("\"old\":")
        append(json: old.values[safe: place])
      }
      if let place = column.new, let new = row.change.new {
        append(column.old == nil ? "\"new\":" : ",\"new\":")
        append(json: new.values[safe: place])
      }
      append("}")
    }
    append("}}")
  }
}
