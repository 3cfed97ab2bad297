import SafeFiles
import StoreFiles
import Fixtures
import Foundation
import ObjectModel
import Testing

@testable import StoreRecovery

/// The tables 2a and 2b of failed-open.md, written down by hand from the document and from nothing else: what
/// they allow for each code. The letters are those of its section 2.
enum SpecifiedCodes {
  /// Whether a row of the tables can end in Q, by V or outright, and what else it can end in.
  struct Row {
    let codes: [Int]
    /// R retry, W wait, S refuse and surface, V verify, Q quarantine.
    let letters: String

    init(_ letters: String, _ codes: Int...) {
      self.letters = letters
      self.codes = codes
    }

    var mayQuarantine: Bool { letters.contains("Q") || letters.contains("V") }

    /// The actions that the row allows. A verification that confirms nothing is a retry or a refusal, and the
    /// conditions of 2c make a quarantine a wait or a refusal.
    var actions: Set<Action> {
      var actions: Set<Action> = []
      if letters.contains("R") { actions.insert(.retry) }
      if letters.contains("W") { actions.insert(.wait) }
      if letters.contains("S") { actions.insert(.refuse) }
      if mayQuarantine { actions.formUnion([.quarantine, .retry, .wait, .refuse, .openInMemory]) }
      return actions
    }
  }

  /// Table 2a.
  static let sqlite: [Row] = [
    Row("SV", 1), Row("S", 257), Row("R", 513), Row("R", 769), Row("S", 3), Row("R", 4, 516),
    Row("RW", 5, 261, 517, 773), Row("R", 6, 262, 518), Row("RS", 7, 3082), Row("S", 8),
    Row("R", 264), Row("RS", 520, 1288), Row("R", 776), Row("R", 1032), Row("S", 1544),
    Row("R", 9), Row("WRS", 10), Row("RS", 266, 1802, 8714, 6154),
    // V "if the file itself is shorter": but this family never moves a store, as three incidents tell.
    Row("RS", 522),
    Row("WS", 778, 1034, 1290, 1546), Row("RW", 2058, 2314, 3594, 3850), Row("S", 2570, 5898),
    Row("RS", 2826, 4106, 4362, 5642, 7434, 7690, 7946), Row("W", 3338),
    Row("WR", 4618, 4874, 5130, 5386), Row("S", 6410, 6666), Row("R", 6922), Row("WR", 7178),
    // V by the table; the treatment is the stricter one of its family.
    Row("R", 8202), Row("S", 8458), Row("VQ", 11),
    // "Rebuild on a copy; Q only if that fails", and by policy.
    Row("SQ", 267), Row("SQ", 523), Row("SQ", 779), Row("RS", 12, 15), Row("W", 13),
    Row("WSR", 14), Row("S", 270, 526, 782, 1038, 1550), Row("RS", 1294), Row("V", 16, 2, 24),
    Row("R", 17), Row("S", 18, 19, 20, 25), Row("RS", 21), Row("S", 22), Row("W", 23),
    Row("SVQ", 26), Row("R", 27, 28),
  ]

  /// Table 2b.
  static let cocoa: [Row] = [
    Row("SQ", 134100), Row("SQ", 134130), Row("SQ", 134140), Row("SQ", 134190),
    Row("RWSQ", 134110),
    // "Unwrap": a wrapper alone says nothing, and what the file shows decides.
    Row("SQ", 134150), Row("W", 134160), Row("SQ", 134170, 134111), Row("R", 134120),
    Row("SQ", 134020), Row("S", 134000, 134010), Row("SVQ", 134080), Row("SVQ", 134180),
    Row("SQ", 134504), Row("S", 134505), Row("S", 134506), Row("R", 134301),
    Row("S", 134030, 134040, 134050, 134060, 134070, 134090, 134091), Row("S", 134200),
    Row("SVQ", 256), Row("WS", 257), Row("S", 258, 263, 642), Row("VQ", 259), Row("RS", 4, 260),
    Row("WSR", 512, 513, 516), Row("W", 640),
  ]

  static let sqliteByCode = byCode(sqlite)
  static let cocoaByCode = byCode(cocoa)

  private static func byCode(_ rows: [Row]) -> [Int: Row] {
    Dictionary(uniqueKeysWithValues: rows.flatMap { row in row.codes.map { ($0, row) } })
  }
}

@Suite struct RandomEvidenceTests {
  /// The table above names the codes that the document names, and no other.
  @Test(.enabled(if: Shared.isThere)) func theTableIsThatOfTheDocument() throws {
    guard let shared = Shared.require("the tables of codes") else { return }
    let text = try String(
      contentsOf: shared.appendingPathComponent("reference/failed-open.md"), encoding: .utf8)
    var section = ""
    var found: [String: Set<Int>] = [:]
    for line in text.split(separator: "\n") {
      if line.hasPrefix("#") { section = String(line.prefix(6)) }
      guard line.hasPrefix("|"), ["### 2a", "### 2b"].contains(section) else { continue }
      let cell = line.split(separator: "|").first ?? ""
      if cell.contains("no error") || cell.contains("SwiftData") || cell.contains("ObjC") {
        continue
      }
      let numbers = cell.matches(of: /\b[0-9]+(-[0-9]+)?\b/)
      for number in numbers {
        let ends = number.output.0.split(separator: "-").compactMap { Int($0) }
        found[section, default: []].formUnion(ends)
      }
    }
    for (section, table) in [
      ("### 2a", SpecifiedCodes.sqliteByCode), ("### 2b", SpecifiedCodes.cocoaByCode),
    ] {
      let named = found[section] ?? []
      #expect(named.subtracting(table.keys).isEmpty)
      // Codes inside a range ("4618-5386") are not named one by one.
      let inRanges: Set = [2314, 5130, 4874, 134040, 134050, 134060]
      #expect(Set(table.keys).subtracting(named).subtracting(inRanges).isEmpty)
    }
  }

  /// One row after the other: each code alone, in the evidence of a sound, a damaged and a mismatching store.
  @Test(arguments: SpecifiedCodes.sqliteByCode.keys.sorted())
  func rowOf2a(code: Int) throws {
    let row = try #require(SpecifiedCodes.sqliteByCode[code])
    var seen: Set<Action> = []
    for evidence in Self.typical {
      for policy in [Policy(), Self.permissive] {
        var evidence = evidence
        evidence.failure = .init(sqliteCode: Int32(code), blamesSchema: true)
        let verdict = classify(evidence, policy: policy)
        #expect(row.actions.contains(verdict.action), "\(code): \(verdict)")
        // The wrong model may decide only where the code itself says little.
        #expect(
          verdict.rule.rawValue == "sqlite.\(code)"
            || code == 1 && verdict.rule.rawValue.hasPrefix("model."))
        seen.insert(verdict.action)
      }
    }
    #expect(seen.contains(.quarantine) == row.mayQuarantine)
  }

  @Test(arguments: SpecifiedCodes.cocoaByCode.keys.sorted())
  func rowOf2b(code: Int) throws {
    let row = try #require(SpecifiedCodes.cocoaByCode[code])
    var seen: Set<Action> = []
    for evidence in Self.typical {
      for policy in [Policy(), Self.permissive] {
        var evidence = evidence
        evidence.failure = .init(
          chain: [.init(domain: "NSCocoaErrorDomain", code: code)], cocoaCode: code)
        let verdict = classify(evidence, policy: policy)
        #expect(row.actions.contains(verdict.action), "\(code): \(verdict)")
        seen.insert(verdict.action)
        // "If present, table 2a wins."
        for inner in [5, 13, 14, 23, 264, 522, 3850, 6922] as [Int32] {
          evidence.failure?.sqliteCode = inner
          let inside = classify(evidence, policy: policy)
          #expect(inside.rule.rawValue == "sqlite.\(inner)" && inside.action != .quarantine)
        }
      }
    }
    #expect(seen.contains(.quarantine) == row.mayQuarantine, "\(code): \(seen)")
  }

  /// The rows of 2a that no error comes with.
  @Test func rowsWithoutAnError() {
    var missing = StoreEvidence(mainKind: nil)
    #expect(classify(missing).action == .open, "a new store")
    var empty = StoreEvidence(mainKind: .file, mainSizeBytes: 0)
    #expect(classify(empty).action == .open)
    for role in [StoreSet.Role.wal, .journal] {
      let member = StoreEvidence.Member(role: role, name: "x", kind: .file, sizeBytes: 5000)
      missing.members = [member]
      empty.members = [member]
      for evidence in [missing, empty] {
        #expect(classify(evidence).action == .refuse)
        #expect(classifyAtRest(evidence).action == .refuse)
        #expect(classify(evidence).finding == .corrupt)
      }
    }
    var damaged = Self.typical[0]
    damaged.wal = .init(
      sizeBytes: 5000, loss: .init(kind: .headerDamaged, witness: .log, keptPages: 1))
    #expect(classify(damaged).action == .refuse)
  }

  /// What SQLite and Core Data name in several words, in an error of a kind that hosts know.
  @Test func opaqueErrors() {
    for domain in ["SwiftData.SwiftDataError", "NSInternalInconsistencyException", "Host"] {
      var evidence = Self.typical[0]
      evidence.failure = .init(chain: [.init(domain: domain, code: 1)])
      #expect(classify(evidence).action == .refuse)
      #expect(classify(evidence).finding == .hostError)
    }
  }

  static var typical: [StoreEvidence] {
    var sound = StoreEvidence(mainKind: .file, mainSizeBytes: 40960)
    sound.members = [.init(role: .main, name: "Done.sqlite", kind: .file, sizeBytes: 40960)]
    sound.header = .init(isMagicRight: true, pageSize: 4096, readVersion: 2, pageCount: 10)
    sound.looksEncrypted = false
    sound.structure = .init(findings: [], findingCount: 0, isUnopenable: false)
    sound.freeBytes = 1 << 40
    sound.openErrno = 0
    var damaged = sound
    damaged.structure = .init(findings: ["page.pointer"], findingCount: 3, isUnopenable: true)
    var short = sound
    short.mainSizeBytes = 8192
    var other = sound
    other.recordedHashes = hashes(["Task": 0xaa])
    other.comparison = HashComparison(
      store: hashes(["Task": 0xaa]), model: hashes(["Task": 0xbb]))
    other.expectsModel = true
    var newer = other
    newer.isNewerThanApp = true
    return [sound, damaged, short, other, newer]
  }

  static var permissive: Policy {
    var policy = Policy()
    policy.setsAsideNewerStores = true
    policy.setsAsideOnMismatchAlone = true
    policy.setsAsideFailedMigrations = true
    policy.setsAsideMappingFaults = true
    policy.setsAsideRepairable = true
    return policy
  }

  // MARK: Random

  /// Every field of evidence and policy, in combinations that can be and that cannot.
  private struct Dice {
    var random: Seeded

    mutating func chance(_ sides: Int) -> Bool { Int.random(in: 0..<sides, using: &random) == 0 }
    mutating func maybe<Value>(_ value: Value, _ sides: Int = 3) -> Value? {
      chance(sides) ? nil : value
    }
    mutating func flag() -> Bool? { maybe(Bool.random(using: &random)) }
    mutating func pick<Value>(_ values: [Value], _ fallback: Value) -> Value {
      values.randomElement(using: &random) ?? fallback
    }
    mutating func size() -> Int64 {
      pick([0, 1, 15, 16, 100, 4096, 8192, 40960, 1 << 40, .max, -1], 4096)
    }

    mutating func code(_ table: [Int: SpecifiedCodes.Row]) -> Int {
      chance(12)
        ? Int.random(in: -10...200_000, using: &random) : pick(table.keys.sorted(), 11)
    }

    mutating func policy() -> Policy {
      var policy = Policy()
      policy.minimumFreeBytes = pick([0, 4 << 20, .max], 0)
      policy.maximumQuarantines = pick([0, 1, 5, .max], 5)
      policy.triesTwice = chance(2)
      policy.setsAsideNewerStores = chance(2)
      policy.setsAsideOnMismatchAlone = chance(2)
      policy.setsAsideFailedMigrations = chance(2)
      policy.setsAsideMappingFaults = chance(2)
      policy.setsAsideRepairable = chance(2)
      return policy
    }

    /// Evidence that would let a store be set aside, so that the conditions are what decides.
    mutating func favourable() -> StoreEvidence {
      var evidence = pick(RandomEvidenceTests.typical, StoreEvidence(mainKind: .file))
      if chance(6) { evidence.header?.isMagicRight = false }
      if chance(8) { evidence.repetition = repetition() }
      return evidence
    }

    mutating func evidence() -> StoreEvidence {
      var evidence = chance(4) ? StoreEvidence(mainKind: nil) : favourable()
      if chance(2) { surroundings(&evidence) }
      if chance(3) { file(&evidence) }
      if chance(3) { contents(&evidence) }
      return evidence
    }

    private mutating func surroundings(_ evidence: inout StoreEvidence) {
      evidence.mainKind = maybe(pick(StoreSet.Kind.allCases + [.file, .file, .file], .file), 8)
      evidence.folderExists = !chance(5)
      evidence.freeBytes = maybe(size())
      evidence.openErrno = maybe(pick([0, 0, 0, 0, 2, 5, 13, 24, 28], 0), 6)
      evidence.isUsedElsewhere = flag()
      evidence.lockHolder = maybe(77)
      evidence.repetition = maybe(repetition())
      evidence.trial = maybe(trial())
      evidence.host = HostState(
        isExtension: maybe(chance(5)), isInBackground: maybe(chance(5)),
        isProtectedDataAvailable: maybe(!chance(5)), ownsStore: maybe(!chance(5)))
    }

    private mutating func repetition() -> StoreEvidence.Repetition {
      var repetition = StoreEvidence.Repetition(fingerprint: "corrupt sqlite.11")
      repetition.isKnown = !chance(6)
      repetition.same = pick([0, 0, 0, 1, 2, .max], 0)
      repetition.all = pick([0, 0, 1, 4, 5, .max], 0)
      repetition.isAllowed = flag()
      return repetition
    }

    private mutating func trial() -> StoreEvidence.Trial {
      var trial = StoreEvidence.Trial()
      trial.makesFreshStore = flag()
      trial.freshCode = maybe(13)
      trial.copy = maybe(pick(StoreEvidence.Trial.Copy.allCases, .failed))
      return trial
    }

    private mutating func file(_ evidence: inout StoreEvidence) {
      evidence.journal = maybe(.init(isHot: flag()))
      evidence.mainSizeBytes = maybe(size())
      evidence.members = (0..<Int.random(in: 0...4, using: &random)).map { index in
        .init(
          role: pick(StoreSet.Role.allCases, .main), name: "m\(index)",
          kind: pick(StoreSet.Kind.allCases, .file), sizeBytes: size())
      }
      evidence.looksEncrypted = flag()
      evidence.header = maybe(
        .init(
          isMagicRight: chance(2), pageSize: maybe(pick([512, 4096, 65536, 0, .max], 512)),
          readVersion: maybe(pick([1, 2, 3, 255], 1)), changeCounter: maybe(.max),
          pageCount: maybe(pick([1, 10, .max], 1)), schemaFormat: maybe(pick([1, 4, 9], 4))))
      evidence.wal = maybe(wal())
    }

    private mutating func wal() -> StoreEvidence.WAL {
      StoreEvidence.WAL(
        sizeBytes: size(), isHeaderSound: flag(), committedFrames: maybe(7),
        lostFrames: maybe(pick([0, 1, .max], 0)), loss: chance(6) ? loss() : nil,
        doubt: maybe(loss()), witnesses: maybe(pick([[], [.index], [.record, .log]], [])))
    }

    private mutating func loss() -> SilentLoss {
      .init(
        kind: pick(SilentLoss.Kind.allCases, .gone),
        witness: pick(SilentLoss.Witness.allCases, .log), frames: maybe(12), keptPages: maybe(4))
    }

    private mutating func contents(_ evidence: inout StoreEvidence) {
      evidence.structure = maybe(
        .init(
          findings: pick([[], ["page.pointer"], ["schema.unreadable"]], []),
          findingCount: pick([0, 1, 300], 0), isUnopenable: chance(2), isComplete: !chance(4)))
      evidence.storeUUID = maybe("0C2E9C3A")
      evidence.frameworkVersion = maybe(1344)
      evidence.hashesVersion = maybe(3)
      let store = hashes(["Task": UInt8.random(in: 0...2, using: &random)])
      evidence.recordedHashes = maybe(pick([store, [:]], store))
      evidence.expectsModel = chance(2)
      evidence.expectedVersion = maybe("Model 2")
      evidence.expectedHashes = maybe(hashes(["Task": 1]))
      evidence.comparison = maybe(
        HashComparison(store: store, model: hashes(["Task": 1, "Tag": 2])))
      evidence.undecided = maybe(pick([[], ["Tag"]], []))
      evidence.writtenBy = maybe("Model 1")
      evidence.isNewerThanApp = flag()
      evidence.sharesEntities = chance(4) ? false : flag()
    }

    /// A failure with codes of the tables and others, one in another.
    mutating func failure() -> StoreEvidence.Failure {
      var failure = StoreEvidence.Failure(blamesSchema: chance(2))
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let code = code(SpecifiedCodes.cocoaByCode)
        failure.chain.append(.init(domain: "NSCocoaErrorDomain", code: code))
        failure.cocoaCode = failure.cocoaCode ?? code
      }
      if chance(6) { failure.chain.insert(.init(domain: "Host", code: 1), at: 0) }
      if chance(2) {
        failure.sqliteCode = Int32(
          clamping: chance(3) ? pick([1, 11, 26], 11) : code(SpecifiedCodes.sqliteByCode))
      }
      if chance(8) { failure.meaning = pick(FailureMeaning.allCases, .wrongKey) }
      if chance(6) { failure.posixCode = pick([1, 2, 5, 13, 24, 28], 1) }
      return failure
    }
  }

  /// Why this evidence must not lead to a quarantine, whatever else it says; nil when it may.
  private func obstacle(_ evidence: StoreEvidence, _ policy: Policy) -> String? {
    let host = evidence.host
    if host.isExtension == true { return "extension" }
    if host.isInBackground == true { return "background" }
    if host.isProtectedDataAvailable == false { return "locked" }
    if host.ownsStore == false || evidence.isUsedElsewhere == true { return "another process" }
    if evidence.mainKind != .file { return "no file" }
    if evidence.openErrno != 0 { return "unreadable" }
    if evidence.sharesEntities == false { return "foreign" }
    if let free = evidence.freeBytes, free < policy.minimumFreeBytes { return "no space" }
    if let repetition = evidence.repetition {
      if !repetition.isKnown || repetition.same >= 2 { return "repeated" }
      if repetition.all >= policy.maximumQuarantines { return "repeated" }
      if repetition.same == 1, repetition.isAllowed == false { return "repeated" }
    }
    if evidence.trial?.makesFreshStore == false { return "throw-away" }
    if [.opened, .unavailable].contains(evidence.trial?.copy) { return "copy opens" }
    guard let failure = evidence.failure else { return "nothing failed" }
    if let code = failure.sqliteCode, code > 0, code != 100, code != 101 {
      // "If present, table 2a wins", for a code that it does not name as well.
      return SpecifiedCodes.sqliteByCode[Int(code)]?.mayQuarantine == true ? nil : "code \(code)"
    }
    let codes = failure.chain.filter { $0.domain == "NSCocoaErrorDomain" }.map(\.code)
    for code in codes where SpecifiedCodes.cocoaByCode[code]?.mayQuarantine == false {
      return "code \(code)"
    }
    if failure.meaning == .wrongKey { return "wrong key" }
    if failure.posixCode != nil { return "errno" }
    return nil
  }

  @Test func tenThousandEvidences() throws {
    var dice = Dice(random: Seeded(state: 5_000_011))
    var actions: [Action: Int] = [:]
    var obstacles: [String: Int] = [:]
    var held = 0
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    for round in 0..<10_000 {
      var evidence = dice.evidence()
      evidence.failure = dice.maybe(dice.failure(), 12)
      let policy = dice.policy()
      for verdict in [
        classify(evidence, policy: policy), classifyAtRest(evidence, policy: policy),
      ] {
        #expect(!verdict.reason.isEmpty && !verdict.rule.rawValue.isEmpty, "round \(round)")
      }
      let verdict = classify(evidence, policy: policy)
      #expect(verdict == classify(evidence, policy: policy), "round \(round)")
      actions[verdict.action, default: 0] += 1
      if verdict.rule.rawValue.hasPrefix("hold.") { held += 1 }
      if let obstacle = obstacle(evidence, policy) {
        obstacles[String(obstacle.prefix(4)), default: 0] += 1
        #expect(verdict.action != .quarantine, "round \(round), \(obstacle): \(verdict)")
      }
      // At rest no code speaks; the conditions hold as well.
      var quiet = evidence
      quiet.failure = .init(sqliteCode: 11)
      if obstacle(quiet, policy) != nil {
        #expect(classifyAtRest(evidence, policy: policy).action != .quarantine, "round \(round)")
      }
      if evidence.failure != nil { #expect(verdict.action != .open, "round \(round)") }
      // What is written down comes back.
      guard round.isMultiple(of: Rounds.areLong ? 4 : 16) else { continue }
      let data = try encoder.encode(evidence)
      let back = try JSONDecoder().decode(StoreEvidence.self, from: data)
      #expect(back == evidence, "round \(round)")
      #expect(try encoder.encode(back) == data)
      #expect(
        try JSONDecoder().decode(Verdict.self, from: encoder.encode(verdict)) == verdict)
    }
    print("random evidences: \(actions), held \(held), \(obstacles)")
    #expect((actions[.quarantine] ?? 0) > 200, "the dice do fall so that a store is set aside")
    #expect(held > 500)
    for action in Action.allCases { #expect((actions[action] ?? 0) > 10, "\(action)") }
  }
}
