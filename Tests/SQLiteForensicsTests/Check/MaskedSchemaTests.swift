import Fixtures
import Foundation
import Testing

@testable import SQLiteFile
@testable import SQLiteForensics

/// What of a schema may be passed on.
@Suite struct MaskedSchemaTests {
  private func masked(_ type: String, _ name: String, _ sql: String) -> String? {
    let row = StoredRow.schema(type, name, name, sql)
    let schema = Schema(rows: [row], encoding: .utf8)
    let masked = MaskedSchema(schema) { text, isName in
      isName && text.utf8.allSatisfy { $0 < 0x80 && $0 != 0x20 } ? text : "name-\(text.utf8.count)"
    }
    #expect(masked.statements.count + masked.refusedCount == 1)
    return masked.statements.first
  }

  @Test(arguments: [
    (
      "table", "t",
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b VARCHAR(255) DEFAULT 'x y', c DEFAULT -5.5)",
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b VARCHAR(0) DEFAULT '', c DEFAULT -0)"
    ),
    (
      "table", "t",
      "CREATE TABLE t(a DEFAULT \"word\", b DEFAULT word, c DEFAULT CURRENT_TIME, d DEFAULT NULL)",
      "CREATE TABLE t(a DEFAULT '', b DEFAULT '', c DEFAULT CURRENT_TIME, d DEFAULT NULL)"
    ),
    (
      "table", "t",
      "CREATE TABLE t(a, b CHECK (b <> x'616263' AND \"a\" <> \"lit\"), 'c' /* d */, -- e\n d)",
      "CREATE TABLE t(a, b CHECK (b <> x'' AND \"a\" <> \"name-3\"), \"c\" , d)"
    ),
    (
      "table", "my table", "CREATE TABLE [my table](\"größe\" TEXT, größe2)",
      "CREATE TABLE \"name-8\"(\"name-7\" TEXT, \"name-8\")"
    ),
    (
      "table", "f", "CREATE VIRTUAL TABLE f USING fts5(a, tokenize = 'x y')",
      "CREATE VIRTUAL TABLE f USING fts5(a, tokenize = '')"
    ),
    (
      "index", "t", "CREATE UNIQUE INDEX t ON t(a COLLATE NOCASE) WHERE a > 17",
      "CREATE UNIQUE INDEX t ON t(\"name-1\" COLLATE NOCASE) WHERE \"name-1\" > 0"
    ),
    (
      "view", "v", "CREATE VIEW v AS SELECT 'secret', \"a\", 1e5 FROM t",
      "CREATE VIEW v AS SELECT '', \"name-1\", 0 FROM \"name-1\""
    ),
    (
      "trigger", "t", "CREATE TRIGGER t AFTER UPDATE OF a ON t BEGIN SELECT 'x''y'; END",
      "CREATE TRIGGER t AFTER UPDATE OF \"name-1\" ON t BEGIN SELECT ''; END"
    ),
  ])
  func literalsAndCommentsGo(_ type: String, _ name: String, _ sql: String, _ expected: String) {
    #expect(masked(type, name, sql) == expected)
  }

  /// What the grammar passes over may be prose.
  @Test(arguments: [
    ("trigger", "t", "CREATE TRIGGER t AFTER INSERT ON t BEGIN zqa meets zqb tonight; END"),
    ("index", "i", "CREATE INDEX i ON t(a) WHERE zqa walks home AND \"zqb\" COLLATE zqc"),
    ("table", "t", "CREATE TABLE t(a zqa, b INTEGER CHECK (zqb loves zqc very much))"),
    ("table", "t", "CREATE TABLE t(a CONSTRAINT zqa NOT NULL REFERENCES zqb(zqc))"),
    ("table", "t", "CREATE VIRTUAL TABLE t USING zqa(zqb, Ich war gestern bei zqc)"),
    ("table", "t", "CREATE VIRTUAL TABLE t USING fts5(a, zqb meets zqc)"),
    ("view", "t", "CREATE VIEW t AS SELECT zqa AS zqb FROM zqc"),
  ])
  func wordsThatNothingDeclaresGo(_ type: String, _ name: String, _ sql: String) {
    let shown = masked(type, name, sql)
    #expect(shown?.contains("name-") == true)
    for word in ["zq", "meets", "tonight", "walks", "home", "loves", "much", "gestern"] {
      #expect(shown?.contains(word) == false, "\(word)")
    }
  }

  /// What one statement declares is a name in all others.
  @Test func declaredNamesStay() {
    let trigger = "CREATE TRIGGER g AFTER UPDATE OF ZA ON ZT BEGIN UPDATE ZT SET ZA = NEW.Z_PK; END"
    let schema = Schema(
      rows: [
        .schema("table", "ZT", "ZT", "CREATE TABLE ZT(Z_PK INTEGER PRIMARY KEY, ZA TIMESTAMP)"),
        .schema("trigger", "g", "ZT", trigger),
      ], encoding: .utf8)
    let masked = MaskedSchema(schema) { text, isName in isName ? text : "name" }
    #expect(masked.statements.count == 2)
    #expect(masked.statements.last == trigger)
  }

  @Test(arguments: [
    ("table", "t", "my diary: secret"), ("table", "t", "CREATE TABLE other(a)"),
    ("view", "t", "CREATE TABLE t(a)"), ("diary", "t", "CREATE TABLE t(a)"),
    ("table", "t", "CREATE TABLE t(a) secret"), ("table", "t", "CREATE TABLE t(a); secret (2)"),
    ("index", "t", "CREATE INDEX t ON t(a) secret"), ("table", "t", "CREATE TABLE t(a 'secret"),
  ])
  func whatIsNoStatementIsNotShown(_ type: String, _ name: String, _ sql: String) {
    #expect(masked(type, name, sql) == nil)
  }

  /// Every statement that Core Data wrote is shown, and parses as it did before.
  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all)
  func realSchemasAreShown(_ real: RealStore) throws {
    let schema = try SQLiteDatabase(path: real.url.path).schema
    let masked = MaskedSchema(schema) { text, _ in text }
    #expect(masked.refusedCount == 0)
    let entries = schema.entries.filter { $0.sql != nil }
    for (entry, sql) in zip(entries, masked.statements) {
      let row = StoredRow.schema(entry.type, entry.name, entry.tableName, sql)
      let again = MaskedSchema(Schema(rows: [row], encoding: .utf8)) { text, _ in text }
      #expect(again.statements == [sql], "\(entry.sql ?? "")")
      if entry.type == "table" {
        let before = entry.sql.flatMap { TableDefinition(sql: $0) }
        let after = TableDefinition(sql: sql)
        #expect(before?.columns.map(\.name) == after?.columns.map(\.name))
      }
    }
  }
}

extension StoredRow {
  /// A row of the schema table.
  fileprivate static func schema(_ type: String, _ name: String, _ table: String, _ sql: String)
    -> StoredRow
  {
    let texts = [type, name, table].map { StoredValue.text(StoredText($0)) }
    return StoredRow(rowID: 1, values: texts + [.integer(2), .text(StoredText(sql))])
  }
}
