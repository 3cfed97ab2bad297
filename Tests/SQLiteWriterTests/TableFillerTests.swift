import Fixtures
import Foundation
import SQLiteWriter
import Testing

/// Tables whose pages were written past SQLite, as SQLite reads them.
@Suite struct TableFillerTests {
  private struct Row: Equatable {
    let id: Int64
    let number: Int64
    let bytes: [UInt8]

    /// NULL for the row id, an integer of eight bytes, a blob.
    var record: ContiguousArray<UInt8> {
      var types: [UInt8] = [0, 6]
      var type = UInt64(12 + 2 * bytes.count)
      var groups: [UInt8] = []
      repeat {
        groups.insert(UInt8(type & 0x7f) | (groups.isEmpty ? 0 : 0x80), at: 0)
        type >>= 7
      } while type > 0
      types += groups
      var record = ContiguousArray([UInt8(types.count + 1)] + types)
      for shift in stride(from: Int64(56), through: 0, by: -8) {
        record.append(UInt8(truncatingIfNeeded: number >> shift))
      }
      return record + bytes
    }
  }

  private struct Layout: CustomTestStringConvertible {
    let pageSize: Int
    let autoVacuum: SQLiteWriter.Options.AutoVacuum
    let encoding: SQLiteWriter.Options.Encoding = .utf8
    var testDescription: String { "\(pageSize) \(autoVacuum)" }
  }

  private static let layouts = [512, 1024, 4096, 65_536].flatMap { size in
    [.none, .incremental].map { Layout(pageSize: size, autoVacuum: $0) }
  }

  private static func writer(_ folder: TemporaryFolder, _ layout: Layout) throws -> SQLiteWriter {
    var options = SQLiteWriter.Options(
      pageSize: layout.pageSize, journalMode: .memory, autoVacuum: layout.autoVacuum)
    options.isSynchronous = false
    let writer = try SQLiteWriter(
      creating: folder.url.appendingPathComponent("new.sqlite").path, options: options)
    try writer.execute(
      "CREATE TABLE a(id INTEGER PRIMARY KEY, n, b); CREATE TABLE empty(x); CREATE TABLE z(id INTEGER PRIMARY KEY, n, b)"
    )
    return writer
  }

  /// Stretches of rising row ids, the stretches in any order.
  private static func rows(_ count: Int, _ pageSize: Int, seed: UInt64) -> [[Row]] {
    var random = SplitMix64(seed: seed)
    var ids: [Int64] = [.min, .min + 1, -70_000, -1, 0, .max - 1, .max]
    var id: Int64 = 1
    for _ in 0..<count {
      ids.append(id)
      id += Int64.random(in: 1...(Bool.random(using: &random) ? 3 : 1 << 40), using: &random)
    }
    ids.sort()
    let rows = ids.map { id in
      let length =
        switch Int.random(in: 0..<40, using: &random) {
        case 0: Int.random(in: 0...4 * pageSize, using: &random)
        // Around the longest record that stands on its leaf, and around those that fill their last page.
        case 1: pageSize - 35 - 13 + Int.random(in: -3...3, using: &random)
        case 2: 2 * (pageSize - 4) + Int.random(in: -20...20, using: &random)
        default: Int.random(in: 0...60, using: &random)
        }
      return Row(
        id: id, number: Int64(bitPattern: random.next()), bytes: random.bytes(max(0, length)))
    }
    var chunks: [[Row]] = []
    var rest = rows[...]
    while !rest.isEmpty {
      let size = Int.random(in: 1...max(1, count / 4), using: &random)
      chunks.append(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    chunks.shuffle(using: &random)
    return chunks
  }

  private static func given(_ path: String, _ table: String) throws -> [Row] {
    let connection = try SQLiteConnection(path)
    defer { connection.close() }
    #expect(try connection.integrityCheck() == ["ok"])
    return try connection.rows("SELECT id, n, b FROM \(table) ORDER BY id").map { row in
      guard case .integer(let id) = row[0], case .integer(let number) = row[1],
        case .blob(let bytes) = row[2]
      else { throw FixtureError("another row: \(row)") }
      return Row(id: id, number: number, bytes: bytes)
    }
  }

  /// Thousands of rows with values of many pages are tens of megabytes where pages are large; there they are a few hundred
  /// but in long rounds.
  @Test(arguments: layouts, [1, 40, 3000])
  private func sqliteReadsWhatWasFilled(_ layout: Layout, _ most: Int) throws {
    let count = layout.pageSize < 65_536 || Rounds.areLong ? most : min(most, 400)
    let folder = try TemporaryFolder()
    let writer = try Self.writer(folder, layout)
    let one = Self.rows(count, layout.pageSize, seed: 1)
    let other = Self.rows(count / 2, layout.pageSize, seed: 2)
    var filler = try writer.filler()
    let places = try ["a", "z"].map { try #require(try filler.begin($0)) }
    for index in 0..<max(one.count, other.count) {
      for (place, chunks) in zip(places, [one, other]) where index < chunks.count {
        for (step, row) in chunks[index].enumerated() {
          try filler.add(to: place, row.id, isNext: step > 0, row.record)
        }
      }
    }
    #expect(try filler.finishTables())
    try filler.finish()
    // SQLite goes on with the file: pages move, are freed, and are used again.
    try writer.execute("CREATE INDEX a_n ON a(n); CREATE TABLE later(x)")
    try writer.execute("INSERT INTO later SELECT b FROM a; DELETE FROM later WHERE rowid % 3 > 0")
    if layout.autoVacuum == .incremental { try writer.execute("PRAGMA incremental_vacuum") }
    try writer.close()
    #expect(try Self.given(writer.path, "a") == one.joined().sorted { $0.id < $1.id })
    #expect(try Self.given(writer.path, "z") == other.joined().sorted { $0.id < $1.id })
  }

  @Test(arguments: [4096, 512])
  func rowsThatComeTwiceOrLieAmongOthersAreNoTable(_ pageSize: Int) throws {
    for stretches in [
      [[1, 2, 2]], [[5, 6, 5]], [[6, 5, 4, 5]], [[.max, .max]], [[1, 9], [5, 6]], [[9, 1], [5]],
      [[1, 2], [2, 3]], [[3, 2], [2, 1]], [[.max], [.min, .max]],
    ] as [[[Int64]]] {
      let folder = try TemporaryFolder()
      let writer = try Self.writer(folder, Layout(pageSize: pageSize, autoVacuum: .none))
      var filler = try writer.filler()
      let place = try #require(try filler.begin("a"))
      for stretch in stretches {
        for (step, id) in stretch.enumerated() {
          try filler.add(to: place, id, isNext: step > 0, Row(id: id, number: 1, bytes: []).record)
        }
      }
      #expect(try !filler.finishTables(), "\(stretches)")
      writer.discard()
    }
  }

  /// The rows of a page whose header is lost are found in the order of their bytes, which is the wrong way round.
  @Test(arguments: layouts)
  private func rowsOfAPageMayComeInAnyOrder(_ layout: Layout) throws {
    let folder = try TemporaryFolder()
    let writer = try Self.writer(folder, layout)
    var filler = try writer.filler()
    let place = try #require(try filler.begin("a"))
    var random = SplitMix64(seed: 3)
    var rows: [Row] = []
    for stretch in 0..<Int64(200) {
      let bytes = random.bytes(stretch % 50 == 0 ? layout.pageSize : 1)
      // Eight rows take more than half of a page of 512 bytes, and less than a page.
      var some = (0..<Int64(8)).map { Row(id: (stretch - 100) * 10 + $0, number: $0, bytes: bytes) }
      rows += some
      if stretch % 3 == 0 { some.reverse() } else if stretch % 3 == 1 { some.swapAt(2, 5) }
      for (step, row) in some.enumerated() {
        try filler.add(to: place, row.id, isNext: step > 0, row.record)
      }
    }
    #expect(try filler.finishTables())
    try filler.finish()
    #expect(try writer.check() == [])
    // A page for each stretch, those of long values, and a few that lead to them or were there before.
    let counts = try writer.rows("PRAGMA page_count")
    guard case .integer(let count)? = counts.first?.first else { throw FixtureError("no count") }
    #expect(count < 200 + 4 * 8 * 2 + 50)
    try writer.close()
    #expect(try Self.given(writer.path, "a") == rows)
  }

  /// Leaves that come in two orders at once, or in none, and what is kept of each.
  @Test(arguments: [2, 50, 5000])
  func leavesAreMergedFromAsManyOrdersAsThereAre(_ orders: Int) throws {
    let folder = try TemporaryFolder()
    let writer = try Self.writer(folder, Layout(pageSize: 512, autoVacuum: .none))
    var filler = try writer.filler()
    let place = try #require(try filler.begin("a"))
    var rows: [Row] = []
    let count = 10_000
    for order in 0..<orders {
      for step in 0..<count / orders {
        let row = Row(id: Int64((step * orders + orders - order) * 2), number: 1, bytes: [])
        rows.append(row)
        try filler.add(to: place, row.id, isNext: false, row.record)
      }
    }
    // The last leaf is not written yet.
    let size = 24 * orders + 6 * (count - 1)
    #expect((size / 2..<size * 2).contains(filler.orderBytes))
    #expect(try filler.finishTables())
    try filler.finish()
    #expect(try writer.check() == [])
    try writer.close()
    #expect(try Self.given(writer.path, "a") == rows.sorted { $0.id < $1.id })
  }

  @Test func someFilesCannotBeFilled() throws {
    for (vacuum, journal) in [
      (SQLiteWriter.Options.AutoVacuum.full, SQLiteWriter.Options.JournalMode.memory),
      (.none, .wal),
    ] {
      let folder = try TemporaryFolder()
      let writer = try SQLiteWriter(
        creating: folder.url.appendingPathComponent("new.sqlite").path,
        options: .init(journalMode: journal, autoVacuum: vacuum))
      #expect(!writer.canBeFilled)
      #expect(writerError { _ = try writer.filler() }?.code == .refused)
      writer.discard()
    }
    let folder = try TemporaryFolder()
    let writer = try Self.writer(folder, Layout(pageSize: 512, autoVacuum: .none))
    try writer.execute("BEGIN")
    #expect(writerError { _ = try writer.filler() }?.code == .transactionOpen)
    try writer.execute("COMMIT")
    var filler = try writer.filler()
    #expect(try filler.begin("missing") == nil)
    #expect(try filler.begin("sqlite_schema") == nil)
  }

  @Test func aFileMayNotGrowPastItsLimit() throws {
    let folder = try TemporaryFolder()
    var options = SQLiteWriter.Options(pageSize: 512, journalMode: .memory)
    options.isSynchronous = false
    options.maxPages = 20
    let writer = try SQLiteWriter(
      creating: folder.url.appendingPathComponent("new.sqlite").path, options: options)
    try writer.execute("CREATE TABLE a(id INTEGER PRIMARY KEY, n, b)")
    var filler = try writer.filler()
    let place = try #require(try filler.begin("a"))
    let error = writerError {
      for id in 1...100 as ClosedRange<Int64> {
        let row = Row(id: id, number: 1, bytes: [UInt8](repeating: 1, count: 600))
        try filler.add(to: place, id, isNext: true, row.record)
      }
    }
    #expect(error?.code == .full)
    writer.discard()
  }

  /// SQLite never uses the page in which its locks are, at 1 GiB.
  @Test(
    .enabled(if: Rounds.areLong),
    arguments: [SQLiteWriter.Options.AutoVacuum.none, .incremental])
  func aLargeFileLeavesOutThePageOfTheLocks(_ vacuum: SQLiteWriter.Options.AutoVacuum) throws {
    let folder = try TemporaryFolder()
    let writer = try Self.writer(folder, Layout(pageSize: 65_536, autoVacuum: vacuum))
    var filler = try writer.filler()
    let place = try #require(try filler.begin("a"))
    for id in 1...1100 as ClosedRange<Int64> {
      let row = Row(id: id, number: id, bytes: [UInt8](repeating: 7, count: 1_000_000))
      try filler.add(to: place, id, isNext: true, row.record)
    }
    #expect(try filler.finishTables())
    try filler.finish()
    #expect(try writer.check() == [])
    #expect(
      try writer.rows("SELECT count(*), sum(n), sum(length(b)), min(hex(substr(b, -1))) FROM a")
        == [[.integer(1100), .integer(605_550), .integer(1_100_000_000), .string("07")]])
    writer.discard()
  }
}

extension TableFiller {
  fileprivate mutating func add(
    to place: Int, _ rowID: Int64, isNext: Bool, _ record: borrowing ContiguousArray<UInt8>
  ) throws(SQLiteWriterError) {
    try add(to: place, rowID, isNext: isNext, 0..<record.count, of: record)
  }
}
