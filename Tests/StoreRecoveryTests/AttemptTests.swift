import Foundation
import Testing

@testable import StoreRecovery

/// What an attempt to open a store tells, and what it does in each mode.
@Suite struct AttemptTests {
  private func failure<Handle>(_ outcome: Outcome<Handle>) -> FailedOpen? {
    if case .failed(let failed) = outcome { return failed }
    return nil
  }

  /// A lock that another process lets go of in time.
  @Test func aPassingReasonIsWaitedOut() async throws {
    let bench = try Workbench()
    try bench.makeStore()
    var policy = Workbench.policy()
    policy.retryPauses = [.milliseconds(1), .milliseconds(1)]
    for succeeds in [true, false] {
      let calls = Counter()
      let outcome = await bench.recovery(policy: policy).attempt { url in
        if calls.next() < 3 || !succeeds { throw SQLiteFailure(code: 5) }
        return try Database.open(url)
      }
      #expect(calls.count == 3)
      #expect((failure(outcome) == nil) == succeeds)
      if let failed = failure(outcome) {
        #expect(failed.error as? SQLiteFailure == SQLiteFailure(code: 5))
        #expect(failed.verdict.action == .retry)
        #expect(failed.evidence?.failure?.sqliteCode == 5)
      }
    }
    let calls = Counter()
    let full = bench.recovery(policy: policy).attemptSynchronously { _ in
      calls.next()
      throw SQLiteFailure(code: 13)
    }
    #expect(calls.count == 1)
    #expect(failure(full)?.verdict.action == .wait)
  }

  /// A report of what would be done, and an extension, change nothing and write nothing.
  @Test(arguments: [Policy.Mode.reportOnly, .extension])
  func otherModesChangeNothing(mode: Policy.Mode) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let names = bench.names()
    var policy = Workbench.policy()
    policy.mode = mode
    policy.check = { _ in Issue.record("nothing is tried") }
    let touched = Counter()
    let system = FileSystem.watched { call, path in touched.next("\(call) \(path)") }
    let outcome = bench.recovery(
      policy: policy, structure: Workbench.mismatching, fileSystem: system
    ).attemptSynchronously(expecting: Workbench.model) { _ in throw HostError() }
    let failed = try #require(failure(outcome))
    #expect(failed.error is HostError)
    #expect(touched.notes == [])
    #expect(bench.snapshot() == before)
    #expect(bench.names() == names)
    if mode == .reportOnly {
      #expect(failed.verdict.action == .quarantine)
      #expect(failed.verdict.rule.rawValue == "model.mismatch")
    } else {
      #expect(failed.verdict.action == .refuse)
      #expect(failed.evidence?.structure == nil)
    }
  }

  /// An extension that finds a half-done move must not open what is left of the set.
  @Test func anExtensionLeavesAnUnfinishedMoveToTheApp() throws {
    let bench = try Workbench()
    try bench.makeStore()
    struct Stop: Error {}
    let calls = Counter()
    let dying = FileSystem.watched { call, path in
      if calls.notes.last == "dead" { throw Stop() }
      if call == "unlink", path.hasSuffix("Done.sqlite-wal") {
        calls.next("dead")
        throw Stop()
      }
    }
    _ = bench.recovery(structure: Workbench.mismatching, fileSystem: dying).attemptSynchronously(
      expecting: Workbench.model
    ) { _ in throw HostError() }
    var policy = Workbench.policy()
    policy.mode = .extension
    let names = bench.names()
    let outcome = bench.recovery(policy: policy).attemptSynchronously { _ in
      Issue.record("the opener runs")
    }
    #expect((failure(outcome)?.error as? StoreRecoveryError)?.code == .unfinished)
    #expect(bench.names() == names)
    // The app ends it.
    let opened = try bench.recovery().openSynchronously { try Database.open($0).close() }
    #expect(opened.incident != nil)
  }

  // MARK: Trials

  private func outcome(
    _ bench: Workbench, maximumCopyBytes: Int64 = .max,
    _ check: @escaping @Sendable (URL, _ isCopy: Bool) throws -> Void
  ) -> Outcome<Int> {
    var policy = Workbench.policy()
    policy.maximumCopyBytes = maximumCopyBytes
    policy.check = { try check($0, FileManager.default.fileExists(atPath: $0.path)) }
    let calls = Counter()
    return bench.recovery(policy: policy, structure: Workbench.mismatching).attemptSynchronously(
      expecting: Workbench.model
    ) { _ in
      if calls.next() <= 2 { throw HostError() }
      return calls.count
    }
  }

  @Test func aCopyThatFailsConfirms() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let seen = Counter()
    let opened = try outcome(bench) { url, isCopy in
      seen.next(isCopy ? "copy" : "fresh")
      guard isCopy else { return try Database.open(url).close() }
      // The copy has all rows, the log's too, and is nobody else's.
      #expect(try Database.rows(ofSetIn: url.deletingLastPathComponent().path) == 60)
      #expect(url.lastPathComponent == "Done.sqlite")
      throw SQLiteFailure(code: 11)
    }.get()
    #expect(seen.notes == ["fresh", "copy"])
    #expect(opened.incident?.evidence.trial == trial(copy: .failed))
    let kept = bench.incompatible + "/" + Workbench.stamp + "/store"
    #expect(bench.snapshot(in: kept) == before)
    #expect(bench.names(bench.incompatible) == [".lease", ".state.json", Workbench.stamp])
  }

  @Test(arguments: [
    ("hold.copyOpens", 0, 0), ("hold.copyUnavailable", 5, 0), ("hold.freshFails", 0, 13),
  ])
  func whatHoldsTheMove(rule: String, copyCode: Int32, freshCode: Int32) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let before = bench.snapshot()
    let failed = try #require(
      failure(
        outcome(bench) { _, isCopy in
          let code = isCopy ? copyCode : freshCode
          if code != 0 { throw SQLiteFailure(code: code) }
        }))
    #expect(failed.error is HostError)
    #expect(failed.verdict.rule.rawValue == rule)
    #expect(failed.evidence?.trial?.freshCode == (freshCode == 0 ? nil : freshCode))
    #expect(bench.snapshot() == before)
    #expect(bench.names(bench.incompatible) == [".lease"], "nothing is left of the trial")
  }

  @Test func aLargeSetIsNotCopied() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let opened = try outcome(bench, maximumCopyBytes: 1000) { _, isCopy in #expect(!isCopy) }.get()
    #expect(opened.incident?.evidence.trial == trial(copy: .skipped))
  }

  /// What a killed run left of a trial goes with the next one; what only looks like one stays.
  @Test func leftOversOfATrial() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let old = bench.incompatible + "/.trial-0123456789abcdef/copy/.Done_SUPPORT"
    let other = bench.incompatible + "/.trial-mine"
    for path in [old, other] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try Data("x".utf8).write(to: URL(fileURLWithPath: old + "/blob"))
    try bench.write("", to: "Incompatible/.trial-0123456789abcdef/.lock")
    try FileManager.default.createSymbolicLink(
      atPath: bench.incompatible + "/.trial-0123456789abcdef/link", withDestinationPath: other)
    _ = try outcome(bench) { _, isCopy in if isCopy { throw HostError() } }.get()
    #expect(
      bench.names(bench.incompatible) == [".lease", ".state.json", ".trial-mine", Workbench.stamp])
  }

  /// A run that was killed while it removed the last file of a trial leaves it under its temporary name, which says which
  /// file it is. Another file under such a name stays.
  @Test func aTrialWhoseRemovalWasKilled() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let mine = "Incompatible/.trial-0123456789abcdef"
    let others = "Incompatible/.trial-fedcba9876543210"
    for folder in [mine, others] {
      try FileManager.default.createDirectory(
        atPath: bench.folder + "/" + folder, withIntermediateDirectories: true)
      _ = try leftover(of: ".lock", in: bench.folder + "/" + folder, isNamed: folder == mine)
    }
    _ = try outcome(bench) { _, isCopy in if isCopy { throw HostError() } }.get()
    #expect(
      bench.names(bench.incompatible)
        == [".lease", ".state.json", ".trial-fedcba9876543210", Workbench.stamp])
  }

  /// A file under the temporary name of a removal that was killed; `isNamed` says whether the name is of this file.
  private func leftover(of name: String, in folder: String, isNamed: Bool) throws -> String {
    let path = folder + "/" + name
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let device = try #require(attributes[.systemNumber] as? NSNumber).uint64Value
    let inode = try #require(attributes[.systemFileNumber] as? NSNumber).uint64Value
    let number = String(isNamed ? inode : inode + 1, radix: 16)
    let aside = ".lifeboat-gone-\(String(device, radix: 16))-\(number)-79aac54893712eca"
    try FileManager.default.moveItem(atPath: path, toPath: folder + "/" + aside)
    return aside
  }

  /// The same in the store's folder and among kept files: they go with the next run that has a move to end.
  @Test func removalsKilledElsewhere() throws {
    let (made, id) = try KillBench.withFreshStore()
    let trial = made.bench.incompatible + "/.trial-0123456789abcdef"
    try FileManager.default.createDirectory(
      atPath: trial, withIntermediateDirectories: false)
    var others: [String] = []
    for folder in [made.bench.folder, made.bench.incompatible + "/" + id + "/store"] {
      _ = try leftover(of: "mine", in: folder, isNamed: true)
      others.append(try leftover(of: "another's", in: folder, isNamed: false))
    }
    let healed = try Child.run("heal", made.store)
    #expect(healed.lines.last == "launch 0", "\(healed.lines)")
    let left = made.paths.filter { $0.contains(".lifeboat-gone-") }
    #expect(left.map { String($0.split(separator: "/").last ?? "") }.sorted() == others.sorted())
  }

  /// Second copies go when the policy asks for it, and only then.
  @Test(arguments: [nil, Retention(maximumCount: 1)])
  func retention(_ retention: Retention?) throws {
    let bench = try Workbench()
    let events = Counter()
    var policy = Workbench.policy()
    policy.retention = retention
    policy.report = { if case .pruned = $0 { events.next($0.description) } }
    for round in 1...2 {
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(atPath: bench.store + suffix)
      }
      try bench.makeStore()
      let calls = Counter()
      let error = NSError(domain: "Host", code: round)
      _ = try bench.recovery(policy: policy, structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { if calls.next() <= 2 { throw error } else { try Database.open($0).close() } }
    }
    let kept = bench.names(bench.incompatible).filter { !$0.hasPrefix(".") }
    #expect(kept.count == (retention == nil ? 2 : 1))
    #expect(events.notes == (retention == nil ? [] : ["removed 1 old incident"]))
    #expect(try Database.rows(ofSetIn: bench.incompatible + "/" + kept[0] + "/store") == 60)
  }

  /// What the host says of its own errors.
  @Test(arguments: [
    (FailureMeaning.newerStore, Action.refuse, "host.newerStore"),
    (.wrongKey, .refuse, "host.wrongKey"),
    (.otherVersion, .quarantine, "model.mismatch"),
  ])
  func meanings(meaning: FailureMeaning, action: Action, rule: String) throws {
    let bench = try Workbench()
    try bench.makeStore()
    var policy = Workbench.policy()
    policy.mode = .reportOnly
    policy.meaning = { $0 is HostError ? meaning : nil }
    let recovery = bench.recovery(policy: policy, structure: Workbench.mismatching)
    let failed = try #require(
      failure(
        recovery.attemptSynchronously(expecting: Workbench.model) { _ in throw HostError() }))
    #expect(failed.verdict.action == action)
    #expect(failed.verdict.rule.rawValue == rule)
    // A lock counts for more than what the host makes of it.
    let locked = NSError(
      domain: "Host", code: 1,
      userInfo: [NSUnderlyingErrorKey: NSError(domain: "NSSQLiteErrorDomain", code: 5)])
    policy.meaning = { _ in meaning }
    let busy = try #require(
      failure(
        bench.recovery(policy: policy).attemptSynchronously { _ in throw locked }))
    #expect(busy.verdict.rule.rawValue == "sqlite.5")
  }
}
