import Fixtures
import Foundation
import SafeFiles
import Testing

@testable import StoreRecovery

/// What a launch sees before its opener runs. Times settle after 20 ms here, more than a tick of the clock that
/// files get their times from.
private func look(_ store: String) -> StoreEvidence.WAL? {
  let header = FileEvidence.header(FileEvidence.firstBytes(of: store, count: 100).bytes)
  return LogSnapshot.read(store, header, settlingTime: 20_000_000)
}

private func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

private func size(_ path: String) throws -> Int {
  try bytes(of: URL(fileURLWithPath: path)).count
}

private let create = ["PRAGMA journal_mode=WAL", "CREATE TABLE t(a INTEGER PRIMARY KEY, b)"]
private let insert = "INSERT INTO t(b) VALUES(randomblob(200))"

/// The rows that SQLite sees in a copy of the set.
private func rows(_ store: String, withoutIndex: Bool = true) throws -> [String] {
  let folder = try TemporaryFolder()
  for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: store + suffix) {
    try FileManager.default.copyItem(
      atPath: store + suffix, toPath: folder.url.path + "/copy" + suffix)
  }
  let connection = try SQLiteConnection(folder.url.path + "/copy")
  defer { connection.close() }
  return try connection.rows("SELECT a, hex(b) FROM t ORDER BY a").map { "\($0)" }
}

@Suite(.serialized) struct SilentLossTests {
  /// A store of an earlier session, then one that wrote 50 rows and was killed.
  private func killed(_ sessions: Sessions, _ bench: Workbench) throws {
    try sessions.run(bench.store, .close, create + Array(repeating: insert, count: 10))
    try sessions.tick(bench.folder)
    try sessions.run(bench.store, .kill, Array(repeating: insert, count: 50))
    #expect(try rows(bench.store).count == 60)
    #expect(look(bench.store)?.loss == nil)
    #expect(look(bench.store)?.witnesses == [.index])
  }

  /// The record that is written once the main file's time proves something.
  @discardableResult
  private func recorded(_ sessions: Sessions, _ bench: Workbench) throws -> HealthyOpen {
    while true {
      if let facts = look(bench.store)?.unrecorded, facts.main.isSettled {
        #expect(facts.log.unsaved > 0)
        facts.write(for: bench.store)
        return facts
      }
      try sessions.tick(bench.folder)
    }
  }

  @Test func goneWithItsIndexLeft() throws {
    guard let sessions = try Sessions(for: "goneWithItsIndexLeft") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    let frames = look(bench.store)?.unrecorded?.log.frames
    try remove(bench.store + "-wal")
    #expect(try rows(bench.store).count == 10, "what SQLite makes of it")
    let loss = try #require(look(bench.store)?.loss)
    #expect(loss.kind == .gone && loss.witness == .index)
    #expect(loss.frames == frames.map(Int.init) && (loss.frames ?? 0) >= 50)
    try Data().write(to: URL(fileURLWithPath: bench.store + "-wal"))
    #expect(look(bench.store)?.loss == loss, "an empty log is none")
  }

  /// Log and index are both gone: only the record of the last healthy open knows.
  @Test func goneWithItsIndex() throws {
    guard let sessions = try Sessions(for: "goneWithItsIndex") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    let facts = try recorded(sessions, bench)
    #expect(HealthyOpen.read(for: bench.store) == facts)
    #expect(look(bench.store)?.unrecorded == nil, "nothing new to record")
    #expect(look(bench.store)?.witnesses == [.index, .record])
    try remove(bench.store + "-shm")
    #expect(look(bench.store)?.witnesses == [.record])
    try remove(bench.store + "-wal")
    let loss = try #require(look(bench.store)?.loss)
    #expect(loss.kind == .gone && loss.witness == .record && (loss.frames ?? 0) >= 50)
    var evidence = FileEvidence.read(bench.store)
    #expect(evidence.silentLossSentence?.contains("the write-ahead log is gone") == true)
    evidence.wal?.loss = nil
    #expect(evidence.silentLossSentence?.contains("cannot be excluded") == true)
  }

  @Test func halved() throws {
    guard let sessions = try Sessions(for: "halved") else { return }
    for withRecord in [false, true] {
      let bench = try Workbench()
      try killed(sessions, bench)
      let log = bench.store + "-wal"
      try recorded(sessions, bench)
      if withRecord { try remove(bench.store + "-shm") }
      let half = try bytes(of: URL(fileURLWithPath: log))
      try Data(half.prefix(half.count / 2)).write(to: URL(fileURLWithPath: log))
      let seen = try rows(bench.store).count
      #expect(seen > 10 && seen < 60, "what SQLite makes of it")
      let loss = try #require(look(bench.store)?.loss)
      #expect(loss.kind == .cutShort)
      #expect(loss.witness == (withRecord ? .record : .index))
      #expect((loss.frames ?? 0) > 20)
    }
  }

  /// The end of the log is there in length, not in content.
  @Test func endOverwritten() throws {
    guard let sessions = try Sessions(for: "endOverwritten") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    let log = bench.store + "-wal"
    let count = try size(log)
    try overwrite(
      URL(fileURLWithPath: log), at: count - 10_000, bytes: [UInt8](repeating: 0, count: 10_000))
    #expect(try rows(bench.store).count < 60)
    #expect(look(bench.store)?.loss?.kind == .cutShort)
  }

  /// All of it, so that no checksum is left that could prove anything.
  @Test func headerAndFramesOverwritten() throws {
    guard let sessions = try Sessions(for: "headerAndFramesOverwritten") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    let log = bench.store + "-wal"
    try overwrite(
      URL(fileURLWithPath: log), at: 0, bytes: [UInt8](repeating: 0, count: try size(log)))
    #expect(try rows(bench.store).count == 10)
    let loss = try #require(look(bench.store)?.loss)
    #expect(loss.kind == .headerDamaged && loss.witness == .index && loss.keptPages == 0)
  }

  @Test func headerOverwritten() throws {
    guard let sessions = try Sessions(for: "headerOverwritten") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    try overwrite(
      URL(fileURLWithPath: bench.store + "-wal"), at: 0, bytes: [UInt8](repeating: 7, count: 32))
    let loss = try #require(look(bench.store)?.loss)
    #expect(loss.kind == .headerDamaged && loss.witness == .log && (loss.keptPages ?? 0) > 0)
  }

  @Test func onePageIsNotPages() {
    let loss = SilentLoss(kind: .headerDamaged, witness: .log, frames: 1, keptPages: 1)
    #expect(loss.sentence.contains("at least 1 committed frame;"))
    #expect(loss.sentence.contains("the newest content of 1 page is still in the log"))
    var evidence = StoreEvidence(mainKind: .file, mainSizeBytes: 4096)
    evidence.wal = .init(sizeBytes: 4152, loss: loss)
    #expect(classify(evidence).reason.hasSuffix("the newest content of 1 page"))
  }

  /// The log of another database, or an older log of the same, in place of its own.
  @Test func logExchanged() throws {
    guard let sessions = try Sessions(for: "logExchanged") else { return }
    for withRecord in [false, true] {
      let bench = try Workbench()
      try killed(sessions, bench)
      let salts = try #require(LogSnapshot(at: bench.store)?.log?.salts)
      var other = try Workbench()
      try killed(sessions, other)
      // Salts are random, so by chance (one time in 4,096) SQLite could have counted up to the other's.
      while LogSnapshot(at: other.store)?.log?.follows(salts) != false {
        other = try Workbench()
        try killed(sessions, other)
      }
      try recorded(sessions, bench)
      if withRecord { try remove(bench.store + "-shm") }
      try remove(bench.store + "-wal")
      try FileManager.default.copyItem(atPath: other.store + "-wal", toPath: bench.store + "-wal")
      let loss = try #require(look(bench.store)?.loss)
      #expect(loss.kind == .foreign)
      #expect(loss.witness == (withRecord ? .record : .index))
    }
  }

  @Test func logOfAnotherPageSize() throws {
    guard let sessions = try Sessions(for: "logOfAnotherPageSize") else { return }
    let bench = try Workbench()
    let other = try Workbench()
    try killed(sessions, bench)
    try sessions.run(other.store, .kill, ["PRAGMA page_size=512"] + create + [insert])
    for suffix in ["-wal", "-shm"] { try remove(bench.store + suffix) }
    try FileManager.default.copyItem(atPath: other.store + "-wal", toPath: bench.store + "-wal")
    let loss = try #require(look(bench.store)?.loss)
    #expect(loss.kind == .foreign && loss.witness == .log)
  }

  /// Another database under the log: SQLite shows the log's rows in it.
  @Test func mainExchanged() throws {
    guard let sessions = try Sessions(for: "mainExchanged") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    look(bench.store)?.unrecorded?.write(for: bench.store)
    let other = try Workbench()
    try sessions.run(other.store, .close, create + [insert])
    try FileManager.default.copyItem(atPath: other.store, toPath: bench.store + ".new")
    #expect(unsafe rename(bench.store + ".new", bench.store) == 0)
    let loss = try #require(look(bench.store)?.loss)
    #expect(loss.kind == .foreign && loss.witness == .record)
  }

  // MARK: No alarm

  /// The whole set copied elsewhere, with its record or with a stranger's.
  @Test func copiedSet() throws {
    guard let sessions = try Sessions(for: "copiedSet") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    try recorded(sessions, bench)
    let copy = try Workbench()
    for suffix in ["-shm", "-wal", ""] {
      try FileManager.default.copyItem(
        atPath: bench.store + suffix, toPath: copy.store + suffix)
    }
    try FileManager.default.copyItem(
      atPath: HealthyOpen.path(for: bench.store), toPath: HealthyOpen.path(for: copy.store))
    #expect(look(copy.store)?.loss == nil && look(copy.store)?.doubt == nil)
    try remove(copy.store + "-shm")
    #expect(look(copy.store)?.loss == nil && look(copy.store)?.doubt == nil)
    // A copy of the main file alone: nothing says that it had a log, but a stranger's index raises a doubt.
    try remove(copy.store + "-wal")
    #expect(look(copy.store)?.loss == nil && look(copy.store)?.doubt == nil)
  }

  /// A connection that keeps the index in its memory leaves an old one behind, saves all of the log and goes.
  @Test func indexOfAnEarlierSession() throws {
    guard let sessions = try Sessions(for: "indexOfAnEarlierSession") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    try sessions.run(bench.store, .close, ["PRAGMA locking_mode=EXCLUSIVE", insert])
    #expect(bench.names().contains("Done.sqlite-shm") && !bench.names().contains("Done.sqlite-wal"))
    #expect(try rows(bench.store).count == 61)
    #expect(look(bench.store)?.loss == nil)
    #expect(look(bench.store)?.doubt?.kind == .gone, "a doubt it is")
  }

  /// As Apple's SQLite leaves them: the log is kept when all is closed, empty or whole.
  @Test func keptLog() throws {
    guard let sessions = try Sessions(for: "keptLog") else { return }
    let bench = try Workbench()
    try sessions.run(bench.store, .stay, create + [insert])
    let before = try ["-wal", "-shm"].map { try bytes(of: URL(fileURLWithPath: bench.store + $0)) }
    try sessions.run(bench.store, .kill, ["PRAGMA wal_checkpoint(PASSIVE)"])
    let shm = try bytes(of: URL(fileURLWithPath: bench.store + "-shm"))
    try sessions.end(killed: false)
    #expect(before[1] != shm, "the checkpoint is in the index")
    for log in [Data(), Data(before[0])] {
      try log.write(to: URL(fileURLWithPath: bench.store + "-wal"))
      try Data(shm).write(to: URL(fileURLWithPath: bench.store + "-shm"))
      #expect(look(bench.store)?.loss == nil && look(bench.store)?.doubt == nil)
      #expect(look(bench.store)?.witnesses == [.index])
    }
  }

  /// The clock of files has steps: a checkpoint within one leaves no trace in the main file's time.
  @Test func recordOfAFileThatWasJustWritten() throws {
    guard let sessions = try Sessions(for: "recordOfAFileThatWasJustWritten") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    var facts = try #require(look(bench.store)?.unrecorded)
    facts.main.isSettled = false
    facts.write(for: bench.store)
    for suffix in ["-wal", "-shm"] { try remove(bench.store + suffix) }
    #expect(look(bench.store)?.loss == nil)
  }

  // MARK: The record

  @Test func recordsThatAreNone() throws {
    let bench = try Workbench()
    let facts = HealthyOpen(
      main: .init(inode: 1, size: 2, modified: -3, changeCounter: 4, isSettled: true),
      log: .init(inode: 5, salts: .max, frames: 7, unsaved: 6))
    facts.write(for: bench.store)
    let record = URL(fileURLWithPath: HealthyOpen.path(for: bench.store))
    #expect(record.lastPathComponent == ".Done.sqlite.lifeboat")
    #expect(HealthyOpen.read(for: bench.store) == facts)
    let whole = try bytes(of: record)
    #expect(whole.count == HealthyOpen.length)
    for offset in whole.indices {
      try overwrite(record, at: offset, bytes: [whole[offset] ^ 0x10])
      #expect(HealthyOpen.read(for: bench.store) == nil)
      try overwrite(record, at: offset, bytes: [whole[offset]])
    }
    for count in [0, 1, 79, 81, 4000] {
      try Data([UInt8](repeating: 1, count: count)).write(to: record)
      #expect(HealthyOpen.read(for: bench.store) == nil)
      facts.write(for: bench.store)
      // What has another length is not ours.
      #expect(HealthyOpen.read(for: bench.store) == (count == 0 ? facts : nil))
    }
    try remove(record.path)
    try FileManager.default.createSymbolicLink(
      atPath: record.path, withDestinationPath: bench.folder + "/elsewhere")
    facts.write(for: bench.store)
    #expect(!bench.names().contains("elsewhere"))
    try remove(record.path)
    try FileManager.default.createDirectory(at: record, withIntermediateDirectories: false)
    facts.write(for: bench.store)
    #expect(HealthyOpen.read(for: bench.store) == nil)
  }

  /// Any bytes in the index and the record, with checksums that hold or not: never a crash.
  @Test func hostileBytes() throws {
    guard let sessions = try Sessions(for: "hostileBytes") else { return }
    let bench = try Workbench()
    try killed(sessions, bench)
    look(bench.store)?.unrecorded?.write(for: bench.store)
    var random = Seeded(state: 7)
    let index = URL(fileURLWithPath: bench.store + "-shm")
    let log = URL(fileURLWithPath: bench.store + "-wal")
    let first = try (index: bytes(of: index), log: bytes(of: log))
    for _ in 0..<500 {
      var changed = Array(first.index.prefix(136))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let value: UInt8 = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &random) ?? 0
        changed[Int.random(in: 0..<40, using: &random)] = value
        changed[Int.random(in: 96..<136, using: &random)] = value
      }
      var sum: (UInt32, UInt32) = (0, 0)
      func word(_ offset: Int) -> UInt32 {
        unsafe changed.withUnsafeBytes {
          unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        }
      }
      for offset in stride(from: 0, to: 40, by: 8) {
        sum.0 = sum.0 &+ word(offset) &+ sum.1
        sum.1 = sum.1 &+ word(offset + 4) &+ sum.0
      }
      for (offset, number) in [(40, sum.0), (44, sum.1)] {
        unsafe withUnsafeBytes(of: number) {
          unsafe changed.replaceSubrange(offset..<offset + 4, with: $0)
        }
      }
      changed.replaceSubrange(48..<96, with: changed[0..<48])
      try Data(changed).write(to: index)
      try overwrite(
        log, at: Int.random(in: 0..<32, using: &random),
        bytes: [UInt8.random(in: 0...255, using: &random)])
      _ = look(bench.store)
      try Data(first.log.prefix(Int.random(in: 0...first.log.count, using: &random))).write(to: log)
      _ = look(bench.store)
      try Data(first.log).write(to: log)
    }
  }
}
