import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Records that go over into another file as they stand must be those that SQLite would write there.
@Suite struct RecordFormTests {
  private static let types = ["", "INTEGER", "REAL", "TEXT", "NUMERIC", "TIMESTAMP", "BLOB"]

  private static let integers: [Int64] = [
    0, 1, -1, 2, 127, 128, -128, -129, 32_767, 32_768, -32_768, -32_769, 8_388_607, 8_388_608,
    -8_388_609, 2_147_483_647, 2_147_483_648, -2_147_483_649, 140_737_488_355_327,
    140_737_488_355_328, -140_737_488_355_328, -140_737_488_355_329, .max, .min,
  ]
  private static let reals: [Double] = [
    0, -0.0, 1, -1, 0.5, 1e15, 140_737_488_355_328, 1e18, 9.3e18, 1e300, .infinity,
  ]
  private static let texts = [
    "", "a", "12", " 12 ", "1.0", "1e3", ".5", "-", "Zoe", "0x1", "é", "e5", "inf", "A12", "\n1",
    String(repeating: "long ", count: 3000),
  ]
  private static let values: [FixtureValue] =
    integers.map { .integer($0) } + reals.map { .real($0) } + texts.map { .string($0) }
    + [[], [0], [0x31], Array(repeating: 9, count: 300)].map { .blob($0) } + [.null]

  private struct Rows {
    var records: [Int64: [UInt8]] = [:]
    var others: Set<Int64> = []
  }

  /// The rows of a store's table `t`, by the form of a definition.
  private func rows(of url: URL, as sql: String, namesFiles: Bool = false) throws -> Rows {
    let database = try DamagedDatabase(path: url.path)
    let table = try #require(ExpectedTable(name: "t", sql: sql))
    var rows = Rows()
    let forms = database.tables.map {
      $0.name == "t" ? RecordForm(table, namesFiles: namesFiles) : nil
    }
    try database.forEachReadableRow(as: forms) { batch, stretch in
      for place in stretch.records {
        let record = batch.records[place]
        rows.records[record.rowID] = Array(
          batch.bytes[record.offset..<record.offset + record.count])
      }
      return true
    } others: { row in
      rows.others.insert(row.rowID ?? -1)
      return true
    }
    return rows
  }

  /// Values put past the affinity of their column, as they stand in files whose declarations were changed afterwards.
  @Test(arguments: types)
  func recordsAreThoseThatSQLiteWrites(_ type: String) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("source.sqlite")
    let expected = folder.url.appendingPathComponent("expected.sqlite")
    for (url, declared) in [(source, ""), (expected, type)] {
      let connection = try SQLiteConnection(url)
      try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v \(declared))")
      try connection.insert("INSERT INTO t VALUES(NULL, ?)", Self.values.map { [$0] })
      connection.close()
    }
    let plain = "CREATE TABLE t(id INTEGER PRIMARY KEY, v)"
    let typed = "CREATE TABLE t(id INTEGER PRIMARY KEY, v \(type))"
    // Without a type all is of the form that SQLite wrote.
    let written = try rows(of: expected, as: plain)
    #expect(written.records.count == Self.values.count)
    let given = try rows(of: source, as: typed)
    #expect(given.records.count + given.others.count == Self.values.count)
    for (rowID, record) in given.records {
      #expect(record == written.records[rowID], "row \(rowID)")
    }
    // What is kept back although it may stand as it is: text that might be a number.
    let isNumeric = !["", "TEXT", "BLOB"].contains(type)
    let again = try rows(of: expected, as: typed)
    let doubtful = try SQLiteConnection(expected).integer(
      "SELECT count(*) FROM t WHERE typeof(v) = 'text' AND v > '' AND v < 'A'")
    #expect(again.others.count == (isNumeric ? Int(doubtful ?? -1) : 0))
  }

  /// Ways to say the same that SQLite never takes, and what cannot stand in a row of the table.
  @Test func otherRecordsAreGivenAsRows() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("store.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
    try connection.insert(
      "INSERT INTO t VALUES(?, ?)",
      [
        [.integer(1), .integer(0x0102_0304)], [.integer(2), .string("wxyz")],
        [.integer(3), .real(0.1234)], [.integer(4), .string(String(repeating: "q", count: 100))],
      ])
    try connection.exec("ALTER TABLE t ADD COLUMN b DEFAULT 7")
    try connection.insert(
      "INSERT INTO t VALUES(?, ?, ?)",
      [
        [.integer(5), .blob([2] + Array(repeating: 0x41, count: 37)), .null],
        [.integer(6), .integer(1), .integer(2)],
      ])
    connection.close()
    let one = "CREATE TABLE t(id INTEGER PRIMARY KEY, a)"
    let two = "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b DEFAULT 7)"
    // Fields that the table has no column for, and columns that a record has no field for.
    #expect(try rows(of: store, as: one).others == [5, 6])
    #expect(try rows(of: store, as: two).others == [1, 2, 3, 4])
    #expect(try rows(of: store, as: two, namesFiles: true).others == [1, 2, 3, 4, 5])
    #expect(
      try rows(of: store, as: "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b NOT NULL)").others
        == [1, 2, 3, 4, 5])
    // A row id that stands in its column.
    #expect(
      try rows(of: store, as: "CREATE TABLE t(id, a INTEGER PRIMARY KEY)").others
        == [1, 2, 3, 4, 5, 6])

    let content = try bytes(of: store)
    func patch(_ old: [UInt8], _ new: [UInt8]) throws {
      let places = (0...content.count - old.count).filter {
        content[$0..<$0 + old.count].elementsEqual(old)
      }
      #expect(places.count == 1)
      try overwrite(store, at: try #require(places.first), bytes: new)
    }
    try patch([1, 2, 3, 4], [0, 0, 0, 4])
    try patch(Array("wxyz".utf8), [0x77, 0xff, 0x79, 0x7a])
    try patch((0.1234).bitPattern.bigEndianBytes, Double.nan.bitPattern.bigEndianBytes)
    #expect(try rows(of: store, as: one).records.keys.sorted() == [4])
  }
}
