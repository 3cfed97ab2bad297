import Fixtures
import Foundation
import SQLiteFile
import Testing

@testable import StoreExtraction

/// Rows of a table by their place.
@Suite struct BrowsingTests {
  /// Every table of every fixture: the rows by place are the rows in order.
  @Test(arguments: StoreFixtures.all)
  func placesHaveTheRowsInOrder(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let url = try fixture.make(folder.url)
    guard let database = try? SQLiteDatabase(path: url.path) else { return }
    for table in database.schema.tables {
      let all = try database.rows(of: table)
      let rows = try LeafRows(table, in: database)
      let index = RowIndex(rows)
      try index.advance(.max)
      #expect(index.isComplete)
      let expected = rows.hasRowIDs ? all : Array(all.prefix(LeafRows.maxKept))
      #expect(index.count == expected.count, "\(table.name)")
      let seen = try index.window(0..<index.count)
      #expect(seen.map(\.rowID) == expected.map(\.rowID), "\(table.name)")
      for (row, truth) in zip(seen, expected) where row.sizes.isEmpty {
        #expect(row.values == truth.values, "\(table.name) \(truth.rowID ?? -1)")
      }
      // The same again from behind: reading a leaf twice gives the same rows, also those with overflow pages.
      for start in stride(from: max(0, index.count - 40), through: 0, by: -977) {
        let end = min(start + 40, index.count)
        #expect(try index.window(start..<end).map(\.rowID) == expected[start..<end].map(\.rowID))
      }
    }
  }

  @Test func conditionsAndKeysAgreeWithSQLite() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024;
      CREATE TABLE t(id INTEGER PRIMARY KEY, kind INTEGER, note TEXT);
      WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 9000)
        INSERT INTO t SELECT k * 11 - 20000, k % 13, 'note ' || (k * 7919 % 9001) FROM n;
      """)
    let wanted = try connection.rows("SELECT id FROM t WHERE kind = 5 ORDER BY id").compactMap {
      if case .integer(let id) = $0[0] { id } else { nil }
    }
    let ordered = try connection.rows("SELECT id FROM t ORDER BY kind DESC, id").compactMap {
      if case .integer(let id) = $0[0] { id } else { nil }
    }
    let next = try connection.integer("SELECT count(*) FROM t WHERE id < 777")
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    let table = try #require(database.schema.table(named: "t"))
    let leaves = try LeafRows(table, in: database)
    let fives = RowIndex(leaves) { $0.values[1] == .integer(5) }
    try fives.advance(.max)
    #expect(try fives.window(0..<fives.count).map(\.rowID) == wanted)

    let all = RowIndex(leaves)
    // Part by part: what is known so far can be asked for.
    try all.advance(3)
    #expect(!all.isComplete && all.count > 0)
    #expect(try all.window(0..<all.count).count == all.count)
    try all.advance(.max)
    #expect(try all.place(of: 777) == next.map { Int($0) })
    #expect(try all.place(of: .min) == 0 && all.place(of: .max) == nil)
    #expect(try leaves.row(wanted[7], longest: 100)?.values[1] == .integer(5))
    #expect(try leaves.row(wanted[7] + 1, longest: 100) == nil)

    var sorted = SortedRows()
    try all.forEachRow(from: 0) { place, row in
      if case .integer(let kind) = row.values[1] { sorted.add(place, .integer(kind)) }
      return true
    }
    sorted.sort(descending: true)
    let keys = try (0..<sorted.count).map {
      try all.window(sorted.place($0)..<sorted.place($0) + 1)
    }
    #expect(keys.map { $0.first?.rowID } == ordered.map { $0 })
  }

  @Test func longValuesAreCutAtAScalar() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(a TEXT, b BLOB)")
    let text = String(repeating: "é日😀", count: 4000)
    try connection.insert(
      "INSERT INTO t VALUES(?, ?)", [[.string(text), .blob([UInt8](repeating: 7, count: 9000))]])
    connection.close()
    let database = try SQLiteDatabase(path: url.path)
    let leaves = try LeafRows(#require(database.schema.table(named: "t")), in: database)
    for limit in 1...40 {
      let row = try #require(try leaves.row(1, longest: limit))
      #expect(row.sizes == [0: text.utf8.count, 1: 9000])
      guard case .text(let part) = row.values[0], case .blob(let bytes) = row.values[1] else {
        Issue.record("other values")
        continue
      }
      #expect(part.isValid && part.utf8.count <= limit && part.utf8.count > limit - 4)
      #expect(text.utf8.starts(with: part.utf8) && bytes.count == limit)
    }
    #expect(try leaves.row(1, longest: 0)?.values == [.null, .null])
  }

  @Test func sectionsAreFound() {
    var rows = SortedRows()
    for (place, key) in [3, 1, 2, 1, 3, 3].enumerated() {
      rows.add(place, section: .integer(Int64(key)), .text("x\(place)"))
    }
    rows.sort(descending: false)
    #expect((0..<6).map { rows.place($0) } == [1, 3, 2, 0, 4, 5])
    #expect(rows.sectionStarts == [0, 2, 3])
    #expect((0..<6).map { rows.section(of: $0) } == [0..<2, 0..<2, 2..<3, 3..<6, 3..<6, 3..<6])
    let none = SortedRows()
    #expect(none.section(of: 0) == 0..<0)
    let keys: [SortedRows.Key] = [
      .text("b"), .none, .real(2.5), .integer(2), .text("A"), .integer(3),
    ]
    #expect(keys.sorted() == [.none, .integer(2), .real(2.5), .integer(3), .text("A"), .text("b")])
  }
}
