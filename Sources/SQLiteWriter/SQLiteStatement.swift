import CSQLite

/// A compiled statement of a `SQLiteWriter`.
///
/// Parameters are numbered from 1 and columns from 0, as in SQLite. Values are copied when they are bound and when they
/// are read, so no buffer has to outlive the call. A statement is finalised when it is released or its writer is
/// closed, whichever comes first.
@safe package final class SQLiteStatement {
  /// The beginning of the SQL with its literals masked.
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

  /// How many parameters the statement has.
  package var parameterCount: Int {
    guard let handle = unsafe handle else { return 0 }
    return Int(unsafe sqlite3_bind_parameter_count(handle))
  }

  /// Runs the statement up to its next row.
  ///
  /// - Returns: true when there is a row to read, false when the statement is done.
  /// - Throws: `closed`; or what SQLite reports, and then the statement is reset.
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

  /// Makes the statement ready to run again. Bound values stay bound.
  package func reset() {
    guard let handle = unsafe handle else { return }
    _ = unsafe sqlite3_reset(handle)
  }

  /// Binds the values, runs the statement to its end and resets it, for example to insert one row.
  ///
  /// - Parameter values: one for each parameter.
  /// - Throws: `parameters` when there are more or fewer values than parameters; `closed`; or what SQLite reports.
  package func run(_ values: [SQLiteValue]) throws(SQLiteWriterError) {
    try bind(values)
    try run()
  }

  /// Runs the statement to its end with the values that are bound, and resets it.
  package func run() throws(SQLiteWriterError) {
    while try step() {}
    reset()
  }

  /// Frees the statement, which cannot be used afterwards. May be repeated.
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

  /// How many columns a row has; 0 for a statement that returns no rows.
  package var columnCount: Int {
    guard let handle = unsafe handle else { return 0 }
    return Int(unsafe sqlite3_column_count(handle))
  }

  /// All values of the current row, in column order; empty when there is no row.
  package var row: [SQLiteValue] {
    guard let handle = unsafe handle else { return [] }
    let count = Int(unsafe sqlite3_data_count(handle))
    return (0..<count).map { value(at: $0) }
  }

  /// A value of the current row in the storage class that it has; text as UTF-8.
  ///
  /// - Parameter column: the column's index, from 0.
  /// - Returns: the value; null for a missing column, and when there is no row.
  package func value(at column: Int) -> SQLiteValue {
    guard let (handle, index) = unsafe position(column) else { return .null }
    switch unsafe sqlite3_column_type(handle, index) {
    case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(handle, index))
    case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(handle, index))
    case SQLITE_TEXT: return .text(text(at: column))
    case SQLITE_BLOB: return .blob(blob(at: column))
    default: return .null
    }
  }

  /// A value of the current row as an integer, converted by SQLite's rules; 0 for NULL and for a missing column.
  package func integer(at column: Int) -> Int64 {
    guard let (handle, index) = unsafe position(column) else { return 0 }
    return unsafe sqlite3_column_int64(handle, index)
  }

  /// A value of the current row as a floating-point number, converted by SQLite's rules; 0 for NULL and for a missing
  /// column.
  package func real(at column: Int) -> Double {
    guard let (handle, index) = unsafe position(column) else { return 0 }
    return unsafe sqlite3_column_double(handle, index)
  }

  /// A value of the current row as UTF-8 bytes, converted by SQLite's rules; empty for NULL and for a missing column.
  package func text(at column: Int) -> [UInt8] {
    guard let (handle, index) = unsafe position(column) else { return [] }
    // The text must be fetched before its length, because fetching may convert it.
    guard let text = unsafe sqlite3_column_text(handle, index) else { return [] }
    let count = Int(unsafe sqlite3_column_bytes(handle, index))
    return unsafe [UInt8](UnsafeBufferPointer(start: text, count: count))
  }

  /// A value of the current row as bytes; for text, the bytes in the encoding of the database. Empty for NULL and for a
  /// missing column.
  package func blob(at column: Int) -> [UInt8] {
    guard let (handle, index) = unsafe position(column) else { return [] }
    guard let bytes = unsafe sqlite3_column_blob(handle, index) else { return [] }
    let count = Int(unsafe sqlite3_column_bytes(handle, index))
    return unsafe [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// The handle and the column index for SQLite's column functions; nil for a missing column, and when there is no row,
  /// where SQLite would report a misuse.
  private func position(_ column: Int) -> (OpaquePointer, Int32)? {
    guard let handle = unsafe handle, column >= 0,
      column < Int(unsafe sqlite3_data_count(handle))
    else { return nil }
    return unsafe (handle, Int32(column))
  }
}
