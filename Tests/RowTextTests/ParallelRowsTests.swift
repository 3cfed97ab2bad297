import Fixtures
import Foundation
import RowText
import SQLiteFile
import Testing

/// What two threads write, against what one writes: a limit, even one that is never reached, keeps to one thread.
@Suite struct ParallelRowsTests {
  @Test func smallRowsComeInTheSameOrder() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("small.sqlite")
    try smallRows(megabytes: 12, at: store)
    try compare(store)
  }

  @Test func rowsTooLargeForABlockAreWrittenStraight() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("large.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE mixed(id INTEGER PRIMARY KEY, body BLOB, title TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO mixed SELECT i, zeroblob(1000), printf('%.900c', 'a') FROM n;
      WITH RECURSIVE n(i) AS (SELECT 5000 UNION ALL SELECT i + 1 FROM n WHERE i < 5400)
        INSERT INTO mixed SELECT i, randomblob(30000), 'b' FROM n;
      WITH RECURSIVE n(i) AS (SELECT 9000 UNION ALL SELECT i + 1 FROM n WHERE i < 10500)
        INSERT INTO mixed SELECT i, zeroblob(1000), printf('%.900c', 'c') FROM n;
      """)
    connection.close()
    try compare(store)
  }

  private static let seeds: ClosedRange<UInt64> = 1...(Rounds.areLong ? 6 : 2)

  @Test(arguments: seeds)
  func damageIsFoundAlike(_ seed: UInt64) throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("damaged.sqlite")
    try smallRows(megabytes: 6, at: store)
    var random = SplitMix64(seed: seed)
    let size = try Data(contentsOf: store).count
    for _ in 0..<60 {
      let offset = Int.random(in: 4096..<size - 64, using: &random)
      try overwrite(store, at: offset, bytes: random.bytes(Int.random(in: 1...48, using: &random)))
    }
    try compare(store)
  }

  /// More findings than are kept: they are counted once each, and the first ones are kept.
  @Test func aRuinedFileIsCountedAlike() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("ruined.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      PRAGMA page_size = 512;
      CREATE TABLE small(id INTEGER PRIMARY KEY, body BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12500)
        INSERT INTO small SELECT i, zeroblob(400) FROM n;
      """)
    connection.close()
    var content = try bytes(of: store)
    for page in stride(from: 1024, to: content.count, by: 512) where content[page] == 13 {
      content[page] = 77
    }
    try Data(content).write(to: store)
    let one = try written(store, limit: .max)
    let two = try written(store, limit: nil)
    #expect(one.all.damageCount > 12_000)
    #expect(two.all.damageCount == one.all.damageCount && two.all.count == one.all.count)
    #expect(two.findings == one.findings)
  }

  private func compare(_ store: URL) throws {
    let one = try written(store, limit: .max)
    let two = try written(store, limit: nil)
    #expect(one.counts == two.counts)
    // Without optimization the comparison of two arrays takes far longer than that of two `Data`.
    let isSame = Data(one.bytes) == Data(two.bytes)
    #expect(isSame)
    #expect(one.findings == two.findings)
    #expect(one.bytes.count > 1 << 20)
  }

  private func written(_ store: URL, limit: Int?) throws
    -> (bytes: [UInt8], counts: [Int], findings: [Finding], all: FindingList)
  {
    let database = try SQLiteDatabase(path: store.path)
    var counts: [Int] = []
    let bytes = try bytesWritten {
      counts = try database.writeJSON(of: database.schema.tables, limit: limit, to: $0)
      for table in database.schema.tables {
        counts.append(try database.writeCSV(of: table, limit: limit, to: $0))
      }
    }
    return (bytes, counts, database.findings.kept, database.findings)
  }
}
