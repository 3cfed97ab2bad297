/// Names of tables, columns and indexes in SQL.
package enum SQLIdentifier {
  /// The name between double quotes, with each double quote in it doubled, as <https://sqlite.org/lang_keywords.html>
  /// asks for. Any name can be quoted except one with a NUL, which would end the SQL early.
  ///
  /// - Parameter name: the name as in the schema, unquoted.
  /// - Returns: the name for use in SQL, quotes included.
  /// - Throws: `SQLiteWriterError` with code `embeddedNUL`.
  package static func quoted(_ name: String) throws(SQLiteWriterError) -> String {
    var result = "\""
    for scalar in name.unicodeScalars {
      guard scalar != "\0" else {
        throw SQLiteWriterError(
          .embeddedNUL, "a name in SQL cannot hold a NUL; rename the table or column", path: "")
      }
      if scalar == "\"" { result.unicodeScalars.append("\"") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}
