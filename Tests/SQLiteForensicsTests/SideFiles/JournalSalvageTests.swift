import Fixtures
import Foundation
import Testing

@testable import SQLiteFile
@testable import SQLiteForensics

/// Rollback journals, whole and without header, against what SQLite itself rolls back to.
@Suite struct JournalSalvageTests {
  static let hot = StoreFixtures.all.filter {
    $0.name.hasPrefix("journal-hot") && $0.name != "journal-hot-from-nothing"
  }

  private static func journal(_ store: URL) -> URL {
    URL(fileURLWithPath: store.path + "-journal")
  }

  private static func zeroHeader(_ store: URL) throws {
    try overwrite(journal(store), at: 0, bytes: [UInt8](repeating: 0, count: 28))
  }

  private static func pageSize(_ store: URL) throws -> Int {
    let stored = try bytes(of: store)[16..<18].reduce(0) { $0 << 8 | Int($1) }
    return stored == 1 ? 65_536 : stored
  }

  @Test(arguments: hot)
  func aHotJournalGivesTheStateThatSQLiteRestores(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let truth = try FlatFile.truth(store)
    let pageSize = try Self.pageSize(store)
    let sides = try FlatFile.sides(store, pageSize: pageSize)
    #expect(sides.journal?.verdict == .hot)
    #expect(try FlatFile.rows(store, pageSize: pageSize) == truth)
    let plain = try SQLiteDatabase(path: store.path)
    #expect(sides.journal?.pageOffsets == plain.journal?.pageOffsets)
    #expect(sides.databasePageCount == plain.journal?.databasePageCount)
    #expect(sides.shadowed.allSatisfy { $0.origin == .uncommitted })
  }

  /// A ROLLBACK puts pages back and zeroes the header, as a commit does: there is nothing left to undo.
  @Test func whatWasRolledBackIsFinished() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("rolled-back.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      PRAGMA journal_mode = PERSIST; CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE);
      INSERT INTO t VALUES (1, 'a'); BEGIN; INSERT INTO t VALUES (2, 'b'); ROLLBACK;
      """)
    let copy = folder.url.appendingPathComponent("copy.sqlite")
    for suffix in ["", "-journal"] {
      try FileManager.default.copyItem(
        atPath: store.path + suffix, toPath: copy.path + suffix)
    }
    connection.close()
    let sides = try FlatFile.sides(copy, pageSize: try Self.pageSize(copy))
    #expect(sides.journal?.images.isEmpty == false)
    #expect(sides.journal?.verdict == .finished)
    #expect(sides.findings.kept.isEmpty)
  }

  @Test(arguments: hot, [false, true])
  func aTransactionThatWasNotFinishedIsRolledBackWithoutTheHeader(
    _ fixture: StoreFixture, _ isRandom: Bool
  ) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let truth = try FlatFile.truth(store)
    let pageSize = try Self.pageSize(store)
    let whole = try FlatFile.sides(store, pageSize: pageSize)
    var generator = SplitMix64(seed: 8)
    try Self.zeroHeader(store)
    if isRandom { try overwrite(Self.journal(store), at: 0, bytes: generator.bytes(28)) }
    let sides = try FlatFile.sides(store, pageSize: pageSize)
    #expect(sides.journal?.verdict == .headerLost)
    #expect(sides.findings.kept.contains { $0.id.rawValue == "journal.headerLost" })
    for (page, offset) in whole.journal?.pageOffsets ?? [:] {
      #expect(sides.journal?.pageOffsets[page] == offset, "page \(page)")
    }
    #expect(try FlatFile.rows(store, pageSize: pageSize) == truth)
    #expect(sides.databasePageCount == whole.databasePageCount)
  }

  /// Bytes before page 1 change nothing but the offsets in the main file.
  @Test(arguments: hot)
  func theJournalOfAMovedDatabaseIsJudgedAlike(_ fixture: StoreFixture) throws {
    let folder = try TemporaryFolder()
    let store = try fixture.make(folder.url)
    let pageSize = try Self.pageSize(store)
    try Self.zeroHeader(store)
    let plain = try FlatFile.sides(store, pageSize: pageSize)
    try Data([UInt8](repeating: 0x5a, count: 1000) + bytes(of: store)).write(to: store)
    let moved = try SideFiles(
      beside: store.path, main: try ByteFile(store.path), pageSize: pageSize, origin: 1000)
    #expect(moved.journal?.verdict == .headerLost)
    #expect(moved.journal?.pageOffsets == plain.journal?.pageOffsets)
    #expect(moved.databasePageCount == plain.databasePageCount)
    #expect(!plain.shadowed.isEmpty)
    #expect(moved.shadowed.map(\.offset) == plain.shadowed.map { $0.offset + 1000 })
  }

  /// What the log replaced is found also in a main file whose first bytes are not the database's.
  @Test func replacedPagesOfAMovedDatabaseAreFound() throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("w.sqlite")
    let connection = try SQLiteConnection(work)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA page_size = 1024; PRAGMA journal_mode = WAL;
      CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO t SELECT i, 'old value ' || i FROM n;
      PRAGMA wal_checkpoint(TRUNCATE);
      UPDATE t SET b = 'new ' || a WHERE a BETWEEN 50 AND 90; DELETE FROM t WHERE a > 180;
      """)
    let rows = try [0, 1000].map { count -> Set<String> in
      let copy = folder.url.appendingPathComponent("copy-\(count).sqlite")
      try Data([UInt8](repeating: 0x5a, count: count) + bytes(of: work)).write(to: copy)
      try FileManager.default.copyItem(atPath: work.path + "-wal", toPath: copy.path + "-wal")
      var rows: Set<String> = []
      try DamagedDatabase(path: copy.path).forEachRow(.deleted) { row in
        rows.insert("\(row.rowID ?? 0): \(row.values)")
        return true
      }
      return rows
    }
    #expect(rows[0].count >= 61)
    #expect(rows[1] == rows[0])
  }

  /// Several segments: the cache spills with synchronous = FULL, so that each has a header of its own.
  @Test func theJournalOfASpillingCacheHasSeveralSegments() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-hot").make(folder.url)
    let content = try bytes(of: Self.journal(store))
    let headers = stride(from: 0, to: content.count - 8, by: 512).count {
      Array(content[$0..<$0 + 8]) == RollbackJournal.magic
    }
    try #require(headers > 1)
  }

  /// What a finished transaction leaves: the state before it, and no reason to go back to it.
  @Test(
    arguments: [
      "PRAGMA journal_mode = PERSIST", "PRAGMA locking_mode = EXCLUSIVE",
      "PRAGMA journal_mode = PERSIST; PRAGMA cache_size = 5; PRAGMA cache_spill = 5; PRAGMA synchronous = FULL",
    ])
  func aFinishedTransactionIsHistory(_ pragmas: String) throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("w.sqlite")
    let connection = try SQLiteConnection(work)
    defer { connection.close() }
    try connection.exec("PRAGMA page_size = 1024; \(pragmas)")
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 900)
      INSERT INTO t SELECT i, 'before ' || i FROM c;
      """)
    let before = try TemporaryFolder()
    let old = try SQLiteConnection.copyStore(work, into: before.url)
    let oldRows = try FlatFile.truth(old)
    for statement in [
      "UPDATE t SET note = 'after  ' || id", "DELETE FROM t WHERE id > 500",
      "UPDATE t SET note = 'finish ' || id WHERE id < 9",
    ] {
      try connection.exec(statement)
      let now = try TemporaryFolder()
      let store = try SQLiteConnection.copyStore(work, into: now.url)
      try #require(try bytes(of: Self.journal(store)).prefix(8).allSatisfy { $0 == 0 })
      let sides = try FlatFile.sides(store, pageSize: 1024)
      #expect(sides.overlays.isEmpty)
      #expect(sides.journal?.verdict == .finished || sides.journal?.verdict == .undecided)
      #expect(
        sides.journal?.verdict == .finished || pragmas.contains("EXCLUSIVE"), "\(statement)")
      #expect(!sides.versions.isEmpty)
      #expect(sides.versions.allSatisfy { $0.origin == .beforeImage })
      // One record alone cannot be proved.
      #expect(sides.versions.count { !$0.isVerified } <= 1)
      if statement.contains("after") {
        // The images of the last transaction, laid over, give the state before it.
        var offsets: [UInt32: Int64] = [:]
        let journal = try #require(sides.journal)
        for image in journal.images where image.age == 0 { offsets[image.page] = image.offset }
        let flat = now.url.appendingPathComponent("flat.sqlite")
        try FlatFile.write(
          store,
          [
            PageReader.Overlay(
              file: try ByteFile(Self.journal(store).path), member: .journal, offsets: offsets)
          ], pageCount: journal.databasePageCount, pageSize: 1024, to: flat)
        #expect(try FlatFile.truth(flat) == oldRows)
      }
    }
  }

  /// Behind the short journal of the last transaction stands what a longer one has left.
  @Test(arguments: ["", "PRAGMA cache_size = 5; PRAGMA cache_spill = 5; PRAGMA synchronous = FULL"])
  func olderTransactionsAreToldApart(_ pragmas: String) throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("w.sqlite")
    let connection = try SQLiteConnection(work)
    defer { connection.close() }
    try connection.exec("PRAGMA page_size = 1024; PRAGMA journal_mode = PERSIST; \(pragmas)")
    try connection.exec(
      """
      CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT);
      WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c WHERE i < 3000)
      INSERT INTO t SELECT i, 'before ' || i FROM c;
      UPDATE t SET note = 'second ' || id;
      """)
    let long = try FlatFile.sides(work, pageSize: 1024)
    let all = long.versions.count
    try connection.exec("UPDATE t SET note = 'third  ' || id WHERE id < 100")
    let sides = try FlatFile.sides(work, pageSize: 1024)
    let journal = try #require(sides.journal)
    #expect(journal.verdict == .finished)
    let last = journal.images.filter { $0.age == 0 }
    #expect(last.contains { $0.page == 1 })
    #expect(last.count < 20)
    for image in last {
      let content = String(
        decoding: try bytes(of: Self.journal(work))[Int(image.offset)..<Int(image.offset) + 1024],
        as: UTF8.self)
      #expect(!content.contains("before"))
    }
    // All but what was written over is there still.
    #expect(journal.images.count { $0.age > 0 } > all - last.count - 10)
  }

  @Test func withoutPageOneNothingIsDecided() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-hot").make(folder.url)
    try Self.zeroHeader(store)
    try overwrite(store, at: 0, bytes: [UInt8](repeating: 0, count: 1024))
    let sides = try FlatFile.sides(store, pageSize: 1024)
    #expect(sides.journal?.verdict == .undecided)
    #expect(sides.findings.kept.map(\.id.rawValue) == ["journal.undecided"])
    #expect(sides.overlays.isEmpty && !sides.versions.isEmpty)
  }

  /// A ruined record costs itself, not those behind it.
  @Test func aRuinedRecordInTheMiddleIsPassedOver() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-hot-unsynced").make(folder.url)
    try Self.zeroHeader(store)
    let whole = try FlatFile.sides(store, pageSize: 1024)
    let count = try #require(whole.journal?.pageOffsets.count)
    try #require(count > 6)
    try overwrite(
      Self.journal(store), at: 512 + 3 * 1032, bytes: [UInt8](repeating: 0, count: 1032))
    let sides = try FlatFile.sides(store, pageSize: 1024)
    #expect(sides.journal?.verdict == .headerLost)
    #expect(sides.journal?.pageOffsets.count == count - 1)
  }

  /// Other sector sizes put the records elsewhere.
  @Test(arguments: [512, 1024, 4096, 65_536])
  func recordsAreFoundBehindAnySector(_ sector: Int) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-hot-unsynced").make(folder.url)
    let truth = try FlatFile.truth(store)
    let content = try bytes(of: Self.journal(store))
    try Data([UInt8](repeating: 0, count: sector) + content.dropFirst(512)).write(
      to: Self.journal(store))
    #expect(try FlatFile.rows(store, pageSize: 1024) == truth)
  }

  @Test func noiseIsNoJournal() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("journal-persist-zeroed").make(folder.url)
    var generator = SplitMix64(seed: 21)
    for size in [1, 27, 28, 512, 513, 1544, 1545, 5000, 70_000, 400_000] {
      for content in [
        generator.bytes(size), [UInt8](repeating: 0, count: size),
        [UInt8](repeating: 0xff, count: size), [UInt8](repeating: 0x61, count: size),
      ] {
        try Data(content).write(to: Self.journal(store))
        let sides = try FlatFile.sides(store, pageSize: 1024)
        #expect(sides.overlays.isEmpty)
        #expect(sides.versions.allSatisfy { !$0.isVerified })
      }
    }
  }

  @Test func hostileNumbersAreBorne() throws {
    let folder = try TemporaryFolder()
    for name in ["journal-hot", "journal-hot-over-old"] {
      let store = try StoreFixtures.named(name).make(folder.url)
      let whole = try bytes(of: Self.journal(store))
      var generator = SplitMix64(seed: 5)
      for round in 0..<120 {
        var content = whole
        for _ in 0..<6 {
          let place =
            Bool.random(using: &generator)
            ? Int.random(in: 0..<28, using: &generator)
            : 512 + Int.random(in: 0..<(content.count - 600), using: &generator)
          content[place] = [0, 0xff, 0x80, 1].randomElement(using: &generator) ?? 0
        }
        if round % 2 == 0 { content.replaceSubrange(0..<28, with: generator.bytes(28)) }
        try Data(content).write(to: Self.journal(store))
        let sides = try FlatFile.sides(store, pageSize: [512, 1024, 65_536][round % 3])
        for version in sides.versions {
          #expect(version.offset < Int64(content.count) && version.page > 0)
        }
      }
    }
  }
}
