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

  /// Rebuilds a store into a file beside it.
  private static func rebuilt(_ source: URL) throws -> (RebuildResult, URL) {
    let output = source.deletingLastPathComponent().appendingPathComponent("new.sqlite")
    return (try StoreRebuild().run(DamagedStore(path: source.path), to: output.path), output)
  }

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
    let (result, output) = try Self.rebuilt(source)
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
    let (result, output) = try Self.rebuilt(source)
    #expect(result.rowCount == Self.values.count)
    let query = "SELECT id, typeof(v), quote(v) FROM t ORDER BY id"
    let given = try SQLiteConnection(output)
    let wanted = try SQLiteConnection(expected)
    #expect(try given.rows(query) == wanted.rows(query))
    #expect(try given.integrityCheck() == ["ok"])
  }

  /// What SQLite keeps of row ids that were used, where rows did not go through it.
  @Test(arguments: [
    "", "DELETE FROM t WHERE id > 20", "DELETE FROM sqlite_sequence",
    "DELETE FROM sqlite_sequence WHERE name = 't'; DELETE FROM t WHERE id > 0", "DELETE FROM t",
    "UPDATE sqlite_sequence SET seq = 3",
  ])
  func usedRowIDsAreNotGivenAgain(_ change: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let expected = folder.url.appendingPathComponent("expected.sqlite")
    for url in [source, expected] {
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        CREATE TABLE t(v, id INTEGER PRIMARY KEY AUTOINCREMENT); CREATE TABLE u(v, "autoincrement");
        """)
      if url == source {
        for id in [-5, 1, 20, 21, 40] {
          try connection.exec("INSERT INTO t VALUES('a', \(id)); INSERT INTO u VALUES('b', 1)")
        }
        try connection.exec(change)
      } else {
        try connection.exec("ATTACH '\(source.path)' AS old; INSERT INTO t SELECT * FROM old.t")
        try connection.exec(
          """
          INSERT INTO sqlite_sequence SELECT * FROM old.sqlite_sequence WHERE name NOT IN \
          (SELECT name FROM sqlite_sequence);
          UPDATE sqlite_sequence SET seq = max(seq, (SELECT seq FROM old.sqlite_sequence o \
          WHERE o.name = sqlite_sequence.name)) WHERE name IN (SELECT name FROM old.sqlite_sequence);
          """)
      }
      connection.close()
    }
    let (_, output) = try Self.rebuilt(source)
    let query = "SELECT name, seq FROM sqlite_sequence ORDER BY name"
    #expect(try SQLiteConnection(output).rows(query) == SQLiteConnection(expected).rows(query))
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
    let (result, output) = try Self.rebuilt(source)
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

  private static let definitions = [
    "CREATE INDEX one ON t(v)", "CREATE INDEX two ON t(v DESC, w)",
    "CREATE INDEX three ON t(w, v DESC, id2)",
    "CREATE INDEX folded ON t(w COLLATE NOCASE)", "CREATE INDEX some ON t(v) WHERE w IS NOT NULL",
    "CREATE INDEX computed ON t(length(w))", "CREATE INDEX key ON t(id)",
    "CREATE UNIQUE INDEX once ON t(id2)", "CREATE INDEX large ON t(big)",
  ]

  /// Indexes of few and many levels, in memory and not, held against SQLite's own check, which looks each row up in each
  /// of them. The keys of 16,000 rows are more than the memory for them holds.
  @Test(arguments: [512, 4096], [3, 90, Rounds.areLong ? 40_000 : 16_000])
  func indexesAreThoseThatSQLiteMakes(_ pageSize: Int, _ count: Int) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL")
    try connection.exec(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, id2 INTEGER, v NUMERIC, w TEXT, r REAL UNIQUE, big, UNIQUE(w, id2 DESC))"
    )
    for definition in Self.definitions { try connection.exec(definition) }
    var random = SplitMix64(seed: UInt64(pageSize + count))
    let rows = (0..<count).map { place -> [FixtureValue] in
      let number: FixtureValue =
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .null
        case 1: .real(Double.random(in: -1e6...1e6, using: &random))
        case 2: .real(.random(in: -1...1, using: &random))
        case 3: .integer(.random(in: -1_000_000...1_000_000, using: &random))
        case 4: .string(String(UnicodeScalar(UInt8.random(in: 65...122, using: &random))))
        default: .blob(random.bytes(Int.random(in: 0...5, using: &random)))
        }
      // Zeros, which are escaped, and what comes before and behind them.
      let text = (0..<Int.random(in: 0...9, using: &random)).map { _ in
        [0, 1, 0x41, 0x7f].randomElement(using: &random) ?? UInt8(0)
      }
      // One row whose entry does not stand in its cell, and one number that no double is.
      let big: FixtureValue =
        place == count / 2 ? .blob(random.bytes(3 * pageSize)) : .integer(.max - Int64(place))
      return [
        .integer(Int64(place)), number, place % 5 == 0 ? .null : .text(text),
        place % 7 == 0 ? .null : .real(Double(place) / 4), big,
      ]
    }
    try connection.exec("BEGIN")
    try connection.insert("INSERT INTO t(id2, v, w, r, big) VALUES(?, ?, ?, ?, ?)", rows)
    try connection.exec("COMMIT")
    let query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    let schema = try connection.rows(query)
    connection.close()
    let (result, output) = try Self.rebuilt(source)
    #expect(result.isLossless)
    let given = try SQLiteConnection(output)
    #expect(try given.integrityCheck() == ["ok"])
    #expect(
      try given.rows(
        query.replacing(" ORDER", with: " WHERE name NOT LIKE '\\_%' ESCAPE '\\' ORDER")) == schema)
    // The order of each index is the one that a sorter gives.
    for (index, order) in [
      ("one", "v, id"), ("two", "v DESC, w, id"), ("three", "w, v DESC, id2, id"),
    ] {
      let columns = "quote(v), quote(w), id2, id"
      #expect(
        try given.rows(
          "SELECT \(columns) FROM t INDEXED BY \(index) WHERE \(index == "three" ? "w IS NOT 0" : "v IS NOT 'no'") ORDER BY \(order)"
        )
          == given.rows("SELECT \(columns) FROM t NOT INDEXED ORDER BY \(order)"))
    }
    // And SQLite goes on with them.
    try given.exec(
      "DELETE FROM t WHERE id % 3 = 0; UPDATE t SET v = id2, w = hex(id2) WHERE id % 3 = 1")
    try given.exec("PRAGMA incremental_vacuum")
    #expect(try given.integrityCheck() == ["ok"])
  }

  /// Cells of a page whose header is lost are found in the order of their bytes, the last row first.
  @Test func pagesWithoutHeadersDoNotSwellTheNewFile() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, w REAL)")
    try connection.exec(
      "WITH c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 40000) INSERT INTO t SELECT i, 'xyz' || i, i + 0.5 FROM c"
    )
    let wanted = try connection.rows("SELECT id, v, w FROM t ORDER BY id")
    connection.close()
    var bytes = try Data(contentsOf: source)
    for start in stride(from: 4096, to: bytes.count, by: 4096) where bytes[start] == 0x0d {
      bytes.replaceSubrange(start..<start + 8, with: Data(count: 8))
    }
    try bytes.write(to: source)
    let (result, output) = try Self.rebuilt(source)
    #expect(result.rowCount == 40_000)
    #expect(try Data(contentsOf: output).count < 2 * bytes.count)
    let given = try SQLiteConnection(output)
    #expect(try given.rows("SELECT id, v, w FROM t ORDER BY id") == wanted)
    #expect(try given.integrityCheck() == ["ok"])
  }

  /// A row of which little but its row id can be trusted stands under that, and takes none of another row.
  @Test(
    arguments: ["", " CHECK (a IS NOT 7)"],
    [[0, 0x40, 0], [0x40, 0x40, 0x40], [0x0a, 0x40, 0x11], [0x0a, 0x0b, 0x40]])
  func aRowInDoubtTakesTheRowIDOfNoOther(_ constraint: String, _ change: [UInt8]) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a\(constraint), b TEXT)")
    try connection.exec(
      "WITH c(i) AS (VALUES(201) UNION ALL SELECT i + 1 FROM c WHERE i < 260) INSERT INTO t SELECT i, 1, 'some text ' || i FROM c"
    )
    connection.close()
    var bytes = try Data(contentsOf: source)
    // A value of no bytes becomes one that is longer than the record, and more of the like.
    let cell = try #require(bytes.range(of: Data("some text 220".utf8))).lowerBound - 7
    #expect([UInt8](bytes[cell..<cell + 7]) == [17, 0x81, 0x5c, 4, 0, 9, 0x27])
    for (place, bits) in change.enumerated() { bytes[cell + 4 + place] ^= bits }
    try bytes.write(to: source)
    let (_, output) = try Self.rebuilt(source)
    let given = try SQLiteConnection(output)
    #expect(
      try given.integer("SELECT count(*) FROM t WHERE b = 'some text ' || id AND id <> 220") == 59)
    let told = try given.rows("SELECT \"rowid\" FROM _lifeboat_provenance WHERE \"table\" = 't'")
    #expect(told == [[.integer(220)]])
    #expect(try given.integer("SELECT count(*) FROM t") == 60)
    #expect(
      try given.integer(
        "SELECT count(*) FROM t WHERE id = 220 AND coalesce(b, 'some text 220') = 'some text 220'")
        == 1)
  }

  /// Indexes that came with a table's keys and cannot be filled: they fold text, have an entry that does not stand in its
  /// cell, or are too many.
  @Test(arguments: [
    "v TEXT COLLATE NOCASE UNIQUE, w", "v TEXT, w, UNIQUE(w, v COLLATE RTRIM)",
    "v TEXT UNIQUE, w UNIQUE",
    (0..<40).map { "c\($0) DEFAULT NULL UNIQUE, " }.joined() + "v TEXT UNIQUE, w",
  ])
  func keysThatAreNotFilledHaveTheirIndexes(_ columns: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, \(columns))")
    try connection.exec("CREATE TABLE other(v TEXT UNIQUE)")
    try connection.exec("INSERT INTO t(v, w) VALUES('Abc', 1), ('abd ', 2), ('', zeroblob(9000))")
    try connection.exec("INSERT INTO other VALUES('a'), ('b')")
    connection.close()
    let (result, output) = try Self.rebuilt(source)
    #expect(result.isLossless)
    let given = try SQLiteConnection(output)
    #expect(try given.integrityCheck() == ["ok"])
    #expect(try given.integer("SELECT id FROM t WHERE v = 'Abc'") == 1)
  }

  /// Dropping an index would drop what is known of it, too.
  @Test func statisticsOfIndexesThatAreNotFilledAreKept() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE t(v INTEGER, w TEXT)")
    try connection.exec("CREATE INDEX large ON t(v); CREATE INDEX folded ON t(w COLLATE NOCASE)")
    try connection.exec("INSERT INTO t VALUES(9007199254740993, 'a'), (1, 'b'); ANALYZE")
    let query = "SELECT * FROM sqlite_stat1 ORDER BY tbl, idx"
    let wanted = try connection.rows(query)
    connection.close()
    let (_, output) = try Self.rebuilt(source)
    let given = try SQLiteConnection(output)
    #expect(wanted.count == 2)
    #expect(try given.rows(query) == wanted)
    #expect(try given.integrityCheck() == ["ok"])
  }

  /// What reading finds is told once where the rows are read twice.
  @Test func startingOverTellsNothingTwice() throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("old.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec("CREATE TABLE t(v)")
    try connection.exec(
      "WITH c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 3000) INSERT INTO t SELECT CAST(x'ff' || zeroblob(3000) AS TEXT) FROM c"
    )
    connection.close()
    let (result, _) = try Self.rebuilt(source)
    #expect(result.rowCount == 3000)
    #expect(result.findings.count { $0.id.rawValue == "text.undecodable" } == 1)
    // SQLite takes such texts as they are.
    #expect(result.damageCount == 0)
  }
}
