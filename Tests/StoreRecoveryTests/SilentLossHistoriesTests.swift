import CSQLite
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// Random lives of a store, led by real SQLite in processes that close it, are killed, or go on beside others.
@Suite(.serialized) struct SilentLossHistoriesTests {
  /// All is a twentieth of what `LIFEBOAT_LONG=1` runs.
  static let scale = Rounds.areLong ? 20 : 1

  /// What an app does with its store, and what only tools do.
  static let statements: [[String]] = [
    ["INSERT INTO t(b) VALUES(randomblob(300))"],
    Array(repeating: "INSERT INTO t(b) VALUES(randomblob(2000))", count: 20),
    ["DELETE FROM t WHERE a % 3 = 0"],
    ["UPDATE t SET b = randomblob(500) WHERE a % 5 = 0"],
    ["SELECT count(*) FROM t"],
    // Frames without a commit: the cache is too small for the transaction.
    [
      "PRAGMA cache_size=2", "BEGIN",
      "INSERT INTO t(b) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) SELECT randomblob(900) FROM n",
    ],
    [
      "BEGIN", "DELETE FROM t", "ROLLBACK",
    ],
    ["COMMIT"],
    ["PRAGMA wal_checkpoint(PASSIVE)"], ["PRAGMA wal_checkpoint(FULL)"],
    ["PRAGMA wal_checkpoint(RESTART)"], ["PRAGMA wal_checkpoint(TRUNCATE)"],
    ["PRAGMA wal_autocheckpoint=3"], ["PRAGMA wal_autocheckpoint=0"],
    ["PRAGMA journal_size_limit=0"], ["PRAGMA journal_size_limit=10000"],
    ["PRAGMA synchronous=OFF"],
    ["BEGIN", "SELECT count(*) FROM t"],
    ["VACUUM"],
    ["PRAGMA incremental_vacuum"],
    ["PRAGMA journal_mode=DELETE"], ["PRAGMA journal_mode=WAL"],
    ["PRAGMA locking_mode=EXCLUSIVE", "SELECT count(*) FROM t"],
    ["PRAGMA mmap_size=1000000"],
  ]

  /// One or two sessions, which may go on when this returns.
  ///
  /// - Returns: What they did.
  @discardableResult
  private func live(
    _ sessions: Sessions, _ store: String, _ random: inout Seeded, isEnding: Bool,
    hasExclusive: Bool = true
  ) throws -> [String] {
    var story: [String] = []
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      var sql = ["PRAGMA journal_mode=WAL"]
      // Each time it is said it commits page 1 as it was: frames that hold nothing to lose.
      if !isEnding { sql.insert("PRAGMA auto_vacuum=2", at: 0) }
      if Int.random(in: 0..<12, using: &random) == 0 { sql.removeLast() }
      sql.append("CREATE TABLE IF NOT EXISTS t(a INTEGER PRIMARY KEY, b)")
      // From the start, so that the connection keeps the log's index to itself and leaves an old one behind.
      if hasExclusive, Int.random(in: 0..<8, using: &random) == 0 {
        sql.insert("PRAGMA locking_mode=EXCLUSIVE", at: 0)
      }
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        sql += Self.statements.randomElement(using: &random) ?? []
      }
      let ends: [Sessions.End] =
        isEnding ? [.close, .kill, .killAnywhere] : Sessions.End.allCases
      let end = ends.randomElement(using: &random) ?? .close
      try sessions.run(store, end, after: Int.random(in: 0...20_000, using: &random), sql)
      story.append("\(end): \(sql.joined(separator: "; "))")
    }
    return story
  }

  private func look(_ store: String) -> StoreEvidence.WAL? {
    let header = FileEvidence.header(FileEvidence.firstBytes(of: store, count: 100).bytes)
    return LogSnapshot.read(store, header, settlingTime: 20_000_000)
  }

  /// Whatever happens to a store as long as only SQLite touches it, nothing is called lost.
  @Test func healthyLives() throws {
    guard let sessions = try Sessions(for: "healthyLives") else { return }
    var random = Seeded(state: 20_26)
    var looks = 0
    var heard: [SilentLoss.Witness: Int] = [:]
    var doubts: [SilentLoss.Kind: Int] = [:]
    var unsaved = 0
    for life in 0..<75 * Self.scale {
      let bench = try Workbench()
      for launch in 0..<Int.random(in: 2...5, using: &random) {
        try live(sessions, bench.store, &random, isEnding: false)
        // While others may be at work, and once more when all is quiet.
        for isQuiet in [false, true] {
          if isQuiet {
            if Bool.random(using: &random) { try sessions.tick(bench.folder) }
            try sessions.end(killed: Bool.random(using: &random))
          }
          let wal = look(bench.store)
          looks += 1
          #expect(wal?.loss == nil, "life \(life), launch \(launch), quiet \(isQuiet)")
          for witness in wal?.witnesses ?? [] { heard[witness, default: 0] += 1 }
          if let kind = wal?.doubt?.kind { doubts[kind, default: 0] += 1 }
          if let facts = wal?.unrecorded, Int.random(in: 0..<4, using: &random) > 0 {
            facts.write(for: bench.store)
            if facts.main.isSettled, facts.log.unsaved > 0 { unsaved += 1 }
          }
        }
      }
    }
    print(
      "healthy lives: \(looks) looks, heard \(heard), doubts \(doubts), telling records \(unsaved)")
    #expect((heard[.index] ?? 0) > looks / 20 && (heard[.record] ?? 0) > looks / 50)
    #expect(unsaved > looks / 50, "the records could have betrayed something")
  }

  /// Ways to lose a log.
  enum Damage: CaseIterable {
    case removed, removedWithIndex, emptied, halved, cutByAFrame, headerSmashed, zeroed
    case indexRemoved, main
  }

  private func damage(_ damage: Damage, _ store: String, _ random: inout Seeded) throws {
    let log = URL(fileURLWithPath: store + "-wal")
    let manager = FileManager.default
    let content = try bytes(of: log)
    switch damage {
    case .removed: try manager.removeItem(at: log)
    case .removedWithIndex:
      try manager.removeItem(at: log)
      try? manager.removeItem(atPath: store + "-shm")
    case .emptied: try Data().write(to: log)
    case .halved: try Data(content.prefix(content.count / 2)).write(to: log)
    case .cutByAFrame: try Data(content.dropLast(4120)).write(to: log)
    case .headerSmashed:
      try Data([UInt8](repeating: 9, count: 32) + content.dropFirst(32)).write(to: log)
    case .zeroed: try Data([UInt8](repeating: 0, count: content.count)).write(to: log)
    case .indexRemoved: try? manager.removeItem(atPath: store + "-shm")
    case .main: break
    }
  }

  /// The database as SQLite sees it in a copy, all pages; nil when it cannot.
  private func content(_ store: String) throws -> [UInt8]? {
    let folder = try TemporaryFolder()
    for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: store + suffix) {
      try FileManager.default.copyItem(
        atPath: store + suffix, toPath: folder.url.path + "/copy" + suffix)
    }
    var handle: OpaquePointer?
    defer { unsafe _ = sqlite3_close(handle) }
    guard unsafe sqlite3_open(folder.url.path + "/copy", &handle) == SQLITE_OK else { return nil }
    var size: Int64 = 0
    guard let bytes = unsafe sqlite3_serialize(handle, "main", &size, 0) else { return nil }
    defer { unsafe sqlite3_free(bytes) }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(size)))
  }

  /// What is called a certain loss is one, as long as no connection without an index saved the frames meanwhile: SQLite reads other pages than before. And what the index or the record
  /// could tell is told.
  @Test func damagedLives() throws {
    guard let sessions = try Sessions(for: "damagedLives") else { return }
    var random = Seeded(state: 20_27)
    var lost: [Damage: Int] = [:]
    var told: [Damage: Int] = [:]
    var doubted: [Damage: Int] = [:]
    for life in 0..<75 * Self.scale {
      let bench = try Workbench()
      var story: [String] = []
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        story += try live(sessions, bench.store, &random, isEnding: true, hasExclusive: false)
        if Bool.random(using: &random) { try sessions.tick(bench.folder) }
        look(bench.store)?.unrecorded?.write(for: bench.store)
      }
      guard (try? bytes(of: URL(fileURLWithPath: bench.store + "-wal")).isEmpty) == false,
        let before = try content(bench.store)
      else { continue }
      let kind = Damage.allCases.randomElement(using: &random) ?? .halved
      try damage(kind, bench.store, &random)
      let after = try content(bench.store)
      let wal = look(bench.store)
      if after != before {
        lost[kind, default: 0] += 1
        if wal?.loss != nil { told[kind, default: 0] += 1 }
        if wal?.doubt != nil { doubted[kind, default: 0] += 1 }
      } else if wal?.loss != nil {
        Issue.record(
          "life \(life): \(kind) lost nothing, yet: \(wal?.loss as Any); \(story)"
        )
      }
    }
    print("damaged lives: lost \(lost), told \(told), doubted \(doubted)")
    // How many depends on times of files, and so on the machine's load.
    let (toldCount, lostCount) = (told.values.reduce(0, +), lost.values.reduce(0, +))
    #expect(toldCount * 4 > lostCount)
  }
}
