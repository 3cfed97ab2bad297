import StoreFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct LogTests {
  private func damage(_ path: String, at offset: Int) throws {
    let url = URL(fileURLWithPath: path)
    let byte = try bytes(of: url)[offset]
    try overwrite(url, at: offset, bytes: [byte ^ 0x5a])
  }

  /// A byte of the log's header: its magic number, page size, salt or checksum. SQLite would open the store
  /// without the 50 rows in the log, and say nothing.
  @Test(arguments: [0, 3, 9, 17, 25])
  func damagedHeader(offset: Int) throws {
    let bench = try Workbench()
    try bench.makeStore()
    #expect(try Database.rows(ofSetIn: bench.folder) == 60)
    try damage(bench.store + "-wal", at: offset)
    try FileManager.default.removeItem(atPath: bench.store + "-shm")
    #expect(try Database.rows(ofSetIn: bench.folder) == 10, "what SQLite makes of it")
    let before = treeState(of: URL(fileURLWithPath: bench.folder))
    let calls = Counter()
    var policy = Policy()
    policy.keepsDamagedLogs = false
    let recovery = Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: "1"), policy: policy)
    let error = #expect(throws: StoreRecoveryError.self) {
      try recovery.openSynchronously { _ in calls.next() }
    }
    #expect(error?.code == .refused)
    #expect(error?.message.contains("store.walDamaged") == true)
    #expect(calls.count == 0)
    #expect(recovery.judge(try recovery.examine()).verdict.rule.rawValue == "store.walDamaged")
    #expect(treeState(of: URL(fileURLWithPath: bench.folder)) == before)
  }

  /// By default the app goes on with what SQLite reads, after the whole set has been copied into an incident.
  @Test func aCopyIsKeptBeforeTheLogIsDropped() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try damage(bench.store + "-wal", at: 17)
    let before = bench.snapshot()
    // An opener that fails keeps the copy, and the next launch does not make another.
    #expect(throws: HostError.self) {
      try bench.recovery().openSynchronously { _ in throw HostError() }
    }
    #expect(bench.snapshot() == before)
    let kept = bench.incompatible + "/" + Workbench.stamp
    let events = Counter()
    var policy = Workbench.policy()
    policy.report = { event in
      if case .rowsLost(let loss) = event { events.next("lost \(loss.kind)") }
      if case .copied(let incident) = event { events.next("copied \(incident.id)") }
    }
    let opened = try bench.recovery(policy: policy).openSynchronously { try Database.open($0) }
    #expect(try opened.handle.number("SELECT count(*) FROM ZTASK") == 10)
    opened.handle.close()
    let incident = try #require(opened.incident)
    #expect(incident.id == Workbench.stamp)
    #expect(incident.kind == .copied)
    #expect(opened.loss?.kind == .headerDamaged)
    #expect(events.notes == ["copied " + Workbench.stamp, "lost headerDamaged"])
    #expect(bench.snapshot(in: kept + "/store") == before)
    #expect(bench.names(kept) == ["incident.json", "incident.txt", "store"])
    #expect(bench.names(bench.incompatible) == [".lease", Workbench.stamp])
    let sealed = try #require(incident.seal)
    let now = try StoreSeal(sealing: StoreSet(at: kept + "/store/Done.sqlite"))
    #expect(sealed.differences(from: now).isEmpty)
    // The log that SQLite began anew is sound, so the next launch is a normal one.
    let next = try bench.recovery().openSynchronously { try Database.open($0).close() }
    #expect(next.incident == nil)
    #expect(next.loss == nil)
  }

  /// Of a large set only the log is copied, which is all that SQLite drops.
  @Test func ofALargeSetTheLogIsKept() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try damage(bench.store + "-wal", at: 17)
    let log = try #require(bench.bytes("Done.sqlite-wal"))
    var policy = Workbench.policy()
    policy.maximumCopyBytes = 1000
    let opened = try bench.recovery(policy: policy).openSynchronously { try Database.open($0) }
    opened.handle.close()
    let kept = "Incompatible/\(Workbench.stamp)/store/"
    #expect(opened.incident?.kind == .copied)
    #expect(bench.names(bench.folder + "/" + kept) == ["Done.sqlite-shm", "Done.sqlite-wal"])
    #expect(bench.bytes(kept + "Done.sqlite-wal") == log)
    #expect(
      try Incidents(in: URL(fileURLWithPath: bench.folder)).verify(Workbench.stamp).isSound)
  }

  /// A log that is damaged at each launch does not fill the disk.
  @Test func copiesAreCounted() throws {
    let bench = try Workbench()
    var policy = Workbench.policy()
    policy.maximumQuarantines = 2
    for round in 1...3 {
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: bench.store + suffix)
      }
      try bench.makeStore()
      try damage(bench.store + "-wal", at: 16 + round)
      let outcome = bench.recovery(policy: policy).attemptSynchronously { _ in round }
      if case .failed(let failed) = outcome {
        #expect(round == 3)
        #expect(failed.verdict.rule.rawValue == "store.walDamaged")
      } else {
        #expect(round < 3)
      }
    }
    #expect(bench.names(bench.incompatible).count { !$0.hasPrefix(".") } == 2)
  }

  /// The record of a copy is not the copy: one that went back, or that somebody has removed, is made again.
  @Test(arguments: [true, false])
  func aCopyThatIsGoneIsMadeAgain(isRestored: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try damage(bench.store + "-wal", at: 17)
    let before = bench.snapshot()
    _ = try bench.recovery().openSynchronously { _ in true }
    let kept = bench.incompatible + "/" + Workbench.stamp
    #expect(bench.snapshot(in: kept + "/store") == before)
    if isRestored {
      for name in ["Done.sqlite", "Done.sqlite-wal", "Done.sqlite-shm", ".Done_SUPPORT"] {
        try FileManager.default.removeItem(atPath: bench.folder + "/" + name)
      }
      _ = try Incidents(in: bench.folder, fileSystem: .real).restore(Workbench.stamp)
    } else {
      try FileManager.default.removeItem(atPath: kept + "/store")
    }
    #expect(bench.snapshot() == before)
    let opened = try bench.recovery().openSynchronously { try Database.open($0).close() }
    let id = try #require(opened.incident?.id)
    #expect(id != Workbench.stamp)
    #expect(bench.snapshot(in: bench.incompatible + "/" + id + "/store") == before)
  }

  /// After a power cut, an incident without the entries of its folder would be the only copy.
  @Test func theCopyIsDurableBeforeItHasItsName() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try damage(bench.store + "-wal", at: 17)
    let calls = Counter()
    let system = FileSystem.watched { call, path in _ = calls.next("\(call) \(path)") }
    _ = try bench.recovery(fileSystem: system).openSynchronously { _ in true }
    let synced = try #require(
      calls.notes.firstIndex { $0.hasPrefix("syncFolder ") && $0.hasSuffix("/kept/store") })
    let named = try #require(
      calls.notes.firstIndex { $0.hasPrefix("rename ") && $0.hasSuffix("/" + Workbench.stamp) })
    #expect(synced < named)
  }

  /// A set that cannot be listed to its end is not copied, and the reason is told.
  @Test func aSetThatIsNotWholeIsNotCopied() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.createDirectory(
      atPath: bench.folder + "/.Done_SUPPORT" + String(repeating: "/deep", count: 40),
      withIntermediateDirectories: true)
    try damage(bench.store + "-wal", at: 17)
    let events = Counter()
    var policy = Workbench.policy()
    policy.report = { event in
      if case .setAsideFailed(let error) = event {
        events.next((error as? StoreRecoveryError)?.message ?? "")
      }
    }
    #expect(throws: StoreRecoveryError.self) {
      try bench.recovery(policy: policy).openSynchronously { _ in Issue.record("it opens") }
    }
    #expect(events.notes.count == 1)
    #expect(events.notes.first?.contains("folders deep") == true, "\(events.notes)")
    #expect(!bench.names().contains("Incompatible"))
  }

  /// The pages that are lost with a log of many commits, in which the database grows and shrinks, are those that a
  /// checkpoint of the sound log changes.
  @Test func lostPagesOfManyCommits() throws {
    let bench = try Workbench()
    let database = try Database(bench.store)
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)"
    try database.run("PRAGMA page_size=512; PRAGMA auto_vacuum=FULL; PRAGMA journal_mode=WAL")
    try database.run("PRAGMA wal_autocheckpoint=0; CREATE TABLE t(a INTEGER PRIMARY KEY, b)")
    try database.run("INSERT INTO t(b) \(many) SELECT randomblob(400) FROM n")
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    for row in Array(1...20) + [1] {
      try database.run("UPDATE t SET b = randomblob(400) WHERE a = \(row)")
      if row % 10 == 0 { try database.run("DELETE FROM t WHERE a > \(60 - row)") }
      if row == 15 { try database.run("INSERT INTO t(b) \(many) SELECT randomblob(300) FROM n") }
      if row == 18 { try database.run("DELETE FROM t WHERE a > 50") }
    }
    let main = try bytes(of: URL(fileURLWithPath: bench.store))
    let log = try Data(contentsOf: URL(fileURLWithPath: bench.store + "-wal"))
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    let after = try bytes(of: URL(fileURLWithPath: bench.store))
    database.close()
    let changed = stride(from: 0, to: after.count, by: 512).count { place in
      place + 512 > main.count || main[place..<place + 512] != after[place..<place + 512]
    }
    #expect(after.count < main.count && changed > 10 && changed < after.count / 512)
    try Data(main).write(to: URL(fileURLWithPath: bench.store))
    try log.write(to: URL(fileURLWithPath: bench.store + "-wal"))
    try? FileManager.default.removeItem(atPath: bench.store + "-shm")
    try damage(bench.store + "-wal", at: 17)
    #expect(try bench.recovery().examine().wal?.lostFrames == changed)
  }

  /// The waits for a process that has such a store open do not add up.
  @Test func waitsOnce() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try damage(bench.store + "-wal", at: 17)
    var policy = Workbench.policy()
    policy.maximumWaitSeconds = 0
    try lockedElsewhere(bench.store) {
      let outcome = bench.recovery(policy: policy).attemptSynchronously { _ in true }
      guard case .failed(let failed) = outcome else { return #expect(Bool(false), "it opened") }
      #expect(failed.verdict.rule.rawValue == "store.walDamaged")
      // All checks of an open share one deadline: after it, a check looks once and does not sleep.
      let deadline = Deadline(seconds: 0)
      for _ in 0..<2 {
        #expect(DatabaseLock.isUsed(bench.store, until: deadline) == true)
        #expect(!deadline.sleepsBriefly())
      }
    }
  }

  /// Without space for the copy the store stays closed, and no run leaves half a copy.
  @Test func theCopyIsWholeOrNotThere() throws {
    struct Stop: Error {}
    var steps = 1
    while true {
      let bench = try Workbench()
      try bench.makeStore()
      try damage(bench.store + "-wal", at: 17)
      let before = bench.snapshot()
      let calls = Counter()
      let step = steps
      let dying = FileSystem.watched { call, path in
        if calls.next("\(call) \(path)") >= step { throw Stop() }
      }
      let outcome = bench.recovery(fileSystem: dying).attemptSynchronously { _ in calls.count }
      if calls.count < step { break }
      if case .opened(let opened) = outcome {
        #expect(opened.incident != nil, "step \(step)")
      }
      #expect(bench.snapshot() == before)
      for entry in try Incidents(in: URL(fileURLWithPath: bench.folder)).list() {
        #expect(entry.problem == nil, "step \(step)")
        #expect(bench.snapshot(in: entry.folder + "/store") == before)
      }
      _ = try bench.recovery().openSynchronously { try Database.open($0).close() }
      #expect(bench.names(bench.incompatible) == [".lease", Workbench.stamp], "step \(step)")
      steps += 1
    }
    #expect(steps > 15)
    let bench = try Workbench()
    try bench.makeStore()
    try damage(bench.store + "-wal", at: 17)
    var full = FileSystem.real
    full.freeSpace = { _ in 1000 }
    #expect(throws: StoreRecoveryError.self) {
      try bench.recovery(fileSystem: full).openSynchronously { _ in Issue.record("it opens") }
    }
  }

  /// The same for logs of which all is in the main file already, or that hold no commit: nothing is lost.
  @Test(arguments: ["wal-all-checkpointed", "wal-uncommitted-only"])
  func damagedHeaderWithoutLoss(name: String) throws {
    let store = try RealStore(try StoreFixtures.named(name))
    try damage(store.url.path + "-wal", at: 17)
    let evidence = try store.recovery.examine()
    #expect(evidence.wal?.isHeaderSound == false)
    #expect(evidence.wal?.lostFrames == 0)
    #expect(try store.recovery.openSynchronously { _ in true }.handle)
  }

  /// A frame that does not hold proves nothing: it is not taken for lost content.
  @Test func damagedFrameBehindADamagedHeader() throws {
    let store = try RealStore(try StoreFixtures.named("wal-all-checkpointed"))
    let log = try WALFile(URL(fileURLWithPath: store.url.path + "-wal"))
    let counts = Dictionary(log.frames.map { ($0.page, 1) }, uniquingKeysWith: +)
    let once = try #require(
      log.frames.firstIndex { counts[$0.page] == 1 && $0.commit == 0 && $0.page > 1 })
    try damage(store.url.path + "-wal", at: 17)
    try damage(store.url.path + "-wal", at: 32 + once * (log.pageSize + 24) + 24 + 100)
    #expect(try store.recovery.examine().wal?.lostFrames == 0)
  }

  /// Behind a log that was restarted lie frames of its earlier generation. Without the header, they are not taken for
  /// the newest: not even when the new generation is one frame.
  @Test(arguments: [true, false]) func damagedHeaderOfARestartedLog(isSaved: Bool) throws {
    let bench = try Workbench()
    let database = try Database(bench.store)
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
    try database.run("PRAGMA journal_mode=WAL; CREATE TABLE t(a INTEGER PRIMARY KEY, b)")
    try database.run("INSERT INTO t(b) \(many) SELECT randomblob(900) FROM n")
    try database.run("PRAGMA wal_checkpoint(FULL)")
    // The pages of the earlier generation change once more, each in a log of one frame.
    for row in 1...40 {
      try database.run("UPDATE t SET b = randomblob(900) WHERE a = \(row)")
      if row < 40 || isSaved { try database.run("PRAGMA wal_checkpoint(FULL)") }
    }
    let files = try ["", "-wal"].map {
      ($0, try Data(contentsOf: URL(fileURLWithPath: bench.store + $0)))
    }
    database.close()
    for (suffix, data) in files {
      try data.write(to: URL(fileURLWithPath: bench.store + suffix))
    }
    try overwrite(
      URL(fileURLWithPath: bench.store + "-wal"), at: 0, bytes: [UInt8](repeating: 9, count: 32))
    let wal = try bench.recovery().examine().wal
    #expect(wal?.isHeaderSound == false)
    #expect(wal?.lostFrames == (isSaved ? 0 : 1))
  }

  @Test(arguments: ["wal-committed", "wal-page-512", "wal-page-65536", "wal-big-endian"])
  func damagedHeaderOfOtherLogs(name: String) throws {
    let store = try RealStore(try StoreFixtures.named(name))
    try damage(store.url.path + "-wal", at: 0)
    #expect((try store.recovery.examine().wal?.lostFrames ?? 0) > 0)
  }

  /// SQLite reads a log up to the first frame that does not hold. What it drops is told, and the store opens:
  /// a power cut leaves such logs, too.
  @Test func damagedFrame() throws {
    let store = try RealStore(try StoreFixtures.named("wal-several-commits"))
    let log = try WALFile(URL(fileURLWithPath: store.url.path + "-wal"))
    try damage(store.url.path + "-wal", at: 32 + 2 * (log.pageSize + 24) + 24 + 100)
    let before = store.state
    let evidence = try store.recovery.examine()
    #expect(evidence.wal?.isHeaderSound == true)
    #expect((evidence.wal?.lostFrames ?? 0) > 0)
    #expect((evidence.wal?.committedFrames ?? .max) <= 2)
    #expect(store.state == before)
    #expect(try store.recovery.openSynchronously { _ in true }.handle)
  }

  /// Another process has the store open: it is not moved away under it.
  @Test func usedElsewhere() throws {
    let bench = try Workbench()
    try bench.makeStore()
    var policy = Workbench.policy()
    policy.maximumWaitSeconds = 0.1
    let recovery = bench.recovery(policy: policy, structure: Workbench.mismatching)
    try lockedElsewhere(bench.store) {
      let before = treeState(of: URL(fileURLWithPath: bench.folder))
      #expect(throws: HostError.self) {
        try recovery.openSynchronously(expecting: Workbench.model) { _ in throw HostError() }
      }
      let verdict = recovery.judge(try recovery.examine(expecting: Workbench.model)).verdict
      #expect(verdict.rule.rawValue == "hold.shared")
      #expect(treeState(of: URL(fileURLWithPath: bench.folder)) == before)
    }
    #expect(
      recovery.judge(try recovery.examine(expecting: Workbench.model)).verdict.action == .quarantine
    )
  }
}
