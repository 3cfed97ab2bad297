/// Quotes the names of tables, columns and indexes for SQL.
package enum SQLIdentifier {
  /// The name between double quotes, with each double quote in the name doubled
  /// (<https://sqlite.org/lang_keywords.html>). Any name can be quoted, except one that contains a NUL: the NUL would
  /// end the SQL early.
  ///
  /// - Parameter name: the name as in the schema, unquoted.
  /// - Returns: the name for use in SQL, quotes included.
  /// - Throws: `embeddedNUL` when the name contains a NUL.
  package static func quoted(_ name: String) throws(SQLiteWriterError) -> String {
    var result = "\""
    for scalar in name.unicodeScalars {
      guard scalar != "\0" else {
        throw SQLiteWriterError(
          .embeddedNUL, "a name in SQL cannot contain a NUL; rename the table or column", path: "")
      }
      if scalar == "\"" { result.unicodeScalars.append("\"") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}
