import Fixtures
import Foundation
@testable import SQLiteFile
@testable import SQLiteForensics
import Testing

/// One flipped bit in the schema costs no table its name, its columns or its rows.
///
/// `LIFEBOAT_LONG=1` flips every bit of the schema's page.
@Suite struct SchemaRepairTests {
  private struct Row: Hashable {
    let table: String
    let rowID: Int64?
    let values: [FixtureValue]
  }

  private static let statements = [
    """
    CREATE TABLE ZNOTE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER, ZCREATED TIMESTAMP, \
    ZRATING FLOAT, ZTITLE VARCHAR, ZTHUMB BLOB )
    """,
    "CREATE TABLE ZFOLDER ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )",
    "CREATE TABLE ZTAG ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOLOR INTEGER, ZNAME VARCHAR )",
    """
    CREATE TABLE Z_1TAGS ( Z_1NOTES INTEGER, Z_3TAGS INTEGER, PRIMARY KEY (Z_1NOTES, Z_3TAGS) )
    """,
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
    "CREATE TABLE \"odd name\" (a NOT NULL UNIQUE, b DEFAULT 7, c CHECK (c > 0))",
    "CREATE INDEX ZNOTE_ZFOLDER_INDEX ON ZNOTE (ZFOLDER)",
  ]

  private static func make(_ url: URL, encoding: String) throws {
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec("PRAGMA page_size = 4096; PRAGMA encoding = '\(encoding)'")
    for statement in statements { try connection.exec(statement) }
    try connection.exec(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
        INSERT INTO ZNOTE SELECT i, 1, 1, i % 3, 7e8 + i + 0.25, i + 0.5, 'note ' || i, x'0102' FROM n;
      INSERT INTO ZFOLDER SELECT Z_PK, 2, 1, 'folder ' || Z_PK FROM ZNOTE;
      INSERT INTO ZTAG SELECT Z_PK, 3, 1, 500 + Z_PK, 'tag ' || Z_PK FROM ZNOTE;
      INSERT INTO Z_1TAGS SELECT Z_PK, 10 - Z_PK FROM ZNOTE;
      INSERT INTO Z_METADATA VALUES (1, 'F2A1', x'62706c697374');
      INSERT INTO "odd name" SELECT ZTITLE, ZRATING, Z_PK FROM ZNOTE;
      """)
  }

  private static func truth(_ url: URL) throws -> Set<Row> {
    var rows: Set<Row> = []
    for (table, content) in try SQLiteConnection.rowsOfEveryTable(inCopyOf: url) {
      for row in content {
        rows.insert(Row(table: table, rowID: row.rowid, values: row.values))
      }
    }
    return rows
  }

  private static func given(_ path: String) throws -> Set<Row> {
    let recovered = try Recovered(path: path, .live)
    return Set(
      recovered.live.filter(\.partial.isEmpty).map { row in
        Row(
          table: recovered.table(of: row) ?? "", rowID: row.rowID,
          values: row.values.map { FixtureValue($0) })
      })
  }

  @Test(arguments: ["UTF-8", "UTF-16le"]) func oneFlippedBitCostsNoRow(_ encoding: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(url, encoding: encoding)
    let truth = try Self.truth(url)
    #expect(truth.count == 46)
    let sound = try bytes(of: url)
    #expect(try Self.given(url.path) == truth)
    let cells = 100 + 8 + 2 * 8
    let first = try #require((cells..<4096).first { sound[$0] != 0 })
    var faults: [String] = []
    for bit in stride(from: first * 8, to: 4096 * 8, by: Rounds.areLong ? 7 : 127) {
      let (byte, mask) = (bit / 8, UInt8(1 << (bit % 8)))
      try overwrite(url, at: byte, bytes: [sound[byte] ^ mask])
      let given = try Self.given(url.path)
      // Where SQLite reads the file all the same, its answer is as good.
      if given != truth, given != (try? Self.truth(url)) {
        faults.append("\(byte) bit \(bit % 8): \(truth.subtracting(given).count) lacking")
      }
      try overwrite(url, at: byte, bytes: [sound[byte]])
    }
    #expect(faults.isEmpty, "\(faults)")
  }

  @Test func plainReadingNamesTheTableAsWell() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    try Self.make(url, encoding: "UTF-8")
    let sound = try bytes(of: url)
    let text = Array("ZFOLDERZFOLDER".utf8)
    let place = try #require(
      (0..<sound.count - text.count).first { sound[$0..<$0 + text.count].elementsEqual(text) })
    for (offset, table) in [(2, "name"), (9, "tbl_name")] {
      try overwrite(url, at: place + offset, bytes: [sound[place + offset] ^ 0x10])
      let database = try SQLiteDatabase(path: url.path)
      let folder = try #require(database.schema.table(named: "ZFOLDER"), "\(table)")
      #expect(try database.rows(of: folder).count == 9)
      #expect(database.findings.kept.map(\.id) == [.schemaRepaired])
      try overwrite(url, at: place + offset, bytes: [sound[place + offset]])
    }
    #expect(try SQLiteDatabase(path: url.path).findings.kept.isEmpty)
  }

  /// What SQLite accepts stays as it is, whatever it looks like.
  @Test(arguments: [
    "CREATE TABLE ZNOTE (Z_PK INTEGER PRIMERY KEY, a)", "CREATE TABLE ZNOTE (id INTEGEP, key)",
    "CREATE TABLE t(primarx, keyx, integes)", "CREATE TABLE t(id INTEGEr PRIMARY KEY, b TEXT)",
    "CREATE TABLE t(id INTEFER PRIMARY KEY, b) WITHOUT ROWID",
    "CREATE TABLE t(id \"INTEGER PRIMARY KEY\", b \"x\", c)",
    "CREATE TABLE t(a INT, \"b INTEFER PRIMARY KEY\" TEXT)",
    "CREATE TABLE t(id INT, b TEXT /* was: id INTEFER PRIMARY KEY*/)",
    "CREATE TABLE t(a INT, c TEXT DEFAULT 'an INTEFER PRIMARY KEY')",
    "CREATE TABLE t(a INT, b TEXT), STRICT",
  ]) func acceptedStatementsStay(_ sql: String) throws {
    var budget = 1 << 24
    #expect(StatementRepair.repaired(sql, hasAutomaticIndex: false, &budget) == nil)
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(sql)
    let name = try #require(try connection.string("SELECT name FROM sqlite_schema"))
    let width = try connection.rows("SELECT * FROM pragma_table_info('\(name)')").count
    let row = (0..<width).map { "\($0 + 4)" }.joined(separator: ", ")
    try connection.exec("INSERT INTO \(name) VALUES (\(row))")
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    #expect(database.schema.tables.map(\.sql) == [sql])
    #expect(database.findings.kept.isEmpty)
  }

  /// Statements with one or two flipped bits, and what SQLite was given.
  @Test(arguments: [
    ("CREATE TABDE t (a INTEGER, b)", "CREATE TABLE t (a INTEGER, b)"),
    ("CREATE TABLE t h a INTEGER, b)", "CREATE TABLE t ( a INTEGER, b)"),
    (
      "CREATE TABLE t (a INTEGER, b, PRIMERY KEY (a, b))",
      "CREATE TABLE t (a INTEGER, b, PRIMARY KEY (a, b))"
    ),
    ("CREATE TABLE t (a INTEGER< b)", "CREATE TABLE t (a INTEGER, b)"),
    ("CREATE TABLE t (a INTDGER PRIMARY KEY, b)", "CREATE TABLE t (a INTEGER PRIMARY KEY, b)"),
    ("CREATE TABDE t (a INTEGER, b TEXT NOT NWLL)", "CREATE TABLE t (a INTEGER, b TEXT NOT NULL)"),
    ("CREATE TABLE t (a(INTEGER, b)", "CREATE TABLE t (a INTEGER, b)"),
    ("CREATE TABLE t (a INTEGER(b TEXT, c)", "CREATE TABLE t (a INTEGER,b TEXT, c)"),
    (
      "create table t (id hnteger primary key, title)",
      "create table t (id integer primary key, title)"
    ),
    ("CREATE TABLE t (cou.t INTEGER, b REAL)", "CREATE TABLE t (count INTEGER, b REAL)"),
    ("CREATE TABLE t (4itle TEXT, b REAL)", "CREATE TABLE t (title TEXT, b REAL)"),
    ("CREATE TABLE t (a VARCHAR(4p), b REAL)", "CREATE TABLE t (a VARCHAR(40), b REAL)"),
    ("CREATE TABLE t (y INTEGER, y TEXT)", nil),
    ("CREATE TABLE t (a, b) WITHOUT ROWHD", nil),
    ("garbage", nil), ("", nil), ("CREATE TABLE", nil),
  ]) func statementsAreRepaired(_ damaged: String, _ written: String?) {
    var budget = 1 << 24
    #expect(StatementRepair.repaired(damaged, hasAutomaticIndex: false, &budget) == written)
  }

  /// A hostile schema may have any number of statements that nothing repairs.
  @Test func theWorkOnHostileStatementsIsBounded() {
    var budget = 1 << 20
    let sql = "CREATE TABLE t (" + String(repeating: "a\u{1} (!$", count: 1000)
    for _ in 0..<1000 {
      #expect(StatementRepair.repaired(sql, hasAutomaticIndex: false, &budget) == nil)
    }
    #expect(budget > -(1 << 20))
  }

  /// A comma that became another character runs two columns together; SQLite may accept that.
  @Test func aLostCommaIsFoundByTheNumberOfFields() {
    let sql = "CREATE TABLE t (a INTEGERl b VARCHAR, c BLOB)"
    var repair = SchemaRepair()
    let found = repair.separated(sql, columns: 3)
    let other = repair.separated(sql, columns: 4)
    #expect(found == "CREATE TABLE t (a INTEGER, b VARCHAR, c BLOB)")
    #expect(other == nil)
  }

  /// A hostile schema may have any number of statements in which each letter may have been a comma.
  @Test func theSearchForLostCommasIsBoundedForAWholeFile() {
    let hostile = "CREATE TABLE t (a" + String(repeating: "l", count: 8000) + " b c d)"
    var repair = SchemaRepair()
    for _ in 0..<(Rounds.areLong ? 100_000 : 10_000) {
      let found = repair.separated(hostile, columns: 9000)
      #expect(found == nil)
    }
    let late = repair.separated("CREATE TABLE t (a INTEGERl b VARCHAR, c BLOB)", columns: 3)
    #expect(late == nil)
  }

  /// Integers are written in the fewest bytes: a deleted row with a longer one is not as it was.
  @Test func aWideIntegerPutsADeletedRowInDoubt() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA secure_delete = OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO t SELECT i, 'row ' || i, 1000 + i, 2000 + i FROM n;
      """)
    // SQLite gives the space of the last cell back without writing to it.
    for id in (21...40).reversed() { try connection.exec("DELETE FROM t WHERE id = \(id)") }
    connection.close()
    let sound = try bytes(of: url)
    func rows() throws -> [RecoveredRow] {
      try Recovered(path: url.path, .deleted).rows.filter {
        $0.values.count > 1 && $0.values[1] == .text(StoredText("row 31"))
      }
    }
    let whole = try #require(try rows().first)
    #expect(whole.partial.isEmpty)
    #expect(whole.values[3] == .integer(2031))
    let text = Array("row 31".utf8)
    let place = try #require(
      (0..<sound.count - text.count).first { sound[$0..<$0 + text.count].elementsEqual(text) })
    // The values of b and c stand behind the text, two bytes each.
    try overwrite(url, at: place + text.count + 2, bytes: [0, 0])
    #expect(try rows().isEmpty)
    let doubtful = try Recovered(path: url.path, .deleted).rows.filter { row in
      row.partial.contains { $0.isDoubtful && $0.bytes == text }
    }
    #expect(doubtful.map { $0.values[3] } == [.null])
  }
}
