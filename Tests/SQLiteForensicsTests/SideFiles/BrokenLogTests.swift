import Fixtures
import Foundation
import Testing

@testable import SQLiteFile
@testable import SQLiteForensics

/// Logs that end early, for SQLite or in truth, and logs without their database.
@Suite struct BrokenLogTests {
  /// A store whose log has 20 commits, each of a row in one leaf, and the rows that SQLite reads from it.
  private static func store(_ folder: TemporaryFolder) throws -> (
    url: URL, truth: [[FixtureValue]]
  ) {
    let source = folder.url.appendingPathComponent("source.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec(
      "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(a, b)"
    )
    for number in 0..<20 { try connection.exec("INSERT INTO t VALUES(\(number), 'row \(number)')") }
    let url = folder.url.appendingPathComponent("t.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: source.path + suffix, toPath: url.path + suffix)
    }
    connection.close()
    return (url, try FlatFile.truth(url)["t"] ?? [])
  }

  private static func rows(_ url: URL, _ view: SQLiteDatabase.LogView) throws -> (
    plain: Int, all: Int
  ) {
    let plain = try SQLiteDatabase(path: url.path, logView: view)
    let count = try plain.schema.table(named: "t").map { try plain.rows(of: $0).count } ?? 0
    var all = 0
    try DamagedDatabase(path: url.path, logView: view).forEachRow(.live, of: ["t"]) { _ in
      all += 1
      return true
    }
    return (count, all)
  }

  /// Where the break is: in the content of a frame, in its salts, in its checksum.
  @Test(arguments: [24 + 300, 8, 16])
  func allTellABrokenChainAlike(_ place: Int) throws {
    let folder = try TemporaryFolder()
    let (url, truth) = try Self.store(folder)
    try #require(truth.count == 20)
    let log = URL(fileURLWithPath: url.path + "-wal")
    let frames = try WALFile(log).frames
    let broken = frames.count / 2
    try overwrite(log, at: 32 + broken * 1048 + place, bytes: [0xa5, 0x5a, 0xa5, 0x5a])
    let left = try FlatFile.truth(url)["t"] ?? []
    try #require(left.count < 20 && left.count > 0)

    let plain = try SQLiteDatabase(path: url.path)
    let damaged = try DamagedDatabase(path: url.path)
    let report = try plain.check()
    var messages: Set<String> = []
    for kept in [plain.findings.kept, damaged.findings.kept, report.findings.kept] {
      let found = try #require(kept.first { $0.id.rawValue == "wal.brokenChain" })
      #expect(found.severity == .damage && found.member == .wal)
      #expect(found.message.contains("--wal all"))
      #expect(!kept.contains { $0.id.rawValue == "wal.uncommitted" })
      messages.insert(found.message)
    }
    #expect(messages.count == 1)
    // A frame whose stored checksum is ruined leaves nothing to hold the next one against.
    let lost = frames.count - broken - (place == 16 ? 2 : 1)
    #expect(plain.writeAheadLog?.committedFramesBehindBreak == lost)
    #expect(try Self.rows(url, .committed) == (left.count, left.count))
    #expect(try Self.rows(url, .all) == (20, 20))
  }

  /// SQLite writes over frames within a transaction and leaves their checksums for the commit.
  @Test(arguments: [false, true])
  func anAppThatWasKilledWithinATransactionLeavesNoDamage(_ rolledBack: Bool) throws {
    let folder = try TemporaryFolder()
    let source = folder.url.appendingPathComponent("source.sqlite")
    let connection = try SQLiteConnection(source)
    try connection.exec(
      "PRAGMA journal_mode = WAL; PRAGMA cache_size = 5; CREATE TABLE a(x, y)")
    for number in 0..<50 {
      try connection.exec("INSERT INTO a VALUES(\(number), printf('%0500d', 1))")
    }
    try connection.exec("BEGIN")
    for number in 0..<100 {
      try connection.exec(
        "INSERT INTO a VALUES(\(number), printf('%0500d', 2)); UPDATE a SET y = y || 1 WHERE x % 10 = \(number % 10)"
      )
    }
    if rolledBack { try connection.exec("ROLLBACK; INSERT INTO a VALUES(1, 2)") }
    let url = folder.url.appendingPathComponent("t.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: source.path + suffix, toPath: url.path + suffix)
    }
    connection.close()
    let frames = try WALFile(URL(fileURLWithPath: url.path + "-wal")).frames
    try #require(frames.contains { $0.isCurrent && !$0.isValid })
    let truth = try FlatFile.truth(url)["a"] ?? []
    #expect(truth.count == (rolledBack ? 51 : 50))
    for view in [SQLiteDatabase.LogView.committed, .ignore] {
      let plain = try SQLiteDatabase(path: url.path, logView: view)
      #expect(plain.findings.damageCount == 0)
      #expect(try plain.check(depth: .full).findings.damageCount == 0)
      #expect(try DamagedDatabase(path: url.path, logView: view).findings.damageCount == 0)
    }
    let plain = try SQLiteDatabase(path: url.path)
    #expect(plain.findings.kept.map(\.id.rawValue) == ["wal.uncommitted"])
    #expect(try plain.rows(of: plain.schema.tables[0]).count == truth.count)
  }

  @Test func anEmptyMainFileIsReadFromItsLog() throws {
    let folder = try TemporaryFolder()
    let (url, truth) = try Self.store(folder)
    try truncate(url, to: 0)
    #expect(try Self.rows(url, .committed) == (truth.count, truth.count))
    #expect(
      try DamagedDatabase(path: url.path).findings.kept.map(\.id.rawValue) == ["file.mainEmpty"])
    #expect(
      try SQLiteDatabase(path: url.path).findings.kept.map(\.id.rawValue) == ["file.mainEmpty"])
    try FileManager.default.removeItem(atPath: url.path + "-wal")
    let error = #expect(throws: SQLiteFileError.self) { try DamagedDatabase(path: url.path) }
    #expect(error?.code == .empty)
  }

  @Test(arguments: [false, true])
  func aLogInThePlaceOfItsDatabaseIsNamedAsSuch(_ headerLost: Bool) throws {
    let folder = try TemporaryFolder()
    let (url, _) = try Self.store(folder)
    let log = url.path + "-wal"
    if headerLost {
      try overwrite(URL(fileURLWithPath: log), at: 0, bytes: [UInt8](repeating: 0, count: 32))
    }
    #expect(
      #expect(throws: SQLiteFileError.self) { try DamagedDatabase(path: log) }?.code == .isLog)
    #expect(#expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: log) }?.code == .isLog)
    #expect(
      #expect(throws: SQLiteFileError.self) { try SQLiteDatabase.surveyed(path: log) }?.code
        == .isLog)
  }

  @Test func aJournalInThePlaceOfItsDatabaseIsNamedAsSuch() throws {
    let folder = try TemporaryFolder()
    let url = try StoreFixtures.named("journal-hot").make(folder.url)
    let journal = url.path + "-journal"
    let error = #expect(throws: SQLiteFileError.self) { try DamagedDatabase(path: journal) }
    #expect(error?.code == .isJournal)
    let plain = #expect(throws: SQLiteFileError.self) { try SQLiteDatabase(path: journal) }
    #expect(plain?.code == .isJournal)
  }

  /// A log may be missing: nothing tells, so the check says it.
  @Test func aWALStoreWithoutItsLogIsNoted() throws {
    let folder = try TemporaryFolder()
    let (url, _) = try Self.store(folder)
    try FileManager.default.removeItem(atPath: url.path + "-wal")
    let report = try SQLiteDatabase(path: url.path).check()
    #expect(report.findings.kept.map(\.id.rawValue) == ["wal.none"])
    #expect(report.findings.damageCount == 0)
    #expect(report.findings.kept.map(\.message).allSatisfy { $0.contains("has no -wal file") })
    // An empty log is not called missing.
    try Data().write(to: URL(fileURLWithPath: url.path + "-wal"))
    let empty = try SQLiteDatabase(path: url.path).check().findings.kept
    #expect(empty.map(\.id.rawValue) == ["wal.none"])
    #expect(empty.allSatisfy { $0.message.contains("its -wal file is empty") })
  }

  /// A log of more generations than are listed one by one: no frame is left out of the sums.
  @Test func framesOfManyGenerationsAreAllCounted() throws {
    let folder = try TemporaryFolder()
    let (url, _) = try Self.store(folder)
    let log = URL(fileURLWithPath: url.path + "-wal")
    var content = try bytes(of: log)
    let salts = Array(content[16..<24])
    func frame(_ page: UInt32, _ salts: [UInt8]) -> [UInt8] {
      page.bigEndianBytes + [0, 0, 0, 0] + salts + [UInt8](repeating: 7, count: 8 + 1024)
    }
    for number in 0..<1100 {
      content += frame(2, [UInt8](repeating: UInt8(number % 2 + 1), count: 8))
    }
    for page in [2, 2, 3] as [UInt32] { content += frame(page, salts) }
    try Data(content).write(to: log)
    let states = try LogStates(path: url.path, pageSize: 1024)
    #expect(states.remainders.count <= 1003)
    #expect(states.remainders.map(\.frameCount).reduce(0, +) == 1103)
    let unfinished = states.remainders.filter { $0.kind == .uncommitted }
    #expect(unfinished.map(\.frameCount) == [3] && unfinished.map(\.pageCount) == [2])
  }
}
