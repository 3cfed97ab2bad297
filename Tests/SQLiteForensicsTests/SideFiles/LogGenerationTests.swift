import Fixtures
import Foundation
import SQLiteFile
import Testing
@testable import SQLiteForensics

/// Write-ahead logs beside a main file of another moment, against what SQLite reads from each of the two moments.
@Suite struct LogGenerationTests {
  /// What is done between two checkpoints.
  enum Work: String, CaseIterable {
    /// Pages of tables and indexes are split.
    case insertions
    /// Rows stay where they are.
    case updates
    /// Pages become free and are taken again.
    case deletions
  }

  /// The files of a store of shapes that Core Data makes, at some moments.
  private struct Moments {
    var older: (main: [UInt8], log: [UInt8])
    var newer: (main: [UInt8], log: [UInt8])
    /// What SQLite read when main and log were those of the newer moment, and from its main file alone.
    var truth: [String: [SQLiteConnection.FixtureRow]] = [:]
    var truthOfMain: [String: [SQLiteConnection.FixtureRow]] = [:]

    /// `isReopened`: whether another connection does the newer work. Within one the change counter stays the same.
    init(_ work: Work, isReopened: Bool) throws {
      let folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("made.sqlite")
      let wal = URL(fileURLWithPath: url.path + "-wal")
      var connection = try Self.open(url)
      defer { connection.close() }
      try connection.exec(
        """
        CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZSIZE INTEGER);
        CREATE INDEX ZITEM_ZNAME ON ZITEM (ZNAME);
        INSERT INTO Z_PRIMARYKEY VALUES (1, 'Item', 0, 0)
        """)
      try Self.add(400, to: connection)
      try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      try Self.run(work, connection, 1)
      older = (try bytes(of: url), try bytes(of: wal))
      try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      if isReopened {
        connection.close()
        connection = try Self.open(url)
      }
      for round in 2...5 { try Self.run(work, connection, round) }
      try connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
      truthOfMain = try Self.rows(connection)
      try Self.run(work, connection, 6)
      truth = try Self.rows(connection)
      newer = (try bytes(of: url), try bytes(of: wal))
    }

    private static func open(_ url: URL) throws -> SQLiteConnection {
      let connection = try SQLiteConnection(url)
      try connection.exec(
        "PRAGMA page_size = 1024; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
      try connection.exec("PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF")
      return connection
    }

    static func rows(_ connection: SQLiteConnection) throws -> [String: [SQLiteConnection
      .FixtureRow]]
    {
      var rows: [String: [SQLiteConnection.FixtureRow]] = [:]
      for table in try connection.ordinaryTables() {
        rows[table] = try connection.rowsOfTable(table, virtualColumns: true)
      }
      return rows
    }

    private static func add(_ count: Int, to connection: SQLiteConnection) throws {
      try connection.exec(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
        INSERT INTO ZITEM SELECT (SELECT Z_MAX FROM Z_PRIMARYKEY) + i, 1, 1,
          hex((i * 7919 + (SELECT Z_MAX FROM Z_PRIMARYKEY)) % 10007) || ' a name', i * 31 FROM n;
        UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + \(count)
        """)
    }

    static func run(_ work: Work, _ connection: SQLiteConnection, _ round: Int) throws {
      switch work {
      case .insertions: try add(120, to: connection)
      case .updates:
        try connection.exec(
          "UPDATE ZITEM SET Z_OPT = Z_OPT + 1, ZSIZE = ZSIZE + 1 WHERE Z_PK % 40 < 3")
      case .deletions:
        try connection.exec("DELETE FROM ZITEM WHERE Z_PK % 8 = \(round)")
        try add(90, to: connection)
      }
    }
  }

  private static func store(_ main: [UInt8], _ log: [UInt8], in folder: URL) throws -> URL {
    let url = folder.appendingPathComponent("store.sqlite")
    try Data(main).write(to: url)
    try Data(log).write(to: URL(fileURLWithPath: url.path + "-wal"))
    return url
  }

  private static let told: Set = ["wal.olderThanMain", "wal.otherGeneration"]

  private static func told(_ path: URL) throws -> (plain: Set<String>, all: Set<String>) {
    let plain = try SQLiteDatabase(path: path.path).findings.kept.map(\.id.rawValue)
    let all = try DamagedDatabase(path: path.path).findings.kept.map(\.id.rawValue)
    return (told.intersection(plain), told.intersection(all))
  }

  /// The header and most of the first frame of a restarted log are smashed. Behind the one frame that is left of the newest
  /// generation lie those of an earlier one: they must not count as the newest.
  @Test func earlierGenerationIsNotTheNewest() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("made.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
    try connection.exec("PRAGMA journal_mode = WAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b)")
    try connection.exec("INSERT INTO t(b) \(many) SELECT randomblob(900) FROM n")
    try connection.exec("PRAGMA wal_checkpoint(FULL)")
    for row in [1, 2] { try connection.exec("UPDATE t SET b = 'new' WHERE a = \(row)") }
    var log = try bytes(of: URL(fileURLWithPath: url.path + "-wal"))
    let first = LogSalvage.Status.committed(1)
    #expect(try salvage(log, folder.url)[0].status == first)
    for offset in Array(0..<32) + Array(48..<200) { log[offset] = 9 }
    let damaged = try salvage(log, folder.url)
    #expect(damaged.headLost && damaged.pageOffsets.isEmpty && damaged.databasePageCount == nil)
    #expect(damaged.count > 10 && damaged.allSatisfy { $0.status == .stale })
  }

  private func salvage(_ log: [UInt8], _ folder: URL) throws -> LogSalvage {
    let url = folder.appendingPathComponent("copy-wal")
    try Data(log).write(to: url)
    return try LogSalvage(try ByteFile(url.path), pageSize: 4096)
  }

  /// The main file was checkpointed and written on, and the log from before lies beside it.
  @Test(arguments: Work.allCases, [false, true])
  func anOlderLogIsHistory(_ work: Work, _ isReopened: Bool) throws {
    let moments = try Moments(work, isReopened: isReopened)
    let folder = try TemporaryFolder()
    let url = try Self.store(moments.newer.main, moments.older.log, in: folder.url)
    let (plain, all) = try Self.told(url)
    #expect(all.count == 1 && plain == all)
    let recovered = try Recovered(path: url.path, .all)
    Judgement(recovered, moments.truthOfMain).expectAll()
    #expect(recovered.dead.contains { $0.origin.state == .stale && $0.origin.member == .wal })
  }

  /// A main file was restored from before, and the log of a later moment stayed.
  @Test func aLogThatMissesWhatCameBeforeItIsHistory() throws {
    let moments = try Moments(.insertions, isReopened: true)
    let folder = try TemporaryFolder()
    let url = try Self.store(moments.older.main, moments.newer.log, in: folder.url)
    let (plain, all) = try Self.told(url)
    #expect(plain == ["wal.otherGeneration"] && all == plain)
    let alone = folder.url.appendingPathComponent("alone.sqlite")
    try Data(moments.older.main).write(to: alone)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: alone)
    Judgement(try Recovered(path: url.path, .all), truth).expectAll()
  }

  /// Main and log of one moment: nothing speaks against the log, and its rows are live.
  @Test(arguments: Work.allCases, [false, true])
  func aLogThatBelongsHereCounts(_ work: Work, _ isReopened: Bool) throws {
    let moments = try Moments(work, isReopened: isReopened)
    let folder = try TemporaryFolder()
    let url = try Self.store(moments.newer.main, moments.newer.log, in: folder.url)
    let (plain, all) = try Self.told(url)
    #expect(plain.isEmpty && all.isEmpty)
    Judgement(try Recovered(path: url.path, .all), moments.truth).expectAll()
  }

  /// A checkpoint that a reader held up carried part of the log over: main alone contradicts itself, not the two.
  @Test(arguments: Work.allCases)
  func aLogThatIsHalfCarriedOverCounts(_ work: Work) throws {
    let moments = try Moments(work, isReopened: false)
    let folder = try TemporaryFolder()
    let url = try Self.store(moments.newer.main, moments.newer.log, in: folder.url)
    let connection = try SQLiteConnection(url)
    let reader = try SQLiteConnection(url)
    defer {
      reader.close()
      connection.close()
    }
    try connection.exec("PRAGMA wal_autocheckpoint = 0")
    try reader.exec("BEGIN; SELECT count(*) FROM ZITEM")
    for round in 7...8 { try Moments.run(work, connection, round) }
    try connection.exec("PRAGMA wal_checkpoint(PASSIVE)")
    let truth = try Moments.rows(connection)
    let copy = try TemporaryFolder()
    let half = try Self.store(
      bytes(of: url), bytes(of: URL(fileURLWithPath: url.path + "-wal")), in: copy.url)
    let (plain, all) = try Self.told(half)
    #expect(plain.isEmpty && all.isEmpty)
    Judgement(try Recovered(path: half.path, .all), truth).expectAll()
  }

  /// What is ruined in the main file is no reason to leave out the log that belongs to it.
  @Test(arguments: [UInt64(1), 2, 3])
  func damageInTheMainFileDoesNotSpeakAgainstTheLog(_ seed: UInt64) throws {
    let moments = try Moments(.deletions, isReopened: false)
    let folder = try TemporaryFolder()
    var random = SplitMix64(seed: seed)
    var main = moments.newer.main
    for _ in 0..<main.count / 1024 / 10 {
      let page = 1 + Int(random.next() % UInt64(main.count / 1024 - 1))
      main.replaceSubrange(page * 1024..<page * 1024 + 512, with: random.bytes(512))
    }
    let url = try Self.store(main, moments.newer.log, in: folder.url)
    let (plain, all) = try Self.told(url)
    #expect(plain.isEmpty && all.isEmpty, "seed \(seed)")
  }
}
