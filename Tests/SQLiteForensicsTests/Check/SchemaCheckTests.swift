import Fixtures
import Foundation
import Testing

@testable import SQLiteFile
@testable import SQLiteForensics

/// What the check says of CREATE statements, against what SQLite says when it opens the same file.
@Suite struct SchemaCheckTests {
  private static let statements: [String] = [
    "CREATE TABLE plain(a INTEGER PRIMARY KEY AUTOINCREMENT, b VARCHAR(20) NOT NULL DEFAULT 'x', c DECIMAL(10, -2) COLLATE NOCASE)",
    "CREATE TABLE \"in quotes\"(a, [b c] BLOB, `d` REAL UNIQUE ON CONFLICT REPLACE, PRIMARY KEY(a DESC, d))",
    "CREATE TABLE child(id INT, p INT REFERENCES plain(a) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED, CONSTRAINT u UNIQUE(id, p), FOREIGN KEY(id) REFERENCES plain(a) ON UPDATE CASCADE)",
    "CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID",
    "CREATE TABLE s(k INT, v TEXT DEFAULT NULL, n REAL DEFAULT -1.5e3) STRICT",
    "CREATE UNIQUE INDEX i ON plain(b COLLATE BINARY DESC, c)",
    "CREATE INDEX \"j k\" ON w(v)",
  ]
  private static let unjudged: [String] = [
    "CREATE TABLE g(a, b CHECK(b > 0), c AS (a + 1) STORED, d DEFAULT (1 + 1))",
    "CREATE INDEX e ON plain(lower(b)) WHERE c IS NOT NULL",
    "CREATE VIEW v(x) AS SELECT a FROM plain",
    "CREATE TRIGGER r AFTER UPDATE OF b ON plain FOR EACH ROW BEGIN UPDATE plain SET c = 1; END",
  ]

  private static func make(_ url: URL) throws {
    let connection = try SQLiteConnection(url)
    for statement in statements + unjudged { try connection.exec(statement) }
    connection.close()
  }

  /// Whether SQLite reads the schema.
  private static func isAccepted(_ url: URL) throws -> Bool {
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    return (try? connection.integer("SELECT count(*) FROM sqlite_schema")) != nil
  }

  @Test func whatSQLiteTakesIsSound() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    try Self.make(url)
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    #expect(report.findings.kept == [])
    #expect(report.unjudgedStatementCount == Self.unjudged.count)
  }

  /// Nothing is said against the indexes of a table whose statement is too long to be judged.
  @Test func aStatementThatIsTooLongIsToldAsNotChecked() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE t(a TEXT PRIMARY KEY, b /* \(String(repeating: "x", count: 1 << 20)) */);
      CREATE INDEX i ON t(b); INSERT INTO t VALUES('one', 2), ('two', 1);
      """)
    #expect(try connection.string("PRAGMA integrity_check") == "ok")
    connection.close()
    let report = try SQLiteDatabase(path: url.path).check(depth: .full)
    #expect(report.findings.kept == [])
    #expect(report.unjudgedStatementCount == 1)
    #expect(
      report.unchecked.first?.message == "all of 1 CREATE statement of more than 1 MiB (t)")
  }

  /// Each byte of each statement replaced by several others, usually by two of them in turn. What SQLite refuses is
  /// damage, or at least not judged; what it takes is sound.
  @Test func aChangedByteIsJudgedAsSQLiteJudgesIt() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    try Self.make(url)
    let whole = try bytes(of: url)
    var generator = SplitMix64(seed: 22)
    var refused = 0
    var missed: [String] = []
    var invented: [String] = []
    for statement in Self.statements {
      let text = Array(statement.utf8)
      let start = try #require(
        whole.indices.first { whole[$0...].starts(with: text) }, "\(statement)")
      for at in text.indices {
        let bytes = [UInt8(generator.next() % 256), text[at] ^ 0x01, 0x28, 0x20]
        for byte in Rounds.part(of: bytes, every: 2, from: at % 2) where byte != text[at] {
          var changed = whole
          changed[start + at] = byte
          try Data(changed).write(to: url)
          let isAccepted = try Self.isAccepted(url)
          let check = SchemaCheck(try SQLiteDatabase(path: url.path).schema)
          var now = text
          now[at] = byte
          if !isAccepted { refused += 1 }
          if !isAccepted, check.findings.isEmpty, check.unjudgedCount <= Self.unjudged.count {
            missed.append(String(decoding: now, as: UTF8.self))
          }
          if isAccepted, !check.findings.isEmpty {
            invented.append(
              String(decoding: now, as: UTF8.self) + " -- " + check.findings[0].message)
          }
        }
      }
    }
    #expect(refused > (Rounds.areLong ? 500 : 250))
    #expect(
      missed.count * 200 <= refused,
      "\(missed.count) of \(refused): \(missed.prefix(30).joined(separator: "\n"))")
    #expect(invented.isEmpty, "\(invented.count): \(invented.prefix(30).joined(separator: "\n"))")
  }
}
