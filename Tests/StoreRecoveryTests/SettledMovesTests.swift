import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// The note that nothing is unfinished spares launches the look into each incident, and is never there when
/// something is.
@Suite struct SettledMovesTests {
  struct Stop: Error {}

  /// A folder with one incident and a store, its incidents at rest for long, and noted to be.
  private func settled() throws -> Workbench {
    let bench = try Workbench()
    try bench.makeStore()
    _ = try quarantine(bench, .real)
    try rest(bench)
    // A process that another test starts holds all of this one's locks until it runs its own program, and the note
    // is not waited for.
    for _ in 0..<100 where try !isNoted(bench) { try launch(bench, .real) }
    #expect(try isNoted(bench))
    return bench
  }

  private func quarantine(_ bench: Workbench, _ system: FileSystem) throws -> Incident? {
    let calls = Counter()
    return try bench.recovery(structure: Workbench.mismatching, fileSystem: system)
      .openSynchronously(expecting: Workbench.model) { url in
        if calls.next() <= 2 { throw HostError() }
        try Database.open(url).close()
      }.incident
  }

  private func launch(_ bench: Workbench, _ system: FileSystem) throws {
    let clock = { @Sendable in Date() }
    _ = try bench.recovery(fileSystem: system, clock: clock).openSynchronously {
      try Database.open($0).close()
    }
  }

  private func rest(_ bench: Workbench, since date: Date = Date(timeIntervalSince1970: 1e9)) throws
  {
    try FileManager.default.setAttributes(
      [.modificationDate: date], ofItemAtPath: bench.incompatible)
  }

  private func isNoted(_ bench: Workbench) throws -> Bool {
    try SettledMoves.isNothingPending(in: bench.folder) { try FileStatus.of($0) }
  }

  /// What a look into each folder finds.
  private func isAnyLeft(_ bench: Workbench) -> Bool {
    let names = bench.names(bench.incompatible)
    return names.contains { $0.hasPrefix(".trial-") || $0.hasPrefix(".removed-") }
      || names.contains { id in
        let inside = bench.names(bench.incompatible + "/" + id)
        return Timestamp.isFolderName(id)
          && (inside.contains(".intent.json") || inside.contains(".back.json")
            || inside.contains(".back.json.part") || !inside.contains("incident.json"))
      }
  }

  private func listings(_ bench: Workbench) throws -> Int {
    let calls = Counter()
    var system = FileSystem.real
    system.entries = {
      calls.next($0)
      return try FileSystem.real.entries($0)
    }
    try launch(bench, system)
    return calls.count
  }

  @Test func folderAtRestIsLookedThroughOnce() throws {
    let bench = try Workbench()
    try bench.makeStore()
    _ = try quarantine(bench, .real)
    try rest(bench)
    #expect(try listings(bench) > 0)
    #expect(try listings(bench) == 0)
    // Any name that comes, whoever made it, ends that.
    try bench.write("", to: "Incompatible/new")
    #expect(try !isNoted(bench))
    #expect(try listings(bench) > 0)
  }

  /// Two changes of a folder that is still changing may have one time.
  @Test func folderThatJustChangedIsNotTrusted() throws {
    let bench = try settled()
    let ahead = Date(timeIntervalSinceNow: 1e6)
    try rest(bench, since: ahead)
    #expect(try listings(bench) > 0)
    #expect(try listings(bench) > 0)
    // Nor when somebody noted it all the same.
    try FileManager.default.setAttributes(
      [.modificationDate: ahead], ofItemAtPath: bench.incompatible + "/.lease")
    #expect(try !isNoted(bench))
  }

  /// While another process holds the lease, nothing is noted, and nobody waits.
  @Test func noteIsTakenUnderTheLease() throws {
    let bench = try Workbench()
    try bench.makeStore()
    _ = try quarantine(bench, .real)
    try rest(bench)
    let lease = try #require(try FileSystem.real.lock(bench.incompatible + "/.lease"))
    try launch(bench, .real)
    #expect(try !isNoted(bench))
    close(lease)
    try launch(bench, .real)
    #expect(try isNoted(bench))
  }

  /// An unfinished move is never noted as none, however long it lies.
  @Test func unfinishedMoveIsNotNoted() throws {
    let bench = try settled()
    let other = bench.incompatible + "/2026-11-20-21-53-08Z"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    let record = MoveRecord(storeName: "Other.sqlite", members: [], incident: nil, back: nil)
    try RecordFile(fileSystem: .real).write(record, to: other + "/.intent.json")
    for second in 1...2 {
      // Another time than the one that was noted: the folder did change.
      try rest(bench, since: Date(timeIntervalSince1970: 1e9 + Double(second)))
      try launch(bench, .real)
      #expect(try !isNoted(bench))
    }
    #expect(isAnyLeft(bench))
  }

  enum Work: CaseIterable {
    case quarantine
    case restore
    /// Nothing is set aside for it, so its record is the first that it writes.
    case restoreIntoNothing
    case freshFails
    case prune
  }

  private func run(_ work: Work, _ bench: Workbench, _ system: FileSystem) {
    let incidents = Incidents(in: bench.folder, fileSystem: system)
    switch work {
    case .quarantine: _ = try? quarantine(bench, system)
    case .restore: _ = try? incidents.restore(Workbench.stamp, force: true)
    case .restoreIntoNothing:
      for name in bench.names() where name.hasPrefix("Done.sqlite") {
        try? FileManager.default.removeItem(atPath: bench.folder + "/" + name)
      }
      _ = try? incidents.restore(Workbench.stamp, force: true)
    case .freshFails:
      _ = try? bench.recovery(structure: Workbench.mismatching, fileSystem: system)
        .openSynchronously(expecting: Workbench.model) { _ in throw HostError() }
    case .prune:
      _ = try? incidents.prune(Retention(maximumCount: 0), dryRun: false)
    }
  }

  /// Stopped at each step: where something is left to do, the next launch looks. Outside the long rounds, each second.
  @Test(arguments: Work.allCases)
  func stoppedWorkIsNoticed(_ work: Work) throws {
    let whole = Counter()
    run(work, try settled(), .watched { whole.next("\($0) \($1)") })
    var leftovers = 0
    for step in Rounds.part(of: 1...max(1, whole.count), every: 2) {
      let bench = try settled()
      let calls = Counter()
      let system = FileSystem.watched { call, path in
        if calls.next() >= step { throw Stop() }
      }
      run(work, bench, system)
      guard isAnyLeft(bench) else { continue }
      leftovers += 1
      #expect(try !isNoted(bench), "step \(step): \(whole.notes[step - 1])")
      try launch(bench, .real)
      try rest(bench)
      try launch(bench, .real)
      #expect(!isAnyLeft(bench), "step \(step): \(whole.notes[step - 1])")
    }
    if work != .prune { #expect(leftovers > (Rounds.areLong ? 3 : 1)) }
  }
}
