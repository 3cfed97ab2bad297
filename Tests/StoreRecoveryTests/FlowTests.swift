import StoreFiles
import SafeFiles
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct FlowTests {
  @Test func normalLaunch() async throws {
    let bench = try Workbench()
    try bench.makeStore()
    let opened = try bench.recovery().openSynchronously { try Database.open($0) }
    #expect(opened.incident == nil)
    #expect(try opened.handle.number("SELECT count(*) FROM ZTASK") == 60)
    #expect(!bench.names().contains("Incompatible"))
  }

  @Test func newStore() async throws {
    let bench = try Workbench()
    let opened = try await bench.recovery().open { url in
      await Task.yield()
      return try Database.open(url)
    }
    #expect(opened.incident == nil)
  }

  /// Apps without a sandbox may all find the same file.
  @Test(arguments: [nil, 11, 26] as [Int32?])
  func storeOfAnotherApp(code: Int32?) async throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let calls = Counter()
    var policy = Workbench.policy()
    policy.setsAsideOnMismatchAlone = true
    let recovery = bench.recovery(policy: policy, structure: Workbench.mismatching)
    let outcome = await recovery.attempt(
      expecting: ExpectedModel(name: "Other", hashes: hashes(["Track": 1]))
    ) { _ -> Database in
      calls.next()
      if let code { throw SQLiteFailure(code: code) }
      throw HostError()
    }
    guard case .failed(let failed) = outcome else {
      Issue.record("the store opened")
      return
    }
    #expect(calls.count == 1)
    #expect(failed.verdict.finding == .foreign)
    #expect(failed.verdict.rule.rawValue == "model.foreign")
    #expect(
      failed.notice(in: IncidentTexts(preferring: ["en"]), app: "Done").situation == .otherApp)
    #expect(bench.snapshot() == before)
    #expect(!bench.names().contains("Incompatible"))
  }

  /// The whole set moves, no row of the log is lost, and the fresh store takes its place.
  @Test func mismatch() async throws {
    let bench = try Workbench()
    try bench.makeStore()
    try bench.write("half", to: ".Done.sqlite.migrationdestination_41b5")
    let before = bench.snapshot()
    #expect(before.count == 7)
    let calls = Counter()
    let opened = try await bench.recovery(structure: Workbench.mismatching).open(
      expecting: Workbench.model
    ) { url in
      if calls.next() <= 2 { throw HostError() }
      return try Database.open(url)
    }
    #expect(calls.count == 3)
    #expect(try opened.handle.number("SELECT count(*) FROM ZTASK") == 0)
    opened.handle.close()
    let incident = try #require(opened.incident)
    #expect(incident.id == Workbench.stamp)
    #expect(incident.verdict.action == .quarantine)
    #expect(incident.verdict.finding == .incompatible)
    #expect(incident.model?.differing == ["Task"])
    #expect(incident.storeUUID == "0C2E9C3A")
    let folder = bench.incompatible + "/" + Workbench.stamp
    #expect(bench.names(folder) == ["incident.json", "incident.txt", "store"])
    #expect(bench.snapshot(in: folder + "/store") == before)
    #expect(try Database.rows(ofSetIn: folder + "/store") == 60)
    #expect(!bench.names().contains(".Done_SUPPORT"))
    let text = try #require(bench.bytes("Incompatible/\(Workbench.stamp)/incident.txt"))
    let words = String(decoding: text, as: UTF8.self)
    #expect(!words.contains(bench.folder))
    let json = try #require(bench.bytes("Incompatible/\(Workbench.stamp)/incident.json"))
    let object = try #require(
      try JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(object["schema"] as? String == "lifeboat.incident")
    #expect(object["version"] as? Int == 1)
    #expect(object["created"] as? String == "2026-11-20T21:53:07Z")
    let listed = try Incidents(in: URL(fileURLWithPath: bench.folder)).list()
    #expect(listed.map(\.incident) == [incident])
  }

  @Test func secondOpenThatWorksMovesNothing() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let calls = Counter()
    let opened = try bench.recovery(structure: Workbench.mismatching).openSynchronously(
      expecting: Workbench.model
    ) { url in
      if calls.next() == 1 { throw HostError() }
      return try Database.open(url)
    }
    #expect(opened.incident == nil)
    #expect(try opened.handle.number("SELECT count(*) FROM ZTASK") == 60)
  }

  @Test func healthyStoreAndHostError() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let mine = HostError()
    let error = #expect(throws: HostError.self) {
      try bench.recovery(structure: { _, evidence in
        evidence.structure = .init(findings: [], findingCount: 0, isUnopenable: false)
        evidence.recordedHashes = hashes(["Task": 0xcc, "Tag": 0xbb])
      }).openSynchronously(expecting: Workbench.model) { _ in throw mine }
    }
    #expect(error === mine)
    #expect(bench.snapshot() == before)
  }

  @Test func busy() throws {
    let bench = try Workbench()
    try bench.makeStore()
    // In another process: closing a file in this one would drop the lock that the test is about.
    let reads = Counter()
    let error = #expect(throws: SQLiteFailure.self) {
      try bench.recovery(structure: { path, evidence in
        reads.next()
        Workbench.mismatching(path, &evidence)
      }).openSynchronously(expecting: Workbench.model) { url in
        let holder = try Database(url.path)
        defer { holder.close() }
        try holder.run("BEGIN EXCLUSIVE; INSERT INTO ZTASK(T) VALUES('x')")
        let database = try Database(url.path)
        defer { database.close() }
        try database.run("BEGIN IMMEDIATE")
      }
    }
    #expect(error == SQLiteFailure(code: 5))
    #expect(reads.count == 0, "a busy store is not read")
    #expect(!bench.names().contains("Incompatible"))
  }

  @Test(arguments: [true, false])
  func corrupt(isConfirmed: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.removeItem(atPath: bench.store + "-wal")
    try FileManager.default.removeItem(atPath: bench.store + "-shm")
    var bytes = try #require(bench.bytes("Done.sqlite"))
    for offset in 100..<200 { bytes[offset] = 0xEE }
    try bytes.write(to: URL(fileURLWithPath: bench.store))
    let structure: StructureReader = { _, evidence in
      evidence.structure = .init(
        findings: isConfirmed ? ["page.kind"] : [], findingCount: isConfirmed ? 1 : 0,
        isUnopenable: isConfirmed)
    }
    let recovery = bench.recovery(structure: structure)
    if isConfirmed {
      let opened = try recovery.openSynchronously { try Database.open($0) }
      #expect(opened.incident?.verdict.finding == .corrupt)
      #expect(opened.incident?.evidence.failure?.sqliteCode == 11)
      #expect(bench.bytes("Incompatible/\(Workbench.stamp)/store/Done.sqlite") == bytes)
    } else {
      let error = #expect(throws: SQLiteFailure.self) {
        try recovery.openSynchronously { try Database.open($0) }
      }
      #expect(error == SQLiteFailure(code: 11))
      #expect(bench.bytes("Done.sqlite") == bytes)
    }
  }

  @Test func notADatabase() throws {
    let bench = try Workbench()
    try bench.write(String(repeating: "this is no database. ", count: 300), to: "Done.sqlite")
    let opened = try bench.recovery().openSynchronously { try Database.open($0) }
    #expect(opened.incident?.verdict.finding == .foreign)
    #expect(opened.incident?.verdict.rule.rawValue == "sqlite.26")
  }

  @Test func encrypted() throws {
    let bench = try Workbench()
    var random = Seeded(state: 7)
    let bytes = Data((0..<8192).map { _ in UInt8.random(in: 0...255, using: &random) })
    try bytes.write(to: URL(fileURLWithPath: bench.store))
    let error = #expect(throws: SQLiteFailure.self) {
      try bench.recovery().openSynchronously { try Database.open($0) }
    }
    #expect(error == SQLiteFailure(code: 26))
    #expect(bench.bytes("Done.sqlite") == bytes)
  }

  @Test func permission() throws {
    let bench = try Workbench()
    try bench.makeStore()
    guard getuid() != 0 else {
      print("skipped: permission, as root may read everything")
      return
    }
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: bench.store)
    #expect(throws: SQLiteFailure(code: 14)) {
      try bench.recovery(structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) {
        try Database.open($0)
      }
    }
    #expect(!bench.names().contains("Incompatible"))
  }

  @Test func missingFolder() throws {
    let bench = try Workbench()
    let url = URL(fileURLWithPath: bench.folder + "/nowhere/Done.sqlite")
    let recovery = Recovery(
      url, app: .init(name: "Done", version: "1"), policy: Workbench.policy())
    #expect(throws: SQLiteFailure(code: 14)) {
      try recovery.openSynchronously { try Database.open($0) }
    }
    #expect(bench.names() == [])
  }

  @Test(arguments: ["Done.sqlite-wal", "Done.sqlite"])
  func ghosts(emptied: String) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.removeItem(atPath: bench.store)
    if emptied == "Done.sqlite" { try bench.write("", to: "Done.sqlite") }
    let before = bench.snapshot()
    let calls = Counter()
    let error = #expect(throws: StoreRecoveryError.self) {
      try bench.recovery().openSynchronously { _ in calls.next() }
    }
    #expect(error?.code == .refused)
    #expect(calls.count == 0)
    #expect(bench.snapshot() == before)
  }

  @Test func mainIsALink() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.moveItem(atPath: bench.store, toPath: bench.folder + "/elsewhere")
    try FileManager.default.createSymbolicLink(
      atPath: bench.store, withDestinationPath: bench.folder + "/elsewhere")
    let error = #expect(throws: HostError.self) {
      try bench.recovery(structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { _ in
        throw HostError()
      }
    }
    #expect(error != nil)
    #expect(!bench.names().contains("Incompatible"))
  }

  @Test func quarantineFolderIsALink() throws {
    let bench = try Workbench()
    let other = try Workbench()
    try bench.makeStore()
    try FileManager.default.createSymbolicLink(
      atPath: bench.incompatible, withDestinationPath: other.folder)
    let before = bench.snapshot()
    #expect(throws: HostError.self) {
      try bench.recovery(structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { _ in
        throw HostError()
      }
    }
    #expect(bench.snapshot() == before)
    #expect(other.names() == [])
  }

  @Test func linkedMembersStayLinks() throws {
    let bench = try Workbench()
    let other = try Workbench()
    try bench.makeStore()
    try other.write("precious", to: "outside")
    let link = bench.folder + "/.Done_SUPPORT/link"
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: other.folder + "/outside")
    let opened = try moved(bench)
    #expect(opened.incident?.seal?.files.contains { $0.kind == .symbolicLink } == true)
    #expect(other.bytes("outside") == Data("precious".utf8))
    let kept = "\(bench.incompatible)/\(Workbench.stamp)/store/.Done_SUPPORT/link"
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: kept) == other.folder + "/outside")
  }

  @Test func takenNamesAreNumbered() throws {
    let bench = try Workbench()
    for expected in ["", "-2", "-3"] {
      try? FileManager.default.removeItem(atPath: bench.store)
      for suffix in ["-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: bench.store + suffix)
      }
      try bench.makeStore()
      let error = NSError(domain: "Host" + expected, code: 1)
      #expect(try moved(bench, error).incident?.id == Workbench.stamp + expected)
    }
    let listed = try Incidents(in: URL(fileURLWithPath: bench.incompatible)).list()
    #expect(listed.map(\.id) == ["", "-2", "-3"].map { Workbench.stamp + $0 })
  }

  /// A fault that strikes every fresh store does not fill the disk with them.
  @Test func repeatedFaults() throws {
    let bench = try Workbench()
    for round in 1...6 {
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: bench.store + suffix)
      }
      try bench.makeStore()
      if round <= 5 {
        #expect(try moved(bench, NSError(domain: "Host", code: round)).incident != nil)
      } else {
        let before = bench.snapshot()
        #expect(throws: HostError.self) { try moved(bench) }
        #expect(bench.snapshot() == before)
      }
    }
    #expect(bench.names(bench.incompatible).count { !$0.hasPrefix(".") } == 5)
  }

  @Test func permissionsAreKept() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: bench.store)
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o750], ofItemAtPath: bench.folder + "/.Done_SUPPORT")
    _ = try moved(bench)
    let kept = "\(bench.incompatible)/\(Workbench.stamp)/store/"
    #expect(try FileStatus.of(kept + "Done.sqlite")?.mode == 0o640)
    #expect(try FileStatus.of(kept + ".Done_SUPPORT")?.mode == 0o750)
  }

  @Test func fullDisk() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    var full = FileSystem.real
    full.freeSpace = { _ in 1000 }
    let events = Counter()
    var policy = Workbench.policy()
    policy.report = { if case .judged(let verdict) = $0 { events.next(verdict.rule.rawValue) } }
    #expect(throws: HostError.self) {
      try bench.recovery(policy: policy, structure: Workbench.mismatching, fileSystem: full)
        .openSynchronously(
          expecting: Workbench.model
        ) { _ in throw HostError() }
    }
    #expect(events.notes.last == "hold.noSpace")
    #expect(bench.snapshot() == before)
    #expect(!bench.names().contains("Incompatible"))
  }

  /// The fresh store fails: the set is back as it was, and what the opener left is kept apart.
  @Test(arguments: [true, false])
  func freshFails(leavesFiles: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let first = HostError()
    let calls = Counter()
    let error = #expect(throws: HostError.self) {
      try bench.recovery(structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { url in
        switch calls.next() {
        case 1: throw first
        case 2: throw HostError()
        default:
          if leavesFiles {
            try bench.write("left over", to: "Done.sqlite")
            try bench.write("left over too", to: "Done.sqlite-wal")
            try FileManager.default.createDirectory(
              atPath: bench.folder + "/.Done_SUPPORT/x", withIntermediateDirectories: true)
          }
          throw SQLiteFailure(code: 13)
        }
      }
    }
    #expect(error === first)
    #expect(bench.snapshot() == before)
    #expect(try Database.rows(ofSetIn: bench.folder) == 60)
    if leavesFiles {
      let folder = bench.incompatible + "/" + Workbench.stamp
      #expect(
        bench.names(folder) == ["failed-fresh", "incident.json", "incident.txt", "outcome.json"])
      #expect(
        bench.names(folder + "/failed-fresh") == [
          ".Done_SUPPORT", "Done.sqlite", "Done.sqlite-wal",
        ])
      let entry = try Incidents(in: URL(fileURLWithPath: bench.folder)).show(Workbench.stamp)
      #expect(entry.outcome?.kind == .putBack)
    } else {
      #expect(bench.names(bench.incompatible) == [".lease"])
    }
  }

  /// The fresh store fails, and the set cannot go back either: it stays aside, and nobody says that it is back or
  /// will be. The next open goes on with a fresh store.
  @Test(arguments: [true, false])
  func aSetThatCannotGoBackStaysAside(isLeaseHeld: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let system = FileSystem.watched { call, path in
      if !isLeaseHeld, call == "write", path.hasSuffix(".back.json.part") {
        throw SystemCallError(call: call, path: path, errno: ENOSPC)
      }
    }
    var policy = Workbench.policy()
    policy.maximumWaitSeconds = 0
    let calls = Counter()
    var lease: Int32?
    let outcome = bench.recovery(
      policy: policy, structure: Workbench.mismatching, fileSystem: system
    ).attemptSynchronously(expecting: Workbench.model) { _ in
      if calls.next() == 3, isLeaseHeld {
        lease = try FileSystem.real.lock(bench.incompatible + "/.lease")
      }
      throw HostError()
    }
    if let lease { close(lease) }
    guard case .failed(let failed) = outcome else {
      Issue.record("the store opened")
      return
    }
    #expect((failed.error as? StoreRecoveryError)?.code == (isLeaseHeld ? .inUse : nil))
    #expect(failed.verdict.action == (isLeaseHeld ? .retry : .refuse))
    #expect(failed.verdict.rule == (isLeaseHeld ? .storeInUse : .quarantineUnfinished))
    #expect(
      failed.verdict.reason.hasSuffix("the earlier store is kept, and the next open tries again"))
    let notice = failed.notice(in: IncidentTexts(preferring: ["en"]), app: "Done")
    #expect(notice.situation == (isLeaseHeld ? .inUse : .technical))
    let kept = bench.incompatible + "/\(Workbench.stamp)/store"
    #expect(bench.snapshot(in: kept) == before)
    let opened = try bench.recovery().openSynchronously { try Database.open($0) }
    #expect(opened.incident?.id == Workbench.stamp)
    #expect(try opened.handle.number("SELECT count(*) FROM ZTASK") == 0)
    opened.handle.close()
    #expect(bench.snapshot(in: kept) == before)
  }

  /// The way of the command line: no opener, the same move.
  @Test func setAsideWithoutAHost() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    let evidence = try recovery.examine(expecting: Workbench.model)
    let judgement = recovery.judge(evidence)
    #expect(judgement.verdict.action == .quarantine)
    let opened = try recovery.recover(judgement) { try Database.open($0) }
    #expect(opened.incident?.id == Workbench.stamp)
    opened.handle.close()
    let changed = #expect(throws: StoreRecoveryError.self) { try recovery.setAside(judgement) }
    #expect(changed?.code == .refused, "the fresh store is not the one that was judged")
    let again = recovery.judge(try recovery.examine(expecting: Workbench.model))
    let incident = try recovery.setAside(again)
    #expect(incident.id == Workbench.stamp + "-2")
    #expect(bench.names() == ["Incompatible"])
  }

  private func moved(
    _ bench: Workbench, _ error: any Error = HostError()
  ) throws -> Opened<Void> {
    let calls = Counter()
    return try bench.recovery(structure: Workbench.mismatching).openSynchronously(
      expecting: Workbench.model
    ) {
      if calls.next() <= 2 { throw error }
      try Database.open($0).close()
    }
  }
}

@MainActor @Suite struct IsolationTests {
  final class NotSendable {}

  /// An opener may stay on the caller's actor, and return what only that may touch.
  @Test func onTheMainActor() async throws {
    let bench = try Workbench()
    let thing = NotSendable()
    let opened = try await bench.recovery().open { _ in
      await Task.yield()
      return thing
    }
    #expect(opened.handle === thing)
  }
}
