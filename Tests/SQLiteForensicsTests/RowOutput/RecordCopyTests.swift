import Fixtures
import Foundation
import Testing
@testable import SQLiteFile
@testable import SQLiteForensics

/// A record that is made of another must be the one that SQLite would write for the same row.
@Suite struct RecordCopyTests {
  private static let types = ["", "INTEGER", "REAL", "TEXT", "NUMERIC", "TIMESTAMP", "BLOB"]
  private static let values: [FixtureValue] =
    [
      0, 1, -1, 127, 128, -129, 32_768, 8_388_608, 2_147_483_648, 140_737_488_355_328, .max, .min,
    ].map { .integer($0) }
    + [0, -0.0, 1, 0.5, 1e15, 1e300, -.infinity].map { .real($0) }
    + ["", "a", "12", " 7", "1e3", "é", String(repeating: "long ", count: 2000)].map {
      .string($0)
    } + [[], [0], Array(repeating: 9, count: 16), Array(repeating: 2, count: 38)].map { .blob($0) }
    + [.null]

  private final class Records: RecordReceiver {
    var all: [Int64: [UInt8]] = [:]
    var fields: [Int64: RecordCopy.Fields] = [:]
    let wantsMore = true

    func take(
      _ record: RawSpan, rowID: Int64?, _ layout: borrowing RowLayout,
      _ decoder: inout RecordDecoder
    ) -> RecordDecoder.Defect? {
      if let defect = decoder.open(record) { return defect }
      all[rowID ?? -1] = record.array()
      fields[rowID ?? -1] = decoder.fields
      return nil
    }
  }

  private func records(of name: String, in url: URL) throws -> Records {
    let database = try SQLiteDatabase(path: url.path)
    let records = Records()
    try database.read(try #require(database.schema.table(named: name)), by: records)
    return records
  }

  private func constant(_ bytes: UInt8...) throws -> RecordCopy.Constant {
    try #require(RecordCopy.Constant(ContiguousArray(bytes)))
  }

  @Test(arguments: types, types)
  func recordsAreThoseThatSQLiteWrites(_ old: String, _ new: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("store.sqlite")
    let database = try SQLiteConnection(url)
    let (from, to) = (
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b INTEGER, c TEXT, d \(old))",
      "CREATE TABLE n (c TEXT, x INTEGER, d \(new), k INTEGER PRIMARY KEY, a, y VARCHAR, z NUMERIC, w INTEGER, b INTEGER)"
    )
    // A column that came later is missing in the records before.
    try database.exec("\(from); \(to); INSERT INTO t VALUES (1, 2, 3, 'four', 5)")
    try database.exec("ALTER TABLE t ADD COLUMN e VARCHAR; ALTER TABLE n ADD COLUMN e VARCHAR")
    var key: Int64 = 1
    var rows: [[FixtureValue]] = []
    for value in Self.values {
      for other in Self.values {
        key += 1
        rows.append([
          .integer(key), other, key % 3 == 0 ? .null : .integer(key * key * key),
          key % 5 == 0 ? .null : .string("text \(key)"), value,
          key % 2 == 0 ? .null : .string("e"),
        ])
      }
    }
    try database.insert("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    try database.exec(
      "INSERT INTO n SELECT c, 5, d, id, a, 'new', IFNULL(b, 7), CASE WHEN b IS NULL THEN NULL ELSE 6 END, b, e FROM t WHERE c IS NOT NULL"
    )
    database.close()
    let olds = try records(of: "t", in: url)
    let news = try records(of: "n", in: url)
    let source = try #require(
      ExpectedTable(name: "t", sql: String(from.dropLast()) + ", e VARCHAR)"))
    let target = try #require(ExpectedTable(name: "n", sql: String(to.dropLast()) + ", e VARCHAR)"))
    let made = RecordCopy(
      from: source.definition, [], to: RecordForm(target, namesFiles: false),
      [
        .init(source: 3, isDemanded: true), .init(constant: try constant(2, 1, 5)),
        .init(source: 4), .init(constant: .null), .init(source: 1),
        .init(constant: try constant(2, 19, 0x6e, 0x65, 0x77)),
        .init(source: 2, constant: try constant(2, 1, 7)),
        .init(source: 2, constant: try constant(2, 1, 6), isConstantWhereSet: true),
        .init(source: 2), .init(source: 5),
      ])
    guard old != "REAL" || new == "REAL" else {
      // What such a column holds is not what is read from it.
      #expect(made == nil)
      return
    }
    let copy = try #require(made)
    var count = 0
    for (key, record) in olds.all {
      var bytes: ContiguousArray<UInt8> = [1, 2, 3]
      let fields = try #require(olds.fields[key])
      switch copy.append(ContiguousArray(record).rawSpan, fields, to: &bytes) {
      case .made:
        count += 1
        #expect(Array(bytes.dropFirst(3)) == news.all[key], "\(key)")
      case .same: Issue.record("\(key) is not the same")
      case .undecided: #expect(bytes == [1, 2, 3])
      }
    }
    // What SQLite converts has to be looked at, and what lacks a demanded value; no other row.
    let least = new == "TEXT" || old == "TEXT" ? 0.15 : 0.5
    #expect(Double(count) > least * Double(news.all.count), "\(count) of \(news.all.count)")
    #expect(count <= news.all.count)
  }

  @Test func theSameTableHasTheSameRecords() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("store.sqlite")
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b REAL, c TEXT, d BLOB NOT NULL)"
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      \(sql);
      INSERT INTO t VALUES (1, 5, 1.5, 'x', x'00'), (2, NULL, 3.0, NULL, x'02'), (3, 'no', 1, 'y', x'02'), (4, 1, 1, 'z', 'text');
      """)
    database.close()
    let table = try #require(ExpectedTable(name: "t", sql: sql))
    let olds = try records(of: "t", in: url)
    let copy = try #require(
      RecordCopy(
        from: table.definition,
        [
          .init(column: 1, classes: .integer, length: nil),
          .init(column: 2, classes: .real, length: nil),
          .init(column: 4, classes: .blob, length: 1),
        ], to: RecordForm(table, namesFiles: false),
        [.init(constant: .null), .init(source: 1), .init(source: 2), .init(source: 3)]
          + [.init(source: 4)]))
    func outcome(_ key: Int64) throws -> RecordCopy.Outcome {
      var bytes = ContiguousArray<UInt8>()
      defer { #expect(bytes.isEmpty) }
      return copy.append(
        ContiguousArray(try #require(olds.all[key])).rawSpan, try #require(olds.fields[key]),
        to: &bytes)
    }
    #expect(try outcome(1) == .same)
    #expect(try outcome(2) == .same)
    // A record that has the row id, too, which SQLite never writes.
    let odd: ContiguousArray<UInt8> = [6, 1, 1, 0, 15, 14, 7, 5, 0x78, 0]
    var decoder = RecordDecoder(encoding: .utf8)
    #expect(decoder.open(odd.rawSpan) == nil)
    var bytes = ContiguousArray<UInt8>()
    #expect(copy.append(odd.rawSpan, decoder.fields, to: &bytes) == .made)
    #expect(bytes == [6, 0, 1, 0, 15, 14, 5, 0x78, 0])
    // Text where the model has a number, and text where it has bytes.
    #expect(try outcome(3) == .undecided)
    #expect(try outcome(4) == .undecided)
  }
}
