import Fixtures
import Foundation
import SQLiteFile
import Testing

@testable import StoreExtraction

/// Two stores compared, against what SQLite says of them.
@Suite struct ComparisonTests {
  private static func compare(_ one: URL, _ other: URL, entities: [String]? = nil) throws -> (
    report: StoreComparison.Report, rows: [StoreComparison.Row]
  ) {
    var rows: [StoreComparison.Row] = []
    let report = try StoreComparison(one.path, other.path, entityNames: entities).run {
      rows.append($0)
      return true
    }
    return (report, rows)
  }

  private static let fill = """
    WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 2000)
    INSERT INTO t SELECT i, 'text ' || i, i / 2.0, randomblob(i % 3000) FROM c;
    WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 500)
    INSERT INTO k SELECT 'key ' || i, i FROM c;
    """

  private static func pair(_ folder: TemporaryFolder, _ change: String) throws -> (URL, URL) {
    let one = folder.url.appendingPathComponent("one.sqlite")
    let other = folder.url.appendingPathComponent("other.sqlite")
    let connection = try SQLiteConnection(one)
    try connection.exec(
      """
      PRAGMA page_size = 1024;
      CREATE TABLE t(id INTEGER PRIMARY KEY, s TEXT, r REAL, b BLOB);
      CREATE TABLE k(name TEXT PRIMARY KEY, n INT) WITHOUT ROWID;
      CREATE TABLE same(x); INSERT INTO same VALUES(1), (2);
      \(fill)
      """)
    connection.close()
    try FileManager.default.copyItem(at: one, to: other)
    let second = try SQLiteConnection(other)
    try second.exec(change)
    second.close()
    return (one, other)
  }

  @Test(arguments: [
    "UPDATE t SET s = 'new ' || id WHERE id % 7 = 0",
    "DELETE FROM t WHERE id BETWEEN 300 AND 900; INSERT INTO t VALUES(5000, 'x', NULL, NULL), (-4, '', 1, x'')",
    "UPDATE t SET b = randomblob(2500) WHERE length(b) > 1500",
    "UPDATE t SET id = -id WHERE id < 50", "DELETE FROM t", "UPDATE k SET n = -1 WHERE n < 9",
    "DELETE FROM k WHERE n > 400; INSERT INTO k VALUES('new', 1)",
    "UPDATE t SET r = NULL; UPDATE t SET s = s || '!' WHERE id = 1999",
  ])
  func everyDifferenceIsFoundAndNoOther(_ change: String) throws {
    let folder = try TemporaryFolder()
    let (one, other) = try Self.pair(folder, change)
    let connection = try SQLiteConnection(one)
    defer { connection.close() }
    try connection.exec("ATTACH '\(other.path)' AS o")
    let added = try connection.rows(
      "SELECT id FROM o.t WHERE id NOT IN (SELECT id FROM main.t) ORDER BY id")
    let removed = try connection.rows(
      "SELECT id FROM main.t WHERE id NOT IN (SELECT id FROM o.t) ORDER BY id")
    let changed = try connection.rows(
      """
      SELECT a.id FROM main.t a JOIN o.t z USING(id)
      WHERE a.s IS NOT z.s OR a.r IS NOT z.r OR a.b IS NOT z.b ORDER BY id
      """)
    let keysAdded = try connection.integer(
      "SELECT count(*) FROM (SELECT * FROM o.k EXCEPT SELECT * FROM main.k)")
    let keysRemoved = try connection.integer(
      "SELECT count(*) FROM (SELECT * FROM main.k EXCEPT SELECT * FROM o.k)")
    let (report, rows) = try Self.compare(one, other)
    func ids(_ kind: String) -> [[FixtureValue]] {
      rows.filter { $0.table == "t" && $0.kind == kind }.map { [.integer($0.rowID ?? 0)] }
    }
    #expect(ids("added") == added)
    #expect(ids("removed") == removed)
    #expect(ids("changed") == changed)
    let keyed = report.tables.first { $0.table == "k" }
    #expect(Int64(keyed?.addedCount ?? 0) == keysAdded)
    #expect(Int64(keyed?.removedCount ?? 0) == keysRemoved)
    #expect(!report.isEqual && !report.tables.contains { $0.table == "same" })
    #expect(report.schemaChanges.isEmpty && report.damageCount == 0)
    // The other way round added is removed.
    let back = try Self.compare(other, one).report
    #expect(back.addedCount == report.removedCount && back.removedCount == report.addedCount)
    #expect(back.changedCount == report.changedCount)
  }

  /// The same rows on other pages, in another encoding of text, are the same.
  @Test func pagesDoNotMatter() throws {
    let folder = try TemporaryFolder()
    let (one, other) = try Self.pair(
      folder, "DELETE FROM same; INSERT INTO same VALUES(1), (2); PRAGMA page_size = 4096; VACUUM")
    let report = try Self.compare(one, other).report
    #expect(report.tables.isEmpty && report.schemaChanges.isEmpty)
    #expect(report.metadataChanges.map(\.name) == ["pageSize"])
    #expect(try Self.compare(one, one).report.isEqual)
  }

  @Test func theSchemaIsComparedByNames() throws {
    let folder = try TemporaryFolder()
    let (one, other) = try Self.pair(
      folder,
      """
      ALTER TABLE t ADD COLUMN extra INT DEFAULT 5; CREATE INDEX ts ON t(s); DROP TABLE same;
      CREATE TABLE fresh(y); INSERT INTO fresh VALUES(1); CREATE VIEW v AS SELECT 1
      """)
    let (report, rows) = try Self.compare(one, other)
    #expect(
      report.schemaChanges.map { "\($0.change) \($0.type) \($0.name)" } == [
        "removed table same", "added index ts", "added table fresh", "added column t.extra",
        "added view v",
      ])
    // A column that only one has changes no row.
    #expect(report.tables.map(\.table) == ["fresh", "same"])
    #expect(rows.map(\.kind) == ["added", "removed", "removed"])
  }

  @Test func entitiesAreComparedByName() throws {
    let folder = try TemporaryFolder()
    let one = folder.url.appendingPathComponent("one.sqlite")
    let other = folder.url.appendingPathComponent("other.sqlite")
    for (url, numbers) in [(one, (1, 2)), (other, (2, 1))] {
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        INSERT INTO Z_METADATA VALUES(1, 'U\(numbers.0)', NULL);
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        INSERT INTO Z_PRIMARYKEY VALUES(\(numbers.0), 'Note', 0, 9), (\(numbers.1), 'Tag', 0, 9);
        CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
        INSERT INTO ZNOTE VALUES(1, \(numbers.0), 1, 'same'), (2, \(numbers.0), 1, 'T\(numbers.0)');
        CREATE TABLE ZTAG(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER);
        INSERT INTO ZTAG VALUES(\(numbers.0), \(numbers.1), 1);
        """)
      connection.close()
    }
    let (report, rows) = try Self.compare(one, other, entities: ["Note"])
    #expect(rows.map(\.entity) == ["Note"])
    #expect(rows.first?.columnNames == ["ZTITLE"])
    #expect(report.changedCount == 1 && report.metadataChanges.isEmpty)
    let whole = try Self.compare(one, other)
    #expect(whole.report.metadataChanges.map(\.name) == ["uuid"])
    #expect(whole.rows.filter { $0.entity == "Tag" }.map(\.kind) == ["removed", "added"])
    #expect(throws: ExtractionError.self) { try Self.compare(one, other, entities: ["Nobody"]) }
  }

  /// Texts that only read the same have other bytes, in the metadata as in rows.
  @Test func metadataAreComparedByTheirBytes() throws {
    let folder = try TemporaryFolder()
    let uuids = ["caf\u{e9}", "cafe\u{301}"]
    let urls = try uuids.map { uuid in
      let url = folder.url.appendingPathComponent("\(uuid.utf8.count).sqlite")
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        INSERT INTO Z_METADATA VALUES(1, '\(uuid)', NULL);
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        """)
      connection.close()
      return url
    }
    let report = try Self.compare(urls[0], urls[1]).report
    let change = try #require(report.metadataChanges.first)
    #expect(report.metadataChanges.count == 1 && change.name == "uuid")
    #expect(change.old.map { Array($0.utf8) } == Array(uuids[0].utf8))
    #expect(change.new.map { Array($0.utf8) } == Array(uuids[1].utf8))
  }

  /// Entities share the table of their parent: only rows of those that are asked for are counted.
  @Test func rowsOfOtherEntitiesInTheSameTableAreNotCounted() throws {
    let folder = try TemporaryFolder()
    let one = folder.url.appendingPathComponent("one.sqlite")
    let other = folder.url.appendingPathComponent("other.sqlite")
    for (url, rows) in [
      (one, "(1, 2, 1, 'a'), (2, 2, 1, 'b'), (3, 3, 1, 'c'), (4, 3, 1, 'd')"),
      (
        other,
        "(1, 2, 1, 'a'), (2, 2, 2, 'B'), (3, 3, 1, 'c'), (5, 3, 1, 'e'), (6, 3, 1, 'f'), (7, 2, 1, 'g')"
      ),
    ] {
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
        INSERT INTO Z_METADATA VALUES(1, 'U', NULL);
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        INSERT INTO Z_PRIMARYKEY VALUES(1, 'Item', 0, 9), (2, 'Note', 1, 0), (3, 'Photo', 1, 0);
        CREATE TABLE ZITEM(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR);
        INSERT INTO ZITEM VALUES\(rows);
        """)
      connection.close()
    }
    let report = try Self.compare(one, other, entities: ["Note"]).report
    #expect(report.addedCount == 1 && report.changedCount == 1 && report.removedCount == 0)
    let table = try #require(report.tables.first)
    #expect(table.oldRowCount == 2 && table.newRowCount == 3)
    let whole = try Self.compare(one, other).report.tables.first { $0.table == "ZITEM" }
    #expect(whole?.oldRowCount == 4 && whole?.newRowCount == 6)
  }

  /// SQLite tells apart names that differ in the case of letters other than ASCII's.
  @Test func aTableIsNamedAsInSQL() throws {
    let folder = try TemporaryFolder()
    let (one, other) = try Self.pair(
      folder,
      """
      CREATE TABLE "é"(a); CREATE TABLE "É"(a);
      INSERT INTO "é" VALUES(1); INSERT INTO "É" VALUES(1)
      """)
    #expect(try Self.compare(one, other, entities: ["é"]).report.tables.map(\.table) == ["é"])
    #expect(try Self.compare(other, one, entities: ["T"]).report.tables.isEmpty)
  }

  /// SQLite can be built for up to 32,767 columns.
  @Test func columnsWithoutNamesAreAllCompared() {
    let table = Table(name: "t", rootPage: 2, definition: nil, sql: nil)
    let columns = ColumnPairs(table, table)
    func row(_ last: ComparedValue) -> ComparedRow {
      let nulls = [ComparedValue](repeating: .stored(.null), count: 32_766)
      return ComparedRow(rowID: 1, values: nulls + [last])
    }
    let (one, other) = (row(.stored(.integer(7))), row(.stored(.null)))
    #expect(columns.common(of: other, one).last?.new == 32_766)
    #expect(columns.common(of: one).count == 32_767 && columns.common(of: other).isEmpty)
  }

  /// What stands in logs counts, and a damaged page costs its rows and is said.
  @Test func logsCountAndDamageIsSaid() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    let flat = folder.url.appendingPathComponent("flat.sqlite")
    try FileManager.default.copyItem(at: store, to: flat)
    let report = try Self.compare(flat, store).report
    #expect(report.changedCount == 125 && report.addedCount == 0 && report.removedCount == 0)
    let healthy = try SQLiteDatabase(path: flat.path)
    let root = try #require(healthy.schema.table(named: "numbered")).rootPage
    try overwrite(
      flat, at: (Int(root)) * healthy.header.pageSize, bytes: [UInt8](repeating: 0xee, count: 64))
    let damaged = try Self.compare(flat, store).report
    #expect(damaged.damageCount > 0 && !damaged.isEqual)
  }
}
