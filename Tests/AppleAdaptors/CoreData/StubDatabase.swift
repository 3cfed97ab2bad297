// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents what bears Apple's names.

import CSQLite
public import Foundation

/// A real SQLite file with the metadata of a Core Data store: what `NSSQLiteStoreType` is of.
@safe public final class StubDatabase {
  private var handle: OpaquePointer?

  init(_ url: URL, isReadOnly: Bool) throws {
    let mode = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    let code = unsafe sqlite3_open_v2(url.path, &handle, mode | SQLITE_OPEN_EXRESCODE, nil)
    do {
      guard code == SQLITE_OK else { throw Self.failure(code) }
      if !isReadOnly { try run("PRAGMA journal_mode=WAL") }
    } catch {
      close()
      throw error
    }
  }

  deinit { close() }

  public func close() {
    unsafe sqlite3_close_v2(handle)
    unsafe handle = nil
  }

  public func run(_ sql: String) throws {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw Self.failure(code) }
  }

  /// The first column of the first row, as bytes; nil without a row.
  public func bytes(_ sql: String) throws -> Data? {
    var statement: OpaquePointer?
    let prepared = unsafe sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard prepared == SQLITE_OK else { throw Self.failure(prepared) }
    defer { unsafe _ = sqlite3_finalize(statement) }
    let stepped = unsafe sqlite3_step(statement)
    guard stepped == SQLITE_ROW else {
      if stepped == SQLITE_DONE { return nil }
      throw Self.failure(stepped)
    }
    guard let start = unsafe sqlite3_column_blob(statement, 0) else { return Data() }
    return unsafe Data(bytes: start, count: Int(sqlite3_column_bytes(statement, 0)))
  }

  /// Compares the hashes in the metadata with those of a model, and makes both in a new file.
  func check(_ hashes: [String: Data]) throws {
    if try bytes("SELECT name FROM sqlite_master WHERE name = 'Z_METADATA'") == nil {
      let list = try PropertyListSerialization.data(
        fromPropertyList: [
          "NSStoreModelVersionHashes": hashes, "NSStoreModelVersionHashesVersion": 3,
          "NSPersistenceFrameworkVersion": 1344, "NSStoreType": "SQLite",
        ], format: .binary, options: 0)
      let hex = list.map { String(format: "%02x", $0) }.joined()
      try run(
        """
        CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        CREATE TABLE ZTASK (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
        INSERT INTO Z_PRIMARYKEY VALUES (1, 'Task', 0, 0);
        INSERT INTO Z_METADATA VALUES (1, '\(UUID().uuidString)', x'\(hex)');
        """)
      return
    }
    let list = try bytes("SELECT Z_PLIST FROM Z_METADATA") ?? Data()
    let metadata = unsafe try? PropertyListSerialization.propertyList(from: list, format: nil)
    let recorded = (metadata as? [String: Any])?["NSStoreModelVersionHashes"] as? [String: Data]
    guard recorded == hashes else {
      throw NSError(
        domain: "NSCocoaErrorDomain", code: 134100,
        userInfo: [
          "metadata": recorded ?? [:],
          "reason":
            "The model used to open the store is incompatible with the one used to create it",
        ])
    }
  }

  /// An SQLite error in the form that Core Data gives it.
  private static func failure(_ code: Int32) -> NSError {
    NSError(
      domain: "NSCocoaErrorDomain", code: code & 0xff == SQLITE_NOTADB ? 259 : 256,
      userInfo: ["NSSQLiteErrorDomain": NSNumber(value: code), "NSFilePath": "…"])
  }
}
