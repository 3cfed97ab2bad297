import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// A sound store gives each row under the table whose b-tree holds it, whatever its values look like: SQLite lets any
/// column hold anything.
@Suite struct SoundStoreTests {
  struct Script: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sql: String
    init(_ name: String, _ sql: String) {
      testDescription = name
      self.sql = sql
    }
  }

  static let scripts = [
    Script(
      "text in a date column, and a table that it would fit",
      """
      CREATE TABLE event(id INTEGER PRIMARY KEY, name TEXT, at DATETIME);
      INSERT INTO event(name, at) VALUES('launch', '2024-01-01 10:00:00'), ('crash', '2024-01-02 11:00:00');
      CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT, kind TEXT);
      INSERT INTO tag(name, kind) VALUES('t', 'k');
      """),
    Script(
      "text in a blob column, and an empty table that it would fit",
      """
      CREATE TABLE doc(id INTEGER PRIMARY KEY, name TEXT, body BLOB);
      INSERT INTO doc(name, body) VALUES('a', 'text in a blob column'), ('b', 'more');
      CREATE TABLE kv(id INTEGER PRIMARY KEY, k TEXT, v TEXT);
      """),
    Script(
      "text in an integer column beside sqlite_sequence",
      """
      CREATE TABLE u(id INTEGER PRIMARY KEY AUTOINCREMENT, n TEXT);
      INSERT INTO u(n) VALUES('x');
      CREATE TABLE opt(name TEXT, val INT);
      INSERT INTO opt VALUES('theme', 'dark'), ('lang', 'en');
      """),
    Script(
      "blobs in a text column whose rows look like another's",
      """
      CREATE TABLE a(x INTEGER, y INTEGER);
      INSERT INTO a VALUES('one', 'two'), ('three', 'four');
      CREATE TABLE b(x TEXT, y TEXT);
      INSERT INTO b VALUES(x'0102', x'03'), (x'04', x'0506');
      """),
    Script(
      "rows from before a column was added",
      """
      CREATE TABLE log(id INTEGER PRIMARY KEY AUTOINCREMENT, m TEXT);
      INSERT INTO log(m) VALUES('hello');
      CREATE TABLE c(x, y);
      INSERT INTO c VALUES('k1', 'v1'), ('k2', 'v2'), ('k3', 'v3');
      ALTER TABLE c ADD COLUMN z DEFAULT 5;
      """),
    Script(
      "rows from before two columns were added",
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT);
      INSERT INTO note(title, body) VALUES('a', 'b'), ('c', 'd');
      ALTER TABLE note ADD COLUMN flag INT NOT NULL DEFAULT 0;
      ALTER TABLE note ADD COLUMN color TEXT;
      CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT, kind TEXT);
      INSERT INTO tag(name, kind) VALUES('t', 'k');
      """),
    Script(
      "an index that agrees with another table by chance",
      """
      CREATE TABLE a(x, y);
      INSERT INTO a VALUES(1, 'A1'), (2, 'A2');
      CREATE TABLE d(k INT PRIMARY KEY, v);
      INSERT INTO d VALUES(1, 'D1'), (2, 'D2');
      """),
    Script(
      "text in a real column beside a table without row ids that it would fit",
      """
      CREATE TABLE t(a INTEGER PRIMARY KEY, b REAL);
      INSERT INTO t(b) VALUES('one'), ('two'), ('three');
      CREATE TABLE u(a TEXT PRIMARY KEY, b) WITHOUT ROWID;
      INSERT INTO u VALUES('four', 'five'), ('six', 7);
      """),
    Script(
      "a copy of a table with an index",
      """
      CREATE TABLE notes(title TEXT, flag INT);
      CREATE INDEX nf ON notes(flag);
      INSERT INTO notes VALUES('one', 0), ('two', 0), ('three', 0);
      CREATE TABLE notes_backup AS SELECT * FROM notes;
      UPDATE notes SET title = title || ' (new)';
      INSERT INTO notes VALUES('four', 0);
      """),
    Script(
      "two join tables",
      """
      CREATE TABLE Z_1A(Z_1A INTEGER, Z_2B INTEGER, PRIMARY KEY(Z_1A, Z_2B));
      CREATE TABLE Z_1C(Z_1C INTEGER, Z_3D INTEGER);
      CREATE INDEX q ON Z_1A(Z_2B, Z_1A);
      INSERT INTO Z_1A VALUES(1, 1), (2, 2);
      INSERT INTO Z_1C VALUES(1, 1), (2, 2);
      """),
    Script(
      "two indexed tables of one shape with equal values",
      """
      CREATE TABLE a(k INT, v TEXT);
      CREATE INDEX ak ON a(k);
      CREATE TABLE b(k INT, v TEXT);
      CREATE INDEX bk ON b(k);
      CREATE INDEX bv ON b(v);
      INSERT INTO a VALUES(0, 'x'), (0, 'y'), (0, 'z');
      INSERT INTO b VALUES(0, 'x'), (0, 'q'), (0, 'r');
      """),
    Script(
      "an index of nothing but NULL",
      """
      CREATE TABLE ZA(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZP INTEGER, ZNAME VARCHAR);
      CREATE INDEX ZA_P ON ZA(ZP);
      CREATE TABLE ZB(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZP INTEGER, ZNAME VARCHAR);
      INSERT INTO ZA VALUES(1, 1, NULL, 'a1'), (2, 1, NULL, 'a2'), (3, 1, NULL, 'a3');
      INSERT INTO ZB VALUES(1, 2, NULL, 'b1'), (2, 2, NULL, 'b2'), (3, 2, NULL, 'b3');
      """),
    Script(
      "a schema of several pages beside a table that its rows would fit",
      "PRAGMA page_size = 512; VACUUM;"
        + "CREATE TABLE files(kind TEXT, name TEXT, owner TEXT, size INTEGER, note TEXT);"
        + "INSERT INTO files VALUES('f', 'a', 'me', 1, 'n');"
        + (0..<60).map {
          "CREATE TABLE t\($0)(column_one INT, column_two TEXT, column_three TEXT);"
        }
        .joined()),
    Script(
      "a table that holds a schema",
      """
      CREATE TABLE x(id INTEGER PRIMARY KEY, t TEXT);
      INSERT INTO x(t) VALUES('a'), ('b');
      CREATE INDEX xt ON x(t);
      CREATE TABLE y(t TEXT);
      INSERT INTO y VALUES('c');
      CREATE TABLE kept AS SELECT * FROM sqlite_master;
      UPDATE kept SET rootpage = rootpage + 1 WHERE name <> 'y';
      DROP TABLE y;
      """),
    Script(
      "values that end in zeros, or are nothing but zeros",
      """
      CREATE TABLE f(name TEXT, data BLOB);
      INSERT INTO f VALUES('a.tar', CAST('data' || zeroblob(10240) AS BLOB));
      INSERT INTO f VALUES('b.bmp', CAST('BM6' || zeroblob(4093) AS BLOB));
      INSERT INTO f VALUES('c', zeroblob(5000));
      INSERT INTO f VALUES('d', CAST(randomblob(3000) || zeroblob(9000) || x'01' AS BLOB));
      """),
    Script(
      "zeros with a pointer map",
      """
      PRAGMA page_size = 512; PRAGMA auto_vacuum = FULL; VACUUM;
      CREATE TABLE f(name TEXT, data BLOB);
      INSERT INTO f VALUES('a', x'0102' || zeroblob(3000)), ('b', zeroblob(5000)), ('c', zeroblob(700));
      CREATE TABLE w(k INTEGER PRIMARY KEY, v BLOB) WITHOUT ROWID;
      INSERT INTO w VALUES(1, zeroblob(2000)), (2, x'01' || zeroblob(900)), (3, zeroblob(90));
      """),
  ]

  @Test(arguments: scripts) func rowsStayWhereTheyAre(_ script: Script) throws {
    let store = try DamageCase { try $0.exec(script.sql) }
    let recovered = try store.recover { _ in }
    Judgement(recovered, store).expectAll()
    #expect(recovered.findings.isEmpty)
  }

  /// Tables made by chance, with values of any storage class in columns of any type.
  @Test(arguments: seeds) func rowsOfAnyKindStayWhereTheyAre(_ seed: Int) throws {
    let store = try DamageCase { try Self.fill($0, seed: UInt64(seed)) }
    let recovered = try store.recover { _ in }
    let judgement = Judgement(recovered, store)
    judgement.expectHonest("seed \(seed)")
    #expect(judgement.nameless.isEmpty, "seed \(seed)")
    // Zeros that begin just where a sector does cannot be told from a sector that was lost. A row of nothing else shows no
    // value by which it could be known.
    #expect(judgement.partial.count + judgement.missing.count <= 2, "seed \(seed)")
    for row in recovered.rows {
      for value in row.partial {
        #expect(value.isDoubtful, "seed \(seed)")
      }
    }
    #expect(Set(recovered.findings).isSubset(of: ["row.partial"]), "seed \(seed)")
  }

  /// A limit, even one that is never reached, keeps to one row after the other.
  @Test(arguments: seeds) func leavesAtOnceAreTheirRows(_ seed: Int) throws {
    let store = try DamageCase { try Self.fill($0, seed: UInt64(seed)) }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("any.sqlite")
    try Data(store.bytes).write(to: url)
    let written = try [Int.max - 1, nil].map { limit in
      try bytesWritten { try DamagedDatabase(path: url.path).writeJSON(.all, limit: limit, to: $0) }
    }
    #expect(!written[0].isEmpty && written[0] == written[1], "seed \(seed)")
  }

  private static let seeds = 1...(Rounds.areLong ? 400 : 40)

  private static func fill(_ connection: SQLiteConnection, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let types = [
      "", "TEXT", "INT", "INTEGER", "BLOB", "REAL", "DATETIME", "VARCHAR(20)", "NUMERIC",
    ]
    let pageSize = [512, 1024, 4096].randomElement(using: &random) ?? 4096
    let vacuum = Bool.random(using: &random) ? "INCREMENTAL" : "NONE"
    try connection.exec("PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(vacuum); VACUUM;")
    for table in 0..<Int.random(in: 2...6, using: &random) {
      var width = Int.random(in: 1...4, using: &random)
      var columns = (0..<width).map { "c\($0) \(types.randomElement(using: &random) ?? "")" }
      if Bool.random(using: &random) { columns.insert("id INTEGER PRIMARY KEY", at: 0) }
      try connection.exec("CREATE TABLE t\(table)(\(columns.joined(separator: ", ")))")
      // Of one kind in each column of a table, as programs write, or of all kinds.
      let kinds = (0..<8).map { _ in Int.random(in: 0...4, using: &random) }
      let isMixed = Bool.random(using: &random)
      func insert(_ count: Int) throws {
        let names = (0..<width).map { "c\($0)" }.joined(separator: ", ")
        let marks = (0..<width).map { _ in "?" }.joined(separator: ", ")
        try connection.insert(
          "INSERT INTO t\(table)(\(names)) VALUES(\(marks))",
          (0..<count).map { _ in
            (0..<width).map { column in
              value(isMixed ? Int.random(in: 0...4, using: &random) : kinds[column], &random)
            }
          })
      }
      try insert(Int.random(in: 0...60, using: &random))
      if Bool.random(using: &random) {
        try connection.exec("CREATE INDEX i\(table) ON t\(table)(c0)")
      }
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        let standard =
          ["", "DEFAULT 5", "NOT NULL DEFAULT 'x'"].randomElement(using: &random) ?? ""
        try connection.exec(
          "ALTER TABLE t\(table) ADD COLUMN c\(width) \(types.randomElement(using: &random) ?? "") \(standard)"
        )
        width += 1
        if Bool.random(using: &random) { try insert(Int.random(in: 0...9, using: &random)) }
      }
    }
  }

  private static func value(_ kind: Int, _ random: inout SplitMix64) -> FixtureValue {
    switch kind {
    case 0: .integer(Int64.random(in: -3...1000, using: &random))
    case 1: .real(Double.random(in: -9...9, using: &random))
    case 2:
      .string(["a", "theme", "2024-01-01", "word and word"].randomElement(using: &random) ?? "")
    case 3: .blob(random.bytes(Int.random(in: 0...40, using: &random)))
    default: .blob([UInt8](repeating: 0, count: Int.random(in: 0...3000, using: &random)))
    }
  }
}
