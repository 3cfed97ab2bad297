import CSQLite

extension SQLiteWriter {
  /// Runs one or more statements until they end. Rows that they return are ignored.
  ///
  /// - Parameter sql: the program's own SQL. For a definition from a file, use `define`.
  /// - Throws: `embeddedNUL`, `closed`, or what SQLite reports. The statements before the one that fails have been run.
  package func execute(_ sql: String) throws(SQLiteWriterError) {
    var bytes = [UInt8](sql.utf8)[...]
    while !bytes.isEmpty {
      let (statement, rest) = try compile(bytes)
      bytes = rest
      guard let statement else { continue }
      defer { statement.finalize() }
      while try statement.step() {}
    }
  }

  /// Compiles exactly one statement for repeated use. NULL is bound to each parameter. Throws `refused` when the SQL
  /// contains no statement or more than one; `embeddedNUL`, `closed`, or what SQLite reports.
  package func prepare(_ sql: String) throws(SQLiteWriterError) -> SQLiteStatement {
    let (statement, rest) = try compile([UInt8](sql.utf8)[...])
    guard let statement else { throw countError(sql) }
    guard try isBlank(rest) else {
      statement.finalize()
      throw countError(sql)
    }
    return statement
  }

  /// Runs one `CREATE TABLE`, `INDEX`, `VIEW` or `TRIGGER` statement that was read from a file. Anything else is
  /// refused before it runs, for example a second statement, a virtual or temporary table, or `CREATE TABLE … AS
  /// SELECT`.
  ///
  /// A definition can also affect later statements: a trigger runs when rows are inserted. So define triggers only
  /// after the last row has been inserted.
  ///
  /// - Parameter sql: the definition, as in the `sql` column of a schema.
  /// - Throws: `refused`, `embeddedNUL`, `closed`, or what SQLite reports.
  package func define(_ sql: String) throws(SQLiteWriterError) {
    let statement = try gate.definingOnly(sql) { () throws(SQLiteWriterError) in try prepare(sql) }
    defer { statement.finalize() }
    while try statement.step() {}
  }

  /// Runs one statement, with a value for each `?`, and returns all its rows, held in memory. Throws `refused`,
  /// `parameters`, `embeddedNUL`, `closed`, or what SQLite reports.
  package func rows(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteWriterError)
    -> [[SQLiteValue]]
  {
    let statement = try prepare(sql)
    defer { statement.finalize() }
    try statement.bind(values)
    var rows: [[SQLiteValue]] = []
    while try statement.step() { rows.append(statement.row) }
    return rows
  }

  /// Runs `body` in a transaction. Commits the transaction when `body` returns, and rolls it back when `body` throws.
  ///
  /// - Throws: `transactionOpen` when a transaction is already open; what `body` throws; or what SQLite reports for the
  ///   commit, in which case the transaction is rolled back.
  package func transaction<R>(_ body: () throws -> R) throws -> R {
    guard !isInTransaction else {
      throw SQLiteWriterError(
        .transactionOpen, "a transaction is open already; transactions do not nest", path: path)
    }
    try execute("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // After some errors SQLite has already rolled back the transaction, and ROLLBACK would only cause another error.
      if isInTransaction { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// The extent of SQLite's own check of a database.
  package enum CheckDepth: String, Sendable {
    /// UNIQUE constraints are not checked, and the entries of indexes are not compared with the rows of tables.
    /// Everything else is checked (<https://sqlite.org/pragma.html#pragma_quick_check>).
    case quick = "quick_check"
    /// SQLite checks the whole file with `PRAGMA integrity_check`
    /// (<https://sqlite.org/pragma.html#pragma_integrity_check>).
    case full = "integrity_check"
  }

  /// The maximum size in bytes of a file for which a full check always runs, because the check is fast.
  private static let smallBytes: Int64 = 32 << 20

  /// Returns the extent of the check of a finished file before the file gets its final name: `integrity_check` for a
  /// small file or if `verifies` is true, otherwise `quick_check`.
  package func finalCheckDepth(verifies: Bool) throws(SQLiteWriterError) -> CheckDepth {
    guard !verifies, case .integer(let count)? = try rows("PRAGMA page_count").first?.first,
      count > Self.smallBytes / Int64(options.pageSize)
    else { return .full }
    return .quick
  }

  /// Runs SQLite's own check of the database. Returns SQLite's messages about faults, at most 100; empty when the
  /// database is intact. Corruption that stops the check is returned as a message, too. Other errors are thrown.
  package func check(_ depth: CheckDepth = .full) throws(SQLiteWriterError) -> [String] {
    let rows: [[SQLiteValue]]
    do {
      rows = try self.rows("PRAGMA \(depth.rawValue)")
    } catch {
      // If the schema cannot be read, the check fails before its first message.
      let code = error.primaryResultCode
      guard code == SQLITE_CORRUPT || code == SQLITE_NOTADB else { throw error }
      return [error.message]
    }
    let findings = rows.map { row in
      guard case .text(let bytes)? = row.first else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }
    return findings == ["ok"] ? [] : findings
  }

  /// The row id of the row that was inserted last on this connection; 0 if no row was inserted, or if the writer is
  /// closed.
  package var lastInsertRowID: Int64 {
    guard let handle = unsafe handle else { return 0 }
    return unsafe sqlite3_last_insert_rowid(handle)
  }

  /// The number of rows that the last INSERT, UPDATE or DELETE statement has inserted, changed or deleted.
  package var changeCount: Int {
    guard let handle = unsafe handle else { return 0 }
    return unsafe Int(sqlite3_changes(handle))
  }

  // MARK: - Internals

  /// Compiles the first statement of `sql`. Returns the statement and the SQL after it. The statement is nil when only
  /// white space and comments come before the next semicolon or the end.
  private func compile(_ sql: ArraySlice<UInt8>) throws(SQLiteWriterError)
    -> (statement: SQLiteStatement?, rest: ArraySlice<UInt8>)
  {
    guard let handle = unsafe handle else { throw closedError }
    guard !sql.contains(0) else {
      throw SQLiteWriterError(
        .embeddedNUL, "SQL cannot contain a NUL; bind the value as a parameter", path: path,
        sql: excerpt(sql))
    }
    guard let length = Int32(exactly: sql.count) else {
      throw SQLiteWriterError(.tooBig, "the SQL is longer than 2 GiB", path: path)
    }
    var compiled: OpaquePointer?
    var used = sql.count
    let result = unsafe sql.withUnsafeBytes { bytes in
      let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      var tail: UnsafePointer<CChar>?
      let result = unsafe sqlite3_prepare_v2(handle, start, length, &compiled, &tail)
      if let start = unsafe start, let tail = unsafe tail { used = unsafe tail - start }
      return result
    }
    guard result == SQLITE_OK else { throw failure(result, sql: excerpt(sql)) }
    let rest = sql.dropFirst(used)
    guard let compiled = unsafe compiled else {
      // SQLite counts bytes that it skips as used. So if it has compiled nothing and used no bytes, no SQL is left.
      return (nil, used == 0 ? [] : rest)
    }
    let statement = unsafe SQLiteStatement(
      writer: self, handle: compiled, sql: excerpt(sql.dropLast(rest.count)))
    statements[ObjectIdentifier(statement)] = WeakStatement(statement: statement)
    return (statement, rest)
  }

  /// Whether `sql` contains only white space, semicolons and comments.
  private func isBlank(_ sql: ArraySlice<UInt8>) throws(SQLiteWriterError) -> Bool {
    var rest = sql
    while !rest.isEmpty {
      let (statement, next) = try compile(rest)
      guard statement == nil else {
        statement?.finalize()
        return false
      }
      rest = next
    }
    return true
  }

  private func countError(_ sql: String) -> SQLiteWriterError {
    SQLiteWriterError(
      .refused, "exactly one statement is needed", path: path, sql: SQLExcerpt.masked(sql))
  }

  private func excerpt(_ sql: ArraySlice<UInt8>) -> String {
    // Masking may shorten a long literal to one `?`, so more bytes are masked than an excerpt can have.
    SQLExcerpt.masked(String(decoding: sql.prefix(4 * SQLExcerpt.maximumLength), as: UTF8.self))
  }

  /// Returns the error that SQLite has just reported on this connection.
  func failure(_ result: Int32, sql: String?) -> SQLiteWriterError {
    var message = ""
    var extended = result
    var systemError: Int32?
    if let handle = unsafe handle {
      // The connection's own code may be more exact, but after a misuse it belongs to an earlier error.
      let reported = unsafe sqlite3_extended_errcode(handle)
      if reported & 0xff == result & 0xff { extended = reported }
      if let text = unsafe sqlite3_errmsg(handle) { message = unsafe String(cString: text) }
      let number = unsafe sqlite3_system_errno(handle)
      if number != 0, result & 0xff == SQLITE_IOERR || result & 0xff == SQLITE_CANTOPEN {
        systemError = number
      }
    }
    let code = SQLiteWriterError.Code(result: result)
    if code == .tooLong { message = "the expressions of a table or index take too long to compute" }
    return SQLiteWriterError(
      code, SQLExcerpt.maskedMessage(message), path: path, resultCode: extended,
      systemError: systemError, sql: sql)
  }
}
