import Foundation
import StoreRecovery
import SystemSQLite

/// What a launch finds on disk.
enum StoreKind: String, CaseIterable {
  /// A rollback-journal store at rest.
  case journal = "rollback journal"
  /// A WAL store that the last process closed: there is no log, and the first read makes one.
  case closedLog = "WAL, closed"
  /// A WAL store whose last process was killed: the first read finds 200 frames in the log.
  case hotLog = "WAL, hot log"
}

struct LaunchError: Error {
  let code: Int32
}

/// A store in a folder of its own.
struct BenchedStore {
  let kind: StoreKind
  let url: URL

  init(_ kind: StoreKind, in folder: URL, incidents: Int, blobs: Int = 0) throws {
    self.kind = kind
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder.appendingPathComponent("Done.sqlite")
    for number in 0..<incidents { try quarantineOne(number) }
    if incidents > 0 {
      // The incidents are those of an earlier day.
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSinceNow: -86400)],
        ofItemAtPath: folder.appendingPathComponent("Incompatible").path)
    }
    try make()
    let support = folder.appendingPathComponent(".Done_SUPPORT/_EXTERNAL_DATA")
    if blobs > 0 {
      try FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
    }
    for number in 0..<blobs {
      try Data("a picture".utf8).write(to: support.appendingPathComponent("\(number)"))
    }
  }

  /// Opens, reads one row, closes: what a launch without a guard does.
  func launch() throws -> OpaquePointer {
    var database: OpaquePointer?
    let code = sqlite3_open_v2(
      url.path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE, nil)
    guard code == SQLITE_OK, let database else {
      sqlite3_close_v2(database)
      throw LaunchError(code: code)
    }
    if kind == .hotLog { _ = keep_log_on_close(database) }
    var statement: OpaquePointer?
    var result = sqlite3_prepare_v2(
      database, "SELECT ZTITLE FROM ZNOTE WHERE Z_PK = 1", -1, &statement, nil)
    if result == SQLITE_OK { result = sqlite3_step(statement) }
    sqlite3_finalize(statement)
    guard result == SQLITE_ROW else {
      sqlite3_close_v2(database)
      throw LaunchError(code: result)
    }
    return database
  }

  private func make() throws {
    var opened: OpaquePointer?
    sqlite3_open(url.path, &opened)
    guard let database = opened else { throw LaunchError(code: SQLITE_NOMEM) }
    defer { sqlite3_close_v2(database) }
    if kind != .journal { try run(database, "PRAGMA journal_mode = WAL") }
    try run(
      database,
      """
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR, ZBODY VARCHAR);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      """)
    try insert(database, 1...500)
    guard kind == .hotLog else { return }
    try run(database, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA wal_autocheckpoint = 0")
    // One transaction of about two frames for each row.
    for row in 501...600 { try insert(database, row...row) }
    _ = keep_log_on_close(database)
  }

  private func insert(_ database: OpaquePointer?, _ rows: ClosedRange<Int>) throws {
    let values = rows.map {
      "(\($0), 1, 1, 'note \($0)', '\(String(repeating: "text ", count: 30))')"
    }
    try run(database, "INSERT INTO ZNOTE VALUES \(values.joined(separator: ","))")
  }

  private func run(_ database: OpaquePointer?, _ sql: String) throws {
    let code = sqlite3_exec(database, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw LaunchError(code: code) }
  }

  /// Leaves one incident behind, made as a real one is.
  private func quarantineOne(_ number: Int) throws {
    try Data(repeating: 0, count: 8192).write(to: url)
    var policy = Policy()
    policy.sqliteCode = { ($0 as? LaunchError)?.code }
    var calls = 0
    _ = try Recovery(url, app: .init(name: "Done", version: "0.\(number)"), policy: policy)
      .openSynchronously { _ in
        calls += 1
        if calls <= 2 { throw LaunchError(code: SQLITE_NOTADB) }
      }
  }
}
