import Fixtures
import Foundation
import RowText
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// A page is read for one table, however many lead to it.
@Suite struct SharedPagesTests {
  /// Rows as lines of JSON, and what was found.
  private static func rows(_ url: URL) throws -> (bytes: Int, counts: [Int], findings: [Finding]) {
    let database = try SQLiteDatabase(path: url.path)
    var counts: [Int] = []
    let written = try bytesWritten { descriptor in
      counts = try database.writeJSON(of: database.schema.tables, to: descriptor)
    }
    return (written.count, counts, database.findings.kept)
  }

  private static func make(_ url: URL, _ sql: String, edit: String) throws {
    let connection = try SQLiteConnection(url)
    try connection.exec(sql)
    connection.close()
    try CheckTests.edit(url, edit)
  }

  @Test func aRootOfManyTablesIsReadOnce() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(
      url,
      """
      CREATE TABLE t(a TEXT, b INT NOT NULL); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < 2000) INSERT INTO t SELECT 'row ' || i, i FROM n;
      """,
      edit: """
        UPDATE sqlite_schema SET name = 'x0', tbl_name = 'x0', sql = 'CREATE TABLE x0(a INT PRIMARY KEY) WITHOUT ROWID';
        INSERT INTO sqlite_schema SELECT 'table', 'x1', 'x1', rootpage, 'CREATE TABLE x1(a)' FROM sqlite_schema;
        INSERT INTO sqlite_schema SELECT 'table', 't', 't', rootpage, 'CREATE TABLE t(a TEXT, b INT NOT NULL)'
          FROM sqlite_schema LIMIT 1;
        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
          INSERT INTO sqlite_schema SELECT 'table', 'x' || i, 'x' || i, (SELECT rootpage FROM sqlite_schema LIMIT 1),
          'CREATE TABLE x' || i || '(a TEXT, b INT)' FROM n;
        """)
    let size = try bytes(of: url).count
    let (written, counts, findings) = try Self.rows(url)
    #expect(written < size * 20, "\(written) of \(size)")
    // The first one that the rows fit has them.
    #expect(counts.count == 402 && counts[2] == 2000 && counts.reduce(0, +) == 2000, "\(counts)")
    #expect(findings.count { $0.id.rawValue == "page.otherTable" && $0.severity == .damage } == 401)
    #expect(
      findings.first { $0.id.rawValue == "page.otherTable" }?.message.contains("the table t")
        == true)
    #expect(try CheckTests.damage(url, .quick)?.contains("page.referencedTwice") == true)
  }

  /// The root of one table is a page within another's b-tree.
  @Test func aPartOfAnotherTableIsReadOnce() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(
      url,
      """
      PRAGMA page_size = 512; CREATE TABLE t(a TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1
        FROM n WHERE i < 2000) INSERT INTO t SELECT 'row ' || i FROM n;
      """, edit: "SELECT 1")
    var leaf: UInt32 = 0
    _ = try SQLiteDatabase(path: url.path).listPages {
      if $0.kind == .leafTable, $0.owner == "t" { leaf = $0.page }
    }
    try CheckTests.edit(
      url,
      "INSERT INTO sqlite_schema VALUES('table', 's', 's', \(leaf), 'CREATE TABLE s(a TEXT)'), ('table', 'r', 'r', \(leaf), 'CREATE TABLE r(a TEXT)')"
    )
    let (_, counts, findings) = try Self.rows(url)
    #expect(counts.reduce(0, +) == 2000 && counts[1] > 0 && counts[2] == 0, "\(counts)")
    #expect(findings.count { $0.id.rawValue == "page.otherTable" } == 2)
    // Asked for alone, each has the same rows as among all.
    let database = try SQLiteDatabase(path: url.path)
    for (table, count) in zip(database.schema.tables, counts) {
      #expect(try database.rowCount(of: table).count == count)
      #expect(try database.rowCount(of: table).count == count)
    }
  }

  /// Thousands of cells of many tables whose payloads go on in the same long chain.
  @Test func aChainOfManyRowsCostsNoMoreThanTheFile() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let tables = 60
    let pages = 600
    let names = (0..<tables).map { "CREATE TABLE t\($0)(a TEXT); INSERT INTO t\($0) VALUES('x');" }
    try Self.make(
      url,
      "PRAGMA page_size = 512; \(names.joined()) CREATE TABLE z(a TEXT); INSERT INTO z VALUES(hex(zeroblob(\(pages * 254))));",
      edit: "SELECT 1")
    var content = try bytes(of: url)
    let database = try SQLiteDatabase(path: url.path)
    let long = try #require(database.schema.table(named: "z"))
    let page = Int(long.rootPage - 1) * 512
    // Each table's page is a page with the long row of z, many times.
    let pointer = Array(content[page + 8..<page + 10])
    for table in database.schema.tables where table.name != "z" {
      let start = Int(table.rootPage - 1) * 512
      content.replaceSubrange(start..<start + 512, with: content[page..<page + 512])
      content[start + 3] = 0
      content[start + 4] = 60
      for index in 0..<60 {
        content.replaceSubrange(start + 8 + 2 * index..<start + 10 + 2 * index, with: pointer)
      }
    }
    try Data(content).write(to: url)
    let (written, counts, findings) = try Self.rows(url)
    #expect(written < content.count * 20, "\(written) of \(content.count)")
    #expect(counts.reduce(0, +) >= 1)
    #expect(
      findings.contains {
        $0.id.rawValue == "tree.moreThanFile" || $0.id.rawValue == "overflow.broken"
      })
  }

  /// Names are one to SQLite where their bytes are, ASCII letters in either case.
  @Test func namesAreBytes() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE "Ä"(a, "ß" UNIQUE, "SS"); CREATE TABLE "ä"(a); CREATE TABLE "a\u{308}"(b, "é", "e\u{301}");
      INSERT INTO "Ä" VALUES(1, 2, 3); INSERT INTO "ä" VALUES(4), (5); INSERT INTO "a\u{308}" VALUES(6, 7, 8);
      CREATE INDEX i ON "a\u{308}"("e\u{301}");
      """)
    connection.close()
    #expect(try CheckTests.verdict(url) == ["ok"])
    let database = try SQLiteDatabase(path: url.path)
    let report = try database.check(depth: .full)
    #expect(report.findings.kept == [] && report.unchecked == [])
    for (name, value) in [("Ä", 1), ("ä", 4), ("a\u{308}", 6)] {
      let table = try #require(database.schema.table(named: name))
      #expect(try database.rows(of: table).first?.values.first == .integer(Int64(value)), "\(name)")
    }
    #expect(
      database.schema.table(named: "A\u{308}") != nil && database.schema.table(named: "é") == nil)
  }
}

/// What a small file may cost otherwise.
@Suite struct SmallFileCostTests {
  /// Rows without a field for a column whose default is long.
  @Test func longDefaultsCostNoMoreThanTheFileSeveralTimes() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
        INSERT INTO t SELECT i FROM n;
      ALTER TABLE t ADD COLUMN b TEXT DEFAULT '\(String(repeating: "x", count: 20_000))';
      """)
    connection.close()
    let size = try bytes(of: url).count
    let database = try SQLiteDatabase(path: url.path)
    let written = try bytesWritten {
      _ = try database.writeJSON(of: database.schema.tables, to: $0)
    }
    #expect(written.count > size && written.count < 20 * size, "\(written.count) of \(size)")
    #expect(database.findings.kept.map(\.id.rawValue) == ["tree.moreThanFile"])
    // An ordinary default takes nothing from anybody.
    try CheckTests.edit(
      url, "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a, b DEFAULT ''unknown'')'")
    let other = try SQLiteDatabase(path: url.path)
    #expect(try other.rowCount(of: other.schema.tables[0]).count == 3000)
    #expect(other.findings.count == 0)
  }

  @Test func manyEmptyTablesAreReadOneByOne() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 512; PRAGMA synchronous = OFF; BEGIN")
    for number in 0..<2000 { try connection.exec("CREATE TABLE t\(number)(a)") }
    try connection.exec("COMMIT")
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    for table in database.schema.tables { #expect(try database.rowCount(of: table).count == 0) }
    #expect(database.findings.count == 0)
    let report = try database.check(depth: .full)
    #expect(report.findings.count == 0 && report.tableCount == 2001 && report.unchecked == [])
  }
}
