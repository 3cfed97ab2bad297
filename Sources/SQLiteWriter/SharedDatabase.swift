import CLibrary
import CSQLite
import SafeFiles
import SafeText

/// A database of Lifeboat's own that is used in several runs, and to which several processes may write at the same
/// time.
///
/// This class only opens databases; ``SQLiteWriter`` creates them. SQLite may write to a file that it opens, so the
/// caller must first check by the file's header that the file is Lifeboat's own. Each write waits for other writers, up
/// to a time limit.
@safe package final class SharedDatabase {
  /// The path of the database, with all symbolic links of its folder resolved.
  package let path: String
  private var handle: OpaquePointer?
  private var statements: [String: OpaquePointer] = unsafe [:]

  /// The maximum number of compiled statements that are kept. When it is reached, all of them are finalised before
  /// another one is compiled.
  private static let maxStatements = 64

  /// Opens a database. Throws `cannotOpen`, or what SQLite reports.
  ///
  /// `path`: the path of the file. A symbolic link as its last component is refused.
  /// `patience`: the time in seconds that a statement waits for the locks of other processes.
  package init(opening path: String, isReadOnly: Bool, patience: Int) throws(SQLiteWriterError) {
    guard !path.utf8.contains(0), let folder = SystemCalls.realPath(PathText.folder(of: path))
    else {
      throw SQLiteWriterError(
        .cannotOpen, "the folder cannot be reached", path: path, systemError: errno)
    }
    self.path = PathText.joined(folder, PathText.lastComponent(of: path))
    var opened: OpaquePointer?
    let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
    let result = unsafe sqlite3_open_v2(self.path, &opened, flags, nil)
    unsafe handle = opened
    guard result == SQLITE_OK, let handle = unsafe opened else {
      // All properties are initialized, so `deinit` runs and closes the database.
      throw SQLiteWriterError(
        .cannotOpen, "SQLite cannot open the file", path: path, resultCode: result)
    }
    _ = unsafe sqlite3_extended_result_codes(handle, 1)
    _ = unsafe sqlite3_busy_timeout(handle, Int32(clamping: patience * 1000))
    _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    // Another program may have added a view or a generated column. These must not call functions with side effects.
    for pragma in ["trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL"] {
      try rows("PRAGMA \(pragma)")
    }
  }

  deinit { close() }

  /// Closes the database. May be called repeatedly.
  package func close() {
    guard let handle = unsafe handle else { return }
    finalizeStatements()
    unsafe self.handle = nil
    _ = unsafe sqlite3_close_v2(handle)
  }

  /// Runs one statement of the program's own SQL, with a value for each `?`, and returns all its rows, held in memory.
  /// Throws `parameters`, `closed`, or what SQLite reports.
  @discardableResult
  package func rows(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteWriterError)
    -> [[SQLiteValue]]
  {
    let statement = unsafe try compiled(sql)
    defer {
      unsafe _ = sqlite3_reset(statement)
      unsafe _ = sqlite3_clear_bindings(statement)
    }
    let parameterCount = unsafe Int(sqlite3_bind_parameter_count(statement))
    guard parameterCount == values.count else {
      throw SQLiteWriterError(
        .parameters,
        "the statement has \(parameterCount) parameters, but \(values.count) values were given",
        path: path)
    }
    for (index, value) in values.enumerated() {
      guard unsafe SQLiteStatement.bind(value, statement, Int32(index + 1)) == SQLITE_OK else {
        throw failure(sql)
      }
    }
    var rows: [[SQLiteValue]] = []
    while true {
      switch unsafe sqlite3_step(statement) {
      case SQLITE_ROW:
        rows.append(
          unsafe (0..<sqlite3_column_count(statement)).map { index in
            unsafe SQLiteStatement.value(statement, index)
          })
      case SQLITE_DONE: return rows
      default: throw failure(sql)
      }
    }
  }

  /// Returns the names of the columns that a query returns, in order. The query is compiled but not run.
  package func columns(of sql: String) throws(SQLiteWriterError) -> [String] {
    let statement = unsafe try compiled(sql)
    return unsafe (0..<sqlite3_column_count(statement)).map { index in
      unsafe sqlite3_column_name(statement, index).map { unsafe String(cString: $0) } ?? ""
    }
  }

  /// Runs `body` in a transaction. The transaction takes the write lock when it begins, so that no other process writes
  /// before it ends. It is committed when `body` returns, and rolled back when `body` throws.
  ///
  /// - Throws: what `body` throws, or what SQLite reports. After an error, nothing that `body` wrote remains in the
  ///   database.
  package func transaction<R>(_ body: () throws -> R) throws -> R {
    try rows("BEGIN IMMEDIATE")
    do {
      let result = try body()
      try rows("COMMIT")
      return result
    } catch {
      if let handle = unsafe handle, unsafe sqlite3_get_autocommit(handle) == 0 {
        _ = try? rows("ROLLBACK")
      }
      throw error
    }
  }

  // MARK: - Statements

  private func compiled(_ sql: String) throws(SQLiteWriterError) -> OpaquePointer {
    guard let handle = unsafe handle else {
      throw SQLiteWriterError(.closed, "the database has been closed", path: path)
    }
    if let statement = unsafe statements[sql] { return unsafe statement }
    if unsafe statements.count >= Self.maxStatements {
      finalizeStatements()
    }
    var statement: OpaquePointer?
    let result = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard result == SQLITE_OK, let statement = unsafe statement else { throw failure(sql) }
    unsafe statements[sql] = statement
    return unsafe statement
  }

  private func finalizeStatements() {
    unsafe statements.values.forEach { statement in unsafe _ = sqlite3_finalize(statement) }
    unsafe statements = [:]
  }

  private func failure(_ sql: String) -> SQLiteWriterError {
    guard let handle = unsafe handle else {
      return SQLiteWriterError(.closed, "the database has been closed", path: path)
    }
    let code = unsafe sqlite3_extended_errcode(handle)
    let text = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
    return SQLiteWriterError(
      SQLiteWriterError.Code(result: code), SQLExcerpt.maskedMessage(text), path: path,
      resultCode: code, sql: SQLExcerpt.masked(sql))
  }
}
