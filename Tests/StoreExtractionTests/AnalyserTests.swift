import Fixtures
import Foundation
import SQLiteFile
import SQLiteForensics
import Testing

@testable import StoreExtraction

/// Analysers: those that ship, each where it must speak and where it must not, and a team's own.
@Suite struct AnalyserTests {
  private static func analysers(_ facts: [String: AnalyserFacts.Value]) -> [String] {
    Analysers.shipped.analyses(AnalyserFacts(facts)).map(\.id)
  }

  @Test func allThatShipCanBeRead() {
    #expect(ShippedAnalysers.decoded.count == ShippedAnalysers.texts.count)
    #expect(Set(ShippedAnalysers.decoded.map(\.id)).count == ShippedAnalysers.texts.count)
    #expect(ShippedAnalysers.texts.count >= 12)
  }

  private typealias Facts = [String: AnalyserFacts.Value]

  /// An analyser, facts that must make it speak, and a change of one of them after which it must not.
  struct Case: Sendable {
    let id: String
    let facts: [String: AnalyserFacts.Value]
    let fact: String
    let value: AnalyserFacts.Value?

    init(
      _ id: String, _ facts: [String: AnalyserFacts.Value], but fact: String,
      _ value: AnalyserFacts.Value?
    ) {
      self.id = id
      self.facts = facts
      self.fact = fact
      self.value = value
    }
  }

  private static let logOfTwo: Facts = [
    "file.journalMode": .text("wal"), "damageCount": .number(3),
    "writeAheadLog.staleFrameCount": .number(2), "file.sqliteVersion": .text("3.43.2"),
    "writeAheadLog.committedFramesBehindBreak": .number(0),
  ]
  private static let copied: Facts = [
    "file.journalMode": .text("wal"), "files": .list([.text("main"), .text("sharedMemory")]),
  ]

  static let cases: [Case] = [
    Case("sqlite.walReset", logOfTwo, but: "file.sqliteVersion", .text("3.51.3")),
    Case("sqlite.walReset", logOfTwo, but: "file.sqliteVersion", .text("3.50.7")),
    Case("sqlite.walReset", logOfTwo, but: "damageCount", .number(0)),
    Case(
      "sqlite.walReset", logOfTwo, but: "writeAheadLog.committedFramesBehindBreak", nil),
    Case(
      "sqlite.logBehindBreak", ["writeAheadLog.committedFramesBehindBreak": .number(1)],
      but: "writeAheadLog.committedFramesBehindBreak", .number(0)),
    Case(
      "sqlite.logNotUsed", ["writeAheadLog.problem": .text("another page size")],
      but: "writeAheadLog.problem", nil),
    Case("sqlite.logMissing", copied, but: "writeAheadLog.sizeBytes", .number(0)),
    Case("sqlite.logMissing", copied, but: "files", .list([.text("main")])),
    Case(
      "sqlite.staleIndex", ["sharedMemory.isOlderThanLog": .flag(true)],
      but: "sharedMemory.isOlderThanLog", .flag(false)),
    Case(
      "sqlite.unfinished", ["writeAheadLog.uncommittedFrameCount": .number(7)],
      but: "writeAheadLog.uncommittedFrameCount", .number(0)),
    Case(
      "sqlite.hotJournal", ["journal.state": .text("hot")], but: "journal.state",
      .text("finished")),
    Case(
      "file.cutShort", ["findings": .list([.text("file.truncated")])], but: "findings", .list([])),
    Case(
      "file.overwritten", ["findings": .list([.text("header.unreadable")])], but: "findings",
      .list([.text("page.badType")])),
    Case(
      "coredata.metadataLost", ["kind": .text("coreDataShaped")], but: "kind", .text("coreData")),
    Case(
      "coredata.metadataAltered", ["metadata.digestHolds": .flag(false)],
      but: "metadata.digestHolds", nil),
    Case(
      "coredata.modelDiffers", ["model.hashesAgree": .flag(false)], but: "model.hashesAgree",
      .flag(true)),
    Case(
      "coredata.newerApp", ["incident.verdict.finding": .text("newer")],
      but: "incident.verdict.finding", .text("corrupt")),
    Case(
      "swiftdata.unknownVersion", ["incident.verdict.rule": .text("cocoa.134504")],
      but: "incident.verdict.rule", .text("cocoa.134100")),
    Case(
      "cloudkit.mirrored", ["tables": .list([.text("ZNOTE"), .text("ANSCKRECORDMETADATA")])],
      but: "tables", .list([.text("ZNOTE")])),
  ]

  @Test(arguments: cases) func eachSpeaksWhereItMust(_ analyser: Case) {
    #expect(Self.analysers(analyser.facts) == [analyser.id])
    var changed = analyser.facts
    changed[analyser.fact] = analyser.value
    #expect(Self.analysers(changed) == [])
  }

  @Test func eachHasACase() {
    #expect(Set(Self.cases.map(\.id)) == Set(ShippedAnalysers.decoded.map(\.id)))
  }

  /// Facts of real stores: a sound one is nobody's case but that of a mirrored one.
  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all)
  func realStores(_ store: RealStore) throws {
    let check = try StoreCheck(path: store.url.path)
    let facts = try AnalyserFacts(
      path: store.url.path, findings: check.findings, damageCount: check.damageCount)
    #expect(facts["kind"] != nil && facts["file.sqliteVersion"]?.version != nil)
    let said = Analysers.shipped.analyses(facts).map(\.id)
    let expected: Set = [
      "cloudkit.mirrored", "sqlite.staleIndex", "sqlite.logMissing", "sqlite.unfinished",
    ]
    #expect(said.allSatisfy(expected.contains), "\(store): \(said)")
  }

  /// Facts of files that are what an analyser is about.
  @Test func factsOfFiles() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "PRAGMA journal_mode = wal; CREATE TABLE ANSCKRECORDMETADATA(a); INSERT INTO ANSCKRECORDMETADATA VALUES (1)"
    )
    let facts = try AnalyserFacts(
      path: url.path, findings: [], damageCount: 0,
      incident: Data(
        #"{"verdict":{"rule":"cocoa.134504","finding":"newer"},"list":[1,{"a":2}]}"#.utf8))
    #expect(facts["writeAheadLog.commitCount"]?.number ?? 0 >= 1)
    #expect(facts["files"] == .list([.text("main"), .text("sharedMemory"), .text("wal")]))
    #expect(facts["sharedMemory.isOlderThanLog"] == .flag(false))
    #expect(facts["incident.list"] == .list([.number(1)]))
    #expect(
      Analysers.shipped.analyses(facts).map(\.id)
        == ["coredata.newerApp", "swiftdata.unknownVersion", "cloudkit.mirrored"])
    connection.close()
  }

  /// A log that is there and empty, as SQLite leaves it after a checkpoint that truncates it, was copied.
  @Test(arguments: [true, false]) func anEmptyLogIsNotMissing(_ hasLog: Bool) throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("PRAGMA journal_mode = wal; CREATE TABLE t(a)")
    connection.close()
    try Data(count: 32_768).write(to: URL(fileURLWithPath: url.path + "-shm"))
    if hasLog { try Data().write(to: URL(fileURLWithPath: url.path + "-wal")) }
    let inspected = AnalyserFacts(try StoreInspection(path: url.path))
    for facts in [try AnalyserFacts(path: url.path, findings: [], damageCount: 0), inspected] {
      let said = Analysers.shipped.analyses(facts).map(\.id)
      #expect(said.contains("sqlite.logMissing") != hasLog, "\(said)")
    }
  }

  /// A log that the reader was told to ignore has its size.
  @Test func anIgnoredLogHasItsSize() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec("PRAGMA journal_mode = wal; CREATE TABLE t(a)")
    let facts = try AnalyserFacts(
      path: url.path, logView: .ignore, findings: [], damageCount: 0)
    let log = try FileManager.default.attributesOfItem(atPath: url.path + "-wal")
    #expect(facts["writeAheadLog.sizeBytes"]?.number == (log[.size] as? NSNumber)?.doubleValue)
  }

  /// A check keeps only some of very many findings, but counts them all.
  @Test func findingsThatWereNotKeptCountAsDamage() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(a)")
    connection.close()
    let facts = try AnalyserFacts(path: url.path, findings: [], damageCount: 1000)
    #expect(facts["damageCount"] == .number(1000))
  }

  private static func folder(_ files: [String: String]) throws -> TemporaryFolder {
    let place = try TemporaryFolder()
    for (name, text) in files {
      try Data(text.utf8).write(to: place.url.appendingPathComponent(name))
    }
    return place
  }

  private static let own = #"""
    {"schema": "lifeboat.analyser", "version": 1, "id": "team.one",
     "when": [{"fact": "tables", "includes": "t"}, {"fact": "file.pageSizeBytes", "atMost": 4096}],
     "verdict": "v", "sentence": "s"}
    """#

  @Test func aTeamsOwn() throws {
    let place = try Self.folder(["b.json": Self.own, "a.txt": "no analyser"])
    var analysers = Analysers.shipped
    try analysers.add(folder: place.url.path)
    let facts: [String: AnalyserFacts.Value] = [
      "tables": .list([.text("t")]), "file.pageSizeBytes": .number(4096),
    ]
    #expect(analysers.analyses(AnalyserFacts(facts)).map(\.id) == ["team.one"])
    #expect(analysers.analyses(AnalyserFacts(["tables": .list([.text("t")])])) == [])
  }

  private static func altered(_ text: String, _ other: String) -> String {
    own.replacingOccurrences(of: text, with: other)
  }

  @Test(
    arguments: [
      ("", "not valid JSON"), ("[]", ""), (#"{"schema":"other"}"#, "schema"),
      (altered("\"version\": 1", "\"version\": 2"), "version 1"),
      (altered("team.one", "team/../one"), "id"),
      (altered("team.one", "sqlite.walReset"), "another analyser"),
      (altered("includes", "contains"), "unknown member contains"),
      (altered("\"verdict\"", "\"verdicts\""), "unknown member verdicts"),
      (altered(", \"includes\": \"t\"", ""), "tests nothing"),
      (altered("\"atMost\"", "\"exists\": false, \"atMost\""), "can never be true"),
      (altered("\"atMost\": 4096", "\"versionFrom\": \"x.y\""), "not a version number"),
      (altered("\"atMost\": 4096", "\"atMost\": \"many\""), "wrong type"),
      (String(repeating: "[", count: 200_000), ""),
      (String(repeating: "x", count: 2 << 20), "1 MiB"),
    ] as [(String, String)])
  func whatIsNone(_ text: String, _ reason: String) throws {
    let place = try Self.folder(["a.json": text])
    var analysers = Analysers.shipped
    let error = #expect(throws: ExtractionError.self) {
      try analysers.add(folder: place.url.path)
    }
    #expect(error?.code.rawValue == "input.badAnalyser")
    #expect(reason.isEmpty || error?.message.contains(reason) == true, "\(error?.message ?? "")")
    #expect(error?.path?.hasSuffix("a.json") == true)
  }
}
