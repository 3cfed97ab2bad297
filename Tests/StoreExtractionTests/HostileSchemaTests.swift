import Fixtures
import Foundation
import SQLiteFile
import SQLiteWriter
import StoreExtraction
import Testing

/// Definitions that SQLite does not take, that compute without end, or that stand under false names: each costs itself
/// and nothing else.
@Suite struct HostileSchemaTests {
  /// A file made through libsqlite3, its rebuild, and what is in that.
  private struct Case {
    let folder: TemporaryFolder
    let url: URL
    var output: URL { folder.url.appendingPathComponent("new.sqlite") }

    /// `sql` makes the tables with their rows; `schema` changes the schema table behind SQLite's back. There is
    /// always a table `u` with a row.
    init(_ sql: String, schema: [String] = []) throws {
      folder = try TemporaryFolder()
      url = folder.url.appendingPathComponent("old.sqlite")
      let database = try SQLiteConnection(url)
      try database.exec(sql + "; CREATE TABLE u(k, v); INSERT INTO u VALUES('precious', 'data');")
      if !schema.isEmpty {
        try database.exec("PRAGMA writable_schema = ON")
        for change in schema { try database.exec(change) }
      }
      database.close()
    }

    func rebuild(_ change: (inout StoreRebuild) -> Void = { _ in }) throws -> RebuildResult {
      var rebuild = StoreRebuild()
      change(&rebuild)
      let result = try rebuild.run(try DamagedStore(path: url.path), to: output.path)
      #expect(try rows("SELECT * FROM u") == [[.string("precious"), .string("data")]])
      let database = try SQLiteConnection(output)
      defer { database.close() }
      #expect(try database.integrityCheck() == ["ok"])
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
          == ["new.sqlite", "old.sqlite"])
      return result
    }

    func rows(_ sql: String) throws -> [[FixtureValue]] {
      let database = try SQLiteConnection(output)
      defer { database.close() }
      return try database.rows(sql)
    }

    func schemaOf(_ name: String) throws -> String? {
      guard
        case .text(let bytes)? = try rows(
          "SELECT sql FROM sqlite_schema WHERE name = '\(name)'"
        ).first?.first
      else { return nil }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private static func has(_ id: String, _ result: RebuildResult, table: String? = nil) -> Bool {
    result.findings.contains { $0.id.rawValue == id && (table == nil || $0.table == table) }
  }

  /// SQL that changes a part of an entry's statement.
  private static func change(_ name: String, _ old: String, _ new: String) -> String {
    "UPDATE sqlite_schema SET sql = replace(sql, '\(old)', '\(new)') WHERE name = '\(name)'"
  }

  /// SQL that makes a number of rows.
  private static func rows(_ count: Int) -> String {
    """
    WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < \(count))
    INSERT INTO t SELECT i, 'was' || i FROM c
    """
  }

  // MARK: - Names

  @Test func aNULInTheNameOfAColumn() throws {
    let made = try Case(
      "CREATE TABLE t(x, aQb); INSERT INTO t VALUES(1, 'two')",
      schema: [
        "UPDATE sqlite_schema SET sql = replace(sql, 'aQb', '\"a' || char(0) || 'b\"') WHERE name = 't'"
      ])
    let result = try made.rebuild()
    #expect(result.rowCount == 2)
    #expect(Self.has("schema.repaired", result, table: "t"))
    #expect(try made.rows("SELECT * FROM t") == [[.integer(1), .string("two")]])
  }

  @Test func aNULInTheNameOfATable() throws {
    let made = try Case(
      "CREATE TABLE tQt(x, y); INSERT INTO tQt VALUES(1, 'two')",
      schema: [
        "UPDATE sqlite_schema SET sql = replace(sql, 'tQt', '\"t' || char(0) || 't\"'), name = 't' || char(0) || 't', tbl_name = 't' || char(0) || 't' WHERE name = 'tQt'"
      ])
    let result = try made.rebuild()
    #expect(result.rowCount + result.unattributedCount == 2)
    #expect(!result.findings.isEmpty)
    #expect(result.tables.contains { $0.rowCount == 1 && $0.target != "u" })
  }

  /// More columns than SQLite makes tables with: another build of it may.
  @Test func moreColumnsThanSQLiteTakes() throws {
    let columns = (0..<1999).map { "c\($0)" }
    let values = (0..<1999).map { $0 == 1995 ? "x'00ff'" : $0 == 1996 ? "'it''s'" : "\($0)" }
    let more = (1999..<2100).map { ", c\($0)" }.joined()
    let made = try Case(
      "CREATE TABLE t(\(columns.joined(separator: ", "))); INSERT INTO t VALUES(\(values.joined(separator: ", ")))",
      schema: [
        Self.change("t", ", c1998", ", c1998\(more)")
      ])
    let result = try made.rebuild()
    #expect(result.rowCount == 2)
    #expect(Self.has("recover.columnsFolded", result, table: "t"))
    #expect(
      try made.rows(
        "SELECT rowid, c0, c1988, _more ->> 'c1989', _more ->> 'c1998', _more ->> '$.c1995.hex', _more ->> 'c1996', _more ->> 'c2050' FROM t"
      ) == [
        [
          .integer(1), .integer(0), .integer(1988), .integer(1989), .integer(1998),
          .string("00ff"), .string("it's"), .null,
        ]
      ])
  }

  @Test func aColumnNamedLikeSQLitesOwnTables() throws {
    let made = try Case(
      "CREATE TABLE t(sqlite_id, y, sqlite_ID2 INTEGER PRIMARY KEY); INSERT INTO t VALUES(1, 'two', 9)",
      schema: [Self.change("t", "y,", "y CHECK(nosuch(y)),")])
    let result = try made.rebuild()
    #expect(result.rowCount == 2)
    #expect(Self.has("recover.tableSimplified", result, table: "t"))
    #expect(
      try made.rows("SELECT sqlite_id, y, sqlite_ID2, rowid FROM t")
        == [[.integer(1), .string("two"), .integer(9), .integer(9)]])
  }

  @Test(arguments: ["_lifeboat_findings", "_lifeboat_provenance", "_lifeboat_conflicts_t"])
  func anEntryThatMakesATableOfAnotherName(_ name: String) throws {
    let made = try Case(
      "CREATE TABLE t(a, b, c); INSERT INTO t VALUES(1, 'two', 3.5); CREATE INDEX i ON u2(p)"
        .replacingOccurrences(
          of: "CREATE INDEX", with: "CREATE TABLE u2(p, q, r, s); CREATE INDEX"),
      schema: [
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE \(name)(a, b, c)' WHERE name = 't'",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX _lifeboat_findings_2 ON u2(p)' WHERE name = 'i'",
      ])
    let result = try made.rebuild()
    #expect(result.rowCount == 2, "\(result.findings)")
    #expect(Self.has("schema.repaired", result, table: "t"))
    #expect(try made.rows("SELECT * FROM t") == [[.integer(1), .string("two"), .real(3.5)]])
  }

  /// An index can have the very name of the table of findings.
  @Test func anIndexNamedLikeATableOfOurs() throws {
    let made = try Case(
      "CREATE TABLE t(a, b, c); INSERT INTO t VALUES(1, 'two', 3.5); CREATE INDEX i ON t(a)",
      schema: [
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX _lifeboat_findings ON t(a)' WHERE name = 'i'",
        Self.change("u", "k", "k CHECK(nosuch(k))"),
      ])
    let result = try made.rebuild()
    #expect(Self.has("recover.tableSimplified", result, table: "u"))
    #expect(
      try made.rows("SELECT count(*) FROM _lifeboat_findings_2") == [
        [.integer(Int64(result.findings.count))]
      ])
  }

  @Test func aCollationThatNobodyHas() throws {
    let made = try Case(
      "CREATE TABLE t(a, b UNIQUE); INSERT INTO t VALUES(1, 'two')",
      schema: [Self.change("t", "b ", "b COLLATE nosuch ")])
    let result = try made.rebuild()
    #expect(result.rowCount == 2)
    #expect(Self.has("recover.tableSimplified", result, table: "t"))
    #expect(try made.rows("SELECT * FROM t") == [[.integer(1), .string("two")]])
  }

  /// Each row fails in another way than by a constraint.
  @Test func aConstraintThatFailsInsteadOfAnswering() throws {
    let made = try Case(
      "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 'two'), (-9223372036854775808, 'min')",
      schema: [Self.change("t", "b)", "b, CHECK(abs(a) > 0))")])
    let result = try made.rebuild()
    #expect(result.rowCount == 2)
    #expect(result.conflictCount == 1)
    #expect(try made.rows("SELECT * FROM t") == [[.integer(1), .string("two")]])
    #expect(try made.rows("SELECT b FROM _lifeboat_conflicts_t") == [[.string("min")]])
    #expect(try made.schemaOf("t")?.contains("CHECK") == true)
  }

  /// It held when the row went in, and does not when it is looked at again.
  @Test func aConstraintThatChangesItsMind() throws {
    let made = try Case(
      "CREATE TABLE t(a, b CHECK(random() % 2)); CREATE TABLE w(x)",
      schema: [])
    let database = try SQLiteConnection(made.url)
    for number in 0..<60 { try? database.exec("INSERT INTO t VALUES(\(number), 'x')") }
    let count = try #require(try database.integer("SELECT count(*) FROM t"))
    database.close()
    let result = try StoreRebuild().run(try DamagedStore(path: made.url.path), to: made.output.path)
    #expect(result.rowCount + result.conflictCount == Int(count) + 1)
    #expect(!result.isLossless)
  }

  /// A virtual table whose statement SQLite cannot read would make the whole new file unreadable.
  @Test func aVirtualTableThatIsNone() throws {
    let made = try Case(
      "CREATE TABLE t(a, b)",
      schema: [
        "INSERT INTO sqlite_schema VALUES('table', 'bad', 'bad', 0, 'CREATE VIRTUAL TABLE bad (((')"
      ])
    let result = try made.rebuild()
    #expect(Self.has("recover.virtualTable", result))
  }

  /// Two entries that define the same virtual table: SQLite could not open the file any more.
  @Test func virtualTablesUnderFalseNames() throws {
    let made = try Case(
      "CREATE TABLE t(a, b)",
      schema: ["one", "two"].map {
        "INSERT INTO sqlite_schema VALUES('table', '\($0)', '\($0)', 0, 'CREATE VIRTUAL TABLE z USING fts5(a)')"
      })
    let result = try made.rebuild()
    #expect(
      result.findings.count { $0.id.rawValue == "recover.virtualTable" && $0.severity == .damage }
        == 2)
  }

  // MARK: - JSON

  @Test func definitionsWithJSONAreKept() throws {
    let table =
      "CREATE TABLE t(body TEXT CHECK(json_valid(body)), n AS (json_extract(body, '$.n')) STORED, o AS (body ->> 'o'))"
    let index = "CREATE INDEX i ON t(json_extract(body, '$.o'))"
    let made = try Case("\(table); INSERT INTO t VALUES('{\"n\":3,\"o\":\"x\"}'), ('{}'); \(index)")
    let result = try made.rebuild()
    #expect(result.isLossless, "\(result.findings)")
    #expect(try made.schemaOf("t") == table)
    #expect(try made.schemaOf("i") == index)
    #expect(
      try made.rows("SELECT n, o FROM t ORDER BY rowid")
        == [[.integer(3), .string("x")], [.null, .null]])
  }

  /// What stands in the rows is kept also where the definition cannot be.
  @Test func storedValuesOfASimplifiedTableAreKept() throws {
    let made = try Case(
      "CREATE TABLE t(a, s AS (a * 2) STORED, v AS (a * 3), z); INSERT INTO t VALUES(21, 'end')",
      schema: [Self.change("t", "z)", "z CHECK(nosuch(z)))")])
    let result = try made.rebuild()
    #expect(Self.has("recover.tableSimplified", result, table: "t"))
    #expect(Self.has("recover.computedLeftOut", result, table: "t"))
    #expect(try made.rows("SELECT * FROM t") == [[.integer(21), .integer(42), .string("end")]])
  }

  // MARK: - Without end

  /// Values far larger than the file: the rows keep what stands in them.
  @Test(arguments: [50_000_000, 400_000]) func aColumnThatFillsTheDisk(_ size: Int) throws {
    let made = try Case(
      "CREATE TABLE t(x, y); \(Self.rows(200))",
      schema: [
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(x, y AS (hex(zeroblob(\(size) + x))) STORED)' WHERE name = 't'"
      ])
    let result = try made.rebuild()
    #expect(Self.has("recover.tableSimplified", result, table: "t"), "\(result.findings)")
    #expect(result.rowCount == 201)
    #expect(try made.rows("SELECT y FROM t WHERE x = 7") == [[.string("was7")]])
    #expect(try bytes(of: made.output).count < 1_000_000)
  }

  private static let slow = Array(
    repeating: "length(replace(hex(zeroblob(200000 + x)), '0', 'ab')) > 0", count: 60
  ).joined(separator: " AND ")

  @Test func aConstraintThatTakesLong() throws {
    let made = try Case(
      "CREATE TABLE t(x, y); \(Self.rows(1000))",
      schema: [
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(x, y CHECK(' || \(Self.quoted(Self.slow)) || '))' WHERE name = 't'"
      ])
    let result = try made.rebuild { $0.computingSeconds = 0.5 }
    let finding = try #require(
      result.findings.first { $0.id.rawValue == "recover.tableSimplified" })
    #expect(finding.message.contains("too long"))
    #expect(result.rowCount == 1001)
    #expect(result.conflictCount == 0)
  }

  @Test func anIndexThatTakesLong() throws {
    let made = try Case(
      "CREATE TABLE t(x, y); \(Self.rows(1000)); CREATE INDEX i ON t(x); CREATE INDEX good ON t(y)",
      schema: [
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX i ON t((' || \(Self.quoted(Self.slow)) || '))' WHERE name = 'i'"
      ])
    let result = try made.rebuild { $0.computingSeconds = 0.5 }
    let finding = try #require(result.findings.first { $0.id.rawValue == "recover.indexNotBuilt" })
    #expect(finding.message.contains("take too long"))
    #expect(result.rowCount == 1001)
    #expect(try made.schemaOf("good") != nil)
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
  }

  // MARK: - Named by others

  /// A store without its first page, and another that has more tables than it ever had.
  @Test func aTableThatOnlyTheExampleHasIsSaidToBe() throws {
    let folder = try TemporaryFolder()
    let like = folder.url.appendingPathComponent("like.sqlite")
    let old = folder.url.appendingPathComponent("old.sqlite")
    for (url, more) in [(old, ""), (like, "CREATE TABLE never(a REAL, b REAL, c REAL);")] {
      let database = try SQLiteConnection(url)
      try database.exec(
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, n INT); \(more)
        WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 500)
        INSERT INTO t SELECT i, 'name ' || i, i FROM c
        """)
      database.close()
    }
    try overwrite(old, at: 0, bytes: [UInt8](repeating: 0, count: 4096))
    let output = folder.url.appendingPathComponent("new.sqlite")
    let store = try DamagedStore(path: old.path, like: [like.path])
    let survey = try StoreRebuild().survey(store)
    let result = try StoreRebuild().run(store, to: output.path)
    for one in [survey, result] {
      #expect(one.tables.first { $0.name == "t" }?.rowCount == 500)
      #expect(one.tables.first { $0.name == "t" }?.isAssumed == nil)
      #expect(one.tables.first { $0.name == "never" }?.isAssumed == true)
      #expect(Self.has("recover.tableAssumed", one, table: "never"))
    }
  }

  // MARK: - Lost pages

  /// `name`: what happens to the file; then how many pages are lost of the tables, and behind the end.
  @Test(arguments: [
    ("index zero", 0, 0), ("index random", 0, 0), ("leaf header", 0, 0), ("leaf zero", 1, 0),
    ("cut", 0, 20),
  ]) func onlyPagesOfWhichSomethingIsLostAreCounted(
    _ name: String, _ unreadable: Int, _ missing: Int
  )
    throws
  {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("old.sqlite")
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, n INT); CREATE INDEX i ON t(name);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 2000)
      INSERT INTO t SELECT i, 'name of number ' || (i * 7919 % 2000), i FROM c
      """)
    database.close()
    let content = try bytes(of: url)
    func page(_ kind: UInt8) throws -> Int {
      let places = stride(from: 4096, to: content.count, by: 4096).filter { content[$0] == kind }
      return try #require(places.dropFirst(2).first)
    }
    var random = SplitMix64(seed: 5)
    switch name {
    case "index zero":
      try overwrite(url, at: page(10), bytes: [UInt8](repeating: 0, count: 4096))
    case "index random": try overwrite(url, at: page(10), bytes: random.bytes(4096))
    case "leaf header": try overwrite(url, at: page(13), bytes: [UInt8](repeating: 0, count: 8))
    case "leaf zero":
      try overwrite(url, at: page(13), bytes: [UInt8](repeating: 0, count: 4096))
    default: try truncate(url, to: content.count - 20 * 4096)
    }
    let store = try DamagedStore(path: url.path)
    let result = try StoreRebuild().run(
      store, to: folder.url.appendingPathComponent("new.sqlite").path)
    let survey = try StoreRebuild().survey(DamagedStore(path: url.path))
    for one in [result, survey] {
      #expect(one.unreadablePageCount == unreadable, "\(one.findings)")
      #expect(one.missingPageCount == missing)
      if unreadable + missing == 0 { #expect(one.rowCount == 2000) }
      #expect(!one.isLossless)
    }
  }
}
