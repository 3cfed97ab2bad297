import Fixtures
import Foundation
import Testing

@testable import SQLiteFile
@testable import SQLiteForensics

/// The state that a main file and pages laid over it make, written out as a file of its own for SQLite to read.
enum FlatFile {
  static func write(
    _ store: URL, _ overlays: [PageReader.Overlay], pageCount: UInt32?, pageSize: Int, to url: URL
  ) throws {
    var content = try bytes(of: store)
    for overlay in overlays.reversed() {
      for (page, offset) in overlay.offsets {
        let start = (Int(page) - 1) * pageSize
        if content.count < start + pageSize {
          content += [UInt8](repeating: 0, count: start + pageSize - content.count)
        }
        content.replaceSubrange(
          start..<start + pageSize, with: try overlay.file.bytes(at: offset, count: pageSize))
      }
    }
    if let pageCount { content.removeLast(max(0, content.count - Int(pageCount) * pageSize)) }
    try Data(content).write(to: url)
  }

  /// The rows that SQLite finds in the live state that `SideFiles` makes of a store.
  static func rows(_ store: URL, pageSize: Int) throws -> [String: [[FixtureValue]]] {
    let folder = try TemporaryFolder()
    let flat = folder.url.appendingPathComponent("flat.sqlite")
    let sides = try SideFiles(
      beside: store.path, main: try ByteFile(store.path), pageSize: pageSize)
    try write(
      store, sides.overlays, pageCount: sides.databasePageCount, pageSize: pageSize, to: flat)
    let connection = try SQLiteConnection(flat)
    #expect(try connection.integrityCheck() == ["ok"])
    connection.close()
    return try truth(flat)
  }

  /// What SQLite reads from a copy of a store: the row id and the values of each row, by table.
  static func truth(_ store: URL) throws -> [String: [[FixtureValue]]] {
    try SQLiteConnection.rowsOfEveryTable(inCopyOf: store).mapValues { rows in
      rows.map { row in [row.rowid.map { .integer($0) } ?? .null] + row.values }
    }
  }

  static func sides(_ store: URL, pageSize: Int) throws -> SideFiles {
    try SideFiles(beside: store.path, main: try ByteFile(store.path), pageSize: pageSize)
  }
}

/// Write-ahead logs, whole and ruined, against what SQLite makes of them when they are whole.
@Suite struct LogSalvageTests {
  static let logs = StoreFixtures.all.filter {
    $0.name.hasPrefix("wal-") && !["wal-mode-clean", "wal-empty"].contains($0.name)
  }

  private static func log(_ store: URL) -> URL { URL(fileURLWithPath: store.path + "-wal") }

  @Test(arguments: logs)
  func aWholeLogGivesTheStateThatSQLiteReads(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let truth = try FlatFile.truth(store)
    let frames = try WALFile(Self.log(store))
    let sides = try FlatFile.sides(store, pageSize: frames.pageSize)
    let log = try #require(sides.log)
    #expect(try FlatFile.rows(store, pageSize: frames.pageSize) == truth)
    #expect(!log.headerLost)
    #expect(log.count == frames.frames.count)
    let lastCommit = frames.frames.lastIndex { $0.isValid && $0.commit > 0 } ?? -1
    // Only a commit behind it makes a frame that does not agree a broken one.
    let isBroken = frames.frames.contains { !$0.isValid && $0.isCurrent && $0.commit > 0 }
    for (frame, wanted) in zip(log, frames.frames) {
      #expect(frame.page == wanted.page && frame.commitPageCount == wanted.commit)
      if !wanted.isValid {
        #expect(
          frame.status == (!wanted.isCurrent ? .stale : isBroken ? .unverified : .uncommitted))
      } else if frame.index > lastCommit {
        #expect(frame.status == .uncommitted)
      } else {
        let commit = 1 + frames.frames[..<frame.index].count { $0.commit > 0 }
        #expect(frame.status == .committed(commit))
      }
    }
  }

  enum Ruin: CaseIterable {
    case zero, random, onlyMagic, otherPageSize
    func apply(_ log: URL) throws {
      var generator = SplitMix64(seed: 11)
      switch self {
      case .zero: try overwrite(log, at: 0, bytes: [UInt8](repeating: 0, count: 32))
      case .random: try overwrite(log, at: 0, bytes: generator.bytes(32))
      case .onlyMagic: try overwrite(log, at: 0, bytes: [0, 0, 0, 0])
      case .otherPageSize: try overwrite(log, at: 8, bytes: [0, 0, 2, 1])
      }
    }
  }

  /// Usually one or two ways for each log.
  static let ruins: [(StoreFixture, Ruin)] = {
    var all: [(StoreFixture, Ruin)] = []
    // Not where SQLite has written over the first frame, which it does within a transaction, leaving the checksum for
    // the commit.
    for fixture in logs where fixture.name != "wal-uncommitted-only" {
      for ruin in Ruin.allCases { all.append((fixture, ruin)) }
    }
    return Rounds.part(of: all, every: 3)
  }()

  /// The first frame too is proved without the header, so nothing at all is lost.
  @Test(arguments: ruins)
  func aLogWithoutHeaderGivesTheSame(_ fixture: StoreFixture, _ ruin: Ruin) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let truth = try FlatFile.truth(store)
    let pageSize = try WALFile(Self.log(store)).pageSize
    let whole = try FlatFile.sides(store, pageSize: pageSize)
    try ruin.apply(Self.log(store))
    let sides = try FlatFile.sides(store, pageSize: pageSize)
    let log = try #require(sides.log)
    #expect(log.headerLost && !log.headLost)
    #expect(sides.findings.kept.first?.id.rawValue == "wal.headerLost")
    #expect(log.checkpointSequence == whole.log?.checkpointSequence)
    #expect(log.pageOffsets == whole.log?.pageOffsets)
    #expect(sides.versions == whole.versions)
    #expect(log.elementsEqual(try #require(whole.log)) { $0.status == $1.status })
    #expect(try FlatFile.rows(store, pageSize: pageSize) == truth)
    // The page size comes out of the frames by itself.
    #expect(try LogSalvage(ByteFile(Self.log(store).path), pageSize: nil).pageSize == pageSize)
    #expect(try SideFiles.pageSizes(beside: store.path) == [pageSize])
  }

  /// SQLite's own reader is left as it was: such a log does not count there.
  @Test func thePlainReaderStillReadsWhatSQLiteReads() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    try Ruin.zero.apply(Self.log(store))
    let truth = try FlatFile.truth(store)
    let database = try SQLiteDatabase(path: store.path)
    for table in database.schema.tables {
      #expect(try database.rows(of: table).count == truth[table.name]?.count)
    }
    #expect(database.findings.kept.contains { $0.id.rawValue == "wal.badHeader" })
  }

  /// A log cut off anywhere, its header lost as well, has the state of the last commit that is whole.
  @Test(arguments: ["wal-several-commits", "wal-restarted", "wal-page-512", "wal-big-endian"])
  func aCutLogWithoutHeaderHasItsLastWholeCommit(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let pageSize = try WALFile(Self.log(store)).pageSize
    let whole = try bytes(of: Self.log(store))
    var generator = SplitMix64(seed: 3)
    for _ in 0..<12 {
      let size = Int.random(in: 32 + 24 + pageSize...whole.count, using: &generator)
      try Data(whole.prefix(size)).write(to: Self.log(store))
      let truth = try FlatFile.truth(store)
      try Ruin.zero.apply(Self.log(store))
      #expect(try FlatFile.rows(store, pageSize: pageSize) == truth, "\(size) bytes")
    }
  }

  /// Each commit is a state that SQLite reads from a log that ends there.
  @Test(arguments: ["wal-several-commits", "wal-big-endian", "wal-shrinks-then-grows"])
  func everyCommitIsAState(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let pageSize = try WALFile(Self.log(store)).pageSize
    let file = try ByteFile(Self.log(store).path)
    let log = try LogSalvage(file, pageSize: pageSize)
    let whole = try bytes(of: Self.log(store))
    let original = try bytes(of: store)
    #expect(log.commitCount > 1)
    for commit in 1...log.commitCount {
      var offsets: [UInt32: Int64] = [:]
      var last: LogSalvage.Frame?
      for frame in log {
        guard case .committed(let number) = frame.status, number <= commit else { continue }
        offsets[frame.page] = frame.offset
        last = frame
      }
      let end = try #require(last)
      let other = try TemporaryFolder()
      let cut = other.url.appendingPathComponent("cut.sqlite")
      try Data(original).write(to: cut)
      try Data(whole.prefix(Int(end.offset) + pageSize)).write(to: Self.log(cut))
      let truth = try FlatFile.truth(cut)
      let flat = other.url.appendingPathComponent("flat.sqlite")
      try FlatFile.write(
        store, [PageReader.Overlay(file: file, member: .wal, offsets: offsets)],
        pageCount: end.commitPageCount, pageSize: pageSize, to: flat)
      #expect(try FlatFile.truth(flat) == truth, "commit \(commit)")
    }
  }

  /// The first sector takes the header and the first frame's header along.
  @Test func theFirstFrameLostCostsItsPageOnly() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let whole = try FlatFile.sides(store, pageSize: 1024)
    try overwrite(Self.log(store), at: 0, bytes: [UInt8](repeating: 0, count: 512))
    let sides = try FlatFile.sides(store, pageSize: 1024)
    #expect(sides.findings.kept.map(\.id.rawValue) == ["wal.headerLost", "wal.framesLost"])
    // The first commit is the first frame alone.
    #expect(sides.log?.commitCount == (whole.log?.commitCount ?? 0) - 1)
    let lost = try #require(whole.log?.pageOffsets.count) - (sides.log?.pageOffsets.count ?? 0)
    #expect(lost <= 2)
    #expect(sides.databasePageCount == whole.databasePageCount)
  }

  /// Which generation is the newest is not known where more than the header is missing.
  @Test func aLogWithoutItsBeginningIsHistory() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-restarted").make(folder.url)
    let whole = try bytes(of: Self.log(store))
    for cut in [32, 33, 500, 5000] {
      try Data(whole.dropFirst(cut)).write(to: Self.log(store))
      let sides = try FlatFile.sides(store, pageSize: 1024)
      #expect(sides.overlays.isEmpty && sides.databasePageCount == nil)
      #expect(sides.findings.kept.map(\.id.rawValue) == ["wal.headLost"])
      let frames = (whole.count - cut) / 1048
      #expect(abs(sides.versions.count - frames) <= 1)
      #expect(sides.versions.allSatisfy { $0.origin == .stale && $0.member == .wal })
      #expect(sides.versions.count { $0.isVerified } > frames - 4)
    }
  }

  /// A frame that does not agree ends the valid ones, as in SQLite; sound ones behind it are not live.
  @Test(arguments: [false, true])
  func aBrokenFrameEndsTheChain(_ withoutHeader: Bool) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let frames = try WALFile(Self.log(store)).frames
    let second = try #require(frames.firstIndex { $0.commit > 0 }) + 1
    try overwrite(Self.log(store), at: 32 + second * 1048 + 24 + 100, bytes: [0xa5, 0x5a, 1])
    let truth = try FlatFile.truth(store)
    if withoutHeader { try Ruin.zero.apply(Self.log(store)) }
    #expect(try FlatFile.rows(store, pageSize: 1024) == truth)
    let sides = try FlatFile.sides(store, pageSize: 1024)
    #expect(sides.log?.commitCount == 1)
    #expect(sides.findings.kept.contains { $0.id.rawValue == "wal.brokenChain" })
    let behind = sides.versions.filter { $0.origin == .stale }
    #expect(behind.count == frames.count - second)
    #expect(behind.count { !$0.isVerified } == 1)
  }

  @Test func versionsAreWhatIsNotLive() throws {
    let folder = try TemporaryFolder()
    for name in ["wal-restarted", "wal-several-commits", "wal-uncommitted-tail"] {
      let store = try StoreFixtures.named(name).make(folder.url)
      let frames = try WALFile(Self.log(store))
      let sides = try FlatFile.sides(store, pageSize: frames.pageSize)
      let live = try #require(sides.log?.pageOffsets.count)
      #expect(sides.versions.count + live == frames.frames.count)
      let lastCommit = frames.frames.lastIndex { $0.isValid && $0.commit > 0 } ?? -1
      #expect(
        sides.versions.count { $0.origin == .stale } == frames.frames.count { !$0.isValid })
      #expect(
        sides.versions.count { $0.origin == .uncommitted }
          == frames.frames.dropFirst(lastCommit + 1).count { $0.isValid })
      for version in sides.versions {
        #expect(version.member == .wal)
        #expect((version.offset - 56) % Int64(frames.pageSize + 24) == 0)
        #expect(sides.log?.pageOffsets[version.page] != version.offset)
      }
      #expect(sides.shadowed.allSatisfy { $0.origin == .superseded(commit: 0) })
      #expect(!sides.shadowed.isEmpty)
    }
  }

  /// A hot journal beneath the log: its image of a page that the log has too is not live.
  @Test func whatTheLogHidesOfAJournalIsAVersion() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let before = try FlatFile.sides(store, pageSize: 1024)
    let page = try #require(before.log?.pageOffsets.keys.filter { $0 > 1 }.min())
    // One record of zeros. Its nonce is 0, and so is its checksum (file format, section 3).
    var journal = RollbackJournal.magic
    for number in [1, 0, 1000, 512, 1024] as [UInt32] { journal += number.bigEndianBytes }
    journal += [UInt8](repeating: 0, count: 512 - journal.count)
    journal += page.bigEndianBytes + [UInt8](repeating: 0, count: 1024 + 4)
    try Data(journal).write(to: URL(fileURLWithPath: store.path + "-journal"))
    let sides = try FlatFile.sides(store, pageSize: 1024)
    #expect(sides.overlays.map(\.member) == [.wal, .journal])
    let version = PageVersion(
      page: page, member: .journal, offset: 516, origin: .beforeImage, isVerified: true)
    #expect(sides.versions.first == version)
    #expect(sides.versions.dropFirst().elementsEqual(before.versions))
  }

  /// A log without header beside a main file that has been written since is not laid over it.
  @Test func anOlderLogWithoutHeaderIsHistory() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-holds-everything").make(folder.url)
    let log = try bytes(of: Self.log(store))
    let copy = try TemporaryFolder()
    let newer = try SQLiteConnection.copyStore(store, into: copy.url)
    let connection = try SQLiteConnection(newer)
    try connection.exec("PRAGMA journal_mode = DELETE; DELETE FROM numbered WHERE id < 100")
    try connection.exec("DELETE FROM numbered WHERE id < 200")
    connection.close()
    let truth = try FlatFile.truth(newer)
    try Data(log).write(to: Self.log(newer))
    try Ruin.zero.apply(Self.log(newer))
    let sides = try FlatFile.sides(newer, pageSize: 4096)
    #expect(sides.findings.kept.map(\.id.rawValue) == ["wal.headerLost", "wal.olderThanMain"])
    #expect(try FlatFile.rows(newer, pageSize: 4096) == truth)
    #expect(sides.versions.count == sides.log?.count)
  }

  /// Whatever the bytes are, reading ends, and only frames are taken for frames.
  @Test func noiseIsNoLog() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    var generator = SplitMix64(seed: 99)
    for size in [1, 31, 32, 55, 56, 4151, 4152, 4153, 60_000, 700_000] {
      for content in [
        generator.bytes(size), [UInt8](repeating: 0, count: size),
        [UInt8](repeating: 0xff, count: size), [UInt8](repeating: 0x61, count: size),
      ] {
        try Data(content).write(to: Self.log(store))
        let sides = try FlatFile.sides(store, pageSize: 4096)
        #expect(sides.overlays.isEmpty && sides.versions.isEmpty)
        #expect(sides.findings.kept.map(\.id.rawValue) == ["wal.noFrames"])
      }
    }
  }

  @Test func hostileNumbersAreBorne() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let whole = try bytes(of: Self.log(store))
    var generator = SplitMix64(seed: 4)
    for round in 0..<200 {
      var content = whole
      for _ in 0..<8 {
        let frame = Int.random(in: 0..<(content.count - 32) / 1048, using: &generator)
        let field = 32 + frame * 1048 + Int.random(in: 0..<24, using: &generator)
        content[field] = [0, 0xff, 0x80, 1].randomElement(using: &generator) ?? 0
      }
      if round % 2 == 0 { content.replaceSubrange(0..<32, with: generator.bytes(32)) }
      try Data(content).write(to: Self.log(store))
      let sides = try FlatFile.sides(store, pageSize: [512, 1024, 65_536][round % 3])
      for version in sides.versions { #expect(version.offset < Int64(content.count)) }
    }
  }
}

/// Files with holes in them, which are large and cost nothing.
@Suite struct SparseSideFilesTests {
  @Test func holesAreNotReadToTheirEnd() throws {
    let folder = try TemporaryFolder()
    for (name, suffix) in [("wal-several-commits", "-wal"), ("journal-persist-zeroed", "-journal")]
    {
      let store = try StoreFixtures.named(name).make(folder.url)
      let before = try FlatFile.sides(store, pageSize: 1024)
      try truncate(URL(fileURLWithPath: store.path + suffix), to: 1 << 40)
      let sides = try FlatFile.sides(store, pageSize: 1024)
      #expect(sides.versions == before.versions)
      #expect(sides.log?.count == before.log?.count)
    }
  }
}
