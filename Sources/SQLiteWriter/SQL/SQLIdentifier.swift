package enum SQLIdentifier {
  /// Returns a name between double quotes, with each double quote in the name doubled
  /// (<https://sqlite.org/lang_keywords.html>). Throws `embeddedNUL` when the name contains a NUL, at which the SQL
  /// would end early.
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
