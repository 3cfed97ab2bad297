extension SQLiteWriter {
  /// Adds a virtual table to the schema without running its module: the ordinary tables that hold its content already
  /// exist. This is the last step of writing a file.
  ///
  /// - Parameters:
  ///   - name: the table's name.
  ///   - sql: its `CREATE VIRTUAL TABLE` statement.
  /// - Throws: `refused` when the statement is another one, or what SQLite reports.
  package func registerVirtualTable(_ name: String, sql: String) throws(SQLiteWriterError) {
    let words = sql.split(maxSplits: 3, whereSeparator: \.isWhitespace).prefix(3)
    guard words.map({ $0.uppercased() }) == ["CREATE", "VIRTUAL", "TABLE"],
      !name.utf8.contains(0), !sql.utf8.contains(0)
    else {
      throw SQLiteWriterError(
        .refused, "this does not define a virtual table", path: path, sql: SQLExcerpt.masked(sql))
    }
    // A statement that SQLite cannot read, or that names another table, would make the whole file unreadable. Compiling
    // the statement runs nothing.
    gate.forgetVirtualTable()
    try prepare(sql).finalize()
    guard gate.virtualTable?.lowercased() == name.lowercased() else {
      throw SQLiteWriterError(
        .refused, "this defines a virtual table of another name", path: path,
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
