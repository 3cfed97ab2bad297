import Fixtures
import Foundation
import SQLiteFile
import StoreExtraction
import Testing

/// Rows that are written past SQLite have the very bytes that SQLite gives them.
@Suite struct FillingTests {
  private static let types = ["", "INTEGER", "REAL", "TEXT", "NUMERIC", "TIMESTAMP", "BLOB"]

  private static let integers: [Int64] = [
    0, 1, -1, 2, 127, 128, -128, -129, 32_767, 32_768, -32_768, -32_769, 8_388_607, 8_388_608,
    -8_388_609, 2_147_483_647, 2_147_483_648, -2_147_483_649, 140_737_488_355_327,
    140_737_488_355_328, -140_737_488_355_328, -140_737_488_355_329, .max, .min,
    9_007_199_254_740_993,
  ]
  private static let reals: [Double] = [
    0, -0.0, 1, -1, 0.5, 1e15, 140_737_488_355_328, 1e18, 9.3e18, -9.3e18, 1e300, .infinity,
    .leastNonzeroMagnitude,
  ]
  private static let texts = [
    "", "a", "12", " 12 ", "1.0", "1e3", ".5", "-", "+7", "Zoe", "0x1", "é", "e5", "inf", "A12",
    "\n1",
  ]
  private static let values: [FixtureValue] =
    integers.map { .integer($0) } + reals.map { .real($0) } + texts.map { .string($0) }
    + [[], [0], [0x31], Array(repeating: 9, count: 60)].map { .blob($0) } + [.null]

  /// One leaf, written by SQLite row by row in order, and the same leaf filled.
  @Test(arguments: types)
  func aFilledLeafIsTheLeafThatSQLiteWrites(_ type: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec(
      "PRAGMA page_size = 8192; CREATE TABLE t(a, id INTEGER PRIMARY KEY, v \(type))")
    // Text that may be a number is inserted behind the others, and then stands elsewhere on the page.
    let isNumeric = !["", "TEXT", "BLOB"].contains(type)
    let values = Self.values.filter { value in
      guard isNumeric, case .text(let bytes) = value, let first = bytes.first else { return true }
      return first >= UInt8(ascii: "A")
    }
    try connection.insert("INSERT INTO t VALUES(?, NULL, ?)", values.map { [.integer(7), $0] })
    connection.close()
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(DamagedStore(path: source.path), to: output.path)
    #expect(result.rowCount == values.count)
    let old = try Data(contentsOf: source).dropFirst(8192).prefix(8192)
    let new = try Data(contentsOf: output).dropFirst(8192).prefix(8192)
    #expect(old.elementsEqual(new))
  }

  /// Text in a column of numbers, reals that are whole, integers in a column of text: put there past the affinity of
  /// the column, as they stand in files whose declarations were changed afterwards.
  @Test(arguments: types)
  func whatSQLiteWouldChangeIsLeftToIt(_ type: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let expected = folder.url.appendingPathComponent("expected.sqlite")
    for (url, declared) in [(source, ""), (expected, type)] {
      let connection = try SQLiteConnection(url)
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v \(declared))")
      try connection.insert("INSERT INTO t VALUES(NULL, ?)", Self.values.map { [$0] })
      if url == source {
        try connection.exec("PRAGMA writable_schema = ON")
        try connection.exec(
          "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY, v \(type))'")
      }
      connection.close()
    }
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(DamagedStore(path: source.path), to: output.path)
    #expect(result.rowCount == Self.values.count)
    let query = "SELECT id, typeof(v), quote(v) FROM t ORDER BY id"
    let given = try SQLiteConnection(output)
    let wanted = try SQLiteConnection(expected)
    #expect(try given.rows(query) == wanted.rows(query))
    #expect(try given.integrityCheck() == ["ok"])
  }

  /// What keeps rows from being filled: row ids twice, and unique keys twice.
  @Test func rowsThatComeTwiceAreKeptBack() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("PRAGMA page_size = 512; CREATE TABLE t(id INTEGER PRIMARY KEY, v, w)")
    try connection.exec("CREATE TABLE other(id INTEGER PRIMARY KEY, v, w)")
    for table in ["t", "other"] {
      try connection.exec(
        "WITH c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 300) INSERT INTO \(table) SELECT i, i % 299, hex(randomblob(20)) FROM c"
      )
    }
    try connection.exec("PRAGMA writable_schema = ON")
    try connection.exec(
      "UPDATE sqlite_schema SET sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE, w)' WHERE name = 't'"
    )
    connection.close()
    let output = folder.url.appendingPathComponent("new.sqlite")
    let result = try StoreRebuild().run(DamagedStore(path: source.path), to: output.path)
    // 1 and 300, 299 and 0: the first of each is in the table.
    let table = try #require(result.tables.first { $0.name == "t" })
    #expect(table.rowCount + table.conflictCount == 300)
    #expect(table.conflictCount == 1)
    let given = try SQLiteConnection(output)
    #expect(try given.integrityCheck() == ["ok"])
    #expect(try given.integer("SELECT count(*) FROM t") == 299)
    #expect(try given.integer("SELECT count(*) FROM other") == 300)
    #expect(try given.integer("SELECT count(*) FROM _lifeboat_conflicts_t") == 1)
  }
}
