import Fixtures
import Foundation
import RowText
import SQLiteFile
import Testing

/// Files damaged at random places: reading ends, in time, with rows or an error, and never with a trap.
///
/// `LIFEBOAT_SEED` and `LIFEBOAT_ROUNDS` choose other rounds, `LIFEBOAT_LONG=1` 25 times as many. A round that
/// traps leaves its folder behind, which is named for fixture and seed.
@Suite struct DamageTests {
  /// Small files, so that most bytes matter; every kind of page, sidecar and encoding is among them.
  private static let names = [
    "page-512", "page-1024", "reserved-32-of-512", "auto-vacuum-incremental", "deep-index",
    "free-blocks", "text-utf8", "text-utf16le", "text-utf16be", "serial-types", "rowids-extreme",
    "odd-names", "indexes-views-triggers", "virtual-tables", "core-data-shape", "rowid-alias",
    "without-rowid", "added-columns", "dropped-columns", "generated-columns", "strict",
    "wide-page-512", "wal-committed", "wal-several-commits", "wal-uncommitted-tail",
    "wal-shrinks-then-grows", "wal-page-512", "wal-holds-everything", "journal-hot",
    "journal-hot-page-512", "journal-hot-unsynced", "journal-persist-zeroed",
  ]

  private static let seed = Rounds.seed
  private static let rounds = Rounds.count(12, whenLong: 25)

  @Test(arguments: names)
  func readingDamagedBytesEnds(_ name: String) throws {
    let folder = try TemporaryFolder()
    let original = try DamagedSet(try StoreFixtures.named(name).make(folder.url))
    for round in 0..<Self.rounds {
      let seed = Self.seed &+ UInt64(round)
      var damaged = original
      var generator = SplitMix64(
        seed: name.utf8.reduce(seed) { $0 &* 31 &+ UInt64($1) })
      damaged.damage(using: &generator)
      let place = folder.url.appendingPathComponent("\(name)-seed-\(seed)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
      let url = try damaged.write(to: place)
      let view = SQLiteDatabase.LogView.allCases[round % 3]
      try Self.readEverything(url, view)
      try FileManager.default.removeItem(at: place)
    }
  }

  /// Reads all that can be read in every way. Errors are answers; only those of the header are expected.
  private static func readEverything(_ url: URL, _ view: SQLiteDatabase.LogView) throws {
    let database: SQLiteDatabase
    do {
      database = try SQLiteDatabase(path: url.path, logView: view)
    } catch {
      let known: Set<SQLiteFileError.Code> = [.empty, .notADatabase, .looksEncrypted, .badHeader]
      #expect(known.contains(error.code), "\(error)")
      return
    }
    let sink = try FileHandle(forWritingTo: URL(fileURLWithPath: "/dev/null"))
    defer { try? sink.close() }
    var counts: [Int] = []
    for table in database.schema.tables.prefix(300) {
      let rows = try database.rows(of: table).count
      #expect(try database.rowCount(of: table).count == rows)
      #expect(try database.writeCSV(of: table, to: sink.fileDescriptor) == rows)
      let numbered = try database.rowCounts(of: table, byInteger: 0)
      #expect(numbered.count == rows && numbered.byInteger.values.reduce(0, +) <= rows)
      let first = try database.rowCounts(of: table, byInteger: 0, limit: 2)
      #expect(first.count == min(rows, 2))
      counts.append(rows)
    }
    let written = try database.writeJSON(
      of: Array(database.schema.tables.prefix(300)), to: sink.fileDescriptor)
    #expect(written == counts)
  }

  /// A ruined leaf page costs its own rows and no others.
  @Test(arguments: ["deep-table", "page-512", "auto-vacuum-full", "free-blocks", "deep-index"])
  func rowsOfOtherPagesStayExact(_ name: String) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let healthy = try SQLiteDatabase(path: url.path)
    let table = try #require(
      healthy.schema.tables.first { ["numbered", "payload", "word"].contains($0.name) })
    let truth = try healthy.rows(of: table)
    let pages = LeafPages(
      of: table, in: try bytes(of: url), pageSize: healthy.header.pageSize,
      isWithoutRowID: table.definition?.isWithoutRowID == true)
    #expect(pages.rowCounts.values.reduce(0, +) <= truth.count)
    try #require(pages.rowCounts.count > 2)
    var generator = SplitMix64(seed: Self.seed)
    for _ in 0..<min(Self.rounds, 40) {
      guard let (page, count) = pages.rowCounts.randomElement(using: &generator) else { return }
      let offset = (page - 1) * healthy.header.pageSize
      let old = try bytes(of: url)
      var ruined = generator.bytes(healthy.header.pageSize)
      // Half of them keep their header, so that the cells are what is ruined.
      if Bool.random(using: &generator) {
        ruined.replaceSubrange(0..<8, with: old[offset..<offset + 8])
      }
      try overwrite(url, at: offset, bytes: ruined)
      var left: [StoredRow: Int] = [:]
      for row in try SQLiteDatabase(path: url.path).rows(of: table) { left[row, default: 0] += 1 }
      let lost = truth.filter { row in
        left[row, default: 0] -= 1
        return left[row, default: 0] < 0
      }
      #expect(lost.count <= count, "page \(page) has \(count) rows, \(lost.count) are lost")
      try overwrite(url, at: offset, bytes: Array(old[offset..<offset + ruined.count]))
    }
    #expect(try SQLiteDatabase(path: url.path).rows(of: table) == truth)
  }

  /// A file that ends in the middle of its last page: a leaf of small rows, one of a table without row ids, or the end
  /// of an overflow chain. SQLite reads the rest of the page as zeros.
  @Test(
    arguments: [
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB)",
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b BLOB) WITHOUT ROWID",
    ], [60, 1])
  func theRowsOfACutPageAreThoseOfSQLite(_ definition: String, _ count: Int) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("cut.sqlite")
    let content = try databaseToCut(url, definition, rowCount: count)
    var most = 0
    for kept in [100, 512, 700, 1000] {
      try Data(content.dropLast(1024 - kept)).write(to: url)
      let database = try SQLiteDatabase(path: url.path)
      let rows = try database.rows(of: try #require(database.schema.table(named: "t")))
      // Where the cell pointers lead into the zeros, SQLite makes rows of NULL of them.
      let truth = try SQLiteConnection(url).rows("SELECT a, b FROM t WHERE b IS NOT NULL")
      #expect(rows.map { $0.values.map { FixtureValue($0) } } == truth, "\(kept)")
      #expect(database.findings.kept.contains { $0.id.rawValue == "page.missing" })
      most = max(most, rows.count)
    }
    #expect(most > (count == 1 ? 0 : 50), "\(most)")
  }

  /// Files that others have damaged, or made by fuzzing.
  @Test(.enabled(if: Shared.isThere))
  func filesOfOtherCollectionsAreReadToTheirEnd() throws {
    guard let shared = Shared.require("damaged files of others") else { return }
    let root = shared.appendingPathComponent("stores/corrupt")
    let names =
      FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
    var opened = 0
    for name in Rounds.part(of: names.sorted(), every: 3, from: 2) {
      let url = root.appendingPathComponent(name)
      guard let file = try? FileHandle(forReadingFrom: url),
        let lead = try? file.read(upToCount: 16), lead == Data("SQLite format 3\0".utf8)
      else { continue }
      try? file.close()
      try Self.readEverything(url, .committed)
      opened += 1
    }
    #expect(opened > (Rounds.areLong ? 300 : 100), "\(opened)")
  }
}

/// A store set in memory, to be damaged.
private struct DamagedSet {
  private let name: String
  private var main: [UInt8]
  private var log: [UInt8]?
  private var journal: [UInt8]?
  private let original: [UInt8]
  private let pageSize: Int

  init(_ url: URL) throws {
    name = url.lastPathComponent
    main = try bytes(of: url)
    log = try? bytes(of: URL(fileURLWithPath: url.path + "-wal"))
    original = log ?? []
    journal = try? bytes(of: URL(fileURLWithPath: url.path + "-journal"))
    let stored = main.count > 17 ? Int(main[16]) << 8 | Int(main[17]) : 0
    pageSize = stored >= 512 ? stored : 1024
  }

  func write(to folder: URL) throws -> URL {
    let url = folder.appendingPathComponent(name)
    try Data(main).write(to: url)
    if let log { try Data(log).write(to: URL(fileURLWithPath: url.path + "-wal")) }
    if let journal { try Data(journal).write(to: URL(fileURLWithPath: url.path + "-journal")) }
    // Frames are only looked at when their checksums hold, so half of the logs get new ones.
    if let log, log.count >= 32, log[31] & 1 == 0,
      log[8..<12].elementsEqual(original.dropFirst(8).prefix(4))
    {
      try WALFile.useBigEndianChecksums(in: url.path + "-wal")
    }
    return url
  }

  mutating func damage(using generator: inout SplitMix64) {
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0 where log?.isEmpty == false:
        log = damaged(log ?? [], frame: pageSize + 24, header: 32, &generator)
      case 1 where journal?.isEmpty == false:
        journal = damaged(journal ?? [], frame: pageSize + 8, header: 28, &generator)
      default:
        guard !main.isEmpty else { continue }
        main = damaged(main, frame: pageSize, header: 0, &generator)
      }
    }
    if Int.random(in: 0..<12, using: &generator) == 0 {
      main.removeLast(Int.random(in: 0...main.count, using: &generator))
    }
    if let count = log?.count, Int.random(in: 0..<12, using: &generator) == 0 {
      log?.removeLast(Int.random(in: 0...count, using: &generator))
    }
  }

  /// Bytes with some changed at a place that matters.
  private func damaged(
    _ bytes: [UInt8], frame: Int, header: Int, _ generator: inout SplitMix64
  ) -> [UInt8] {
    var bytes = bytes
    let frames = max(1, (bytes.count - header) / frame)
    let start = header + Int.random(in: 0..<frames, using: &generator) * frame
    // Where the b-tree page begins in a page, a frame or a record of the journal.
    let page = start + (header == 32 ? 24 : header == 28 ? 4 : 0) + (start == 0 ? 100 : 0)
    let offset: Int
    switch Int.random(in: 0..<10, using: &generator) {
    case 0: offset = Int.random(in: 0..<max(32, min(100, bytes.count)), using: &generator)
    case 1, 2: offset = page + Int.random(in: 0..<12, using: &generator)
    case 3, 4: offset = page + 8 + Int.random(in: 0..<40, using: &generator)
    case 5, 6:
      // The start of a cell, where lengths, row ids and record headers are.
      let pointer = page + 8 + 2 * Int.random(in: 0..<12, using: &generator)
      let cell = pointer + 1 < bytes.count ? Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]) : 0
      offset = page - (start == 0 ? 100 : 0) + cell + Int.random(in: 0..<16, using: &generator)
    case 7: offset = start + Int.random(in: 0..<24, using: &generator)
    case 8: offset = min(bytes.count, pageSize) - 1 - Int.random(in: 0..<400, using: &generator)
    default: offset = Int.random(in: 0..<bytes.count, using: &generator)
    }
    let length = [1, 1, 1, 2, 4, 9, 60].randomElement(using: &generator) ?? 1
    for index in offset..<offset + length where bytes.indices.contains(index) {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: bytes[index] = 0
      case 1: bytes[index] = 0xff
      case 2: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 3: bytes[index] &+= 1
      case 4: bytes[index] = 0x80 | bytes[index]
      default: bytes[index] = UInt8.random(in: 0...255, using: &generator)
      }
    }
    return bytes
  }
}

/// The leaf pages of a table and the number of rows on each, by a walk of the test's own. Pages to the right of
/// a row in an interior page of an index b-tree are left out: that row is on another page.
private struct LeafPages {
  private(set) var rowCounts: [Int: Int] = [:]

  init(of table: Table, in bytes: [UInt8], pageSize: Int, isWithoutRowID: Bool) {
    func number(_ offset: Int, _ count: Int) -> Int {
      bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
    }
    var waiting = [Int(table.rootPage)]
    while let page = waiting.popLast() {
      let start = (page - 1) * pageSize
      let cells = number(start + 3, 2)
      switch bytes[start] {
      case 13, 10: rowCounts[page] = cells
      case 5, 2:
        waiting.append(number(start + 8, 4))
        for cell in 0..<cells {
          waiting.append(number(start + number(start + 12 + 2 * cell, 2), 4))
        }
      default: break
      }
    }
  }
}
