import Fixtures
import Foundation
import SQLiteFile
import Testing

/// What we read in a CREATE statement, against what SQLite makes of it.
@Suite struct TableDefinitionTests {
  private static let statements = [
    "CREATE TABLE t(a)", "create table t (a,b , c)", "CREATE TABLE t(a INTEGER PRIMARY KEY)",
    "CREATE TABLE t(a INTEGER PRIMARY KEY DESC, b)", "CREATE TABLE t(a INT PRIMARY KEY)",
    "CREATE TABLE t(a, b INTEGER, PRIMARY KEY(b))",
    "CREATE TABLE t(a, b INTEGER, PRIMARY KEY(b DESC))",
    "CREATE TABLE t(a, b INTEGER, PRIMARY KEY(\"B\" ASC))",
    "CREATE TABLE t(a INTEGER NOT NULL CONSTRAINT x PRIMARY KEY AUTOINCREMENT, b)",
    "CREATE TABLE t(a \"INTEGER\" PRIMARY KEY)", "CREATE TABLE t(a [INTEGER] PRIMARY KEY)",
    "CREATE TABLE t(a integer(4) PRIMARY KEY)", "CREATE TABLE t(a, b, PRIMARY KEY(b, a))",
    "CREATE TABLE t(a, b, c, PRIMARY KEY(b, a)) WITHOUT ROWID",
    "CREATE TABLE t(a, b, c, PRIMARY KEY(c, a COLLATE NOCASE, c)) WITHOUT ROWID",
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b) without rowid",
    "CREATE TABLE t(a TEXT PRIMARY KEY, b ANY) STRICT, WITHOUT ROWID",
    "CREATE TABLE t(a INT, b INTEGER, c REAL, d TEXT, e BLOB, f ANY) STRICT",
    "CREATE TABLE t(a VARCHAR(255), b CHARINT, c FLOATING POINT, d DECIMAL(10,2), e XBLOBX, f CLOB)",
    "CREATE TABLE t(a STRING, b DOUBLE PRECISION, c BOOLEAN, d DATE, e TIMESTAMP, f UNSIGNED BIG INT)",
    "CREATE TABLE t(a NATIVE CHARACTER(70), b nvarchar(100), c real, d ÄINTÖ, e \"x y\", f 'TEXT')",
    "CREATE TABLE t(a POINT, b XREALX, c DOUB, d FLOA, e NUMERIC(-5, +3), f any)",
    "CREATE TABLE t(a TEXT AS ('x'), b AS (c + 1) STORED, c, d GENERATED ALWAYS AS (c), e generated)",
    "CREATE TABLE t(a INTEGER GENERATED ALWAYS AS (b * 2) STORED NOT NULL, b, c AS (a) VIRTUAL UNIQUE)",
    "CREATE TABLE t(\"a b\", [c]d, `e``f` TEXT, 'g''h' INT, \"i\"\"j\"k)",
    "CREATE TABLE t(a/**/INT/* , b */, -- c\n d)", "CREATE TABLE t(a--x\n,b\t\r\n\u{0c}TEXT)",
    "CREATE TABLE t(a CHECK(a > ')' OR (b)), b DEFAULT (')') NOT NULL, CHECK(a), UNIQUE(a, b))",
    "CREATE TABLE t(a REFERENCES t(b) ON DELETE SET DEFAULT, b, FOREIGN KEY(a) REFERENCES t)",
    "CREATE TABLE t(a REFERENCES u ON UPDATE NO ACTION MATCH FULL NOT DEFERRABLE, b TEXT NULL)",
    "CREATE TABLE t(a, b, CONSTRAINT c1 UNIQUE(a) CONSTRAINT c2 CHECK(b) PRIMARY KEY(b))",
    "CREATE TABLE t(a CONSTRAINT c, b CONSTRAINT d TEXT, c)",
    "CREATE TABLE t(a UNIQUE ON CONFLICT IGNORE, b TEXT COLLATE NOCASE COLLATE RTRIM)",
    "CREATE TABLE t(abort, action, after, key, replace, desc INT, asc, rowid TEXT, view, temp)",
    "CREATE TABLE t(x'ab' TEXT)", "CREATE TABLE t(_a1$, ñ INT, 日本 TEXT, $x)",
    "CREATE TABLE IF NOT EXISTS main.t(a INT)", "CREATE TABLE \"t\"(a INT)", "CREATE TABLE [t] (a)",
    "CREATE TABLE t(a PRIMARY KEY ON CONFLICT REPLACE, b DEFAULT 'PRIMARY KEY')",
    "CREATE TABLE t(a DEFAULT -1 TEXT)", "CREATE TABLE t(a INT DEFAULT 1 INT, b)",
    "CREATE TABLE t(a INTEGER, b INTEGER, PRIMARY KEY(a), UNIQUE(b))",
    "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER AS (a), c)",
    "CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT, b) STRICT",
    "CREATE TABLE t(always, generated always, generated2 generated always as (1))",
    "CREATE TABLE t(a generated always, b int generated always, c generated always text, d)",
    "CREATE TABLE t(a generated always(5), b generated always not null, c always generated, d)",
    "CREATE TABLE t(a \"generated\" always, b generated always generated always, c text as (b))",
    "CREATE TABLE t(a LONG VARCHAR(1 , 2) , b TEXT(1))", "CREATE TABLE t(a without, rowid, strict)",
    "CREATE TABLE t(a INT, b INT REFERENCES generated(id), c TEXT)",
    "CREATE TABLE t(a REFERENCES generated, b CONSTRAINT generated NOT NULL, c TEXT)",
    "CREATE TABLE t(a CONSTRAINT x REFERENCES y MATCH generated ON DELETE SET NULL, b, c)",
    "CREATE TABLE t(a, b, c, PRIMARY KEY((b), ((c) COLLATE NOCASE) DESC)) WITHOUT ROWID",
    "CREATE TABLE t(a, b, PRIMARY KEY(b COLLATE NOCASE COLLATE BINARY)) WITHOUT ROWID",
    "CREATE TABLE t(a INTEGER, b, UNIQUE((b)), PRIMARY KEY((a)))",
    "CREATE TABLE t(a \u{b}INTEGER PRIMARY KEY,\n\u{b}\u{b} b)", "CREATE TABLE t(a,\u{feff}b TEXT)",
    "CREATE TABLE t(a \"\", b [], c '')", "CREATE TABLE t(a INT/*x*/EGER, b DOUBLE--y\n PRECISION)",
  ]

  /// Names, types, keys, generation and affinity, the last by what becomes of values put in.
  @Test(arguments: statements)
  func columnsAreAsSQLiteHasThem(_ sql: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    do {
      try connection.exec(sql)
    } catch {
      // This version of SQLite does not take it, so there is nothing to compare with.
      print("skipped: SQLite refuses \(sql): \(error)")
      return
    }
    let truth = try connection.rows("SELECT name, type, pk, hidden FROM pragma_table_xinfo('t')")
    let stored = try #require(
      try connection.string("SELECT sql FROM sqlite_schema WHERE name = 't'"))
    let isWithoutRowID = try connection.integer("SELECT wr FROM pragma_table_list WHERE name = 't'")
    let isStrict = try connection.integer("SELECT strict FROM pragma_table_list WHERE name = 't'")
    let table = try #require(TableDefinition(sql: stored), "\(stored)")
    #expect(table.columns.map { FixtureValue.string($0.name) } == truth.map { $0[0] })
    #expect(
      table.columns.map { Self.squeezed($0.declaredType) }
        == truth.map { Self.squeezed(Self.text($0[1])) })
    let generation = ["0": "none", "2": "virtual", "3": "stored"]
    #expect(table.columns.map(\.generation.rawValue) == truth.map { generation["\($0[3])"] ?? "" })
    #expect(table.isWithoutRowID == (isWithoutRowID == 1))
    #expect(table.isStrict == (isStrict == 1))
    let keys = truth.enumerated().compactMap { index, row -> (Int64, Int)? in
      guard case .integer(let place) = row[2], place > 0 else { return nil }
      return (place, index)
    }
    #expect(table.primaryKey == keys.sorted { $0.0 < $1.0 }.map(\.1))
    // Without quotes around it, a name that no column has stands for the row id.
    let alias = try? connection.integer(
      "SELECT count(*) FROM pragma_index_list('t') WHERE origin = 'pk'")
    let isAlias =
      keys.count == 1 && alias == 0 && isWithoutRowID == 0
      && Self.text(truth[keys[0].1][1]).uppercased() == "INTEGER"
    #expect(table.rowIDColumn == (isAlias ? keys[0].1 : nil))
    connection.close()
  }

  /// SQLite reads each of these statements from its schema.
  @Test(arguments: statements)
  func whatSQLiteAcceptsIsNotRefused(_ sql: String) throws {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(folder.url.appendingPathComponent("t.sqlite"))
    defer { connection.close() }
    guard (try? connection.exec(sql)) != nil else { return }
    let stored = try #require(
      try connection.string("SELECT sql FROM sqlite_schema WHERE name = 't'"))
    #expect(!SchemaGrammar.refusesTable(stored))
  }

  @Test(arguments: statements)
  func affinitiesAreAsSQLiteAppliesThem(_ sql: String) throws {
    guard let table = TableDefinition(sql: sql), !table.isStrict else { return }
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(folder.url.appendingPathComponent("t.sqlite"))
    defer { connection.close() }
    for column in table.columns {
      // SQLite's own words for it: CREATE TABLE AS SELECT declares a type for each affinity.
      try connection.exec("DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b")
      // An empty name is a type like others.
      let type =
        column.declaredType.isEmpty && column.affinity == .blob
        ? "" : "\"\(column.declaredType)\""
      try connection.exec("CREATE TABLE a(x \(type)); CREATE TABLE b AS SELECT x FROM a")
      let declared = try connection.string("SELECT type FROM pragma_table_info('b')")
      let words = ["INT": "integer", "NUM": "numeric", "REAL": "real", "TEXT": "text", "": "blob"]
      #expect(words[declared ?? "-"] == column.affinity.rawValue, "\(column)")
    }
  }

  /// Types in quotes, of which SQLite sees the first word only, and such as look like its own in another alphabet.
  @Test(arguments: [
    "\"\"", "''", "[]", "\"\" TEXT", "[REAL] TEXT", "\"INT\" x", "x \"INT\"", "'TEXT' INT",
    "'a''INT' REAL", "`BLOB`(5)", "\"INTEGER\"(7)", "ınt", "ﬂoat", "TEXT\u{301}", "İNT",
    "REAL BLOB", "TEXT/**/", "/*INT*/ REAL", "REAL /*INT*/ x", "'INTEGER' x PRIMARY KEY",
    "ınteger PRIMARY KEY", "INTEGER x PRIMARY KEY", "[integer] PRIMARY KEY",
  ])
  func quotedTypesAreAsSQLiteReadsThem(_ type: String) throws {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(folder.url.appendingPathComponent("t.sqlite"))
    defer { connection.close() }
    let sql = "CREATE TABLE t(x \(type))"
    try connection.exec("\(sql); CREATE TABLE b AS SELECT x FROM t; INSERT INTO t(rowid) VALUES(5)")
    let column = try #require(TableDefinition(sql: sql)?.columns.first)
    let declared = try connection.string("SELECT type FROM pragma_table_info('b')")
    let words = ["INT": "integer", "NUM": "numeric", "REAL": "real", "TEXT": "text", "": "blob"]
    #expect(words[declared ?? "-"] == column.affinity.rawValue, "\(column)")
    let isRowID = try connection.integer("SELECT x FROM t") == 5
    #expect((TableDefinition(sql: sql)?.rowIDColumn == 0) == isRowID)
  }

  /// Not among them: hexadecimal numbers of more than 31 bits, which SQLite keeps as text in some versions.
  private static let defaults = [
    "1", "-1", "+1", "1.5", "-1.50", "+1.50", "1e3", "-1e-3", ".5", "5.", "0x10", "-0x10",
    "0x7fffffff", "007", "-007", "0.0", "-0.0",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "2147483647", "2147483648", "-2147483648", "1e400", "-1e400", "123456789012345678901234567890",
    "'text'", "'1'", "' 1 '", "'1.0'", "'1e2'", "'0x10'", "'-0'", "''", "'it''s'", "\"quoted\"",
    "[b]", "`b`",
    "'1_000'", "'٣'", "'1 2'", "'+5'", "'.'", "'e5'", "'1e'", "'inf'", "'nan'", "' '", "'\t7\n'",
    "'9223372036854775808'", "'1.5e308'", "'99999999999999999999'", "'0.1'", "'-'", "'+'", "'5.'",
    "'.5'",
    "NULL", "null", "TRUE", "false", "bare", "x'00ff'", "X'4142'", "x''", "(5)", "((5))", "(-5)",
    "('a')",
    "(-(3))", "(-(1.5))", "(+(-(7)))", "((-((2))))", "(-(9223372036854775808))",
    "(NULL)", "(x'01')", "(TRUE)", "(\"a\")", "- 5", "1.0", "100.0", "1e15", "1e18", "1e19",
    "12.30",
    "'1e15'", "'1e19'", "'4611686018427387905.0'", "4611686018427387905.0", "0.1", "1e-7",
    "123456.789e3",
    "'\u{a0}7'", "'7\u{a0}'", "'日本'", "9007199254740993.0", "'9007199254740993.0'",
  ]

  /// The value of a column in rows that are older than it.
  @Test(arguments: [
    "", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "VARCHAR(3)", "DECIMAL(10,2)",
  ])
  func defaultsAreAsSQLiteGivesThem(_ type: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    var taken: [String] = []
    for value in Self.defaults {
      let column = "d\(taken.count)"
      do {
        try connection.exec("ALTER TABLE t ADD COLUMN \(column) \(type) DEFAULT \(value)")
        taken.append(value)
      } catch {
        print("skipped: SQLite refuses DEFAULT \(value)")
      }
    }
    let truth = try connection.rows("SELECT * FROM t").first ?? []
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    let row = try #require(try database.rows(of: database.schema.tables[0]).first)
    for (index, value) in taken.enumerated() {
      #expect(FixtureValue(row.values[index + 1]) == truth[index + 1], "\(type) DEFAULT \(value)")
    }
    #expect(taken.count > 80)
  }

  /// The tables of the fixtures that are there for their oddity.
  @Test(arguments: [
    "odd-names", "rowid-alias", "without-rowid", "generated-columns", "strict", "big-schema",
  ])
  func fixturesAreReadAsSQLiteReadsThem(_ name: String) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let database = try SQLiteDatabase(path: url.path)
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    for table in database.schema.tables {
      let truth = try connection.rows(
        "SELECT name, type FROM pragma_table_xinfo(?)", [.string(table.name)])
      let definition = try #require(table.definition, "\(table.name)")
      #expect(definition.columns.map { FixtureValue.string($0.name) } == truth.map { $0[0] })
      #expect(
        definition.columns.map { Self.squeezed($0.declaredType) }
          == truth.map { Self.squeezed(Self.text($0[1])) }, "\(table.name)")
    }
  }

  private static func text(_ value: FixtureValue) -> String {
    guard case .text(let bytes) = value else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// SQLite changes white space, and the case of some types, in some versions and not in others.
  private static func squeezed(_ type: String) -> String {
    type.uppercased().split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}
