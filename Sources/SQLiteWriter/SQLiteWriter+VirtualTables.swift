import CSQLite

extension SQLiteWriter {
  /// Adds a virtual table to the schema without running the table's module. The ordinary tables that contain the
  /// virtual table's content must already exist. Adding virtual tables must be the last step of writing a file.
  ///
  /// - Throws: `refused` when `sql` is not a CREATE VIRTUAL TABLE statement, or creates a table with another name. Also
  ///   throws what SQLite reports.
  package func registerVirtualTable(_ name: String, sql: String) throws(SQLiteWriterError) {
    let words = sql.split(maxSplits: 3, whereSeparator: \.isWhitespace).prefix(3)
    guard words.map({ $0.uppercased() }) == ["CREATE", "VIRTUAL", "TABLE"],
      !name.utf8.contains(0), !sql.utf8.contains(0)
    else {
      throw SQLiteWriterError(
        .refused, "the SQL is not CREATE VIRTUAL TABLE", path: path, sql: SQLExcerpt.masked(sql))
    }
    // A statement in the schema that SQLite cannot read, or that names another table, would make the whole file
    // unreadable. So the statement is compiled first, which does not run the module.
    gate.forgetVirtualTable()
    try prepare(sql).finalize()
    // SQLite ignores the case of ASCII letters only.
    guard let made = gate.virtualTable, unsafe sqlite3_stricmp(made, name) == 0 else {
      throw SQLiteWriterError(
        .refused, "the SQL defines a virtual table with another name", path: path,
        sql: SQLExcerpt.masked(sql))
    }
    try gate.openingSchema { () throws(SQLiteWriterError) in
      try execute("PRAGMA writable_schema = ON")
      defer { try? execute("PRAGMA writable_schema = OFF") }
      let insert = try prepare(
        "INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES('table', ?1, ?1, 0, ?2)"
      )
      defer { insert.finalize() }
      try insert.run([.string(name), .string(sql)])
    }
  }
}
