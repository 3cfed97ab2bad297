import Fixtures
import Foundation
import SQLiteFile
@testable import SQLiteForensics
import Testing

/// Odd entries of the schema and odd headers: what SQLite opens is no damage, and what it refuses is.
@Suite struct OddSchemaTests {
  static let edits = [
    "sql = sql || ';garbage'''", "sql = sql || ' garbage' WHERE name = 't'",
    "sql = sql || char(0) || 'garbage('", "sql = ' ' || sql WHERE name = 't'",
    "sql = '/**/' || sql WHERE name = 't'", "sql = '' WHERE name = 't'",
    "name = 'u' WHERE name = 't'",
    "tbl_name = 'u' WHERE name = 't'", "tbl_name = 'u' WHERE name = 'i'",
    "type = 'view' WHERE name = 't'",
    "type = 'foo' WHERE name = 'i'", "tbl_name = 'zz' WHERE name = 'sqlite_autoindex_t_1'",
    "name = 'sqlite_autoindex_t_9' WHERE name = 'sqlite_autoindex_t_1'",
    "sql = 'CREATE TEMP TABLE t(a, b UNIQUE)' WHERE name = 't'",
    "sql = 'CREATE TABLE main.t(a, b UNIQUE)' WHERE name = 't'",
    "rootpage = CAST(rootpage AS TEXT)",
    "rootpage = NULL WHERE name = 't'",
    "sql = 'CREATE TABLE t(a, b UNIQUE) STRICT' WHERE name = 't'",
    "sql = 'CREATE TABLE t(a, b UNIQUE, A)' WHERE name = 't'",
    "sql = 'CREATE TABLE t(a, b UNIQUE, UNIQUE(b), UNIQUE(b COLLATE BINARY))' WHERE name = 't'",
    "sql = 'CREATE TABLE t(a, b UNIQUE, UNIQUE(a, b))' WHERE name = 't'",
    "sql = 'CREATE INDEX i ON t(\"zz\")' WHERE name = 'i'",
    "sql = 'CREATE INDEX i ON t(zz)' WHERE name = 'i'",
    "sql = 'create index i on t(A)' WHERE name = 'i'", "sql = lower(sql)",
    "sql = upper(sql), name = upper(name)",
  ]

  @Test(arguments: edits) func entriesAreJudgedAsSQLiteJudgesThem(_ edit: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "CREATE TABLE t(a, b UNIQUE); CREATE INDEX i ON t(a); INSERT INTO t VALUES(1, 2), (3, 4);")
    connection.close()
    try CheckTests.edit(url, "UPDATE sqlite_schema SET \(edit)")
    let verdict = try CheckTests.verdict(url)
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    if verdict == ["ok"] {
      #expect(report.findings.damageCount == 0, "\(report.findings.kept)")
    } else {
      #expect(
        report.findings.damageCount > 0 || !report.unchecked.isEmpty,
        "\(verdict ?? ["refused"])")
    }
  }

  /// Every byte of the header that means something gets other values: usually two of eight, which are others for the
  /// byte beside it and in the other file.
  @Test func headersAreJudgedAsSQLiteJudgesThem() throws {
    let folder = try TemporaryFolder()
    for (name, vacuum) in [("plain", "NONE"), ("mapped", "INCREMENTAL")] {
      let url = folder.url.appendingPathComponent(name)
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        PRAGMA auto_vacuum = \(vacuum); CREATE TABLE t(a, b UNIQUE); CREATE TABLE gone(a);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
          INSERT INTO t SELECT 'row ' || i, hex(i) FROM n;
        INSERT INTO gone SELECT a FROM t; DROP TABLE gone;
        """)
      connection.close()
      let sound = try bytes(of: url)
      #expect(try CheckTests.damage(url) == [])
      for at in 16..<100 {
        let place = (at + at / 4 + (vacuum == "NONE" ? 0 : 2)) % 4
        for value in Rounds.part(of: [0, 1, 2, 3, 4, 8, 12, 255], every: 4, from: place)
        where UInt8(value) != sound[at] {
          try overwrite(url, at: at, bytes: [UInt8(value)])
          let verdict = try CheckTests.verdict(url)
          let database = try? SQLiteDatabase.surveyed(path: url.path)
          let report = try database?.check(depth: .full)
          let damage = report?.findings.kept.filter { $0.severity == .damage } ?? []
          let comment = Comment(
            "\(name), byte \(at) to \(value): \(verdict ?? ["refused"]), \(damage)")
          if verdict == ["ok"] {
            #expect(report != nil && (damage.isEmpty || Self.isStricter(at)), comment)
          } else {
            #expect(report == nil || !damage.isEmpty, comment)
          }
          try overwrite(url, at: at, bytes: [sound[at]])
        }
      }
    }
  }

  /// Bytes of which we say more than SQLite's check does: sizes and counts that it mends or passes over.
  private static func isStricter(_ offset: Int) -> Bool {
    (24..<40).contains(offset) || (52..<56).contains(offset) || (64..<68).contains(offset)
      || offset >= 92
  }

  /// Text in UTF-16 under a number whose two lowest bits say so.
  @Test func encodingsAreTakenAsSQLiteTakesThem() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(a TEXT); INSERT INTO t VALUES('häßlich');")
    connection.close()
    try overwrite(url, at: 56, bytes: [1, 0, 0, 6])
    #expect(try CheckTests.verdict(url) == ["ok"])
    let database = try SQLiteDatabase.surveyed(path: url.path)
    #expect(
      try database.rows(of: database.schema.tables[0]).first?.values == [
        .text(StoredText("häßlich"))
      ])
    let report = try database.check(depth: .full)
    #expect(
      report.findings.kept.map(\.id.rawValue) == ["header.badEncoding"]
        && report.findings.damageCount == 0)
  }

  @Test func reservedBytesThatThePagesContradictAreAFinding() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "CREATE TABLE t(a TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) INSERT INTO t SELECT 'text ' || i FROM n;"
    )
    connection.close()
    for reserved: UInt8 in [1, 8, 32, 255] {
      try overwrite(url, at: 20, bytes: [reserved])
      #expect(try CheckTests.verdict(url) != ["ok"])
      let report = try SQLiteDatabase.surveyed(path: url.path).check()
      let finding = try #require(report.findings.kept.first, "\(reserved)")
      #expect(
        report.findings.damageCount > 0 && finding.id.rawValue == "header.otherReservedBytes",
        "\(report.findings.kept)")
      #expect(finding.offset == 20)
    }
  }

  /// A bit makes another character of a comma, and one column of two: every reader gives all values of the rows, and the
  /// check finds damage.
  @Test(arguments: ["l", ".", "(", "\u{c}"], [", name TEXT", ", depth REAL"])
  func aCommaThatIsNone(_ character: String, before column: String) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec(
        "CREATE TABLE port(id INTEGER PRIMARY KEY, name TEXT, depth REAL, berths)")
      for number in 1...300 {
        try connection.exec(
          "INSERT INTO port VALUES(\(number), 'port \(number)', \(number).5, \(number))")
      }
    }
    let comma = Array(column.utf8)
    var ruined = store.bytes
    let place = try #require(
      ruined.indices.first { ruined[$0...].prefix(comma.count).elementsEqual(comma) })
    ruined[place] = try #require(character.utf8.first)
    let recovered = try store.recover(.all) { $0 = ruined }
    #expect(recovered.findings == ["schema.repaired"])
    #expect(recovered.rows.count == 300)
    for row in recovered.rows {
      #expect(recovered.table(of: row) == "port" && row.origin.state == nil)
      let rowID = try #require(row.rowID)
      #expect(
        row.values.dropFirst().map { FixtureValue($0) }
          == [.string("port \(rowID)"), .real(Double(rowID) + 0.5), .integer(rowID)])
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("ruined.sqlite")
    try Data(ruined).write(to: url)
    let database = try SQLiteDatabase(path: url.path)
    let table = try #require(database.schema.table(named: "port"))
    let rows = try database.rows(of: table)
    #expect(rows.count == 300 && rows.allSatisfy { $0.values.count == 4 })
    #expect(table.columnNames == ["id", "name", "depth", "berths"])
    #expect(database.findings.kept.map(\.id) == [.schemaRepaired])
    #expect(try database.check().findings.kept.contains { $0.table == "port" })
  }

  /// A table that lost a comma keeps its rows, although another table names the same root page and its columns fit them.
  @Test func aLostCommaAndASharedRootPage() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("shared.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE port(id INTEGER PRIMARY KEY, name TEXT, depth REAL, berths);
      CREATE TABLE quay(id INTEGER PRIMARY KEY, label TEXT, size REAL, count);
      """)
    for number in 1...50 {
      try connection.exec(
        "INSERT INTO port VALUES(\(number), 'port \(number)', \(number).5, \(number))")
    }
    try connection.exec(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, ', depth', 'l depth') WHERE name = 'port';
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'port')
        WHERE name = 'quay';
      """)
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    let table = try #require(database.schema.table(named: "port"))
    #expect(table.columnNames == ["id", "name", "depth", "berths"])
    let rows = try database.rows(of: table)
    #expect(rows.count == 50 && rows.allSatisfy { $0.values.count == 4 })
  }

  /// SQLite never writes a record with more fields than its table has columns: both readers tell of the values they leave out.
  @Test func aRecordWithMoreFieldsThanColumns() throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec("CREATE TABLE port(id INTEGER PRIMARY KEY, name TEXT, berths)")
      try connection.exec("INSERT INTO port VALUES(1, 'a port', 7), (2, 'another', 8)")
      try connection.exec("PRAGMA writable_schema=1")
      try connection.exec(
        "UPDATE sqlite_schema SET sql='CREATE TABLE port(id INTEGER PRIMARY KEY, name TEXT)'")
    }
    let recovered = try store.recover(.all) { _ in }
    #expect(recovered.rows.map(\.values.count) == [2, 2])
    #expect(recovered.findings.contains("record.tooManyFields"))
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("made.sqlite")
    try Data(store.bytes).write(to: url)
    let database = try SQLiteDatabase(path: url.path)
    let table = try #require(database.schema.table(named: "port"))
    #expect(try database.rows(of: table).count == 2)
    #expect(database.findings.kept.contains { $0.id.rawValue == "record.tooManyFields" })
  }

  /// A bit makes a quote of a character, which swallows the columns behind it: the rows keep their table and all their values.
  @Test(arguments: ["[", "`"]) func aQuoteThatSwallowsColumns(_ quote: String) throws {
    let store = try DamageCase(pageSize: 1024) { connection in
      try connection.exec(
        "CREATE TABLE port(id INTEGER PRIMARY KEY, name TEXT, depth REAL, berths)")
      for number in 1...30 {
        try connection.exec(
          "INSERT INTO port VALUES(\(number), 'port \(number)', \(number).5, \(number))")
      }
    }
    let name = Array(", name TEXT".utf8)
    let recovered = try store.recover(.all) { bytes in
      let place = try #require(
        bytes.indices.first { bytes[$0...].prefix(name.count).elementsEqual(name) })
      bytes[place + 7] = try #require(quote.utf8.first)
    }
    #expect(recovered.rows.count == 30)
    for row in recovered.rows {
      #expect(recovered.table(of: row) == "port" && row.origin.state == nil)
      let rowID = try #require(row.rowID)
      #expect(
        row.values.dropFirst().map { FixtureValue($0) }
          == [.string("port \(rowID)"), .real(Double(rowID) + 0.5), .integer(rowID)])
    }
  }
}
