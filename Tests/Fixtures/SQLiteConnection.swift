public import CSQLite
public import Foundation

/// A thin layer over libsqlite3 for tests. The results of the file reader are compared with those of this class.
@safe public final class SQLiteConnection {
  /// The path of the database file.
  public let path: String
  private var handle: OpaquePointer?

  /// The form in which text is returned.
  public enum TextForm: Sendable {
    /// The text as UTF-8. SQLite converts the text of a UTF-16 database, and thereby loses lone surrogates.
    case utf8
    /// The bytes of the text in the encoding of the database, without conversion.
    case stored
  }

  /// Opens a database. By default, the database can be read and written, and is made when it does not exist.
  ///
  /// SQLite does not wait until its writes are on the disk, because thousands of small transactions would then take
  /// minutes. A rollback journal that is copied while it is open shows the difference. `PRAGMA synchronous` changes
  /// this setting.
  public init(
    _ path: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
  ) throws {
    self.path = path
    var opened: OpaquePointer?
    let result = unsafe sqlite3_open_v2(path, &opened, flags, nil)
    unsafe handle = opened
    guard result == SQLITE_OK else { throw FixtureError("open \(path): \(result)") }
    unsafe sqlite3_extended_result_codes(opened, 1)
    // If the database cannot be read, it is the first statement of the test that must fail.
    if flags & SQLITE_OPEN_READWRITE != 0 {
      unsafe sqlite3_exec(opened, "PRAGMA synchronous = OFF", nil, nil, nil)
    }
  }

  /// Opens the database at a file URL.
  public convenience init(_ url: URL) throws {
    try self.init(url.path)
  }

  deinit {
    close()
  }

  /// Opens a database; does the same as the initializer.
  public static func open(
    _ path: String, flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
  ) throws -> SQLiteConnection {
    try SQLiteConnection(path, flags: flags)
  }

  /// Closes the connection. Does nothing if the connection is closed already.
  public func close() {
    guard let open = unsafe handle else { return }
    unsafe handle = nil
    unsafe sqlite3_close_v2(open)
  }

  /// Runs one or more statements, and ignores the rows that they return.
  public func exec(_ sql: String) throws {
    let result = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard result == SQLITE_OK else { throw failure(result, sql) }
  }

  /// Runs one statement and returns the statement's rows.
  ///
  /// - Parameters:
  ///   - sql: the statement; any further statement is ignored.
  ///   - values: the values for the statement's `?`, in their order.
  ///   - text: the form in which text is returned.
  /// - Returns: the rows, in the order in which SQLite returns them.
  /// - Throws: `FixtureError`.
  @discardableResult
  public func rows(
    _ sql: String, _ values: [FixtureValue] = [], text: TextForm = .utf8
  ) throws -> [[FixtureValue]] {
    var rows: [[FixtureValue]] = []
    try forEachRow(sql, values, text: text) { rows.append($0) }
    return rows
  }

  /// Runs one statement, and calls `body` with each of the statement's rows.
  public func forEachRow(
    _ sql: String, _ values: [FixtureValue] = [], text: TextForm = .utf8,
    _ body: ([FixtureValue]) throws -> Void
  ) throws {
    let swaps = try text == .stored && storesBigEndianText()
    let form = try text == .stored && storesUTF8() ? TextForm.utf8 : text
    let statement = unsafe try prepare(sql)
    defer { unsafe sqlite3_finalize(statement) }
    for (offset, value) in values.enumerated() {
      let result = unsafe Self.bind(value, statement, Int32(offset + 1))
      guard result == SQLITE_OK else { throw failure(result, sql) }
    }
    while true {
      let result = unsafe sqlite3_step(statement)
      if result == SQLITE_DONE { return }
      guard result == SQLITE_ROW else { throw failure(result, sql) }
      let count = unsafe sqlite3_column_count(statement)
      try body((0..<count).map { unsafe Self.column(statement, $0, form, swaps: swaps) })
    }
  }

  /// Runs a statement once for each list of values, all in one transaction.
  public func insert(_ sql: String, _ rows: some Sequence<[FixtureValue]>) throws {
    try exec("SAVEPOINT fixture")
    let statement = unsafe try prepare(sql)
    defer { unsafe sqlite3_finalize(statement) }
    for row in rows {
      for (offset, value) in row.enumerated() {
        let result = unsafe Self.bind(value, statement, Int32(offset + 1))
        guard result == SQLITE_OK else { throw failure(result, sql) }
      }
      let result = unsafe sqlite3_step(statement)
      guard result == SQLITE_DONE else { throw failure(result, sql) }
      unsafe sqlite3_reset(statement)
    }
    try exec("RELEASE fixture")
  }

  /// The first value of the first row as an integer; nil when the value is not an integer.
  public func integer(_ sql: String) throws -> Int64? {
    guard case .integer(let number)? = try rows(sql).first?.first else { return nil }
    return number
  }

  /// The first value of the first row as a text; nil when the value is not a text.
  public func string(_ sql: String) throws -> String? {
    guard case .text(let bytes)? = try rows(sql).first?.first else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The rows that `PRAGMA integrity_check` returns; `["ok"]` for a sound database.
  public func integrityCheck() throws -> [String] {
    try rows("PRAGMA integrity_check").map { row in
      guard case .text(let bytes)? = row.first else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Reserves bytes at the end of each page that SQLite does not use. Call this before the first table is made.
  ///
  /// - Parameter count: the number of bytes, 0 to 255. SQLite allows at most 32 for pages of 512 bytes.
  /// - Throws: `FixtureError`.
  public func reserve(bytes count: Int32) throws {
    var count = count
    let result = unsafe sqlite3_file_control(
      handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
    guard result == SQLITE_OK else { throw failure(result, "reserve bytes") }
  }

  // MARK: - Internals

  private func failure(_ result: Int32, _ sql: String) -> FixtureError {
    let message = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
    return FixtureError("\(message) (\(result)) in: \(sql.prefix(300))")
  }

  private func prepare(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    let result = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard result == SQLITE_OK, let statement = unsafe statement else {
      throw failure(result, sql)
    }
    return unsafe statement
  }

  private func storesUTF8() throws -> Bool { try string("PRAGMA encoding") == "UTF-8" }

  private func storesBigEndianText() throws -> Bool {
    try string("PRAGMA encoding") == "UTF-16be"
  }

  /// SQLITE_TRANSIENT (-1) makes SQLite copy the bytes before it returns.
  private static func bind(
    _ value: FixtureValue, _ statement: OpaquePointer, _ index: Int32
  ) -> Int32 {
    let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: return unsafe sqlite3_bind_null(statement, index)
    case .integer(let number): return unsafe sqlite3_bind_int64(statement, index, number)
    case .real(let number): return unsafe sqlite3_bind_double(statement, index, number)
    case .text(let bytes):
      // The array has one byte more than is bound, so the pointer is never null. A null pointer would bind NULL.
      return unsafe (bytes + [0]).withUnsafeBufferPointer { buffer in
        unsafe buffer.withMemoryRebound(to: CChar.self) { characters in
          unsafe sqlite3_bind_text64(
            statement, index, characters.baseAddress, sqlite3_uint64(bytes.count), transient,
            UInt8(truncatingIfNeeded: SQLITE_UTF8))
        }
      }
    case .blob(let bytes):
      return unsafe (bytes + [0]).withUnsafeBytes { buffer in
        unsafe sqlite3_bind_blob64(
          statement, index, buffer.baseAddress, sqlite3_uint64(bytes.count), transient)
      }
    }
  }

  private static func column(
    _ statement: OpaquePointer, _ index: Int32, _ form: TextForm, swaps: Bool
  ) -> FixtureValue {
    switch unsafe sqlite3_column_type(statement, index) {
    case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, index))
    case SQLITE_FLOAT: return .real(unsafe sqlite3_column_double(statement, index))
    case SQLITE_TEXT where form == .stored:
      let start = unsafe sqlite3_column_text16(statement, index)
      let count = Int(unsafe sqlite3_column_bytes16(statement, index))
      var bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
      // SQLite returns UTF-16 in the byte order of the machine, and all machines that run these tests are
      // little-endian.
      if swaps {
        for low in stride(from: 0, to: bytes.count - 1, by: 2) { bytes.swapAt(low, low + 1) }
      }
      return .text(bytes)
    case SQLITE_TEXT:
      let start = unsafe sqlite3_column_text(statement, index)
      let count = Int(unsafe sqlite3_column_bytes(statement, index))
      return .text(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)))
    case SQLITE_BLOB:
      let start = unsafe sqlite3_column_blob(statement, index)
      let count = Int(unsafe sqlite3_column_bytes(statement, index))
      return .blob(unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }
}
