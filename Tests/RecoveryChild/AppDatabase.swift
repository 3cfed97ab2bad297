import CSQLite
import Foundation

struct SQLiteError: Error {
  let code: Int32
}

/// The app's connection. A store of the version before this one has the table ZTASK and not ZFRESH.
@safe final class AppDatabase {
  private var handle: OpaquePointer?
  let isOld: Bool

  /// Opens a store as the app does: it waits for others, and makes its table in a new one.
  init(_ path: String) throws {
    // Looked at without writing: a connection that may write brings the log into the main file when it closes.
    if let reader = try? AppDatabase(path: path, SQLITE_OPEN_READONLY),
      try reader.number("SELECT count(*) FROM sqlite_master WHERE name = 'ZTASK'") == 1
    {
      isOld = true
      return
    }
    isOld = false
    try connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    // A change of the journal mode does not wait for others as all else does.
    for attempt in 1... {
      do {
        try run("PRAGMA journal_mode=WAL")
        break
      } catch let error as SQLiteError where error.code & 0xff == SQLITE_BUSY && attempt < 5000 {
        usleep(1000)
      }
    }
    try run("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS ZFRESH(T TEXT); COMMIT")
  }

  /// Opens a store that another app holds.
  convenience init(_ path: String, journal: String) throws {
    try self.init(path: path, SQLITE_OPEN_READWRITE)
    try run("PRAGMA journal_mode=\(journal)")
  }

  private init(path: String, _ flags: Int32) throws {
    isOld = true
    try connect(path, flags)
  }

  deinit { unsafe _ = sqlite3_close_v2(handle) }

  private func connect(_ path: String, _ flags: Int32) throws {
    let code = unsafe sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK else { throw SQLiteError(code: code) }
    unsafe sqlite3_busy_timeout(handle, 10_000)
  }

  func run(_ sql: String) throws {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw SQLiteError(code: code) }
  }

  func insert(_ text: String) throws { try run("INSERT INTO ZFRESH VALUES('\(text)')") }

  func number(_ sql: String) throws -> Int64 {
    var statement: OpaquePointer?
    let prepared = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard prepared == SQLITE_OK else { throw SQLiteError(code: prepared) }
    defer { unsafe _ = sqlite3_finalize(statement) }
    let stepped = unsafe sqlite3_step(statement)
    guard stepped == SQLITE_ROW else { throw SQLiteError(code: stepped) }
    return unsafe sqlite3_column_int64(statement, 0)
  }
}
