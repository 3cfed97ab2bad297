import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Files whose header is lost, wrong, cut off or moved, against what the same files hold undamaged.
@Suite struct SurveyTests {
  /// A way to ruin the start of a file.
  enum Ruin: String, CaseIterable {
    case zeroedHeader, zeroedMagic, randomHeader, smallerPages, largerPages, impossiblePages
    case otherEncoding, moved, movedByPages

    /// The finding that must tell of it.
    var finding: String {
      switch self {
      case .zeroedHeader, .zeroedMagic, .randomHeader, .impossiblePages:
        "header.unreadable"
      case .smallerPages, .largerPages: "header.otherPageSize"
      case .otherEncoding: "header.otherEncoding"
      case .moved, .movedByPages: "file.headMoved"
      }
    }

    func apply(to bytes: [UInt8], pageSize: Int) -> [UInt8] {
      var ruined = bytes
      func set(_ offset: Int, _ values: [UInt8]) {
        ruined.replaceSubrange(offset..<offset + values.count, with: values)
      }
      func size(_ size: Int) {
        set(16, size == 65_536 ? [0, 1] : [UInt8(size >> 8), UInt8(size & 255)])
      }
      var generator = SplitMix64(seed: 5)
      switch self {
      case .zeroedHeader: set(0, [UInt8](repeating: 0, count: 100))
      case .zeroedMagic: set(0, [UInt8](repeating: 0, count: 16))
      case .randomHeader: set(0, generator.bytes(100))
      case .smallerPages: size(pageSize == 512 ? 2048 : pageSize / 2)
      case .largerPages: size(pageSize == 65_536 ? 16_384 : pageSize * 2)
      case .impossiblePages: size(3)
      case .otherEncoding: set(56, [0, 0, 0, bytes[59] == 1 ? 2 : bytes[59] == 2 ? 3 : 2])
      case .moved: return generator.bytes(333) + bytes
      case .movedByPages: return [UInt8](repeating: 0, count: 2 * pageSize) + bytes
      }
      return ruined
    }
  }

  /// The rows of each table.
  private static func rows(_ database: SQLiteDatabase) throws -> [String: [StoredRow]] {
    var all: [String: [StoredRow]] = [:]
    for table in database.schema.tables { all[table.name] = try database.rows(of: table) }
    return all
  }

  static let stores = [
    "page-512", "page-4096", "page-65536", "deep-table", "deep-index", "auto-vacuum-full",
    "reserved-32-of-512", "free-pages", "text-utf16le-surrogates", "big-schema", "wal-committed",
    "core-data-shape",
  ]

  /// Usually two or three ways for each store, and each way for three stores.
  static let ruins: [(String, Ruin)] = {
    var all: [(String, Ruin)] = []
    for name in stores { for ruin in Ruin.allCases { all.append((name, ruin)) } }
    return Rounds.part(of: all, every: 4)
  }()

  @Test(arguments: ruins)
  func whatTheHeaderNoLongerSaysThePagesDo(_ name: String, _ ruin: Ruin) throws {
    // A header is overruled by three pages or more, and this store has two.
    if name.hasPrefix("text"), ruin.finding == "header.otherPageSize" { return }
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let sound = try SQLiteDatabase(path: url.path)
    let truth = try Self.rows(sound)
    let report = try sound.check()
    try Data(ruin.apply(to: bytes(of: url), pageSize: sound.header.pageSize)).write(to: url)
    let before = treeState(of: folder.url)

    let database = try SQLiteDatabase.surveyed(path: url.path)
    #expect(database.votedLayout != nil)
    #expect(database.header.pageSize == sound.header.pageSize)
    #expect(database.header.reservedBytes == sound.header.reservedBytes)
    #expect(database.header.textEncoding == sound.header.textEncoding)
    #expect(try Self.rows(database) == truth)
    let again = try database.check(depth: .full)
    #expect(again.findings.kept.contains { $0.id.rawValue == ruin.finding })
    #expect(again.findings.damageCount == report.findings.damageCount + 1, "\(again.findings.kept)")
    #expect(again.rowCount == report.rowCount)
    #expect(again.freePageCount == report.freePageCount)
    #expect(again.unnamedTreeCount == 0)
    #expect(treeState(of: folder.url) == before)
  }

  /// The newest page 1 is the one that counts: SQLite does not look at the main file's either.
  @Test(
    arguments: ["wal-page-512", "journal-hot"],
    [Ruin.zeroedHeader, .randomHeader, .smallerPages])
  func aPage1BesideTheFileCounts(_ name: String, _ ruin: Ruin) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let sound = try SQLiteDatabase(path: url.path)
    let truth = try Self.rows(sound)
    try Data(ruin.apply(to: bytes(of: url), pageSize: sound.header.pageSize)).write(to: url)
    let database = try SQLiteDatabase.surveyed(path: url.path)
    #expect(database.votedLayout == nil)
    #expect(try Self.rows(database) == truth)
  }

  /// Without page 1 the b-trees are found by themselves, and no row of theirs is missed.
  @Test(arguments: stores.filter { !$0.hasPrefix("text") && $0 != "big-schema" }, [0, 7])
  func aLostSchemaLeavesBTrees(_ name: String, _ noise: UInt8) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named(name).make(folder.url)
    let sound = try SQLiteDatabase(path: url.path)
    let report = try sound.check()
    var generator = SplitMix64(seed: 11)
    let size = sound.header.pageSize
    let page = noise == 0 ? [UInt8](repeating: 0, count: size) : generator.bytes(size)
    try overwrite(url, at: 0, bytes: page)
    let database = try SQLiteDatabase.surveyed(path: url.path)
    let again = try database.check()
    let ids = Set(again.findings.kept.map(\.id.rawValue))
    #expect(ids.isSuperset(of: ["header.unreadable", "schema.lost", "page.badType"]), "\(ids)")
    #expect(again.unnamedTreeCount > 0)
    // Rows of WITHOUT ROWID tables are entries like any other, and leaves of the schema rows.
    let extra =
      again.rowCount + again.indexEntryCount - report.rowCount - report.indexEntryCount
    #expect(0...sound.schema.entries.count ~= extra)
    #expect(again.freePageCount == report.freePageCount)
    #expect(again.checkedPageCount == report.checkedPageCount - 1)
    var kinds: [PageKind: Int] = [:]
    _ = try database.listPages { kinds[$0.kind, default: 0] += 1 }
    #expect((kinds[.leafTable] ?? 0) + (kinds[.leafIndex] ?? 0) > 0)
  }

  /// The head is lost and all interior pages with it: what is left are leaves, and rows that end on one overflow page each.
  @Test(arguments: [3, 9]) func overflowPagesTellHowMuchIsLost(_ count: Int) throws {
    let store = try DamageCase(pageSize: 32_768) { connection in
      try connection.exec("CREATE TABLE photo(id INTEGER PRIMARY KEY, name, data)")
      for number in 1...150 {
        let size = number % 3 == 0 ? 36_000 + number * 50 : 900
        try connection.exec(
          "INSERT INTO photo VALUES(\(number), 'IMG_\(number)', randomblob(\(size)))")
      }
    }
    try #require(store.pages("internal", of: "photo").map(\.number).allSatisfy { $0 <= count })
    let recovered = try store.recover(.all) { $0.removeFirst(count * store.pageSize) }
    #expect(recovered.layout.origin == -Int64(count * store.pageSize))
    let truth = store.truth["photo"] ?? []
    for (place, pages) in store.places(of: "photo").enumerated()
    where pages.allSatisfy({ $0 > count }) {
      let values = truth[place].values.dropFirst()
      #expect(
        recovered.live.contains { $0.values.dropFirst().map { FixtureValue($0) } == Array(values) })
    }
  }

  @Test(arguments: [1, 3, 40], [0, 123])
  func aHeadThatIsCutOffIsCounted(_ pages: Int, _ more: Int) throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("deep-table").make(folder.url)
    let sound = try SQLiteDatabase(path: url.path)
    let cut = pages * sound.header.pageSize + more
    // Rows on leaves behind the cut.
    var left = 0
    _ = try sound.listPages { entry in
      if entry.kind == .leafTable, entry.offset >= cut { left += entry.cellCount ?? 0 }
    }
    try Data(bytes(of: url)[cut...]).write(to: url)
    let database = try SQLiteDatabase.surveyed(path: url.path)
    #expect(database.votedLayout?.origin == Int64(-cut))
    #expect(database.pageCount == sound.pageCount)
    let report = try database.check()
    let ids = Set(report.findings.kept.map(\.id.rawValue))
    #expect(ids.isSuperset(of: ["file.headMissing", "schema.lost", "page.missing"]), "\(ids)")
    #expect(report.findings.kept.allSatisfy { ($0.offset ?? 0) >= 0 })
    #expect(report.rowCount == left)
    _ = try database.listPages { entry in
      if entry.page <= UInt32(pages) { #expect(entry.kind == .unreadable && entry.offset < 0) }
    }
  }

  @Test(arguments: ["text", "zeros", "machine code", "log"])
  func whatIsNoDatabaseStaysNone(_ kind: String) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("input")
    switch kind {
    case "text":
      try Data(String(repeating: "Just words, no store.\n", count: 50_000).utf8).write(to: url)
    case "zeros": try Data(count: 1 << 20).write(to: url)
    case "log":
      let store = try StoreFixtures.named("wal-committed").make(folder.url)
      try FileManager.default.moveItem(atPath: store.path + "-wal", toPath: url.path)
    default:
      let program = try bytes(of: URL(fileURLWithPath: CommandLine.arguments[0]))
      try Data(program.prefix(2_000_000)).write(to: url)
    }
    #expect(throws: SQLiteFileError.self) { try SQLiteDatabase.surveyed(path: url.path) }
  }

  /// No file whose header holds is read by a vote.
  @Test(arguments: Rounds.part(of: StoreFixtures.all, every: 2))
  func aSoundHeaderIsBelieved(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let url = try fixture.make(folder.url)
    guard let plain = try? SQLiteDatabase(path: url.path) else { return }
    let database = try SQLiteDatabase.surveyed(path: url.path)
    #expect(database.votedLayout == nil)
    #expect(database.header == plain.header)
  }

  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all)
  func soundStoresAreReadByTheirHeader(_ store: RealStore) throws {
    let content = try bytes(of: store.url)
    let folder = try TemporaryFolder()
    let copy = folder.url.appendingPathComponent("copy")
    // A file that was cut off is no reason to mistrust its page size.
    for count in [content.count, content.count * 2 / 3, content.count / 3] {
      try Data(content[..<count]).write(to: copy)
      guard let database = try? SQLiteDatabase.surveyed(path: copy.path, logView: .ignore) else {
        continue
      }
      #expect(database.votedLayout == nil, "\(count)")
    }
  }
}
