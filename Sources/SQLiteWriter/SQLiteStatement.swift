import CSQLite

/// A compiled statement of a `SQLiteWriter`.
///
/// Parameters are numbered from 1 and columns from 0, as in SQLite. Values are copied when they are read and, except in
/// ``run(over:_:)``, when they are bound. So the caller may change or free a buffer after each call. A statement is
/// finalised when it is released or when its writer is closed, whichever comes first.
@safe package final class SQLiteStatement {
  /// The beginning of the statement's SQL, with its literals masked.
  package let sql: String

  let writer: SQLiteWriter
  private var handle: OpaquePointer?

  init(writer: SQLiteWriter, handle: OpaquePointer, sql: String) {
    self.writer = writer
    unsafe self.handle = handle
    self.sql = sql
  }

  deinit {
    finalize()
  }

  package var parameterCount: Int {
    guard let handle = unsafe handle else { return 0 }
    return Int(unsafe sqlite3_bind_parameter_count(handle))
  }

  /// Runs the statement up to its next row.
  ///
  /// - Returns: true when there is a row to read; false when the statement has ended.
  /// - Throws: `closed`; or what SQLite reports, in which case the statement is reset.
  @discardableResult
  package func step() throws(SQLiteWriterError) -> Bool {
    let handle = unsafe try live()
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let result:
      let error = writer.failure(result, sql: sql)
      _ = unsafe sqlite3_reset(handle)
      throw error
    }
  }

  /// Resets the statement, so that it can run again. Bound values remain bound.
  package func reset() {
    guard let handle = unsafe handle else { return }
    _ = unsafe sqlite3_reset(handle)
  }

  /// Binds one value to each parameter, runs the statement until it ends, and resets it. Throws `parameters` when the
  /// number of values differs from the number of parameters; `closed`; or what SQLite reports.
  package func run(_ values: [SQLiteValue]) throws(SQLiteWriterError) {
    try bind(values)
    try run()
  }

  package func run() throws(SQLiteWriterError) {
    while try step() {}
    reset()
  }

  /// Frees the statement. It cannot be used afterwards, but this method may be called again.
  package func finalize() {
    guard let handle = unsafe handle else { return }
    unsafe self.handle = nil
    writer.statements[ObjectIdentifier(self)] = nil
    _ = unsafe sqlite3_finalize(handle)
  }

  func live() throws(SQLiteWriterError) -> OpaquePointer {
    guard let handle = unsafe handle else {
      throw SQLiteWriterError(
        .closed, "the statement has been closed", path: writer.path, sql: sql)
    }
    return unsafe handle
  }

  // MARK: - Columns

  /// All values of the current row, in column order; empty when there is no row.
  package var row: [SQLiteValue] {
    guard let handle = unsafe handle else { return [] }
    let count = Int(unsafe sqlite3_data_count(handle))
    return (0..<count).map { value(at: $0) }
  }

  /// Returns a value of the current row, in its own storage class. Text is returned as UTF-8. The result is `null` when
  /// there is no such column or no row.
  package func value(at column: Int) -> SQLiteValue {
    guard let (handle, index) = unsafe position(column) else { return .null }
    return unsafe Self.value(handle, index)
  }

  /// Returns a value of the current row of the statement with the given handle. The row must have the column.
  static func value(_ handle: OpaquePointer, _ index: Int32) -> SQLiteValue {
    switch unsafe sqlite3_column_type(handle, index) {
    case SQLITE_INTEGER: .integer(unsafe sqlite3_column_int64(handle, index))
    case SQLITE_FLOAT: .real(unsafe sqlite3_column_double(handle, index))
    case SQLITE_TEXT: .text(unsafe text(handle, index))
    case SQLITE_BLOB: .blob(unsafe blob(handle, index))
    default: .null
    }
  }

  /// Returns a value of the current row, converted to an integer by SQLite's rules; 0 for NULL, and when there is no
  /// such column.
  package func integer(at column: Int) -> Int64 {
    guard let (handle, index) = unsafe position(column) else { return 0 }
    return unsafe sqlite3_column_int64(handle, index)
  }

  private static func text(_ handle: OpaquePointer, _ index: Int32) -> [UInt8] {
    // The text must be read before its length, because reading the text may convert it.
    guard let text = unsafe sqlite3_column_text(handle, index) else { return [] }
    let count = Int(unsafe sqlite3_column_bytes(handle, index))
    return unsafe [UInt8](UnsafeBufferPointer(start: text, count: count))
  }

  private static func blob(_ handle: OpaquePointer, _ index: Int32) -> [UInt8] {
    guard let bytes = unsafe sqlite3_column_blob(handle, index) else { return [] }
    let count = Int(unsafe sqlite3_column_bytes(handle, index))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// Returns the arguments of SQLite's column functions: the handle and the column index. Returns nil when there is no
  /// such column or no row; SQLite would then report a misuse.
  private func position(_ column: Int) -> (OpaquePointer, Int32)? {
    guard let handle = unsafe handle, column >= 0,
      column < Int(unsafe sqlite3_data_count(handle))
    else { return nil }
    return unsafe (handle, Int32(column))
  }
}
