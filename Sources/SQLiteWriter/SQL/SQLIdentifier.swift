/// Quotes names of tables, columns and indexes for use in SQL statements.
package enum SQLIdentifier {
  /// Returns a name between double quotes, with each double quote in the name doubled
  /// (<https://sqlite.org/lang_keywords.html>). Any name can be quoted unless it contains a NUL, at which the SQL would
  /// end early.
  ///
  /// - Parameter name: the name as it is in the schema, without quotes.
  /// - Returns: the name for use in an SQL statement, with its quotes.
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
