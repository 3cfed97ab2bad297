import Fixtures
import Foundation
import SQLiteWriter
import Testing

@Suite struct StatementTests {
  let folder: TemporaryFolder
  let writer: SQLiteWriter

  init() throws {
    folder = try TemporaryFolder()
    writer = try SQLiteWriter(creating: folder.url.appendingPathComponent("new.sqlite").path)
  }

  static let values: [SQLiteValue] = [
    .null, .integer(0), .integer(1), .integer(-1), .integer(.min), .integer(.max), .real(0.5),
    .real(.infinity), .real(-.infinity), .real(.leastNonzeroMagnitude),
    .real(.greatestFiniteMagnitude), .real(3), .text([]), .string("text"), .string("nul\0inside"),
    .text([0xff, 0x80, 0xc0]), .blob([]), .blob([0]), .blob([1, 2, 255]),
    .blob([UInt8](repeating: 7, count: 100_000)),
  ]

  @Test func everyValueComesBack() throws {
    try writer.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
    let insert = try writer.prepare("INSERT INTO t(a) VALUES(?)")
    #expect(insert.parameterCount == 1)
    for value in Self.values { try insert.run([value]) }
    #expect(writer.lastInsertRowID == Int64(Self.values.count))
    #expect(try writer.rows("SELECT a FROM t ORDER BY id").map(\.first) == Self.values)
    #expect(try writer.check() == [])
    try writer.close()

    // The same through a connection that shares no code with the writer.
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: writer.path)["t"] ?? []
    for (value, row) in zip(Self.values, rows) {
      let expected: FixtureValue =
        switch value {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let bytes): .text(bytes)
        case .blob(let bytes): .blob(bytes)
        }
      #expect(row.values.last == expected)
    }
    if let text = try sqlite3(
      writer.path,
      "SELECT typeof(a) || ':' || hex(a) FROM t WHERE typeof(a) IN ('text', 'blob') AND length(CAST(a AS BLOB)) < 20"
    ) {
      #expect(
        text.split(separator: "\n") == [
          "text:", "text:74657874", "text:6E756C00696E73696465", "text:FF80C0", "blob:", "blob:00",
          "blob:0102FF",
        ])
    }
  }

  @Test func nanIsStoredAsNull() throws {
    #expect(try writer.rows("SELECT ?, typeof(?1)", [.real(.nan)]) == [[.null, .string("null")]])
  }

  @Test func spansBindLikeArrays() throws {
    try writer.execute("CREATE TABLE t(a, b)")
    let insert = try writer.prepare("INSERT INTO t VALUES(?, ?)")
    let source: [UInt8] = Array("some longer text".utf8)
    try source.withUnsafeBufferPointerSpan { span throws in
      var first = RowBinding(insert)
      first.text(span.extracting(5..<11))
      first.blob(span.extracting(0..<0))
      try first.check()
      try insert.run()
      var second = RowBinding(insert)
      second.text(span.extracting(0..<0))
      second.blob(span.extracting(0..<4))
      try second.check()
    }
    // The view is gone, the bound copy must not be.
    try insert.run()
    #expect(
      try writer.rows("SELECT * FROM t")
        == [[.string("longer"), .blob([])], [.text([]), .blob(Array("some".utf8))]])
  }

  @Test func partsOfARowAndCopiesKeepTheirType() throws {
    try writer.execute("CREATE TABLE t(a)")
    let insert = try writer.prepare("INSERT INTO t VALUES(?)")
    let source: [UInt8] = Array("bytes".utf8)
    try source.withUnsafeBufferPointerSpan { span throws in
      try insert.run(over: span) { $0.blob(1, 2, at: 1) }
      try insert.run(over: span) { $0.blob(5, 0, at: 1) }
      // No such part.
      try insert.run(over: span) { $0.blob(4, 2, at: 1) }
      try insert.run(over: span) { $0.text(4, 2, at: 1) }
      try insert.run(over: span) { $0.text(utf16: [], at: 1) }
      try insert.run(over: span) { $0.text(copying: [], at: 1) }
      try insert.run(over: span) { $0.text(utf16: Array("ü".utf16), at: 1) }
      try insert.run(over: span) { $0.text(copying: Array("ü".utf8), at: 1) }
    }
    let expected: [SQLiteValue] = [
      .blob(Array("yt".utf8)), .blob([]), .null, .null, .text([]), .text([]), .string("ü"),
      .string("ü"),
    ]
    #expect(try writer.rows("SELECT a FROM t ORDER BY rowid").map(\.first) == expected)
  }

  @Test func valuesOfTheCurrentRow() throws {
    let statement = try writer.prepare("SELECT 42, 2.5, 'text', x'0102', NULL")
    #expect(statement.row == [])
    #expect(try statement.step())
    #expect(statement.integer(at: 0) == 42)
    #expect(
      statement.row == [.integer(42), .real(2.5), .string("text"), .blob([1, 2]), .null])
    #expect(statement.value(at: 3) == .blob([1, 2]))
    for column in [-1, 5, Int.max, Int.min] {
      #expect(statement.value(at: column) == .null)
      #expect(statement.integer(at: column) == 0)
    }
    #expect(try !statement.step())
  }

  @Test func wrongNumberOfValuesIsRefused() throws {
    try writer.execute("CREATE TABLE t(a, b)")
    let insert = try writer.prepare("INSERT INTO t VALUES(?, ?)")
    #expect(writerError { try insert.run([.null]) }?.code == .parameters)
    #expect(writerError { try insert.run([.null, .null, .null]) }?.code == .parameters)
    for index in [0, -1, 3, Int.max] {
      #expect(writerError { try insert.bind(.null, at: index) }?.code == .parameters)
    }
    #expect(try writer.rows("SELECT * FROM t") == [])
  }

  @Test func exactlyOneStatementIsPrepared() throws {
    for sql in ["", "  ", "-- nothing", "SELECT 1; SELECT 2"] {
      #expect(writerError { _ = try writer.prepare(sql) }?.code == .refused, "\(sql)")
    }
    for sql in ["SELECT 1;", "SELECT 1 ; -- done", "SELECT 1 /* x */;;"] {
      #expect(try writer.rows(sql) == [[.integer(1)]], "\(sql)")
    }
    #expect(writerError { _ = try writer.prepare("SELECT 1\0") }?.code == .embeddedNUL)
  }

  @Test func executeRunsAllStatements() throws {
    try writer.execute(
      "CREATE TABLE t(a); -- first\n INSERT INTO t VALUES('a;b');\n\n;INSERT INTO t VALUES(2) ;  ")
    #expect(try writer.rows("SELECT a FROM t") == [[.string("a;b")], [.integer(2)]])
  }

  @Test func transactionCommitsOrRollsBack() throws {
    struct Mine: Error {}
    try writer.execute("CREATE TABLE t(a)")
    try writer.transaction { try writer.execute("INSERT INTO t VALUES(1)") }
    #expect(throws: Mine.self) {
      try writer.transaction {
        try writer.execute("INSERT INTO t VALUES(2)")
        throw Mine()
      }
    }
    #expect(!writer.isInTransaction)
    #expect(try writer.rows("SELECT a FROM t") == [[.integer(1)]])
    let nested = writerError { try writer.transaction { try writer.transaction {} } }
    #expect(nested?.code == .transactionOpen)
    #expect(!writer.isInTransaction)
  }

  @Test func transactionRollsBackAFailingCommit() throws {
    try writer.execute("PRAGMA foreign_keys = ON; CREATE TABLE p(id INTEGER PRIMARY KEY)")
    try writer.execute(
      "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    let error = writerError {
      try writer.transaction { try writer.execute("INSERT INTO c VALUES(7)") }
    }
    #expect(error?.code == .constraint)
    #expect(error?.resultCode == 787)
    #expect(!writer.isInTransaction)
    #expect(try writer.rows("SELECT * FROM c") == [])
  }

  @Test func fullDatabaseIsReportedAndRolledBack() throws {
    try writer.execute("CREATE TABLE t(a); PRAGMA max_page_count = 20")
    let error = writerError {
      try writer.transaction {
        let insert = try writer.prepare("INSERT INTO t VALUES(?)")
        for _ in 0..<100 { try insert.run([.blob([UInt8](repeating: 1, count: 4000))]) }
      }
    }
    #expect(error?.code == .full)
    #expect(!writer.isInTransaction)
    #expect(try writer.rows("SELECT count(*) FROM t") == [[.integer(0)]])
    try writer.close()
  }

  @Test func constraintNamesItsColumnButNoValue() throws {
    try writer.execute("CREATE TABLE t(a UNIQUE)")
    let insert = try writer.prepare("INSERT INTO t VALUES(?)")
    try insert.run([.string("secret")])
    let error = writerError { try insert.run([.string("secret")]) }
    #expect(error?.code == .constraint)
    #expect(error?.resultCode == 2067)
    #expect(error?.primaryResultCode == 19)
    #expect(error?.message.contains("t.a") == true)
    #expect(error?.sql == "INSERT INTO t VALUES(?)")
    // The statement can be used again.
    try insert.run([.string("other")])
  }

  @Test(arguments: [
    "INSERT INTO t VALUES('secret', 4711)", "INSERT INTO t VALUES('secr''et', x'4711')",
    "SELECT 'secret", "SELECT 'secret' 'secret' 4711.5e7 FROM",
    "INSERT INTO missing VALUES('secret')",
  ])
  func errorsHoldNoLiterals(_ sql: String) throws {
    let error = writerError { try writer.execute(sql) }
    let text = error?.description ?? ""
    #expect(!text.isEmpty && !text.contains("secr") && !text.contains("4711"), "\(text)")
  }

  @Test func longSQLIsCut() throws {
    let names = (0..<100).map { "column\($0)" }.joined(separator: ", ")
    let error = writerError { try writer.execute("SELECT \(names) FROM missing") }
    #expect((error?.sql?.unicodeScalars.count ?? 0) <= 161)
    #expect(error?.sql?.hasPrefix("SELECT column0, column1") == true)
  }

  @Test(arguments: [
    "plain", "with space", "quote\"inside", "", "select", "a;b", "日本 😀", "back`tick", "[br]", "'s'",
    "\"", "line\nbreak",
  ])
  func quotedNamesReachTheirTable(_ name: String) throws {
    let quoted = try SQLIdentifier.quoted(name)
    try writer.execute("CREATE TABLE \(quoted)(\(quoted) TEXT)")
    try writer.execute("INSERT INTO \(quoted)(\(quoted)) VALUES('here')")
    #expect(
      try writer.rows("SELECT name FROM sqlite_schema WHERE type = 'table'") == [[.string(name)]])
    #expect(try writer.rows("SELECT \(quoted) FROM \(quoted)") == [[.string("here")]])
  }

  @Test func nameWithNULIsRefused() {
    #expect(writerError { _ = try SQLIdentifier.quoted("a\0b") }?.code == .embeddedNUL)
  }

  @Test(arguments: [
    "ATTACH 'other.sqlite' AS other", "PRAGMA writable_schema = ON",
    "SELECT load_extension('evil')", "DETACH main",
  ])
  func dangerousSQLIsRefused(_ sql: String) {
    let error = writerError { try writer.execute(sql) }
    #expect(error?.code == .refused || error?.code == .sqlite, "\(String(describing: error))")
    #expect((try? writer.rows("PRAGMA database_list").count) == 1)
  }

  @Test(arguments: [
    "CREATE TABLE x(a, b DEFAULT 'y', CHECK(a > 0))",
    "CREATE TABLE x(id INTEGER PRIMARY KEY AUTOINCREMENT, a AS (id + 1) STORED, c AS (a))",
    "CREATE TABLE x(k PRIMARY KEY, v) WITHOUT ROWID", "CREATE TABLE x(a INT, b ANY) STRICT",
    "CREATE INDEX x ON base(lower(a), b DESC) WHERE b > 1;",
    "CREATE UNIQUE INDEX x ON base(b)", "CREATE VIEW x AS SELECT a FROM base, base AS other -- v",
    "CREATE VIEW x AS WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i FROM c) SELECT i FROM c",
    "CREATE TRIGGER x AFTER INSERT ON base BEGIN DELETE FROM base WHERE a = new.a; END",
  ])
  func definitionsFromFilesAreRun(_ sql: String) throws {
    try writer.execute("CREATE TABLE base(a, b); INSERT INTO base VALUES('q', 1), ('r', 2)")
    try writer.define(sql)
    #expect(
      try writer.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'x'") == [[.integer(1)]])
    #expect(try writer.check() == [])
  }

  @Test(arguments: [
    "INSERT INTO base VALUES(3, 4)", "DROP TABLE base", "DELETE FROM base", "SELECT 1",
    "CREATE TABLE x(a); DROP TABLE base", "CREATE TEMP TABLE x(a)", "VACUUM", "BEGIN",
    "CREATE TABLE x AS WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i FROM c) SELECT i FROM c",
    "CREATE VIRTUAL TABLE x USING fts5(a)", "PRAGMA journal_mode = OFF", "PRAGMA user_version = 7",
    "ALTER TABLE base ADD COLUMN c", "ATTACH 'x' AS y", "UPDATE base SET a = 1", "REINDEX base; x",
    "ANALYZE", "CREATE TEMP VIEW x AS SELECT 1", "DELETE FROM sqlite_schema", "",
  ])
  func anythingElseFromFilesIsRefused(_ sql: String) throws {
    try writer.execute("CREATE TABLE base(a, b); INSERT INTO base VALUES('q', 1)")
    let error = writerError { try writer.define(sql) }
    #expect([.refused, .sqlite].contains(error?.code), "\(String(describing: error))")
    #expect(try writer.rows("SELECT name FROM sqlite_schema") == [[.string("base")]])
    #expect(try writer.rows("SELECT * FROM base") == [[.string("q"), .integer(1)]])
    // Ordinary SQL is as free as before.
    try writer.execute("DELETE FROM base")
  }

  @Test(arguments: [
    "CREATE TABLE x(a CHECK(json_valid(a)), b AS (json_extract(a, '$.b')) STORED, c AS (a ->> 'c'))",
    "CREATE INDEX x ON base(json_extract(a, '$.n'))",
    "CREATE INDEX x ON base(a -> 'n') WHERE json_type(a) = 'object'",
  ])
  func definitionsMayCallTheFunctionsOfJSON(_ sql: String) throws {
    try writer.execute("CREATE TABLE base(a, b); INSERT INTO base VALUES('{\"n\":1}', 1)")
    try writer.define(sql)
    #expect(
      try writer.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'x'") == [[.integer(1)]])
  }

  /// Those that SQLite calls neither innocuous nor its own, however they are dressed.
  @Test(arguments: ["load_extension(a)", "fts3_tokenizer(a)", "LOAD_EXTENSION(a)", "nosuch(a)"])
  func definitionsMayNotCallWhatHasEffects(_ call: String) throws {
    try writer.execute("CREATE TABLE base(a, b); INSERT INTO base VALUES('q', 1)")
    for sql in [
      "CREATE TABLE x(a CHECK(\(call)))", "CREATE TABLE x(a, b AS (\(call)))",
      "CREATE TABLE x(a, b AS (\(call)) STORED)", "CREATE INDEX x ON base(\(call))",
      "CREATE INDEX x ON base(b) WHERE \(call)",
    ] {
      #expect(throws: SQLiteWriterError.self) { try writer.define(sql) }
    }
    #expect(try writer.rows("SELECT name FROM sqlite_schema") == [[.string("base")]])
  }

  /// Beyond the limit of a value's length `printf` gives NULL without an error; elsewhere the index would be corrupt.
  @Test(arguments: [
    ("printf('%s-%04d', a, b)", true), ("format('it''s %s', a)", true),
    ("printf('%.*c', 900000000, 'x')", false), ("printf('%9000000d', b)", false),
    ("printf(a, b)", false), ("printf('%' || a, b)", false), ("\"printf\"('%.*c', 9, 'x')", false),
    ("printf/**/('%.*c', 9, 'x')", false), ("PRINTF ( '%*d', b, b)", false),
  ])
  func aFormatWithoutABoundIsRefused(_ call: String, _ isAllowed: Bool) throws {
    try writer.execute("CREATE TABLE base(a, b, format); INSERT INTO base VALUES('q', 1, 'f')")
    let sql = "CREATE INDEX x ON base(\(call), format)"
    if isAllowed {
      try writer.define(sql)
    } else {
      #expect(throws: SQLiteWriterError.self) { try writer.define(sql) }
    }
  }

  /// An apostrophe in a name or a comment begins no literal.
  @Test(arguments: [
    "CREATE TABLE t(\"it's\" TEXT DEFAULT 'secret' CHECK(nosuch(1)))",
    "CREATE TABLE t([it's] TEXT DEFAULT 'secret' CHECK(nosuch(1)))",
    "CREATE TABLE t(`it's` TEXT DEFAULT 'it''s secret' CHECK(nosuch(1)))",
    "CREATE TABLE t(a /* it's */ TEXT DEFAULT 'secret' CHECK(nosuch(1)))",
    "CREATE TABLE t(a /**/ TEXT DEFAULT 'secret' /*/ it's */ CHECK(nosuch('secret')))",
    "CREATE TABLE t(a -- it's\n TEXT DEFAULT 'secret' CHECK(nosuch(1)))",
  ])
  func noLiteralIsInAnError(_ sql: String) throws {
    let error = try #require(writerError { try writer.define(sql) })
    #expect(!error.description.contains("secret"))
    #expect(error.sql?.contains("TEXT DEFAULT ?") == true)
  }

  @Test func anExcerptIsShortHoweverLongANameIs() throws {
    let error = try #require(
      writerError { try writer.define("CREATE TABLE \"" + String(repeating: "n", count: 600)) })
    let sql = try #require(error.sql)
    #expect(sql.unicodeScalars.count == 161 && sql.unicodeScalars.last == "…")
  }

  /// SQLite ignores the case of ASCII letters only, and refuses a whole file in which the two names differ.
  @Test(arguments: [
    ("T", "t", true), ("caf\u{e9}", "caf\u{c9}", false), ("caf\u{e9}", "cafe\u{301}", false),
  ])
  func aVirtualTableHasTheNameInItsStatement(_ name: String, _ stated: String, _ isTaken: Bool)
    throws
  {
    let sql = "CREATE VIRTUAL TABLE \"\(stated)\" USING none(a)"
    if isTaken {
      try writer.registerVirtualTable(name, sql: sql)
    } else {
      #expect(
        writerError { try writer.registerVirtualTable(name, sql: sql) }?.code == .refused)
    }
    #expect(
      try writer.rows("SELECT count(*) FROM sqlite_schema") == [[.integer(isTaken ? 1 : 0)]])
  }

  @Test func workThatTakesTooLongIsEnded() throws {
    try writer.execute("CREATE TABLE t(a)")
    var seconds = 0.05
    let error = writerError {
      try writer.limited(to: &seconds) { () throws(SQLiteWriterError) in
        try writer.execute(
          "INSERT INTO t WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c) SELECT i FROM c WHERE i < 0"
        )
      }
    }
    #expect(error?.code == .tooLong)
    // What comes after has no limit: it takes several times as long.
    try writer.execute(
      "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000000) INSERT INTO t SELECT max(i) FROM c"
    )
    #expect(try writer.rows("SELECT a FROM t") == [[.integer(1_000_000)]])
  }

  @Test func valuesAndFilesHaveTheSizeThatIsAllowed() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteWriter.Options()
    options.maxValueBytes = 1 << 20
    options.maxPages = 500
    let writer = try SQLiteWriter(
      creating: folder.url.appendingPathComponent("small.sqlite").path, options: options)
    defer { writer.discard() }
    try writer.execute("CREATE TABLE t(a)")
    #expect(
      writerError { try writer.execute("INSERT INTO t VALUES(zeroblob(1100000))") }?.code == .tooBig
    )
    try writer.execute("INSERT INTO t VALUES(zeroblob(1000000))")
    #expect(
      writerError {
        try writer.execute("INSERT INTO t VALUES(zeroblob(1000000)), (zeroblob(1000000))")
      }?.code == .full)
    #expect(try writer.check() == [])
  }

  @Test func manyRowsInOneTransaction() throws {
    try writer.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB)")
    try writer.transaction {
      let insert = try writer.prepare("INSERT INTO t VALUES(?, ?, ?)")
      for number in 0..<20_000 {
        try insert.run([
          .integer(Int64(number)), .string("row \(number)"),
          .blob([UInt8](repeating: UInt8(number & 255), count: number % 50)),
        ])
      }
    }
    #expect(try writer.check() == [])
    try writer.close()
    if let text = try sqlite3(
      writer.path, "SELECT count(*), sum(id), sum(length(a)), sum(length(b)) FROM t")
    {
      let lengths = (0..<20_000).map { "row \($0)".count }.reduce(0, +)
      #expect(text == "20000|199990000|\(lengths)|490000")
    }
  }

  @Test func integrityCheckFindsDamage() throws {
    try writer.execute("PRAGMA cache_size = 1; CREATE TABLE t(a); CREATE INDEX i ON t(a)")
    let insert = try writer.prepare("INSERT INTO t VALUES(?)")
    for number in 0..<2000 { try insert.run([.integer(Int64(number))]) }
    try overwrite(
      URL(fileURLWithPath: writer.path), at: 5 * 4096, bytes: [UInt8](repeating: 0, count: 4096))
    // Another connection has changed the file, as far as SQLite can tell, once the counter moves.
    try overwrite(URL(fileURLWithPath: writer.path), at: 24, bytes: [0xff, 0, 0, 1])
    #expect(try !writer.check().isEmpty)
    #expect(try !writer.check(.quick).isEmpty)
    writer.discard()
  }

  @Test func aSmallFileIsCheckedInFullAndALargeOneWhereThatIsAskedFor() throws {
    try writer.execute("CREATE TABLE t(a)")
    #expect(try writer.finalCheckDepth(verifies: false) == .full)
    try writer.execute(
      """
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 33)
      INSERT INTO t SELECT zeroblob(1 << 20) FROM c
      """)
    #expect(try writer.finalCheckDepth(verifies: false) == .quick)
    #expect(try writer.finalCheckDepth(verifies: true) == .full)
    #expect(try writer.check(.quick) == [])
    writer.discard()
  }
}

extension Array where Element == UInt8 {
  /// A view of the bytes without `Array.span`, which newer systems only have.
  func withUnsafeBufferPointerSpan(_ body: (RawSpan) throws -> Void) rethrows {
    try unsafe withUnsafeBytes { try body(unsafe RawSpan(_unsafeBytes: $0)) }
  }
}
