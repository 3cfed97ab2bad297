import SafeFiles
import StoreFiles
import Foundation
import ObjectModel
import Testing

@testable import StoreRecovery

@Suite struct IncidentTextsSituationTests {
  private func situation(
    _ failure: StoreEvidence.Failure, _ change: (inout StoreEvidence) -> Void = { _ in }
  ) -> Situation? {
    var evidence = StoreEvidence(mainKind: .file, mainSizeBytes: 8192)
    evidence.openErrno = 0
    evidence.freeBytes = 1 << 30
    evidence.looksEncrypted = false
    evidence.header = .init(isMagicRight: true, pageSize: 4096)
    evidence.failure = failure
    change(&evidence)
    return Situation(classify(evidence), evidence: evidence)
  }

  @Test(arguments: [
    (5, Situation.inUse), (6, .inUse), (261, .inUse), (3850, .inUse), (15, .inUse),
    (13, .diskFull), (4874, .diskFull), (23, .deviceLocked), (7178, .deviceLocked),
    (14, .noAccess), (8, .noAccess), (3, .noAccess), (1550, .noAccess), (2570, .noAccess),
    (10, .storageFault), (266, .storageFault), (522, .storageFault), (8458, .storageFault),
    (7, .momentary), (17, .momentary), (11, .momentary), (21, .momentary), (6922, .momentary),
    (1, .technical), (19, .technical), (257, .technical), (267, .damaged),
  ])
  func sqlite(code: Int, expected: Situation) {
    #expect(situation(.init(sqliteCode: Int32(code))) == expected)
  }

  @Test(arguments: [
    (640, Situation.diskFull), (642, .noAccess), (257, .noAccess), (134_160, .diskFull),
    (134_505, .newerVersion), (134_506, .newerVersion), (134_000, .technical),
    (134_120, .momentary), (516, .momentary), (513, .noAccess),
  ])
  func cocoa(code: Int, expected: Situation) {
    let failure = StoreEvidence.Failure(
      chain: [.init(domain: NSCocoaErrorDomain, code: code)], cocoaCode: code)
    #expect(situation(failure) == expected)
  }

  @Test func posix() {
    #expect(situation(.init(posixCode: ENOSPC)) == .diskFull)
    #expect(situation(.init(posixCode: EIO)) == .storageFault)
    #expect(situation(.init(posixCode: EACCES)) == .noAccess)
    #expect(situation(.init(posixCode: EMFILE)) == .momentary)
    #expect(situation(.init(posixCode: 9999)) == .technical)
  }

  @Test func lockedDevice() {
    for code in [14, 257] {
      let failure =
        code == 14
        ? StoreEvidence.Failure(sqliteCode: 14)
        : .init(chain: [.init(domain: NSCocoaErrorDomain, code: 257)], cocoaCode: 257)
      let found = situation(failure) { evidence in
        evidence.openErrno = EACCES
        evidence.host.isProtectedDataAvailable = false
      }
      #expect(found == .deviceLocked)
    }
  }

  @Test func wrongKeyIsNotDamage() {
    let encrypted = situation(.init(sqliteCode: 26)) { evidence in
      evidence.looksEncrypted = true
      evidence.header = .init(isMagicRight: false)
    }
    #expect(encrypted == .encrypted)
    let unknown = situation(.init(sqliteCode: 26)) { evidence in
      evidence.looksEncrypted = nil
      evidence.header = .init(isMagicRight: false)
    }
    #expect(unknown == .unreadable)
    let verdict = Verdict(finding: .foreign, action: .refuse, reason: "", rule: .sqlite(26))
    #expect(Situation(verdict) == .encrypted)
    // The app knows it, and the file does not show it.
    #expect(situation(.init(meaning: .wrongKey)) == .encrypted)
    #expect(situation(.init(meaning: .newerStore)) == .newerVersion)
    #expect(situation(.init(meaning: .otherVersion)) == .otherVersion)
  }

  /// A store that would be set aside, and is held in place by one condition each.
  @Test func holds() {
    func held(_ change: (inout StoreEvidence) -> Void) -> Situation? {
      situation(.init(sqliteCode: 11)) { evidence in
        evidence.structure = .init(findings: ["page.kind"], findingCount: 1, isUnopenable: false)
        change(&evidence)
      }
    }
    #expect(held { $0.host.isExtension = true } == .inBackground)
    #expect(held { $0.host.isInBackground = true } == .inBackground)
    #expect(held { $0.host.isProtectedDataAvailable = false } == .deviceLocked)
    #expect(held { $0.isUsedElsewhere = true } == .inUse)
    #expect(held { $0.freeBytes = 10 } == .diskFull)
    #expect(held { $0.mainKind = .symbolicLink } == .noAccess)
    #expect(
      held { evidence in
        evidence.repetition = .init(fingerprint: "f")
        evidence.repetition?.same = 2
      } == .keepsFailing)
    #expect(held { $0.trial = trial(copy: .opened) } == .momentary)
    func tried(_ code: Int32) -> Situation? {
      held { evidence in
        evidence.trial = .init()
        evidence.trial?.makesFreshStore = false
        evidence.trial?.freshCode = code
      }
    }
    #expect(tried(ENOSPC) == .diskFull)
    #expect(tried(13) == .diskFull)
    #expect(tried(EROFS) == .noAccess)
    #expect(held { _ in } == .damaged)
  }

  /// Whatever the codes say of the surroundings, nobody is told that data is damaged, encrypted or of another
  /// version; and nobody is told that all is well.
  @Test func everyRow() {
    for row in SQLiteRules.rows + CocoaRules.rows where row.finding == .unavailable {
      for prefix in ["sqlite", "cocoa"] {
        for action in Action.allCases where ![.open, .openInMemory].contains(action) {
          let verdict = Verdict(
            finding: .unavailable, action: action, reason: "",
            rule: .init(rawValue: "\(prefix).\(row.code)"))
          let told = Situation(verdict)
          #expect(
            [.inUse, .deviceLocked, .diskFull, .noAccess, .storageFault, .momentary, .technical]
              .contains(told), "\(verdict.rule.rawValue) \(action): \(String(describing: told))")
        }
      }
    }
    // Codes of our own errors, as verdicts on an open that did not come to its opener have them.
    for (rule, told) in [("quarantine.noSpace", Situation.diskFull), ("store.notAFile", .noAccess)]
    {
      let verdict = Verdict(
        finding: .unavailable, action: .refuse, reason: "", rule: .init(rawValue: rule))
      #expect(Situation(verdict) == told)
    }
    for finding in Verdict.Finding.allCases {
      let open = Verdict(finding: finding, action: .open, reason: "", rule: .open)
      #expect(Situation(open) == nil)
      for rule in [
        "", ".", "a.b.c", "sqlite.", "sqlite.x", "sqlite.99999999999999999999", "new.rule",
      ] {
        let verdict = Verdict(
          finding: finding, action: .refuse, reason: "", rule: .init(rawValue: rule))
        #expect(Situation(verdict) != nil)
      }
    }
  }

  @Test func ownErrors() {
    #expect(Situation(StoreRecoveryError(.noSpace, "")) == .diskFull)
    #expect(Situation(StoreRecoveryError(.unfinished, "", errno: ENOSPC)) == .diskFull)
    #expect(Situation(StoreRecoveryError(.unfinished, "", errno: EIO)) == .storageFault)
    #expect(Situation(StoreRecoveryError(.unfinished, "")) == .technical)
    #expect(Situation(StoreRecoveryError(.missing, "")) == .noAccess)
    #expect(Situation(StoreRecoveryError(.cancelled, "")) == .momentary)
  }

  /// Who waits in vain for another process reads that the data is in use, by the error and by the verdict.
  @Test func aStoreThatAnotherProcessMovesIsInUse() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let trial = bench.incompatible + "/.trial-0123456789abcdef"
    try FileManager.default.createDirectory(atPath: trial, withIntermediateDirectories: true)
    let lease = try #require(try FileSystem.real.lock(bench.incompatible + "/.lease"))
    defer { close(lease) }
    var policy = Workbench.policy()
    policy.maximumWaitSeconds = 0
    let outcome = bench.recovery(policy: policy).attemptSynchronously { _ in true }
    guard case .failed(let failed) = outcome else {
      Issue.record("the store opened")
      return
    }
    #expect((failed.error as? StoreRecoveryError)?.code == .inUse)
    #expect(failed.notice(in: IncidentTexts(preferring: ["en"]), app: "").situation == .inUse)
    #expect(Situation(failed.verdict) == .inUse)
  }

  /// As a host does it.
  @Test func noticeOfAnAttempt() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let outcome = bench.recovery().attemptSynchronously { _ in throw SQLiteFailure(code: 13) }
    guard case .failed(let failed) = outcome else {
      Issue.record("the store opened")
      return
    }
    let notice = failed.notice(in: IncidentTexts(preferring: ["fr"]), app: "Done")
    #expect(notice.title == "L’espace libre est insuffisant")
    #expect(notice.situation == .diskFull)
    let text = failed.supportText(app: .init(name: "Done", version: "1"))
    #expect(text.contains("Rule: sqlite.13\n"))
    #expect(text.contains("Codes: SQLite 13\n"))
    let blind = FailedOpen(
      error: StoreRecoveryError(.unfinished, "", errno: ENOSPC), verdict: failed.verdict,
      evidence: nil)
    #expect(blind.notice(in: IncidentTexts(preferring: []), app: "").situation == .diskFull)
    #expect(blind.supportText(app: .init(name: "", version: "")).contains("Rule: sqlite.13\n"))
  }

  /// The same by the events.
  @Test func noticeOfAFailedOpen() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let texts = IncidentTexts(preferring: ["en"])
    let titles = Counter()
    var policy = Workbench.policy()
    policy.report = { event in
      guard case .judged(let verdict) = event else { return }
      titles.next(texts.notice(of: verdict, app: "Done")?.title ?? "none")
    }
    #expect(throws: SQLiteFailure.self) {
      try bench.recovery(policy: policy).openSynchronously { _ in throw SQLiteFailure(code: 13) }
    }
    #expect(titles.notes.first == "There is not enough free space")
  }

  // MARK: Support

  @Test func supportText() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    let incident = try recovery.setAside(
      recovery.judge(try recovery.examine(expecting: Workbench.model)))
    let text = incident.supportText
    let lines = text.split(separator: "\n").map(String.init)
    for line in [
      "Incident: 2026-11-20-21-53-07Z", "Set aside: 2026-11-20 21:53 UTC", "App: Done 2.1",
      "Store: Done.sqlite", "Verdict: incompatible, quarantine", "Rule: model.mismatch",
      "Main file: file, 8192 bytes, can be read", "Store UUID: 0C2E9C3A",
      "Written by: an unknown model version", "Expected: Model 2",
      "  Task: \(String(repeating: "aa", count: 32)) \(String(repeating: "cc", count: 32))",
      "Entities that agree: 1", "Structure: no damage found",
      "  Done.sqlite-wal: file, wal, \(bench.size(of: incident, "Done.sqlite-wal")) bytes",
    ] {
      #expect(lines.contains(line), "\(line)\nin\n\(text)")
    }
    #expect(lines.contains { $0.hasPrefix("Kept: 4 files, ") })
    let seal = try #require(incident.seal)
    for file in seal.files where file.kind == .file {
      #expect(text.contains("\(file.sha256 ?? "?") \(file.name) ("))
    }
    #expect(!text.contains(bench.folder))
  }

  @Test func supportTextOfAFailure() {
    var evidence = StoreEvidence(mainKind: .file, mainSizeBytes: 1)
    evidence.failure = .init(
      chain: [.init(domain: "NSCocoaErrorDomain", code: 256), .init(domain: "X", code: 14)],
      sqliteCode: 14, cocoaCode: 256)
    evidence.structure = .init(findings: ["a"], findingCount: 1, isUnopenable: false)
    evidence.recordedHashes = Dictionary(
      uniqueKeysWithValues: hashes(["A\u{1B}[2J\u{202E}\n": 1]).map { ($0, $1) })
    let text = classify(evidence).supportText(
      evidence: evidence, app: .init(name: "", version: "", build: nil))
    #expect(text.contains("App: not named\n"))
    #expect(text.contains("Error: NSCocoaErrorDomain 256 > X 14\n"))
    #expect(text.contains("Codes: SQLite 14, Cocoa 256\n"))
    #expect(text.contains("Main file: file, 1 byte\n"))
    #expect(text.contains("Structure: 1 damaged place, a\n"))
    #expect(text.contains("A\\u{1B}[2J\\u{202E}\\n: 0101"))
  }

  @Test func longListsAreCut() {
    var evidence = StoreEvidence(mainKind: .file)
    evidence.recordedHashes = hashes(
      Dictionary(uniqueKeysWithValues: (0..<1000).map { ("E\($0)", UInt8($0 % 256)) }))
    let text = classify(evidence).supportText(
      evidence: evidence, app: .init(name: "a", version: "1"))
    #expect(text.contains("  and 976 more\n"))
    #expect(text.split(separator: "\n").count < 60)
  }
}

extension Workbench {
  fileprivate func size(of incident: Incident, _ name: String) -> Int64 {
    incident.seal?.files.first { $0.name == name }?.sizeBytes ?? -1
  }
}
