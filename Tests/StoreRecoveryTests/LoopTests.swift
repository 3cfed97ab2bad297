import StoreFiles
import CSQLite
import Foundation
import Testing

@testable import StoreRecovery

/// The loop breaker: first time quarantine, second time the host decides, third time nothing moves.
@Suite struct LoopTests {
  private let bench: Workbench
  private let asked = Counter()

  init() throws {
    bench = try Workbench()
    try bench.makeStore()
  }

  private func recovery(version: String = "2.1", allows: Bool = true) -> Recovery {
    var policy = Workbench.policy()
    policy.allowsRepetition = { [asked] failure in
      asked.next(failure.incidents.joined(separator: " "))
      return allows
    }
    return Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: version), policy: policy,
      structure: Workbench.mismatching, clock: { Workbench.now })
  }

  /// A launch on whose store the opener fails, while the fresh one opens. The next launch finds that one bad.
  private func launch(_ recovery: Recovery, _ error: any Error = HostError()) -> Outcome<Void> {
    let before = bench.snapshot()
    return recovery.attemptSynchronously(expecting: Workbench.model) { url in
      if bench.snapshot() == before, !before.isEmpty { throw error }
      try Database.open(url).close()
    }
  }

  private func failure(_ outcome: Outcome<Void>) -> FailedOpen? {
    if case .failed(let failed) = outcome { return failed }
    return nil
  }

  @Test func thirdTimeNothingMoves() throws {
    #expect(try launch(recovery()).get().incident?.id == Workbench.stamp)
    #expect(asked.count == 0)
    #expect(try launch(recovery()).get().incident?.id == Workbench.stamp + "-2")
    #expect(asked.notes == [Workbench.stamp])
    let before = bench.snapshot()
    let third = try #require(failure(launch(recovery())))
    #expect(third.error is HostError)
    #expect(third.verdict.action == .openInMemory)
    #expect(third.verdict.rule.rawValue == "hold.repeated")
    #expect(bench.snapshot() == before)
    #expect(asked.count == 1)
    // Another failure of the same build, and the same one in the next build, start anew.
    #expect(try launch(recovery(), NSError(domain: "Host", code: 7)).get().incident != nil)
    #expect(try launch(recovery(version: "2.2")).get().incident != nil)
  }

  @Test func theHostMayRefuseTheSecondTime() throws {
    _ = try launch(recovery()).get()
    let second = try #require(failure(launch(recovery(allows: false))))
    #expect(second.verdict.action == .refuse)
    #expect(second.verdict.rule.rawValue == "hold.hostDecides")
    #expect(second.evidence?.repetition?.incidents == [Workbench.stamp])
  }

  /// A disk that is full while the fresh store is made says nothing of the store, however often; only a fresh store
  /// that fails by itself counts.
  @Test(arguments: [SQLITE_FULL, SQLITE_ERROR])
  func aSetThatWentBackForWantOfSpaceDoesNotCount(code: Int32) throws {
    for time in 1...4 {
      let before = bench.snapshot()
      let failed = try #require(
        failure(
          recovery().attemptSynchronously(expecting: Workbench.model) { url in
            if bench.snapshot() == before { throw HostError() }
            try Database.open(url).close()
            throw NSError(domain: "NSSQLiteErrorDomain", code: Int(code))
          }))
      let isCounted = code == SQLITE_ERROR && time > 2
      #expect(failed.verdict.rule.rawValue == (isCounted ? "hold.repeated" : "fresh.failed"))
      #expect(bench.snapshot() == before)
    }
    let opens = launch(recovery())
    #expect((try? opens.get().incident) != nil || code == SQLITE_ERROR)
  }

  /// The folder's own name is that of the folder of incidents.
  @Test func aHomeCalledIncompatible() throws {
    let home = bench.incompatible
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.moveItem(
        atPath: bench.store + suffix, toPath: home + "/Done.sqlite" + suffix)
    }
    let log = try #require(FileHandle(forUpdatingAtPath: home + "/Done.sqlite-wal"))
    try log.seek(toOffset: 17)
    try log.write(contentsOf: Data([0xa5]))
    try log.close()
    // The same bytes are copied once.
    for _ in 1...3 {
      let recovery = Recovery(
        URL(fileURLWithPath: home + "/Done.sqlite"), app: .init(name: "Done", version: "2.1"),
        policy: Workbench.policy())
      #expect(throws: HostError.self) {
        try recovery.openSynchronously { _ in throw HostError() }
      }
    }
    #expect(bench.names(home + "/Incompatible").filter { !$0.hasPrefix(".") }.count == 1)
  }

  /// A move over such a link is ended over it, a downgrade is told, and the evidence lists all members.
  @Test func aKilledMoveInAHomeThatIsALink() throws {
    struct Stop: Error {}
    let link = bench.folder + "-link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bench.folder)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let before = bench.snapshot()
    func recovery(_ version: String, _ system: FileSystem = .real) -> Recovery {
      Recovery(
        URL(fileURLWithPath: link + "/Done.sqlite"), app: .init(name: "Done", version: version),
        policy: Workbench.policy(), structure: Workbench.mismatching, fileSystem: system,
        clock: { Workbench.now })
    }
    let calls = Counter()
    let dying = FileSystem.watched { call, path in
      if calls.notes.contains("dead") { throw Stop() }
      if call == "unlink", path.hasSuffix("Done.sqlite-wal") {
        calls.next("dead")
        throw Stop()
      }
    }
    _ = launch(recovery("2.1", dying))
    #expect(calls.notes == ["dead"])
    let opened = try recovery("2.1").openSynchronously { try Database.open($0).close() }
    let incident = try #require(opened.incident)
    #expect(bench.snapshot(in: bench.incompatible + "/" + incident.id + "/store") == before)
    #expect(incident.evidence.members.contains { $0.role == .support })
    let older = try #require(failure(launch(recovery("2.0"))))
    #expect(older.verdict.rule.rawValue == "model.newer")
  }

  /// A user may keep the store's folder elsewhere and leave a link in its place.
  @Test func aHomeThatIsALink() throws {
    let link = bench.folder + "-link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: bench.folder)
    defer { try? FileManager.default.removeItem(atPath: link) }
    let before = bench.snapshot()
    let recovery = Recovery(
      URL(fileURLWithPath: link + "/Done.sqlite"), app: .init(name: "Done", version: "2.1"),
      policy: Workbench.policy(), structure: Workbench.mismatching, clock: { Workbench.now })
    let incident = try #require(try launch(recovery).get().incident)
    #expect(bench.snapshot(in: bench.incompatible + "/" + incident.id + "/store") == before)
    _ = try Incidents(in: URL(fileURLWithPath: link)).restore(incident.id)
    #expect(bench.snapshot() == before)
  }

  /// The state is not lost with the incidents, nor the incidents' testimony with the state.
  @Test(arguments: ["state", "incidents"])
  func eitherRecordIsEnough(lost: String) throws {
    for _ in 1...2 { _ = try launch(recovery()).get() }
    if lost == "state" {
      try FileManager.default.removeItem(atPath: bench.incompatible + "/.state.json")
    } else {
      for name in bench.names(bench.incompatible) where name != ".state.json" {
        try FileManager.default.removeItem(atPath: bench.incompatible + "/" + name)
      }
    }
    #expect(failure(launch(recovery()))?.verdict.rule.rawValue == "hold.repeated")
  }

  /// A kill while the state is replaced leaves it under its other name.
  @Test func theStateSurvivesAKill() throws {
    for _ in 1...2 { _ = try launch(recovery()).get() }
    let state = bench.incompatible + "/.state.json"
    try FileManager.default.moveItem(atPath: state, toPath: state + ".part")
    for name in bench.names(bench.incompatible) where !name.hasPrefix(".state") {
      try FileManager.default.removeItem(atPath: bench.incompatible + "/" + name)
    }
    #expect(failure(launch(recovery()))?.verdict.rule.rawValue == "hold.repeated")
  }

  /// Damaged, it is no record; of a kind that cannot be read now, it forbids the move.
  @Test func anUnreadableStateForbidsTheMove() throws {
    _ = try launch(recovery()).get()
    let state = bench.incompatible + "/.state.json"
    try FileManager.default.removeItem(atPath: state)
    try Data("{\"failures\": [{\"count\": 99999999999999999999".utf8).write(
      to: URL(fileURLWithPath: state))
    #expect(try launch(recovery()).get().incident != nil)
    try FileManager.default.removeItem(atPath: state)
    try Data(#"{"schema":"lifeboat.state","version":1,"failures":[]}"#.utf8).write(
      to: URL(fileURLWithPath: state))
    // The two incidents still count.
    #expect(failure(launch(recovery()))?.verdict.rule.rawValue == "hold.repeated")
  }

  /// What a newer Lifeboat counted is unknown, not zero, and its record stays.
  @Test func theStateOfANewerLifeboatStays() throws {
    _ = try launch(recovery()).get()
    for name in bench.names(bench.incompatible) {
      try FileManager.default.removeItem(atPath: bench.incompatible + "/" + name)
    }
    let newer = Data(#"{"schema":"lifeboat.state","version":2,"failures":{"many":9}}"#.utf8)
    try newer.write(to: URL(fileURLWithPath: bench.incompatible + "/.state.json"))
    let before = bench.snapshot()
    #expect(failure(launch(recovery()))?.verdict.rule.rawValue == "hold.unrecorded")
    #expect(bench.bytes("Incompatible/.state.json") == newer)
    #expect(bench.snapshot() == before)
  }

  /// Hostile counts neither trap nor wrap round.
  @Test(arguments: [Int.max, Int.min, -1])
  func hostileCounts(count: Int) throws {
    _ = try launch(recovery()).get()
    let path = bench.incompatible + "/.state.json"
    let text = String(
      decoding: try #require(bench.bytes("Incompatible/.state.json")), as: UTF8.self)
    #expect(text.contains("\"count\" : 1"))
    let changed = text.replacing("\"count\" : 1", with: "\"count\" : \(count)")
    try Data(changed.utf8).write(to: URL(fileURLWithPath: path))
    _ = launch(recovery())
    _ = launch(recovery())
  }

  /// The largest count stays the largest. A negative one would read as no failure at all.
  @Test(arguments: [(Int.max, Int.max), (Int.min, 1), (-1, 1), (1, 2)])
  func aCountIsNeverNegative(known: Int, next: Int) {
    var state = FailureState()
    func add() {
      state.add(
        "Done.sqlite", .init(name: "Done", version: "2.1"), "failure", incident: Workbench.stamp,
        on: Workbench.now)
    }
    add()
    state.failures[0].count = known
    add()
    #expect(state.failures.map(\.count) == [next])
  }
}
