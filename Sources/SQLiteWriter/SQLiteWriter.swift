import CSQLite

/// A new SQLite database. No other target of Lifeboat uses libsqlite3.
///
/// A writer creates its file and never opens an existing file, so it cannot damage other files. A writer is not
/// `Sendable`: only one task at a time may use the writer and its statements.
///
/// End a writer with `close()`, or with `discard()` if the work has failed. If a writer is released without either
/// call, an open transaction is rolled back and the file remains in place.
@safe package final class SQLiteWriter {
  /// The path of the database, absolute and without symbolic links.
  package let path: String
  package let options: Options

  let file: NewFile
  let gate: SchemaGate
  let meter = WorkMeter()
  var handle: OpaquePointer?
  /// The statements that have not been finalised. `close()` finalises them.
  var statements: [ObjectIdentifier: WeakStatement] = [:]

  struct WeakStatement {
    weak var statement: SQLiteStatement?
  }

  /// Creates a database at a path where nothing exists.
  ///
  /// The database header is written at once. This fixes the options, and makes even a database without tables a valid
  /// file. If creation fails, the new file is removed.
  ///
  /// - Parameters:
  ///   - path: the path of the new database. The folder must exist. Nothing may exist at the path itself, nor at the
  ///     path with the suffix `-journal`, `-wal` or `-shm`, not even a symbolic link that leads nowhere.
  ///   - options: page size, journal, vacuum, encoding, permissions.
  /// - Throws: `SQLiteWriterError`: `exists`, `cannotCreate`, `cannotOpen`, `replaced`, `badOption`, or what SQLite
  ///   reports.
  package init(creating path: String, options: Options = Options()) throws(SQLiteWriterError) {
    guard (512...65_536).contains(options.pageSize),
      options.pageSize & (options.pageSize - 1) == 0
    else {
      throw SQLiteWriterError(
        .badOption, "the page size must be a power of two from 512 to 65536", path: path)
    }
    file = try NewFile(creating: path, permissions: options.permissions)
    self.path = file.path
    self.options = options
    gate = SchemaGate()
    do {
      try open()
    } catch {
      release()
      _ = file.remove()
      throw error
    }
  }

  deinit {
    release()
  }

  package var isOpen: Bool {
    unsafe handle != nil
  }

  package var isInTransaction: Bool {
    guard let handle = unsafe handle else { return false }
    return unsafe sqlite3_get_autocommit(handle) == 0
  }

  /// Finalises all statements, checkpoints the write-ahead log, closes the database and syncs its folder. The file
  /// itself is synced by each commit, unless ``Options/isSynchronous`` is false.
  ///
  /// - Throws: `closed` when the writer is already closed; `transactionOpen` when a transaction is open, in which case
  ///   nothing is closed; what SQLite reports for the checkpoint, in which case the file remains open for `discard()`;
  ///   `inputOutput` when the folder cannot be synced, in which case the file is closed.
  package func close() throws(SQLiteWriterError) {
    guard isOpen else { throw closedError }
    guard !isInTransaction else {
      throw SQLiteWriterError(
        .transactionOpen, "a transaction is open; commit it, or discard the file", path: path)
    }
    finalizeStatements()
    if options.journalMode == .wal {
      // Closing the connection would checkpoint the log too, but would not report a failure.
      let outcome = try rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.first
      guard outcome == .integer(0) else {
        throw SQLiteWriterError(
          .sqlite, "the write-ahead log is in use and cannot be checkpointed", path: path,
          resultCode: SQLITE_BUSY)
      }
      finalizeStatements()
    }
    release()
    if let error = file.synchronizeFolder() {
      throw SQLiteWriterError(
        .inputOutput, "the folder cannot be synced", path: path, systemError: error)
    }
  }

  /// Closes the database and removes the file that this writer has created, together with its `-journal`, `-wal` and
  /// `-shm`. After `close()`, this removes the finished file. May be called repeatedly.
  ///
  /// - Returns: false when the file no longer exists, or when another file has taken its place.
  @discardableResult
  package func discard() -> Bool {
    release()
    return file.remove()
  }

  // MARK: - Internals

  var closedError: SQLiteWriterError {
    SQLiteWriterError(.closed, "the database has been closed", path: path)
  }

  /// Finalises all statements and closes the connection. If a transaction is open, SQLite rolls it back.
  func release() {
    finalizeStatements()
    guard let handle = unsafe handle else { return }
    unsafe self.handle = nil
    _ = unsafe sqlite3_close_v2(handle)
  }

  private func finalizeStatements() {
    for entry in statements.values { entry.statement?.finalize() }
    statements.removeAll()
  }

  private func open() throws(SQLiteWriterError) {
    let handle = unsafe try connect(SQLITE_OPEN_READWRITE)
    try apply()
    if let most = options.maxPages { try execute("PRAGMA max_page_count = \(max(1, most))") }
    gate.allow(functions: try Self.harmlessFunctions(rows(Self.functionList)))
    unsafe gate.install(on: handle)
  }

  /// Connects SQLite to the file, with limits that protect against SQL of unknown origin. `access`:
  /// SQLITE_OPEN_READWRITE or SQLITE_OPEN_READONLY.
  func connect(_ access: Int32) throws(SQLiteWriterError) -> OpaquePointer {
    var opened: OpaquePointer?
    let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    // SQLite returns a connection even after most failures. Such a connection must be closed, so it is stored first.
    unsafe handle = opened
    guard result == SQLITE_OK, let handle = unsafe opened else {
      throw SQLiteWriterError(
        .cannotOpen, "SQLite cannot open the new file", path: path, resultCode: result)
    }
    guard file.isInPlace else { throw file.replaced }
    _ = unsafe sqlite3_extended_result_codes(handle, 1)
    #if !canImport(Darwin)
      // Apple's own SQLite is built without extension loading, and without this function.
      _ = unsafe sqlite3_enable_load_extension(handle, 0)
    #endif
    // No other database may be attached, except by `attaching`. As a consequence, VACUUM is refused too, because it
    // attaches a scratch database. A database that is written once needs no VACUUM.
    _ = unsafe sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0)
    if let most = options.maxValueBytes {
      _ = unsafe sqlite3_limit(
        handle, SQLITE_LIMIT_LENGTH, Int32(clamping: max(Self.minValueBytes, most)))
    }
    return unsafe handle
  }

  /// Sets the options, writes the database header, and reads the options back, because SQLite silently ignores a pragma
  /// value that it does not accept.
  private func apply() throws(SQLiteWriterError) {
    // The gate decides which functions a definition may call. With this pragma off, SQLite would forbid the JSON
    // functions too, because older versions of the library do not mark them as innocuous.
    try execute("PRAGMA trusted_schema = ON")
    try execute("PRAGMA foreign_keys = OFF")
    try execute("PRAGMA synchronous = \(options.isSynchronous ? "FULL" : "OFF")")
    if let size = options.cacheKiB { try execute("PRAGMA cache_size = -\(max(0, size))") }
    if !options.isSynchronous {
      try execute("PRAGMA locking_mode = EXCLUSIVE")
      // SQLite sorts the entries of a large index on a second thread. If the library has no thread support, this pragma
      // has no effect.
      try execute("PRAGMA threads = 1")
    }
    #if canImport(Darwin)
      // fsync on Apple platforms does not reach the storage medium; F_FULLFSYNC does.
      try execute("PRAGMA fullfsync = ON")
    #endif
    // The journal mode is set before the first write, so that a journal in memory never exists as a file. WAL mode can
    // only be set after the file has been written.
    if options.journalMode != .wal {
      try execute("PRAGMA journal_mode = \(options.journalMode.rawValue)")
    }
    try execute("PRAGMA page_size = \(options.pageSize)")
    try execute("PRAGMA auto_vacuum = \(options.autoVacuum.rawValue)")
    try execute("PRAGMA encoding = '\(options.encoding.rawValue)'")
    try execute("BEGIN IMMEDIATE; COMMIT")
    if options.journalMode == .wal {
      try execute("PRAGMA journal_mode = \(options.journalMode.rawValue)")
    }

    try expect("page_size", .integer(Int64(options.pageSize)))
    try expect("auto_vacuum", .integer(options.autoVacuum.rawValue))
    try expect("encoding", .string(options.encoding.rawValue))
    try expect("journal_mode", .string(options.journalMode.rawValue))
  }

  private func expect(_ pragma: String, _ value: SQLiteValue) throws(SQLiteWriterError) {
    guard try rows("PRAGMA \(pragma)") == [[value]] else {
      throw SQLiteWriterError(
        .badOption, "SQLite does not accept the option \(pragma)", path: path)
    }
  }
}
