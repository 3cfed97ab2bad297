import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// The check of a file, against `PRAGMA integrity_check` on a private copy.
@Suite struct CheckTests {
  /// What SQLite says of a copy of a store: nil when it cannot even look.
  static func verdict(_ url: URL) throws -> [String]? {
    let folder = try TemporaryFolder()
    let copy = try SQLiteConnection.copyStore(url, into: folder.url)
    guard let connection = try? SQLiteConnection(copy) else { return nil }
    defer { connection.close() }
    return try? connection.rows("PRAGMA integrity_check(20)").map { row in
      guard case .text(let bytes)? = row.first else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// The ids of damage that we find; nil when the file is refused.
  static func damage(_ url: URL, _ depth: CheckDepth = .full) throws -> [String]? {
    let database: SQLiteDatabase
    do { database = try SQLiteDatabase(path: url.path) } catch {
      #expect(![.io, .permission, .missing].contains(error.code))
      return nil
    }
    return try database.check(depth: depth).findings.kept.filter { $0.severity == .damage }
      .map(\.id.rawValue)
  }

  @Test(arguments: StoreFixtures.all) func freshStoresAreSound(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let url = try fixture.make(folder.url)
    let before = treeState(of: folder.url)
    #expect(try Self.verdict(url) == ["ok"])
    for depth in CheckDepth.allCases {
      guard let database = try? SQLiteDatabase(path: url.path) else { continue }
      let report = try database.check(depth: depth)
      let damage = report.findings.kept.filter { $0.severity == .damage }
      // Sidecars that were damaged on purpose are found by opening.
      #expect(
        damage.filter { !$0.id.rawValue.hasPrefix("wal.") && !$0.id.rawValue.hasPrefix("journal.") }
          == [],
        "\(fixture.name)")
      #expect(report.checkedPageCount == report.pageCount, "\(fixture.name)")
    }
    #expect(treeState(of: folder.url) == before)
  }

  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all) func storesOfCoreDataAreSound(
    _ store: RealStore
  ) throws {
    #expect(try Self.verdict(store.url) == ["ok"])
    let database = try SQLiteDatabase(path: store.url.path)
    let report = try database.check(depth: .full)
    #expect(report.findings.damageCount == 0, "\(report.findings.kept)")
    #expect(report.checkedPageCount == report.pageCount)
    var rows = 0
    for table in database.schema.tables { rows += try database.rowCount(of: table).count }
    #expect(report.rowCount == rows)
  }

  /// Files whose schema holds SQL that SQLite refuses for an expression, which is not judged.
  static let onlyAnExpressionIsWrong: Set<String> = ["sqlite-tests/gencol1-00.db"]

  /// Values of serial types 10 and 11, which SQLite reads as NULL without a word.
  static let sqliteIsSilent: Set<String> = ["nemetz-v2/15/15-13_antifor.db"]

  @Test(.enabled(if: Shared.isThere)) func damagedFilesOfOthersAreJudgedAsSQLiteJudgesThem() throws
  {
    guard let shared = Shared.require("damaged files of others") else { return }
    let root = shared.appendingPathComponent("stores/corrupt")
    let names =
      FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    let databases = names.sorted().filter { name in
      let file = try? FileHandle(forReadingFrom: root.appendingPathComponent(name))
      defer { try? file?.close() }
      return (try? file?.read(upToCount: 16)) == Data("SQLite format 3\0".utf8)
    }
    let odd = Self.onlyAnExpressionIsWrong.union(Self.sqliteIsSilent).intersection(databases)
    var agreed = 0
    for name in odd.union(Rounds.part(of: databases, every: 3, from: 1)).sorted() {
      let url = root.appendingPathComponent(name)
      let verdict = try Self.verdict(url)
      let damage = try Self.damage(url)
      if verdict == ["ok"] {
        let expected = Self.sqliteIsSilent.contains(name) ? ["record.reservedType"] : []
        #expect(damage == expected, "\(name)")
      } else if Self.onlyAnExpressionIsWrong.contains(name) {
        #expect(damage == [], "\(name)")
        #expect(try SQLiteDatabase(path: url.path).check().unjudgedStatementCount > 0)
      } else {
        #expect(damage?.isEmpty != true, "\(name): SQLite says \(verdict ?? ["nothing"])")
      }
      agreed += 1
    }
    #expect(agreed > (Rounds.areLong ? 400 : 130), "\(agreed)")
  }

  /// What was done to these files on purpose, and what gives it away.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      ("15/15-01_antifor.db", "page.badFragments"), ("15/15-03_antifor.db", "cell.overlap"),
      ("15/15-04_antifor.db", "cell.pastEnd"), ("15/15-13_antifor.db", "record.reservedType"),
      ("17/17-01_antifor.db", "freeblock.badChain"), ("17/17-09_antifor.db", "page.badFragments"),
      ("18/18-02_antifor.db", "freelist.cycle"), ("18/18-03_antifor.db", "freelist.cycle"),
      ("19/19-02_antifor.db", "page.missing"), ("19/19-03_antifor.db", "page.missing"),
      ("19/19-04_antifor.db", "file.truncated"), ("11/11-01_antifor.db", "index.badEntries"),
      ("13/13-05_antifor.db", "overflow.broken"), ("14/14-01_antifor.db", "cell.badPointer"),
    ])
  func tamperingShows(_ name: String, _ id: String) throws {
    guard let shared = Shared.require("tampered files") else { return }
    let url = shared.appendingPathComponent("stores/corrupt/nemetz-v2/" + name)
    let damage = try Self.damage(url) ?? []
    #expect(damage.contains(id), "\(damage)")
  }

  /// A file that ends in the middle of its last page: a leaf, or the end of an overflow chain. The check reads the rest
  /// of the page as zeros, as SQLite and the reading of rows do, so all three count the same rows.
  @Test(
    arguments: [
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB)",
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB) WITHOUT ROWID",
    ], [60, 1])
  func theRowsOfACutPageAreCountedAsTheyAreRead(_ definition: String, _ count: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("cut.sqlite")
    let content = try databaseToCut(url, definition, rowCount: count)
    var counts: Set<Int> = []
    for kept in [100, 512, 700, 1000] {
      try Data(content.dropLast(1024 - kept)).write(to: url)
      let database = try SQLiteDatabase(path: url.path)
      let table = try #require(database.schema.table(named: "t"))
      let report = try database.check(depth: .full)
      // Where the cell pointers lead into the zeros, SQLite makes rows of NULL of them.
      let truth = try SQLiteConnection(url).rows("SELECT a FROM t WHERE b IS NOT NULL").count
      #expect(report.rowCount == truth, "\(kept)")
      #expect(try database.rowCount(of: table).count == truth, "\(kept)")
      #expect(try database.rows(of: table).count == truth, "\(kept)")
      counts.insert(truth)
      let missing = report.findings.kept.filter { $0.id.rawValue == "page.missing" }
      #expect(missing.map(\.page) == [UInt32(content.count / 1024)], "\(kept)")
      #expect(missing.allSatisfy { $0.message.contains("ends within this page") }, "\(kept)")
      // What the missing bytes would have said is not held against the page.
      let ids = Set(report.findings.kept.map(\.id.rawValue))
      #expect(
        ids.isDisjoint(with: ["page.badFragments", "freeblock.badSize", "freeblock.badChain"]),
        "\(ids)")
    }
    #expect(counts.count > (count == 1 ? 0 : 1), "\(counts)")
  }

  /// The file ends within an interior page of a table. A child's number and a key of which the file has only a part
  /// say nothing about other pages.
  @Test func aCutInteriorPageAccusesNoOtherPage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("cut.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; PRAGMA synchronous = OFF;
      CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB);
      """)
    // The root page is full when it gets two interior pages below it, which become the last pages of the file.
    var content: [UInt8] = []
    var row: Int64 = 1000
    repeat {
      try connection.insert(
        "INSERT INTO t VALUES (?, ?)", [[.integer(row), .blob([UInt8](repeating: 7, count: 200))]])
      row += 1000
      content = try [UInt8](bytes(of: url))
    } while content[content.count - 512] != 5 && row < 200_000
    connection.close()
    let last = content.count / 512
    try #require(content[(last - 1) * 512] == 5)
    for missing in 1...24 {
      try Data(content.dropLast(missing)).write(to: url)
      let found = try SQLiteDatabase(path: url.path).check(depth: .full).findings.kept
      #expect(!found.contains { $0.message.contains("page 0") }, "\(missing)")
      let ids = Set(found.filter { $0.page != UInt32(last) }.map(\.id.rawValue))
      #expect(ids.isDisjoint(with: ["page.referencedTwice", "tree.keyOrder"]), "\(missing) \(ids)")
    }
  }

  /// A trunk of the freelist, and a page of the pointer map, within which the file ends.
  @Test(arguments: ["NONE", "INCREMENTAL"], [3, 6, 10])
  func aCutPageListsNoPageZero(_ vacuum: String, _ kept: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("cut.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; PRAGMA auto_vacuum = \(vacuum); CREATE TABLE t(a); CREATE TABLE u(b);
      INSERT INTO t VALUES (zeroblob(20000)); DELETE FROM t;
      """)
    connection.close()
    let content = try bytes(of: url)
    let trunk = content[32..<36].reduce(0) { $0 << 8 | Int($1) }
    try #require(trunk > 2)
    // The trunk becomes the last page. It ends within its header or its list; the pages behind it are gone.
    try Data(content.prefix((trunk - 1) * 512 + kept)).write(to: url)
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    let found = report.findings.kept
    #expect(
      found.contains {
        $0.id.rawValue == "page.missing" && $0.page == UInt32(trunk)
          && $0.message.contains("ends within this page")
      })
    #expect(!found.contains { $0.message.contains("page 0") }, "\(found.map(\.message))")
    #expect(!found.contains { $0.id.rawValue == "freelist.badCount" })
  }

  /// One byte after the other is changed; whatever SQLite notices is noticed.
  @Test(arguments: ["free-blocks", "auto-vacuum-full", "free-pages", "without-rowid", "page-512"])
  func aChangedByteThatSQLiteNoticesIsNoticed(_ name: String) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let sound = try bytes(of: url)
    let pageSize = try SQLiteDatabase(path: url.path).header.pageSize
    var generator = SplitMix64(seed: 0xc4ec)
    var noticed = 0
    for round in 0..<(Rounds.areLong ? 150 : 60) {
      // Half of the bytes are in the first bytes of a page, where its own figures are.
      let page = Int.random(in: 0..<sound.count / pageSize, using: &generator)
      let inPage = Int.random(in: 0..<(round % 2 == 0 ? 24 : pageSize), using: &generator)
      let offset = page * pageSize + inPage
      let value = sound[offset] ^ UInt8(1 << Int.random(in: 0..<8, using: &generator))
      try overwrite(url, at: offset, bytes: [value])
      let verdict = try Self.verdict(url)
      if verdict != ["ok"] {
        noticed += 1
        let damage = try Self.damage(url)
        #expect(
          damage?.isEmpty != true || Self.isBeyondUs(verdict, page: page + 1),
          "\(name), byte \(offset) to \(value): \(verdict ?? ["refused"])")
      }
      try overwrite(url, at: offset, bytes: [sound[offset]])
    }
    #expect(noticed > (Rounds.areLong ? 10 : 4), "\(noticed)")
    #expect(try Self.damage(url) == [])
  }

  /// Whether all that SQLite says concerns what is not checked: the order of index entries, entries of a table that
  /// keeps its rows in an index (WITHOUT ROWID), or the SQL in the schema, which makes it refuse the file.
  static func isBeyondUs(_ verdict: [String]?, page: Int) -> Bool {
    guard let verdict else { return page == 1 }
    return verdict.allSatisfy {
      $0.contains("missing from index") || $0.contains("out of order")
        || $0.contains("not in PRIMARY KEY order")
    }
  }

  @Test func declarationsAreKept() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, n, w TEXT, k INTEGER);
      CREATE INDEX tk ON t(k); CREATE INDEX tp ON t(n) WHERE n > 1;
      INSERT INTO t VALUES(1, NULL, 'a', 1), (2, 2, 'b', 2), (3, 3, 'c', 3);
      """)
    connection.close()
    #expect(try Self.damage(url) == [])
    // The declaration changes under the rows: the same page, other words of the same length.
    try Self.edit(
      url,
      """
      UPDATE sqlite_schema SET sql =
        'CREATE TABLE t(id INTEGER PRIMARY KEY, n NOT NULL, w INTEGER, k TEXT)' WHERE name = 't';
      """)
    let findings = try SQLiteDatabase(path: url.path).check().findings.kept
    #expect(findings.map(\.id.rawValue).sorted() == ["record.affinity", "record.null"])
    let null = try #require(findings.first { $0.id.rawValue == "record.null" })
    #expect(null.message.contains("1 value of column n") && null.message.contains("row 1"))
    #expect(null.page == 2 && null.table == "t")
    #expect(try #require(try Self.verdict(url)).contains("NULL value in t.n"))
  }

  /// A record that is older than a column has its default value there, and that is NULL without one.
  @Test func columnsThatRecordsLackAreNull() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2), (3, 4);
      CREATE TABLE w(a PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO w VALUES(1, 2), (3, 4);
      """)
    connection.close()
    func declare(_ columns: String) throws {
      try Self.edit(
        url,
        """
        UPDATE sqlite_schema SET sql = 'CREATE TABLE t(a, b, \(columns))' WHERE name = 't';
        UPDATE sqlite_schema SET sql =
          'CREATE TABLE w(a PRIMARY KEY, b, \(columns)) WITHOUT ROWID' WHERE name = 'w';
        """)
    }
    for columns in ["c, d NOT NULL DEFAULT 7", "c NOT NULL DEFAULT ''x'', d DEFAULT NULL"] {
      try declare(columns)
      #expect(try Self.verdict(url) == ["ok"], "\(columns)")
      #expect(try Self.damage(url) == [], "\(columns)")
    }
    for columns in ["c NOT NULL, d NOT NULL DEFAULT 7", "c NOT NULL DEFAULT NULL"] {
      try declare(columns)
      let verdict = try #require(try Self.verdict(url))
      #expect(verdict.contains("NULL value in t.c") && verdict.contains("NULL value in w.c"))
      let findings = try SQLiteDatabase(path: url.path).check().findings.kept
      #expect(findings.map(\.id.rawValue) == ["record.null", "record.null"], "\(columns)")
      #expect(findings.allSatisfy { $0.message.contains("2 values of column c") })
    }
  }

  /// SQLite reads no page behind those that a valid count in the header covers.
  @Test func pagesInUseBehindTheCountAreDamage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE u(v);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
        INSERT INTO t SELECT i, hex(zeroblob(40)) FROM n;
      INSERT INTO u VALUES(zeroblob(2000));
      """)
    connection.close()
    let count = try bytes(of: url).count / 512
    try #require(count < 256)
    // The last page is one of an overflow chain; behind the fifth there are leaves too.
    for kept in [count - 1, 5] {
      try overwrite(url, at: 28, bytes: [0, 0, 0, UInt8(kept)])
      #expect(try Self.verdict(url) != ["ok"])
      for depth in CheckDepth.allCases {
        let report = try SQLiteDatabase(path: url.path).check(depth: depth)
        let finding = try #require(
          report.findings.kept.first { $0.id.rawValue == "header.badCount" })
        #expect(finding.severity == .damage && finding.page == UInt32(kept + 1))
        #expect(report.pageCount == count && report.checkedPageCount == count)
      }
    }
    // Pages that nothing uses do no harm.
    try overwrite(url, at: 28, bytes: [0, 0, 0, UInt8(count)])
    try overwrite(url, at: count * 512, bytes: [UInt8](repeating: 13, count: 1024))
    #expect(try Self.verdict(url) == ["ok"])
    let findings = try SQLiteDatabase(path: url.path).check().findings.kept
    #expect(findings.map(\.id.rawValue) == ["file.trailing"])
  }

  @Test func indexesAreComparedWithTheirRows() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b REAL); CREATE INDEX ta ON t(a DESC, b);
      CREATE TABLE u(a TEXT, b REAL); CREATE INDEX ua ON u(a);
      INSERT INTO t VALUES(1, 'one', 1.0), (2, 'two', 2.5), (3, NULL, 3);
      INSERT INTO u SELECT a, b FROM t; INSERT INTO u VALUES('more', 1);
      ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'later'; CREATE INDEX tc ON t(c, id);
      """)
    connection.close()
    #expect(try Self.damage(url) == [])
    // The index of one table is made the other's, which has as many rows less one.
    try Self.edit(
      url,
      """
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'ta')
        WHERE name = 'ua';
      DELETE FROM sqlite_schema WHERE name = 'ta';
      """)
    #expect(
      try Set(Self.damage(url, .quick) ?? [])
        == ["index.badCount", "page.orphan", "record.tooManyFields"])
  }

  static func edit(_ url: URL, _ sql: String) throws {
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    // SQLITE_DBCONFIG_DEFENSIVE is off by default in the library.
    try connection.exec("PRAGMA writable_schema = ON; " + sql)
  }

  @Test func findingsNameThePlace() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("page-512").make(folder.url)
    var pages = 0
    _ = try SQLiteDatabase(path: url.path).listPages { entry in
      if entry.kind == .leafTable { pages = Int(entry.page) }
    }
    try overwrite(url, at: 512 * (pages - 1) + 7, bytes: [33])
    let findings = try SQLiteDatabase(path: url.path).check().findings.kept
    #expect(findings.count == 1)
    let finding = try #require(findings.first)
    #expect(finding.id.rawValue == "page.badFragments")
    #expect(finding.page == UInt32(pages) && finding.offset == Int64(512 * (pages - 1) + 7))
  }

  /// A table that is taken apart for two threads: what is wrong with its pages is told in their order, and what is
  /// wrong with values is counted together.
  @Test func partsOfATableAreJudgedTogether() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("large.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 512; PRAGMA synchronous = OFF")
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO t SELECT i, printf('row %06d ', i) || replace(hex(zeroblob(60)), '0', 'x') FROM n;
      """)
    connection.close()
    var content = try bytes(of: url)
    try #require(content.count > 512 * 2048)
    // The text of some rows, usually five and in long rounds each 700th, is no UTF-8.
    var ruinedRows = 0
    for row in stride(from: 700, through: 12_000, by: Rounds.areLong ? 700 : 2800) {
      let mark = Array("row \(String(repeating: "0", count: 6 - String(row).count))\(row) ".utf8)
      let found = try #require(Data(content).firstRange(of: Data(mark)))
      content[found.lowerBound] = 0xff
      ruinedRows += 1
    }
    try Data(content).write(to: url)
    var leaves: [(page: UInt32, cells: Int)] = []
    _ = try SQLiteDatabase(path: url.path).listPages { entry in
      if entry.owner == "t", entry.kind == .leafTable {
        leaves.append((entry.page, entry.cellCount ?? 0))
      }
    }
    let values = try SQLiteDatabase(path: url.path).check().findings.kept
    #expect(values.map(\.id.rawValue) == ["record.badText"])
    #expect(values.first?.message.hasPrefix("\(ruinedRows) values of column v") == true)
    #expect(values.first?.message.hasSuffix("first in row 700") == true)

    let ruined = stride(from: 40, to: leaves.count, by: 333).map { leaves[$0] }
    for leaf in ruined { try overwrite(url, at: Int(leaf.page - 1) * 512, bytes: [99]) }
    let report = try SQLiteDatabase(path: url.path).check()
    let broken = report.findings.kept.filter { $0.id.rawValue == "page.badType" }.compactMap(\.page)
    #expect(broken == ruined.map(\.page).sorted())
    #expect(report.rowCount == 12_000 - ruined.reduce(0) { $0 + $1.cells })
    #expect(report.checkedPageCount == report.pageCount - ruined.count)
  }

  /// Enough pages for two threads. Two tables that share pages are found whatever thread takes which table, and what
  /// is said of them is the same each time.
  @Test func sharedPagesAreFoundAmongMany() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 512; CREATE TABLE a(x, y); CREATE TABLE b(x, y);
      CREATE INDEX ax ON a(x); CREATE INDEX bx ON b(x, y);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
        INSERT INTO a SELECT i, hex(randomblob(30)) FROM n;
      INSERT INTO b SELECT * FROM a;
      """)
    connection.close()
    let sound = try SQLiteDatabase(path: url.path)
    #expect(sound.pageCount > 4096)
    let report = try sound.check(depth: .full)
    #expect(report.findings.count == 0, "\(report.findings.kept)")
    #expect(report.rowCount == 24_000 && report.indexEntryCount == 24_000)
    #expect(report.checkedPageCount == report.pageCount)
    // The root of b, an inner page, gets the rightmost child of a's root.
    let roots = sound.schema.tables.map { Int($0.rootPage) }
    let all = try bytes(of: url)
    let child = (roots[0] - 1) * 512 + 8
    try overwrite(url, at: (roots[1] - 1) * 512 + 8, bytes: Array(all[child..<child + 4]))
    let first = try SQLiteDatabase(path: url.path).check(depth: .full)
    let ids = Set(first.findings.kept.map(\.id.rawValue))
    #expect(ids.contains("page.referencedTwice") && ids.contains("page.orphan"))
    for _ in 0..<5 {
      #expect(try SQLiteDatabase(path: url.path).check(depth: .full) == first)
    }
    // An index whose entries are as many as before, and one of them another.
    try Data(all).write(to: url)
    var leaf = 0
    _ = try sound.listPages { if $0.kind == .leafIndex, $0.owner == "bx" { leaf = Int($0.page) } }
    try overwrite(url, at: leaf * 512 - 2, bytes: [0x21])
    let other = try SQLiteDatabase(path: url.path)
    #expect(try other.check(depth: .quick).findings.damageCount == 0)
    #expect(try other.check(depth: .full).findings.kept.map(\.id.rawValue) == ["index.badEntries"])
    #expect(try Self.verdict(url) != ["ok"])
  }

  /// Random bytes all over: the check ends, and finds something or refuses.
  @Test(arguments: ["free-blocks", "auto-vacuum-full", "without-rowid", "wal-committed"])
  func noiseEndsTheCheck(_ name: String) throws {
    var generator = SplitMix64(seed: 77)
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let sound = try bytes(of: url)
    for _ in 0..<(Rounds.areLong ? 60 : 15) {
      var ruined = sound
      for _ in 0..<Int.random(in: 1...200, using: &generator) {
        ruined[Int.random(in: 100..<sound.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      try Data(ruined).write(to: url)
      guard let database = try? SQLiteDatabase(path: url.path) else { continue }
      let report = try database.check(depth: .full)
      #expect(report.checkedPageCount <= report.pageCount + 1)
      for page in 1...min(database.pageCount, 40) { _ = try database.detail(ofPage: page) }
    }
  }
}
