import CSQLite

extension SQLiteStatement {
  /// Binds values to parameters for a single run of a statement, in ``SQLiteStatement/run(over:_:)``. Parameters are
  /// numbered from 1. Texts and blobs are ranges of the bytes that `run` receives, and are not copied.
  @safe package struct ScopedBinding: ~Copyable {
    fileprivate let handle: OpaquePointer
    fileprivate let start: UnsafeRawPointer?
    fileprivate let count: Int
    fileprivate var result = SQLITE_OK

    package mutating func null(at index: Int) {
      note(unsafe sqlite3_bind_null(handle, Int32(truncatingIfNeeded: index)))
    }

    package mutating func integer(_ value: Int64, at index: Int) {
      note(unsafe sqlite3_bind_int64(handle, Int32(truncatingIfNeeded: index), value))
    }

    /// Binds a float; SQLite stores NaN as NULL.
    package mutating func real(_ value: Double, at index: Int) {
      note(unsafe sqlite3_bind_double(handle, Int32(truncatingIfNeeded: index), value))
    }

    /// Binds UTF-8 text: the `length` bytes from `offset` on. If the range is not within the bytes of the row, binds
    /// NULL.
    package mutating func text(_ offset: Int, _ length: Int, at index: Int) {
      guard let part = unsafe part(offset, length) else { return null(at: index) }
      note(
        unsafe sqlite3_bind_text64(
          handle, Int32(truncatingIfNeeded: index), part.assumingMemoryBound(to: CChar.self),
          sqlite3_uint64(length), nil, UInt8(truncatingIfNeeded: SQLITE_UTF8)))
    }

    /// Binds a copy of UTF-16 text. A lone surrogate is only preserved in text that is bound as UTF-16. `units`: the
    /// code units in this machine's byte order.
    package mutating func text(utf16 units: [UInt16], at index: Int) {
      note(
        unsafe units.withUnsafeBytes {
          unsafe SQLiteStatement.bind(
            text: $0, handle, Int32(truncatingIfNeeded: index), encoding: SQLITE_UTF16)
        })
    }

    /// Binds a copy of UTF-8 text, which need not be within the bytes of the row.
    package mutating func text(copying bytes: [UInt8], at index: Int) {
      note(
        unsafe bytes.withUnsafeBytes {
          unsafe SQLiteStatement.bind(text: $0, handle, Int32(truncatingIfNeeded: index))
        })
    }

    /// Binds a blob: the `length` bytes from `offset` on. If the range is not within the bytes of the row, binds NULL.
    package mutating func blob(_ offset: Int, _ length: Int, at index: Int) {
      guard let part = unsafe part(offset, length) else { return null(at: index) }
      guard length > 0 else {
        return note(unsafe sqlite3_bind_zeroblob(handle, Int32(truncatingIfNeeded: index), 0))
      }
      note(
        unsafe sqlite3_bind_blob64(
          handle, Int32(truncatingIfNeeded: index), part, sqlite3_uint64(length), nil))
    }

    private func part(_ offset: Int, _ length: Int) -> UnsafeRawPointer? {
      guard offset >= 0, length >= 0, offset <= count, length <= count - offset else { return nil }
      // Empty text needs an address, because SQLite would bind NULL for a null pointer.
      guard length > 0, let start = unsafe start else {
        let empty: StaticString = ""
        return unsafe UnsafeRawPointer(empty.utf8Start)
      }
      return unsafe start + offset
    }

    private mutating func note(_ code: Int32) {
      if result == SQLITE_OK { result = code }
    }
  }

  /// Binds one row, runs the statement until it ends, resets the statement, and clears the bindings. Texts and blobs
  /// within `bytes` are not copied until SQLite builds the record. Throws `closed`, or what SQLite reports. Also after
  /// an error, no value remains bound.
  ///
  /// `bytes`: the bytes that contain all texts and blobs of the row.
  package func run(over bytes: RawSpan, _ bind: (inout ScopedBinding) -> Void)
    throws(SQLiteWriterError)
  {
    let handle = unsafe try live()
    let result = unsafe bytes.withUnsafeBytes { buffer in
      var binding = unsafe ScopedBinding(
        handle: handle, start: buffer.baseAddress, count: buffer.count)
      bind(&binding)
      var result = binding.result
      if result == SQLITE_OK {
        repeat { result = unsafe sqlite3_step(handle) } while result == SQLITE_ROW
      }
      return result
    }
    let error =
      result == SQLITE_DONE || result == SQLITE_OK ? nil : writer.failure(result, sql: sql)
    _ = unsafe sqlite3_reset(handle)
    // The bindings must not outlive this call, because the bytes belong to the caller.
    _ = unsafe sqlite3_clear_bindings(handle)
    if let error { throw error }
  }
}
