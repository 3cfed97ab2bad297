public import Foundation

/// Makes a store with many small rows, for comparisons of speed. The store has the tables of Core Data. Its table
/// `ZNOTE` has eight columns, about 100 bytes in each row, and an index on one column.
///
/// - Parameters:
///   - megabytes: the minimum size of the file, in units of 1,000,000 bytes. The file is larger by at most one batch of
///     rows.
///   - url: the URL of the new file; no file may exist there.
/// - Throws: `FixtureError`.
public func smallRows(megabytes: Int, at url: URL) throws {
  guard !FileManager.default.fileExists(atPath: url.path) else {
    throw FixtureError("\(url.path) is there already")
  }
  let connection = try SQLiteConnection(url)
  defer { connection.close() }
  try connection.exec("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")
  let target = Int64(megabytes) * 1_000_000
  try StoreFixtures.fillNotes(connection, count: 1000)
  // A row and its index entry take about 125 bytes. No batch is much larger than what is missing.
  while true {
    let pages = try connection.integer("PRAGMA page_count") ?? 0
    let missing = target - pages * 4096
    if missing <= 0 { return }
    try StoreFixtures.addNotes(connection, count: Int(min(200_000, missing / 130 + 50)))
  }
}

extension StoreFixtures {
  /// Makes Core Data's tables for one entity, and adds `count` rows.
  static func fillNotes(_ connection: SQLiteConnection, count: Int) throws {
    try connection.exec(
      """
      CREATE TABLE ZNOTE(
        Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFLAGGED INTEGER, ZFOLDER INTEGER,
        ZCREATED TIMESTAMP, ZTITLE VARCHAR, ZIDENTIFIER BLOB);
      CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE(ZFOLDER);
      CREATE TABLE Z_PRIMARYKEY(
        Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_MODELCACHE(Z_CONTENT BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 0);
      """)
    let uuid = "7D2C9A54-0C1B-4F3E-9C57-2B8F5A6E1D03"
    let metadata: [String: Any] = [
      "NSStoreType": "SQLite", "_NSAutoVacuumLevel": "2",
      "NSPersistenceFrameworkVersion": 1344, "NSStoreModelVersionHashesVersion": 3,
      "NSStoreModelVersionIdentifiers": [""],
      "NSStoreModelVersionHashes": ["Note": Data(Noise.bytes(32))],
    ]
    let list = try PropertyListSerialization.data(
      fromPropertyList: metadata, format: .binary, options: 0)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES(1, ?, ?)", [[.string(uuid), .blob([UInt8](list))]])
    try addNotes(connection, count: count)
  }

  /// Adds rows after the last row. All values of a row are computed from the row's key alone.
  static func addNotes(_ connection: SQLiteConnection, count: Int) throws {
    let last = try connection.integer("SELECT coalesce(max(Z_PK), 0) FROM ZNOTE") ?? 0
    try connection.exec(
      """
      BEGIN;
      WITH RECURSIVE c(i) AS (
        VALUES(\(last + 1)) UNION ALL SELECT i + 1 FROM c WHERE i < \(last + Int64(count)))
      INSERT INTO ZNOTE SELECT
        i, 1, 1 + i % 7, i % 5 = 0, CASE WHEN i % 11 THEN i * 7919 % 1000 END, 6e8 + i * 61.25,
        'Note ' || i || ': ' || substr('the quick brown fox jumps over the lazy dog', 1, 10 + i % 33),
        CAST(printf('%016x', i * 2654435761 % 4294967296) AS BLOB)
        FROM c;
      UPDATE Z_PRIMARYKEY SET Z_MAX = \(last + Int64(count));
      COMMIT;
      """)
  }
}
