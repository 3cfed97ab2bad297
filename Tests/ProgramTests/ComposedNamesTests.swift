import Fixtures
import Foundation
import Testing

/// Names that differ only in how their letters are composed: SQLite compares bytes and has two of them, where Swift's `==`
/// sees one.
@Suite struct ComposedNamesTests {
  private static let names = ["caf\u{e9}", "cafe\u{301}"]
  /// SQLite's own answer about everything in a schema that a program made.
  private static let schema = """
    SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE substr(name, 1, 1) <> '_' ORDER BY type, name
    """

  private let place: TemporaryFolder
  private let store: URL

  /// Makes two tables, each with two columns, an index, a view and a trigger; the second has a row more.
  init() throws {
    place = try TemporaryFolder()
    store = place.url.appendingPathComponent("two.db")
    let connection = try SQLiteConnection(store)
    defer { connection.close() }
    for (number, name) in Self.names.enumerated() {
      try connection.exec(
        """
        CREATE TABLE "\(name)" (
          id INTEGER PRIMARY KEY AUTOINCREMENT, "x\(Self.names[0])", "x\(Self.names[1])");
        CREATE INDEX "i_\(name)" ON "\(name)" ("x\(name)");
        CREATE VIEW "v_\(name)" AS SELECT "x\(name)" FROM "\(name)";
        CREATE TRIGGER "t_\(name)" AFTER DELETE ON "\(name)" BEGIN SELECT 1; END;
        """)
      for row in 1...number + 2 {
        try connection.exec(
          "INSERT INTO \"\(name)\" VALUES (\(row), 'one \(number) \(row)', 'two \(number) \(row)')")
      }
      // The highest row id that the table ever had is only in sqlite_sequence.
      try connection.exec(
        "INSERT INTO \"\(name)\" (id) VALUES (\(100 + number)); DELETE FROM \"\(name)\" WHERE id > 99"
      )
    }
  }

  private func output(_ name: String) -> URL { place.url.appendingPathComponent(name) }

  private static func isSame(_ one: String?, _ other: String) -> Bool {
    one.map { Array($0.utf8) } == Array(other.utf8)
  }

  private func recovered() throws -> (url: URL, outcome: Outcome) {
    let url = output("new.sqlite")
    return (url, try Program.run("recover", "--json", store.path, "-o", url.path))
  }

  @Test func recoverKeepsAllRowsAndTheWholeSchema() throws {
    let (url, outcome) = try recovered()
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["rowCount"]?.integer == 5)
    #expect(report["tables"]?.array?.compactMap { $0["rowCount"]?.integer } == [2, 3])
    let old = try SQLiteConnection(store)
    defer { old.close() }
    let new = try SQLiteConnection(url)
    defer { new.close() }
    #expect(try new.integrityCheck() == ["ok"])
    #expect(try new.rows(Self.schema) == old.rows(Self.schema))
    #expect(try new.rows(Self.schema).count == 9)
    for name in Self.names + ["sqlite_sequence"] {
      let sql = "SELECT rowid, * FROM \"\(name)\" ORDER BY 1"
      #expect(try new.rows(sql) == old.rows(sql))
    }
  }

  /// A table whose statement SQLite refuses is made without types, but with its key.
  @Test func aSimplifiedTableKeepsItsKey() throws {
    let refused = output("refused.db")
    let columns = "\"\(Self.names[0])\" INTEGER PRIMARY KEY, \"\(Self.names[1])\" TEXT"
    let connection = try SQLiteConnection(refused)
    try connection.exec(
      """
      CREATE TABLE t (\(columns));
      INSERT INTO t VALUES (5, 'five'), (7, 'seven');
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE t (\(columns), CHECK (nowhere(1)))';
      """)
    connection.close()
    let copy = output("made.db")
    let outcome = try Program.run("recover", "--json", refused.path, "-o", copy.path)
    #expect(try outcome.json()["rowCount"]?.integer == 2, "\(outcome.text) \(outcome.errors)")
    let new = try SQLiteConnection(copy)
    defer { new.close() }
    let rows: [[FixtureValue]] = [
      [.integer(5), .integer(5), .string("five")], [.integer(7), .integer(7), .string("seven")],
    ]
    #expect(try new.rows("SELECT rowid, * FROM t") == rows)
  }

  @Test func aComparisonWithItselfOrItsCopyFindsNothing() throws {
    let copy = try recovered().url
    for other in [store, copy] {
      let outcome = try Program.run("compare", "--json", store.path, other.path)
      #expect(outcome.status == 0, "\(outcome.text) \(outcome.errors)")
    }
  }

  /// A name that is composed in another way is another name.
  @Test func aComparisonTellsOfANewName() throws {
    let urls = [output("old.db"), output("other.db")]
    for (url, name) in zip(urls, Self.names) {
      let connection = try SQLiteConnection(url)
      try connection.exec("CREATE TABLE t (\"\(name)\"); CREATE INDEX i ON t (\"\(name)\")")
      connection.close()
    }
    let outcome = try Program.run("compare", "--json", urls[0].path, urls[1].path)
    #expect(outcome.status == 1)
    let changes = try #require(try outcome.json()["schemaChanges"]?.array)
    #expect(
      changes.map { "\($0["change"]?.string ?? "") \($0["type"]?.string ?? "")" }
        == ["changed index", "removed column", "added column"])
  }

  @Test func rowsHaveEachColumnByItsOwnName() throws {
    let values = ["one", "two"]
    for (number, table) in Self.names.enumerated() {
      for (column, value) in zip(Self.names, values) {
        let outcome = try Program.run(
          "rows", "--raw", "--entity", table, "--columns", "x" + column, "--limit", "2", "--format",
          "csv", store.path)
        let expected = "_rowid,x\(column)\r\n1,\(value) \(number) 1\r\n2,\(value) \(number) 2\r\n"
        #expect(outcome.stdout == Data(expected.utf8), "\(outcome.text) \(outcome.errors)")
      }
      let both = try Program.run(
        "rows", "--raw", "--entity", table, "--columns",
        Self.names.map { "x" + $0 }.joined(separator: ","),
        "--limit", "1", "--format", "csv", store.path)
      #expect(both.text.contains("\r\n1,one \(number) 1,two \(number) 1\r\n"), "\(both.text)")
    }
  }

  @Test func rowsOfDamagedStoresAreThoseOfTheirTable() throws {
    for (number, table) in Self.names.enumerated() {
      let outcome = try Program.run(
        "rows", "--all", "--raw", "--entity", table, "--format", "csv", store.path)
      #expect(outcome.text.contains("one \(number) 1"), "\(outcome.text) \(outcome.errors)")
      #expect(!outcome.text.contains("one \(1 - number) 1"), "\(outcome.text)")
    }
  }

  @Test func rawRowsOfDamagedStoresAreThoseOfTheirTable() throws {
    for (number, table) in Self.names.enumerated() {
      let outcome = try Program.run(
        "rows", "--all", "--raw", "--entity", table, "--format", "ndjson", store.path)
      let lines = try outcome.lines().filter { $0["state"] == nil }
      #expect(lines.count == number + 2, "\(outcome.text) \(outcome.errors)")
      #expect(lines.allSatisfy { Self.isSame($0["table"]?.string, table) })
    }
  }

  @Test func rowsOfABundleAreThoseOfTheirTable() throws {
    let bundle = output("rows.zip").path
    let made = try Program.run(
      "bundle", "create", store.path, "-o", bundle, "--include", "rows", "--redact", "none")
    try #require(made.status == 0, "\(made.errors)")
    for (number, table) in Self.names.enumerated() {
      let outcome = try Program.run("rows", bundle, "--entity", table, "--format", "ndjson")
      let tables = try outcome.lines().map { $0["table"]?.string }
      #expect(tables.count == number + 2, "\(outcome.text) \(outcome.errors)")
      #expect(tables.allSatisfy { Self.isSame($0, table) })
    }
    let none = try Program.run("rows", bundle, "--entity", "cafes", "--format", "ndjson")
    #expect(none.status == 64 && none.errorCode == "input.unknownName", "\(none.errors)")
    #expect(none.stdout.isEmpty)
  }

  /// Makes a store with two entities, each with its own table; the second has a row more.
  private func entities() throws -> URL {
    let store = output("entities.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (
        Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      """)
    for (number, (name, table)) in zip(Self.names, ["CAF\u{c9}", "CAFE\u{301}"]).enumerated() {
      try connection.exec(
        """
        INSERT INTO Z_PRIMARYKEY VALUES (\(number + 1), '\(name)', 0, \(number + 2));
        CREATE TABLE "Z\(table)" (
          Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZX VARCHAR, ZDATE TIMESTAMP);
        """)
      for row in 1...number + 2 {
        try connection.exec(
          """
          INSERT INTO "Z\(table)" VALUES (
            \(row), \(number + 1), 1, 'x \(number) \(row)', 700000000.5 + \(row))
          """)
      }
    }
    connection.close()
    return store
  }

  /// Whether each entity is named once in a text, before the number of its rows.
  private static func namesBoth(_ outcome: Outcome) -> Bool {
    let lines = outcome.stdout.split(separator: UInt8(ascii: "\n")).map { Array($0) }
    return names.enumerated().allSatisfy { number, name in
      lines.count { $0 == Array("\(name), \(number + 2) rows".utf8) } == 1
    }
  }

  @Test func entitiesHaveTheirOwnRows() throws {
    let store = try entities()
    for arguments in [[], ["--all"], ["--entity", Self.names[1], "--entity", Self.names[0]]] {
      let outcome = try Program.run(["rows", store.path] + arguments)
      #expect(Self.namesBoth(outcome), "\(arguments) \(outcome.text) \(outcome.errors)")
    }
    let inspected = try Program.run("inspect", "--json", store.path).json()
    #expect(inspected["entities"]?.array?.map { $0["rowCount"]?.integer } == [2, 3])
    #expect(inspected["plainTables"] == nil)
    for (number, name) in Self.names.enumerated() {
      let own = (1...number + 2).map { "x \(number) \($0)" }
      for arguments in [[], ["--all"], ["--where", "ZX != nil"]] {
        let outcome = try Program.run(
          ["rows", store.path, "--entity", name, "--format", "ndjson"] + arguments)
        let lines = try outcome.lines()
        #expect(lines.map { $0["values"]?["ZX"]?.string } == own, "\(arguments) \(outcome.errors)")
        #expect(lines.allSatisfy { Self.isSame($0["entity"]?.string, name) })
      }
      let csv = try Program.run("rows", store.path, "--entity", name, "--format", "csv")
      #expect(csv.text.hasPrefix("_pk,ZX,ZDATE\r\n1,x \(number) 1,"), "\(csv.text)")
      let events = try Program.run(
        "timeline", "--dates", store.path, "--entity", name, "--format", "ndjson"
      ).lines()
      #expect(events.count == own.count)
      #expect(events.allSatisfy { Self.isSame($0["entity"]?.string, name) })
      let extract = try Program.run(
        "extract", "--json", store.path, "--entity", name, "-o", output("\(number)").path)
      let parts = try #require(try extract.json()["parts"]?.array, "\(extract.errors)")
      #expect(parts.map { $0["rowCount"]?.integer } == [Int64(own.count)])
      #expect(Self.isSame(parts.first?["name"]?.string, name))
      let bundle = output("\(number).zip").path
      _ = try Program.run(
        "bundle", "create", store.path, "-o", bundle, "--include", "rows:" + name, "--redact",
        "none")
      let packed = try Program.run("rows", bundle, "--format", "ndjson").lines()
      #expect(packed.map { $0["values"]?["ZX"]?.string } == own)
    }
    // The title of each row is its own.
    let events = try Program.run("timeline", "--dates", store.path).text
    for (number, count) in [2, 3].enumerated() {
      for row in 1...count { #expect(events.contains("\"x \(number) \(row)\""), "\(events)") }
    }
  }

  /// A keyboard composes letters in only one way.
  @Test func aNameMayBeComposedInAnotherWayThanTheOnlyEntity() throws {
    let store = try entities()
    let connection = try SQLiteConnection(store)
    try connection.exec("DROP TABLE \"ZCAF\u{c9}\"; DELETE FROM Z_PRIMARYKEY WHERE Z_ENT = 1")
    connection.close()
    let outcome = try Program.run(
      "rows", store.path, "--entity", Self.names[0], "--format", "ndjson")
    #expect(try outcome.lines().count == 3, "\(outcome.errors)")
  }

  @Test func aComparisonOfAnEntityLeavesOutTheOther() throws {
    let store = try entities()
    let changed = output("changed.sqlite")
    try FileManager.default.copyItem(at: store, to: changed)
    let connection = try SQLiteConnection(changed)
    try connection.exec("UPDATE \"ZCAFE\u{301}\" SET ZX = 'new' WHERE Z_PK = 3")
    connection.close()
    for (name, count) in zip(Self.names, [Int64(0), 1]) {
      let outcome = try Program.run(
        "compare", "--json", store.path, changed.path, "--entity", name)
      #expect(try outcome.json()["changedCount"]?.integer == count, "\(name) \(outcome.text)")
    }
  }

  /// A permission for one of two columns does not show the other column.
  @Test func anAllowListNamesOneOfTheTwo() throws {
    let list = output("allow.txt")
    let text = "lifeboat-allow 1\n\(Self.names[0]).x\(Self.names[0])\n"
    try Data(text.utf8).write(to: list)
    let bundle = output("listed.zip").path
    let made = try Program.run(
      "bundle", "create", store.path, "-o", bundle, "--include", "rows", "--redact", "listed",
      "--allow", list.path)
    #expect(made.status == 0, "\(made.errors)")
    let rows = try Program.run("rows", bundle, "--format", "ndjson").text
    #expect(rows.contains("one 0 1") && rows.contains("one 0 2"), "\(rows)")
    #expect(!rows.contains("two") && !rows.contains("one 1"), "\(rows)")

    let url = output("columns.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY (
        Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Note', 0, 1);
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "Z\u{c9}", "ZE\u{301}");
      INSERT INTO ZNOTE VALUES (1, 1, 1, 'open', 'covert');
      """)
    connection.close()
    try Data("lifeboat-allow 1\nNote.Z\u{c9}\n".utf8).write(to: list)
    for format in ["text", "csv", "ndjson"] {
      let shown = try Program.run("rows", url.path, "--allow", list.path, "--format", format)
      #expect(shown.text.contains("open"), "\(format) \(shown.errors)")
      #expect(!shown.text.contains("covert"), "\(format) \(shown.text)")
    }
  }

  @Test func extractsHaveBothTables() throws {
    let folder = output("rows")
    let csv = try Program.run("extract", "--json", store.path, "-o", folder.path)
    #expect(csv.status == 0, "\(csv.errors)")
    let parts = try #require(try csv.json()["parts"]?.array)
    for (number, name) in Self.names.enumerated() {
      let own = parts.filter { Self.isSame($0["name"]?.string, name) }
      #expect(own.map { $0["rowCount"]?.integer } == [Int64(number + 2)])
      let file = folder.appendingPathComponent(own.first?["target"]?.string ?? "")
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      #expect(text.contains("one \(number) 2"), "\(text)")
    }
    let copy = output("rows.sqlite")
    let outcome = try Program.run("extract", "--format", "sqlite", store.path, "-o", copy.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let old = try SQLiteConnection(store)
    defer { old.close() }
    let new = try SQLiteConnection(copy)
    defer { new.close() }
    for name in Self.names {
      let sql = "SELECT * FROM \"\(name)\" ORDER BY id"
      #expect(try new.rows(sql) == old.rows(sql))
    }
  }

  @Test func aSearchNamesTheTableAndTheColumn() throws {
    for (number, name) in Self.names.enumerated() {
      let outcome = try Program.run(
        "search", "two \(number) 2", store.path, "--live", "--format", "ndjson")
      let hits = try outcome.lines()
      #expect(hits.count == 1, "\(outcome.text)")
      #expect(Self.isSame(hits.first?["table"]?.string, name))
      #expect(Self.isSame(hits.first?["attribute"]?.string, "x" + Self.names[1]))
    }
  }

  @Test func statesTellTheTablesApart() throws {
    let connection = try SQLiteConnection(store)
    defer { connection.close() }
    try connection.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
    for name in Self.names + Self.names {
      try connection.exec("INSERT INTO \"\(name)\" (\"x\(name)\") VALUES ('new')")
    }
    let outcome = try Program.run("states", "--json", store.path)
    let states = try #require(try outcome.json()["states"]?.array)
    #expect(states.count >= 4, "\(outcome.text) \(outcome.errors)")
    for (state, name) in zip(states.suffix(4), Self.names + Self.names) {
      let tables = (state["tables"]?.array ?? []).filter {
        $0["table"]?.string != "sqlite_sequence"
      }
      #expect(tables.count == 1)
      #expect(Self.isSame(tables.first?["table"]?.string, name))
      #expect(tables.first?["added"]?.integer == 1)
    }
  }
}
