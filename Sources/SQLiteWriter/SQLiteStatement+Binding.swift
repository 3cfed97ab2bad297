import CSQLite

/// SQLITE_TRANSIENT, a C macro that Swift cannot import. It is the value -1 in place of a destructor.
///
/// The value tells SQLite to copy the bytes before the call returns. SQLite only compares the value, and never calls it
/// as a function. The copy is needed because a pointer from `withUnsafeBytes` is valid only during the call.
private func copied() -> sqlite3_destructor_type {
  unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
}

extension SQLiteStatement {
  /// Resets the statement and binds one value to each parameter. Throws `parameters` and binds nothing when the number
  /// of values differs from the number of parameters. Also throws `closed` and `tooBig`.
  package func bind(_ values: [SQLiteValue]) throws(SQLiteWriterError) {
    _ = unsafe try live()
    guard values.count == parameterCount else {
      throw SQLiteWriterError(
        .parameters,
        "the statement has \(parameterCount) parameters, but \(values.count) values were given",
        path: writer.path, sql: sql)
    }
    // SQLite rejects a binding while the statement is running.
    reset()
    var index = 0
    for value in values {
      index += 1
      try bind(value, at: index)
    }
  }

  /// Binds a value to the parameter number `index`, from 1; NaN becomes NULL. The statement must have been reset after
  /// its last step. Throws `parameters` when there is no such parameter; `closed`; `tooBig`.
  package func bind(_ value: SQLiteValue, at index: Int) throws(SQLiteWriterError) {
    unsafe try bind(at: index) { unsafe Self.bind(value, $0, $1) }
  }

  /// Binds a value to a statement that has been reset, and returns SQLite's result code.
  static func bind(_ value: SQLiteValue, _ handle: OpaquePointer, _ index: Int32) -> Int32 {
    switch value {
    case .null: unsafe sqlite3_bind_null(handle, index)
    case .integer(let number): unsafe sqlite3_bind_int64(handle, index, number)
    case .real(let number): unsafe sqlite3_bind_double(handle, index, number)
    case .text(let bytes):
      unsafe bytes.withUnsafeBytes { unsafe bind(text: $0, handle, index) }
    case .blob(let bytes):
      unsafe bytes.withUnsafeBytes { unsafe bind(blob: $0, handle, index) }
    }
  }

  // MARK: - Internals

  /// Calls `bind` with the statement's handle and the parameter number `index`, and checks the result code.
  func bind(
    at index: Int, _ bind: (OpaquePointer, Int32) -> Int32
  ) throws(SQLiteWriterError) {
    let handle = unsafe try live()
    guard index >= 1, let index = Int32(exactly: index) else {
      throw SQLiteWriterError(
        .parameters, "the statement has no parameter \(index)", path: writer.path, sql: sql)
    }
    let result = unsafe bind(handle, index)
    guard result == SQLITE_OK else { throw writer.failure(result, sql: sql) }
  }

  /// Binds a copy of text. An empty buffer may have a null pointer, for which SQLite would bind NULL. So an empty text
  /// is bound from the address of a literal.
  static func bind(
    text: UnsafeRawBufferPointer, _ handle: OpaquePointer, _ index: Int32,
    encoding: Int32 = SQLITE_UTF8
  ) -> Int32 {
    guard let start = text.baseAddress, unsafe !text.isEmpty else {
      return unsafe sqlite3_bind_text64(
        handle, index, "", 0, copied(), UInt8(truncatingIfNeeded: SQLITE_UTF8))
    }
    return unsafe sqlite3_bind_text64(
      handle, index, start.assumingMemoryBound(to: CChar.self), sqlite3_uint64(text.count),
      copied(), UInt8(truncatingIfNeeded: encoding))
  }

  static func bind(
    blob: UnsafeRawBufferPointer, _ handle: OpaquePointer, _ index: Int32
  ) -> Int32 {
    guard let start = blob.baseAddress, unsafe !blob.isEmpty else {
      return unsafe sqlite3_bind_zeroblob(handle, index, 0)
    }
    return unsafe sqlite3_bind_blob64(handle, index, start, sqlite3_uint64(blob.count), copied())
  }
}
