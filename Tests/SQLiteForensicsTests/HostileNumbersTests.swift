import Fixtures
import Foundation
import Testing

@testable import SQLiteFile
@testable import SQLiteForensics

/// Page numbers and counts in small files that would cost gigabytes if they were believed.
@Suite struct HostileNumbersTests {
  /// A table of 200 rows on several pages of 4,096 bytes.
  private static func store(_ folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 4096; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
      INSERT INTO t SELECT i, printf('row %d %0100d', i, i) FROM n
      """)
    connection.close()
    return url
  }

  private static func liveRows(_ database: DamagedDatabase) throws -> Int {
    var count = 0
    try database.forEachRow(.live) { _ in
      count += 1
      return true
    }
    return count
  }

  @Test(
    arguments: [
      (0, 20_000_000), (0, 400_000_000), (0, 0xffff_fffe), (0, .max), (20_000_000, 2),
      (.max, 0xffff_fffe), (400_000_000, 400_000_000),
    ] as [(UInt32, UInt32)])
  func aFrameCostsNoMoreThanTheFile(_ commit: UInt32, _ page: UInt32) throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(folder)
    let main = try bytes(of: url)
    let first = Array(main[..<4096])
    let pageCount = UInt32(main.count / 4096)
    // Page 2 stays what it is: the root of the table.
    let content = page == 2 ? Array(main[4096..<8192]) : first
    try WALFile.write(
      [
        .init(page: 1, commit: 0, content: first),
        .init(page: page, commit: commit == 0 ? pageCount : commit, content: content),
      ], pageSize: 4096, to: url.path + "-wal")
    for view in [SQLiteDatabase.LogView.committed, .all] {
      let damaged = try DamagedDatabase(path: url.path, logView: view)
      #expect(damaged.pageCount <= 65_536)
      #expect(try Self.liveRows(damaged) == 200)
      let plain = try SQLiteDatabase(path: url.path, logView: view)
      #expect(try plain.rows(of: plain.schema.tables[0]).count == 200)
      let report = try plain.check(depth: .full)
      var listed = 0
      _ = try plain.listPages { _ in listed += 1 }
      #expect(listed <= 65_536)
      for kept in [damaged.findings.kept, report.findings.kept] {
        if page > 2 { #expect(kept.contains { $0.id.rawValue == "wal.pageOutOfRange" }) }
        if commit > 0 { #expect(kept.contains { $0.id.rawValue == "wal.badPageCount" }) }
      }
      let states = try LogStates(of: plain)
      for number in 0...states.commits.count {
        let state = try states.database(after: number)
        #expect(try state.rows(of: state.schema.tables[0]).count == 200)
      }
    }
  }

  /// A page of a database that was cut off is believed: it is where the rest of such a file would have it.
  @Test func aFrameBehindACutFileCounts() throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(folder)
    let main = try bytes(of: url)
    try WALFile.write(
      [
        .init(page: 1, commit: 0, content: Array(main[..<4096])),
        .init(page: 5000, commit: 5000, content: Array(main[8192..<12_288])),
      ], pageSize: 4096, to: url.path + "-wal")
    let damaged = try DamagedDatabase(path: url.path)
    #expect(damaged.pageCount == 5000)
    #expect(!damaged.findings.kept.contains { $0.id.rawValue == "wal.pageOutOfRange" })
  }

  @Test func aJournalCostsNoMoreThanTheFile() throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(folder)
    let main = try bytes(of: url)
    var journal: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    for number in [2, 7, .max, 512, 4096] as [UInt32] { journal += number.bigEndianBytes }
    journal += [UInt8](repeating: 0, count: 512 - journal.count)
    for (page, offset) in [(2, 4096), (4_000_000_000, 8192)] as [(UInt32, Int)] {
      let content = Array(main[offset..<offset + 4096])
      var sum: UInt32 = 7
      for at in Swift.stride(from: 4096 - 200, to: 0, by: -200) { sum &+= UInt32(content[at]) }
      journal += page.bigEndianBytes + content + sum.bigEndianBytes
    }
    try Data(journal).write(to: URL(fileURLWithPath: url.path + "-journal"))
    let damaged = try DamagedDatabase(path: url.path)
    #expect(damaged.pageCount <= 65_536)
    #expect(try Self.liveRows(damaged) == 200)
    #expect(damaged.findings.kept.contains { $0.id.rawValue == "journal.pageOutOfRange" })
    let plain = try SQLiteDatabase(path: url.path)
    _ = try plain.check()
    _ = try plain.listPages { _ in }
    #expect(try plain.rows(of: plain.schema.tables[0]).count == 200)
  }

  /// Interior pages that lead to pages 80 million further on do not move page 1 there.
  @Test(arguments: [83_000_000, 4_000_000_000] as [UInt32])
  func aLostHeadIsNoLargerThanTheFileTellsOf(_ distance: UInt32) throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(folder)
    var content = Array(try bytes(of: url).dropFirst(4096))
    try #require(content[0] == 5)
    let cells = Int(content[3]) << 8 | Int(content[4])
    for cell in 0..<cells {
      let at = Int(content[12 + 2 * cell]) << 8 | Int(content[13 + 2 * cell])
      let child = content[at..<at + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      content.replaceSubrange(at..<at + 4, with: (child &+ distance).bigEndianBytes)
    }
    try Data(content).write(to: url)
    let damaged = try DamagedDatabase(path: url.path)
    #expect(Int64(damaged.pageCount) <= 17 * Int64(content.count / 4096) + 1025)
    #expect(try Self.liveRows(damaged) == 200)
    let surveyed = try SQLiteDatabase.surveyed(path: url.path)
    _ = try surveyed.check()
  }

  /// The true place of the head is still found.
  @Test func aLostHeadIsStillPlaced() throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(folder)
    let content = Array(try bytes(of: url).dropFirst(4096))
    try Data(content).write(to: url)
    #expect(try DamagedDatabase(path: url.path).layout.origin == -4096)
  }

  /// The number of the page after the last one exists in the largest file, too.
  @Test func theLastPageOfAllIsNotPassed() {
    #expect(PageCensus(pageCount: .max - 1).next(from: 1) == UInt32.max - 1)
  }

  /// Each cell of four interior pages leads to the same leaf, whose row ids are not those that the keys allow.
  @Test func aLeafOfThousandsOfCellsIsReadAFewTimes() throws {
    let tables = ["a", "b", "c", "d"]
    let made = try DamageCase(pageSize: 65_536) { connection in
      for table in tables {
        try connection.exec(
          """
          CREATE TABLE \(table)(id INTEGER PRIMARY KEY, a TEXT);
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
          INSERT INTO \(table) SELECT i, 'row number ' || i FROM n
          """)
      }
    }
    let leaf = try #require(made.pages("leaf", of: "a").first)
    let child = UInt32(leaf.number).bigEndianBytes
    let count = (65_536 - 12) / 9
    let content = 65_536 - 7 * count
    var page: [UInt8] = [5, 0, 0]
    page += UInt16(count).bigEndianBytes + UInt16(content).bigEndianBytes
    page += [0] + child
    for cell in 1...count { page += UInt16(65_536 - 7 * cell).bigEndianBytes }
    page += [UInt8](repeating: 0, count: content - page.count)
    for cell in (1...count).reversed() {
      let key = 1_000_000 + cell
      page += child
      page += [0x80 | UInt8(key >> 14), 0x80 | UInt8(key >> 7 & 0x7f), UInt8(key & 0x7f)]
    }
    let recovered = try made.recover { bytes in
      for table in tables {
        let root = try #require(made.pages("internal", of: table).first)
        bytes.replaceSubrange(made.range(root.number), with: page)
      }
    }
    #expect(!recovered.rows.isEmpty)
  }
}
