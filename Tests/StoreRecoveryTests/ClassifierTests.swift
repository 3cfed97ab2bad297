import SafeFiles
import StoreFiles
import Fixtures
import Foundation
import ObjectModel
import Testing

@testable import StoreRecovery

/// Evidence of a readable, sound store with free space.
private func sound() -> StoreEvidence {
  var evidence = StoreEvidence(mainKind: .file, mainSizeBytes: 40960)
  evidence.members = [.init(role: .main, name: "Done.sqlite", kind: .file, sizeBytes: 40960)]
  evidence.header = .init(isMagicRight: true, pageSize: 4096, readVersion: 2, pageCount: 10)
  evidence.looksEncrypted = false
  evidence.structure = .init(findings: [], findingCount: 0, isUnopenable: false)
  evidence.freeBytes = 1 << 40
  evidence.openErrno = 0
  return evidence
}

private func damaged() -> StoreEvidence {
  var evidence = sound()
  evidence.structure = .init(findings: ["page.pointer"], findingCount: 3, isUnopenable: true)
  return evidence
}

private func mismatching() -> StoreEvidence {
  var evidence = sound()
  evidence.recordedHashes = hashes(["Task": 0xaa])
  evidence.comparison = HashComparison(
    store: hashes(["Task": 0xaa]), model: hashes(["Task": 0xbb]))
  return evidence
}

/// A sound store of another app.
private func foreign() -> StoreEvidence {
  var evidence = sound()
  evidence.recordedHashes = hashes(["Track": 0xaa])
  evidence.expectsModel = true
  evidence.comparison = HashComparison(
    store: hashes(["Track": 0xaa]), model: hashes(["Task": 0xbb]))
  evidence.sharesEntities = false
  return evidence
}

private func judge(_ evidence: StoreEvidence, sqlite code: Int32) -> Verdict {
  var evidence = evidence
  evidence.failure = .init(sqliteCode: code)
  return classify(evidence)
}

private func judge(_ evidence: StoreEvidence, cocoa codes: [Int]) -> Verdict {
  var evidence = evidence
  evidence.failure = .init(
    chain: codes.map { .init(domain: "NSCocoaErrorDomain", code: $0) }, cocoaCode: codes.first)
  return classify(evidence)
}

@Suite struct ClassifierTests {
  /// Whatever fails, and whatever the host allows: it is not the app's to move.
  @Test(arguments: [
    134100, 134130, 134140, 134110, 134504, 134020, 134170, 134111, 134190, 256, 259, 134080,
  ])
  func storeOfAnotherApp(code: Int) {
    var broken = foreign()
    broken.structure = damaged().structure
    for var evidence in [foreign(), broken] {
      evidence.failure = .init(
        chain: [.init(domain: "NSCocoaErrorDomain", code: code)], cocoaCode: code)
      for sqlite in [nil, 1, 11, 26, 267] as [Int32?] {
        evidence.failure?.sqliteCode = sqlite
        for policy in [Policy(), RandomEvidenceTests.permissive] {
          let verdict = classify(evidence, policy: policy)
          #expect(verdict.finding == .foreign)
          #expect(verdict.action == .refuse)
          #expect(verdict.rule.rawValue == "model.foreign")
          #expect(Situation(verdict, evidence: evidence) == .otherApp)
          #expect(
            classifyAtRest(evidence, policy: policy) == verdict, "the same at rest as after an open"
          )
        }
      }
    }
    let text = classifyAtRest(foreign()).supportText(
      evidence: foreign(), app: .init(name: "Done", version: "1"))
    #expect(text.contains("Verdict: foreign, refuse\nRule: model.foreign\n"))
    #expect(
      text.contains(
        "Entities in common: none, compared with all known versions of the app's model\n"))
  }

  /// Locks, space and the device say nothing of whose store it is; and what cannot be told is not claimed.
  @Test func storeOfAnotherAppInSurroundings() {
    for (code, action) in [(5, Action.retry), (13, .wait), (23, .wait)] as [(Int32, Action)] {
      #expect(judge(foreign(), sqlite: code).action == action)
      #expect(judge(foreign(), sqlite: code).finding == .unavailable)
    }
    var unsure = foreign()
    unsure.sharesEntities = nil
    #expect(judge(unsure, cocoa: [134100]).action == .quarantine)
    unsure.sharesEntities = true
    #expect(judge(unsure, cocoa: [134100]).rule.rawValue == "model.mismatch")
  }

  /// In a newer build all may have been renamed: it reads as newer, and even then is never moved.
  @Test func newerStoreWithoutACommonEntity() {
    var newer = foreign()
    newer.isNewerThanApp = true
    newer.structure = damaged().structure
    newer.failure = .init(
      chain: [.init(domain: "NSCocoaErrorDomain", code: 134100)], cocoaCode: 134100)
    var said = foreign()
    said.failure = .init(meaning: .newerStore)
    for (evidence, rule) in [(newer, "model.newer"), (said, "host.newerStore")] {
      let verdict = classify(evidence, policy: RandomEvidenceTests.permissive)
      #expect(verdict.finding == .newer)
      #expect(verdict.action == .refuse)
      #expect(verdict.rule.rawValue == rule)
    }
  }

  /// Rules of hashes that came later are those of a newer framework, and no sign of damage or of another app.
  @Test func laterRulesOfHashes() {
    var evidence = mismatching()
    evidence.expectsModel = true
    evidence.comparison = nil
    evidence.hashesVersion = 4
    evidence.sharesEntities = true
    for verdict in [judge(evidence, cocoa: [134100]), classifyAtRest(evidence)] {
      #expect(verdict.finding == .newer)
      #expect(verdict.action == .refuse)
      #expect(verdict.rule.rawValue == "model.newerRules")
      #expect(Situation(verdict, evidence: evidence) == .newerVersion)
    }
  }

  /// Section 2a of failed-open.md: the codes whose row names an action and nothing to verify.
  static let fixedSQLite: [(Int32, Action)] = [
    (257, .refuse), (513, .retry), (769, .retry), (3, .refuse), (4, .retry), (516, .retry),
    (5, .retry), (261, .retry), (517, .retry), (773, .retry), (6, .retry), (262, .retry),
    (518, .retry), (7, .retry), (3082, .retry), (8, .refuse), (264, .retry), (520, .retry),
    (1288, .retry), (776, .retry), (1032, .retry), (1544, .refuse), (9, .retry), (10, .wait),
    (266, .retry), (1802, .retry), (8714, .retry), (6154, .retry), (522, .retry), (778, .wait),
    (1034, .wait), (1290, .wait), (1546, .wait), (2058, .retry), (2314, .retry), (3594, .retry),
    (3850, .retry), (2570, .refuse), (5898, .refuse), (2826, .retry), (4106, .retry),
    (4362, .retry), (5642, .retry), (7434, .retry), (7690, .retry), (7946, .retry), (3338, .wait),
    (4618, .wait), (4874, .wait), (5130, .wait), (5386, .wait), (6410, .refuse), (6666, .refuse),
    (6922, .retry), (7178, .wait), (8202, .retry), (8458, .refuse), (12, .retry), (15, .retry),
    (13, .wait), (14, .refuse), (270, .refuse), (526, .refuse), (782, .refuse), (1038, .refuse),
    (1550, .refuse), (1294, .refuse), (17, .retry), (18, .refuse), (19, .refuse), (20, .refuse),
    (25, .refuse), (21, .retry), (22, .refuse), (23, .wait), (27, .retry), (28, .retry),
  ]

  @Test(arguments: fixedSQLite)
  func surroundingsDecideAlone(code: Int32, action: Action) {
    for evidence in [sound(), damaged(), mismatching()] {
      #expect(judge(evidence, sqlite: code).action == action)
    }
  }

  @Test(arguments: [11, 2, 16, 24] as [Int32])
  func damageNeedsASecondLook(code: Int32) {
    let quiet = judge(sound(), sqlite: code)
    #expect(quiet.action == .retry)
    let confirmed = judge(damaged(), sqlite: code)
    #expect(confirmed.action == .quarantine)
    #expect(confirmed.finding == .corrupt)
    #expect(confirmed.rule.rawValue == "sqlite.\(code)")
    var unread = sound()
    unread.structure = nil
    #expect(judge(unread, sqlite: code).action == .retry)
    unread.header?.pageCount = 11
    #expect(judge(unread, sqlite: code).action == .quarantine)
    unread.members.append(
      .init(role: .journal, name: "Done.sqlite-journal", kind: .file, sizeBytes: 512))
    #expect(judge(unread, sqlite: code).action == .retry, "the journal may take the growth back")
    unread.members.removeLast()
    unread.wal = .init(sizeBytes: 4152)
    #expect(judge(unread, sqlite: code).action == .retry, "the log may hold the missing pages")
  }

  @Test(arguments: [267, 523, 779] as [Int32])
  func derivedDataIsRepaired(code: Int32) {
    var evidence = damaged()
    evidence.failure = .init(sqliteCode: code)
    #expect(classify(evidence).action == .refuse)
    var policy = Policy()
    policy.setsAsideRepairable = true
    #expect(classify(evidence, policy: policy).action == .quarantine)
  }

  @Test func code1() {
    #expect(judge(damaged(), sqlite: 1).action == .refuse)
    #expect(judge(mismatching(), sqlite: 1).action == .quarantine)
    var evidence = damaged()
    evidence.failure = .init(sqliteCode: 1, blamesSchema: true)
    #expect(classify(evidence).action == .quarantine)
    evidence = sound()
    evidence.failure = .init(sqliteCode: 1, blamesSchema: true)
    #expect(classify(evidence).action == .refuse)
  }

  @Test(arguments: [26, 259] as [Int])
  func notADatabase(code: Int) {
    func judged(_ evidence: StoreEvidence) -> Verdict {
      code == 26 ? judge(evidence, sqlite: 26) : judge(evidence, cocoa: [259])
    }
    #expect(judged(sound()).action == .retry)
    #expect(judged(damaged()).action == .quarantine)
    var text = sound()
    text.header = .init(isMagicRight: false)
    #expect(judged(text).action == .quarantine)
    #expect(judged(text).finding == .foreign)
    text.looksEncrypted = true
    #expect(judged(text).action == .refuse)
    text.looksEncrypted = nil
    #expect(judged(text).action == .refuse)
    var newer = damaged()
    newer.header?.readVersion = 3
    #expect(judged(newer).action == .refuse)
    #expect(judged(newer).finding == .newer)
  }

  @Test func shortRead() {
    var evidence = damaged()
    evidence.mainSizeBytes = 8192
    let verdict = judge(evidence, sqlite: 522)
    #expect(verdict.action == .refuse)
    #expect(verdict.finding == .corrupt)
  }

  @Test func cannotOpenByCause() {
    var evidence = sound()
    evidence.openErrno = 24
    #expect(judge(evidence, sqlite: 14).action == .retry)
    evidence.openErrno = 13
    #expect(judge(evidence, sqlite: 14).action == .refuse)
    evidence.host.isProtectedDataAvailable = false
    #expect(judge(evidence, sqlite: 14).action == .wait)
    for kind in [StoreSet.Kind.folder, .symbolicLink, .other] {
      var other = sound()
      other.mainKind = kind
      #expect(judge(other, sqlite: 14).action == .refuse)
    }
    var missing = StoreEvidence(mainKind: nil)
    missing.folderExists = false
    #expect(judge(missing, sqlite: 14).reason.contains("folder does not exist"))
    var wal = sound()
    wal.members.append(.init(role: .wal, name: "Done.sqlite-wal", kind: .folder, sizeBytes: 0))
    #expect(judge(wal, sqlite: 14).reason.contains("write-ahead log"))
  }

  /// Section 2b: the codes that decide alone.
  static let fixedCocoa: [(Int, Action)] = [
    (134000, .refuse), (134010, .refuse), (134120, .retry), (134160, .wait), (134200, .refuse),
    (134301, .retry), (134505, .refuse), (134506, .refuse), (134030, .refuse), (134040, .refuse),
    (134050, .refuse), (134060, .refuse), (134070, .refuse), (134090, .refuse), (134091, .refuse),
    (258, .refuse), (263, .refuse), (642, .refuse), (640, .wait), (516, .retry), (257, .refuse),
    (4, .retry), (260, .retry), (512, .refuse), (513, .refuse),
  ]

  @Test(arguments: fixedCocoa)
  func cocoaDecidesAlone(code: Int, action: Action) {
    for evidence in [sound(), damaged(), mismatching()] {
      #expect(judge(evidence, cocoa: [code]).action == action)
      #expect(judge(evidence, cocoa: [134110, code]).action == action)
    }
  }

  @Test(arguments: [134100, 134130, 134504, 134140, 134190, 134110])
  func modelThatDoesNotFit(code: Int) {
    #expect(judge(mismatching(), cocoa: [code]).action == .quarantine)
    #expect(judge(mismatching(), cocoa: [code]).finding == .incompatible)
    #expect(judge(sound(), cocoa: [code]).action == .refuse, "no hashes to confirm it")
    var unknown = sound()
    unknown.recordedHashes = hashes(["Task": 0xaa])
    #expect(judge(unknown, cocoa: [code]).action == .quarantine)
    var equal = mismatching()
    equal.comparison = HashComparison(
      store: hashes(["Task": 0xaa]), model: hashes(["Task": 0xaa]))
    #expect(judge(equal, cocoa: [code]).action == .refuse)
    var newer = mismatching()
    newer.isNewerThanApp = true
    #expect(judge(newer, cocoa: [code]).action == .refuse)
    #expect(judge(newer, cocoa: [code]).finding == .newer)
    var policy = Policy()
    policy.setsAsideNewerStores = true
    newer.failure = .init(cocoaCode: code)
    #expect(classify(newer, policy: policy).action == .quarantine)
    policy.setsAsideFailedMigrations = false
    var failed = mismatching()
    failed.failure = .init(cocoaCode: code)
    let byPolicy = [134140, 134190, 134110].contains(code)
    #expect(classify(failed, policy: policy).action == (byPolicy ? .refuse : .quarantine))
  }

  @Test(arguments: [134170, 134111])
  func faultsOfTheMapping(code: Int) {
    #expect(judge(mismatching(), cocoa: [code]).action == .refuse)
    var policy = Policy()
    policy.setsAsideMappingFaults = true
    var evidence = mismatching()
    evidence.failure = .init(cocoaCode: code)
    #expect(classify(evidence, policy: policy).action == .quarantine)
  }

  @Test(arguments: [256, 134080, 134150, 134180, 134020])
  func wrappersSayNothing(code: Int) {
    #expect(judge(sound(), cocoa: [code]).action == .refuse)
    #expect(judge(sound(), cocoa: [code]).finding == .hostError)
    #expect(judge(mismatching(), cocoa: [code]).action == .quarantine)
    var evidence = damaged()
    evidence.failure = .init(
      chain: [.init(domain: "NSCocoaErrorDomain", code: code)], sqliteCode: 5, cocoaCode: code)
    #expect(classify(evidence).action == .retry)
    evidence.failure?.sqliteCode = 11
    #expect(classify(evidence).action == .quarantine)
    evidence.failure = .init(cocoaCode: code, posixCode: 28)
    #expect(classify(evidence).action == .wait)
  }

  @Test func writeFailures() {
    var evidence = sound()
    evidence.freeBytes = 100
    #expect(judge(evidence, cocoa: [512]).action == .wait)
  }

  @Test func ghosts() {
    var missing = StoreEvidence(mainKind: nil)
    #expect(classify(missing).action == .open)
    missing.members = [.init(role: .wal, name: "Done.sqlite-wal", kind: .file, sizeBytes: 4152)]
    #expect(classify(missing).action == .refuse)
    #expect(classify(missing).rule.rawValue == "store.mainMissing")
    for role in [StoreSet.Role.wal, .journal] {
      var empty = StoreEvidence(mainKind: .file, mainSizeBytes: 0)
      #expect(classify(empty).action == .open)
      empty.members = [.init(role: role, name: "Done.sqlite-x", kind: .file, sizeBytes: 512)]
      #expect(classify(empty).action == .refuse)
    }
    var log = sound()
    let losses: [(SilentLoss.Kind, Int?, String)] = [
      (.headerDamaged, 2, "store.walDamaged"), (.headerDamaged, nil, "store.walDamaged"),
      (.headerDamaged, 0, "open"), (.foreign, nil, "store.walForeign"), (.gone, nil, "open"),
      (.cutShort, nil, "open"),
    ]
    for (kind, pages, rule) in losses {
      log.wal = .init(
        sizeBytes: 4152, loss: .init(kind: kind, witness: .index, keptPages: pages))
      #expect(classify(log).rule.rawValue == rule)
    }
  }

  /// Section 2c: none of these lets a store be set aside.
  static let holds: [(String, @Sendable (inout StoreEvidence) -> Void)] = [
    ("hold.extension", { $0.host.isExtension = true }),
    ("hold.background", { $0.host.isInBackground = true }),
    ("hold.locked", { $0.host.isProtectedDataAvailable = false }),
    ("hold.shared", { $0.host.ownsStore = false }),
    ("hold.symbolicLink", { $0.mainKind = .symbolicLink }),
    ("hold.notAFile", { $0.mainKind = .folder }),
    ("hold.unreadable", { $0.openErrno = 13 }),
    ("hold.unreadable", { $0.openErrno = nil }),
    ("hold.noSpace", { $0.freeBytes = 100 }),
    ("hold.shared", { $0.isUsedElsewhere = true }),
    ("hold.repeated", { $0.repetition = repetition(same: 0, all: 5) }),
    ("hold.repeated", { $0.repetition = repetition(same: 2, all: 2) }),
    ("hold.hostDecides", { $0.repetition = repetition(same: 1, all: 1, isAllowed: false) }),
    ("hold.unrecorded", { $0.repetition = repetition(isKnown: false) }),
    ("hold.freshFails", { $0.trial = trial(makesFreshStore: false) }),
    ("hold.copyOpens", { $0.trial = trial(copy: .opened) }),
    ("hold.copyUnavailable", { $0.trial = trial(copy: .unavailable) }),
  ]

  @Test(arguments: holds.indices)
  func conditions(index: Int) {
    let (rule, change) = Self.holds[index]
    for (start, code) in [(damaged(), 11 as Int32), (mismatching(), 1)] {
      #expect(judge(start, sqlite: code).action == .quarantine)
      var evidence = start
      change(&evidence)
      let verdict = judge(evidence, sqlite: code)
      #expect(verdict.action != .quarantine)
      #expect(verdict.rule.rawValue == rule)
    }
  }

  /// Where Core Data migrates on opening, a store that only waits for it differs from the model as well.
  @Test func aMismatchAloneIsEnoughOnlyWhereThePolicySaysSo() {
    var evidence = mismatching()
    evidence.failure = .init(chain: [.init(domain: "Host", code: 1)])
    var policy = Policy()
    policy.setsAsideOnMismatchAlone = true
    #expect(classify(evidence, policy: policy).action == .quarantine)
    policy.setsAsideOnMismatchAlone = false
    #expect(classify(evidence, policy: policy).action == .refuse)
    #expect(classify(evidence, policy: policy).finding == .hostError)
  }

  @Test func unknownErrors() {
    var evidence = sound()
    evidence.failure = .init(chain: [.init(domain: "Host", code: 1)])
    #expect(classify(evidence).finding == .hostError)
    #expect(classify(evidence).action == .refuse)
    evidence.structure?.findingCount = 2
    #expect(classify(evidence).action == .refuse, "damage that does not stop an open")
    evidence.structure?.isUnopenable = true
    #expect(classify(evidence).action == .quarantine)
  }

  /// Every code that the specification's tables name has a row of its own.
  @Test(.enabled(if: Shared.isThere)) func tablesAreComplete() throws {
    guard let shared = Shared.require("the tables of codes") else { return }
    let text = try String(
      contentsOf: shared.appendingPathComponent("reference/failed-open.md"), encoding: .utf8)
    var section = ""
    var sqlite: Set<Int> = []
    var cocoa: Set<Int> = []
    for line in text.split(separator: "\n") {
      if line.hasPrefix("### 2") { section = String(line.prefix(6)) }
      if line.hasPrefix("## 3") { break }
      guard line.hasPrefix("|"), let cell = line.split(separator: "|").first else { continue }
      if cell.contains("no error") || cell.contains("SwiftData") || cell.contains("ObjC") {
        continue
      }
      for match in cell.matches(of: /\b[0-9]+\b/) {
        guard let code = Int(match.output) else { continue }
        if section == "### 2a" { sqlite.insert(code) }
        if section == "### 2b" { cocoa.insert(code) }
      }
    }
    #expect(sqlite.count > 75 && cocoa.count > 30)
    let known = Set(SQLiteRules.rows.map(\.code))
    #expect(sqlite.subtracting(known).isEmpty)
    #expect(cocoa.subtracting(CocoaRules.rows.map(\.code)).isEmpty)
    #expect(known.count == SQLiteRules.rows.count, "no code twice")
    #expect(SQLiteRules.rows.allSatisfy { !$0.reason.isEmpty })
  }

  @Test func unlistedCodesNeverMoveAStore() {
    for code in Int32(1)...20_000 where !SQLiteRules.rows.contains(where: { $0.code == Int(code) })
    {
      for evidence in [damaged(), mismatching()] where code != 100 && code != 101 {
        let action = judge(evidence, sqlite: code).action
        #expect(action != .quarantine && action != .open, "\(code)")
      }
      if code > 9000, !code.isMultiple(of: 97) { continue }
    }
  }

  /// Whatever the file looks like, a code of the surroundings never moves the store.
  @Test func randomEvidence() {
    var random = Seeded(state: 42)
    let sqlite = Self.fixedSQLite.map(\.0)
    let cocoa = Self.fixedCocoa.map(\.0)
    var quarantines = 0
    for round in 0..<10_000 {
      var evidence = randomEvidence(&random)
      let code = sqlite.randomElement(using: &random) ?? 5
      if Bool.random(using: &random) {
        evidence.failure = .init(
          chain: [.init(domain: "NSCocoaErrorDomain", code: 134100)], sqliteCode: code,
          cocoaCode: 134100, blamesSchema: Bool.random(using: &random))
      } else {
        evidence.failure = .init(
          chain: [
            .init(domain: "NSCocoaErrorDomain", code: 134100),
            .init(domain: "NSCocoaErrorDomain", code: cocoa.randomElement(using: &random) ?? 4),
          ], cocoaCode: 134100)
      }
      var policy = Policy()
      policy.setsAsideNewerStores = true
      policy.setsAsideMappingFaults = true
      policy.setsAsideRepairable = true
      #expect(classify(evidence, policy: policy).action != .quarantine, "round \(round)")
      evidence.failure = .init(sqliteCode: 11)
      if classify(evidence, policy: policy).action == .quarantine { quarantines += 1 }
    }
    #expect(quarantines > 100, "the evidence does lead to a quarantine with another code")
  }

  private func randomEvidence(_ random: inout Seeded) -> StoreEvidence {
    var evidence = [sound(), damaged(), mismatching()].randomElement(using: &random) ?? sound()
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.openErrno = 13 }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.freeBytes = 0 }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.mainSizeBytes = 0 }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.looksEncrypted = true }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.header?.isMagicRight = false }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.isNewerThanApp = true }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.header = nil }
    if Int.random(in: 0..<4, using: &random) == 0 { evidence.mainKind = nil }
    if Int.random(in: 0..<4, using: &random) == 0 {
      evidence.members.append(.init(role: .wal, name: "w", kind: .file, sizeBytes: 100))
    }
    return evidence
  }
}

/// SplitMix64.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
