import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// The page map, against SQLite's `dbstat`.
@Suite struct PagesTests {
  private struct Stat: Hashable {
    var page: Int64
    var name: String
    var kind: String
    var cells: Int64
    var unused: Int64
  }

  /// What `dbstat` says of each page of a private copy; nil where SQLite is built without it.
  private static func truth(_ url: URL) throws -> [Stat]? {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(
      try SQLiteConnection.copyStore(url, into: folder.url))
    defer { connection.close() }
    guard
      let rows = try? connection.rows(
        "SELECT pageno, name, pagetype, ncell, unused FROM dbstat ORDER BY pageno")
    else {
      print("skipped: comparison with dbstat: SQLite is built without it")
      return nil
    }
    return rows.map { row in
      func number(_ index: Int) -> Int64 {
        if case .integer(let value) = row[index] { value } else { -1 }
      }
      func text(_ index: Int) -> String {
        if case .text(let bytes) = row[index] { String(decoding: bytes, as: UTF8.self) } else { "" }
      }
      return Stat(
        page: number(0), name: text(1), kind: text(2), cells: number(3), unused: number(4))
    }
  }

  private static func kind(_ entry: PageEntry) -> String? {
    switch entry.kind {
    case .leafTable, .leafIndex: "leaf"
    case .interiorTable, .interiorIndex: "internal"
    case .overflow: "overflow"
    default: nil
    }
  }

  private static func compare(_ url: URL) throws {
    guard let truth = try truth(url) else { return }
    let database = try SQLiteDatabase(path: url.path)
    var seen: [Stat] = []
    var free = 0
    let owners = try database.listPages { entry in
      if entry.kind == .freelistLeaf || entry.kind == .freelistTrunk { free += 1 }
      guard let kind = kind(entry) else { return }
      seen.append(
        Stat(
          page: Int64(entry.page), name: entry.owner ?? "", kind: kind,
          cells: Int64(entry.cellCount ?? 0), unused: Int64(entry.freeBytes ?? 0)))
    }
    let wanted = truth.map { stat in
      var stat = stat
      // SQLite counts what the last page of a payload leaves over; the map does not.
      if stat.kind == "overflow" { stat.unused = 0 }
      if stat.name == "sqlite_master" { stat.name = "sqlite_schema" }
      return stat
    }
    #expect(Set(seen) == Set(wanted), "\(Set(seen).symmetricDifference(wanted).prefix(5))")
    #expect(seen.count == wanted.count)
    #expect(free == Int(database.header.freelistPageCount))
    for owner in owners {
      let own = wanted.filter { $0.name == owner.name }
      #expect(owner.treePages == own.count { $0.kind != "overflow" })
      #expect(owner.overflowPages == own.count { $0.kind == "overflow" })
      #expect(owner.cells == own.reduce(0) { $0 + Int($1.cells) })
    }
  }

  @Test(arguments: [
    "page-512", "free-blocks", "free-pages", "auto-vacuum-full", "deep-index", "deep-table",
    "without-rowid", "page-65536", "wal-committed",
  ])
  func fixturesAreMapped(_ name: String) throws {
    let folder = try TemporaryFolder()
    try Self.compare(try StoreFixtures.named(name).make(folder.url))
  }

  @Test(.enabled(if: Shared.isThere)) func realStoresAreMapped() throws {
    guard Shared.require("page maps of real stores") != nil else { return }
    for store in RealStores.all { try Self.compare(store.url) }
  }

  /// Pages of the log are said to be in the log, where their bytes are.
  @Test func membersAreNamed() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("wal-committed").make(folder.url)
    let database = try SQLiteDatabase(path: url.path)
    let log = try bytes(of: URL(fileURLWithPath: url.path + "-wal"))
    var inLog = 0
    var entries: [PageEntry] = []
    _ = try database.listPages { entries.append($0) }
    for entry in entries where entry.member == .wal {
      inLog += 1
      let detail = try #require(try database.detail(ofPage: entry.page))
      let start = Int(entry.offset)
      #expect(detail.bytes == Array(log[start..<start + database.header.pageSize]))
      #expect(detail.entry == entry)
    }
    #expect(inLog > 0)
  }

  @Test func aPageIsTakenApart() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("free-blocks").make(folder.url)
    let database = try SQLiteDatabase(path: url.path)
    let table = try #require(database.schema.table(named: "numbered"))
    var leaves: [PageEntry] = []
    _ = try database.listPages { entry in
      if entry.kind == .leafTable, entry.owner == "numbered" { leaves.append(entry) }
    }
    var rowIDs: [Int64] = []
    var blocks = 0
    for leaf in leaves {
      let detail = try #require(try database.detail(ofPage: leaf.page))
      #expect(detail.cells.count == leaf.cellCount)
      rowIDs += detail.cells.compactMap(\.rowID)
      blocks += detail.freeblocks.count
      // Cells, freeblocks, fragments, gap, pointers and header are the page.
      let cells = detail.cells.reduce(0) { $0 + ($1.length ?? 0) }
      #expect(cells + (leaf.freeBytes ?? 0) + 2 * detail.cells.count + 8 == 1024)
      #expect(!detail.freeblocks.contains { !$0.isSound })
    }
    #expect(blocks > 0)
    #expect(rowIDs.sorted() == (try database.rows(of: table).compactMap(\.rowID)))
  }

  @Test func aFreeblockWithinAnotherIsNotSound() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("f.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA page_size = 512; CREATE TABLE t(a)")
    connection.close()
    // The first freeblock has 50 bytes, and the next one begins after 20 of them.
    try overwrite(url, at: 512 + 1, bytes: [1, 0])
    try overwrite(url, at: 512 + 256, bytes: [1, 20, 0, 50])
    try overwrite(url, at: 512 + 276, bytes: [0, 0, 0, 60])
    let detail = try #require(try SQLiteDatabase(path: url.path).detail(ofPage: 2))
    #expect(detail.freeblocks.map(\.offset) == [256, 276])
    #expect(detail.freeblocks.map(\.isSound) == [true, false])
  }

  @Test func aPageThatIsNotThereIsNone() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("page-512").make(folder.url)
    let database = try SQLiteDatabase(path: url.path)
    #expect(try database.detail(ofPage: 0) == nil)
    #expect(try database.detail(ofPage: .max) == nil)
    let size = try bytes(of: url).count
    try truncate(url, to: size - 100)
    let cut = try SQLiteDatabase(path: url.path)
    #expect(try cut.detail(ofPage: UInt32(size / 512))?.bytes.count == 412)
  }
}
