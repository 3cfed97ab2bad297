import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import Testing

@testable import StoreTriage

/// What makes two inputs the same case.
@Suite struct TriageSignatureTests {
  private let place: TemporaryFolder

  init() throws { place = try TemporaryFolder() }

  private func line(_ url: URL) throws -> TriageLine {
    let reader = TriageReader { .init(code: "test.error", message: "\($0)") }
    guard case .line(let line, _) = reader.answer(to: url.path, isFound: false) else {
      throw FixtureError("no line for \(url.path)")
    }
    return line
  }

  /// A store with tables as Core Data names them; `seed` makes other rows.
  private func store(_ name: String, seed: Int, rows: Int = 3000) throws -> URL {
    let url = place.url.appendingPathComponent(name)
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    try connection.exec(
      """
      PRAGMA page_size = 4096;
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZTITLE VARCHAR);
      CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR);
      CREATE INDEX ZNOTE_ZTITLE_INDEX ON ZNOTE (ZTITLE);
      """)
    try connection.insert(
      "INSERT INTO ZNOTE VALUES (?, 1, ?)",
      (1...rows).map { [.integer(Int64($0)), .text(Array("secret \(seed) \($0)".utf8))] })
    try connection.insert(
      "INSERT INTO ZTAG VALUES (?, 2, ?)",
      (1...rows).map { [.integer(Int64($0)), .text(Array("private \(seed) \($0)".utf8))] })
    return url
  }

  /// The last leaf of a table, by SQLite's own list of pages.
  private func leaf(_ url: URL, _ table: String) throws -> Int {
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    return Int(
      try #require(
        try connection.integer(
          "SELECT max(pageno) FROM dbstat WHERE name = '\(table)' AND pagetype = 'leaf'")))
  }

  private func ruin(_ url: URL, page: Int) throws {
    try overwrite(
      url, at: (page - 1) * 4096, bytes: [UInt8](repeating: 0x55, count: 4096))
  }

  @Test func oneDamageInTwoStoresIsOneCase() throws {
    let (one, two) = (
      try store("one.sqlite", seed: 1), try store("two.sqlite", seed: 2, rows: 3500)
    )
    for url in [one, two] { try ruin(url, page: leaf(url, "ZNOTE")) }
    let lines = try [one, two].map(line)
    #expect(lines[0].signature.verdict == "corrupt")
    #expect(lines[0].signature.damage.contains { $0.hasSuffix(" in a table of an entity") })
    #expect(lines[0].signature == lines[1].signature)
    #expect(lines[0].signature.id.utf8.count == 16)
    #expect(lines[0].fix == .recover)
    // Nobody knows how many rows the page had.
    #expect(lines[0].rows.lost == nil && lines[0].rows.live != nil)
  }

  @Test func otherDamageIsAnotherCase() throws {
    let urls = try (0..<5).map { try store("\($0).sqlite", seed: 1) }
    try ruin(urls[1], page: leaf(urls[1], "ZNOTE"))
    try ruin(urls[2], page: leaf(urls[2], "ZNOTE_ZTITLE_INDEX"))
    try ruin(urls[3], page: 1)
    let size = try bytes(of: urls[4]).count
    try truncate(urls[4], to: size / 8192 * 4096)
    let lines = try urls.map(line)
    #expect(lines[0].signature.verdict == "healthy" && lines[0].signature.damage == [])
    #expect(Set(lines.map(\.signature.id)).count == 5, "\(lines.map(\.signature.words))")
    #expect(Set(lines.map(\.signature.family)).count == 5)
    #expect(lines[4].fix == .resend)
    // Without a schema nobody knows how many rows there are.
    #expect(lines[3].rows == .init())
    #expect(lines[0].rows == .init(live: 6000, lost: 0, recoverable: 6000))
  }

  /// What cannot help is not advised.
  @Test func filesThatAreMissingAreNotRecovered() {
    var line = TriageLine(path: "x", kind: .store)
    line.signature.verdict = "corrupt"
    let missing = ["a table of an entity", "Core Data's tables"].map {
      "coredata.externalFileMissing in " + $0
    }
    line.signature.damage = missing
    #expect(Fix(of: line, analyses: []) == .resend)
    line.signature.damage = missing + ["page.badType in a table"]
    #expect(Fix(of: line, analyses: []) == .recover)
    line.signature.damage = []
    #expect(Fix(of: line, analyses: []) == .recover)
    line.signature.verdict = "incompatible"
    #expect(Fix(of: line, analyses: []) == .migrate)
    for problem in ["incident.noStore", "bundle.noStore"] {
      line.signature.problem = problem
      #expect(Fix(of: line, analyses: []) == .resend)
    }
    for problem in ["incident.restored", "incident.putBack"] {
      line.signature.problem = problem
      #expect(Fix(of: line, analyses: []) == nil)
    }
  }

  @Test func aFailureOfTheMachineMayBeGone() {
    func mayBeGone(_ code: String) -> Bool {
      TriageLine.Failed(code: code, message: "x").mayBeGone
    }
    for code in ["triage.timeout", "triage.workerEnded", "file.io", "file.permission"] {
      #expect(mayBeGone(code), "\(code)")
    }
    for code in ["file.missing", "file.notADatabase", "age.noKeyFits", "bundle.truncated"] {
      #expect(!mayBeGone(code), "\(code)")
    }
    // The problem of an incident is that of reading its store here, that of a bundle what was met where it was made.
    for (kind, expected) in [(.incident, true), (.bundle, false)] as [(TriageLine.Kind, Bool)] {
      var line = TriageLine(path: "x", kind: kind)
      line.signature.problem = "file.io"
      #expect(line.mayDiffer == expected)
    }
  }

  @Test func aLineWithAReasonHasItsHashes() {
    let line = TriageLine(path: "x", failed: .init(code: "triage.failed", message: "too long"))
    #expect(!line.signature.id.isEmpty)
    #expect(line.signature == line.signature.hashed())
  }

  /// Another run may have the key.
  @Test func whatAKeyMayOpenIsReadAgain() {
    for (code, expected) in [("age.noKeyFits", true), ("bundle.truncated", false)] {
      let line = TriageLine(path: "x", kind: .bundle, failed: .init(code: code, message: "x"))
      #expect(line.isToBeReadAgain == expected)
    }
  }

  @Test func noValueOfARowIsInALine() throws {
    let url = try store("one.sqlite", seed: 7)
    try ruin(url, page: leaf(url, "ZNOTE"))
    let text = String(decoding: try line(url).json(), as: UTF8.self)
    #expect(!text.contains("secret") && !text.contains("private"), "\(text)")
  }

  /// The hash is of the texts that the manual lists, so that another program can compute it.
  @Test func theHashIsOfTheDocumentedTexts() throws {
    var signature = TriageSignature(verdict: "corrupt")
    signature.codes = "sqlite.11"
    signature.model = .init(writtenBy: "1", expected: "2")
    signature.damage = ["page.badType in the schema"]
    signature.build = "2.0 (5)"
    signature.sqlite = "3.43.2"
    // python3: hashlib.sha256(b"".join(t.encode() + b"\0" for t in ["lifeboat.triage.1", …])).hexdigest()[:16]
    #expect(signature.hashed().id == "bb1b48ee25ee7edf")
    #expect(signature.hashed().family == "b03003f741546413")
  }

  @Test func anUnknownNumberIsNull() throws {
    let line = TriageLine(path: "x", failed: .init(code: "file.missing", message: "no such file"))
    let text = String(decoding: try line.json(), as: UTF8.self)
    #expect(text.contains(#""rows":{"live":null,"lost":null,"recoverable":null}"#), "\(text)")
    #expect(try TriageLine(json: text.utf8) == line)
  }

  @Test func hostileTextsAreBounded() throws {
    let long = String(repeating: "x", count: 1_000_000)
    let name = String(repeating: "n", count: 500)
    var line = TriageLine(path: "x", failed: .init(code: long, message: long))
    line.signature.damage =
      DamagePlaces(
        (0..<(Rounds.areLong ? 100_000 : 5_000)).map {
          Finding(.init(rawValue: "page.x\($0)"), "x", table: "\($0)" + name)
        },
        .coreData
      ).words
    #expect(try line.json().count < 20_000)
    #expect(line.failed?.code == "other")
  }

  /// The place with the most findings is listed, however many places come before it.
  @Test func theWorstPlaceIsListedAfterManyOthers() {
    let tables = (0..<2000).map { "T\($0)" } + ["ZLAST", "ZLAST"]
    let places = DamagePlaces(
      tables.enumerated().map {
        Finding(.init(rawValue: "page.x"), "\($0.offset)", table: $0.element)
      }, .coreData
    ).places
    #expect(places.count == DamagePlaces.shown)
    #expect(places.first?.table == "ZLAST" && places.first?.count == 2)
  }

  /// SQLite tells two tables apart whose names differ only in how a letter is composed.
  @Test func tablesAreToldApartByTheBytesOfTheirNames() {
    let names = ["ZE\u{301}T\u{c9}", "Z\u{c9}T\u{c9}"]
    let places = DamagePlaces(
      (0..<6).map { Finding(.init(rawValue: "page.x"), "\($0)", table: names[$0 % 3 / 2]) },
      .coreData
    ).places
    #expect(places.map(\.count) == [4, 2])
    #expect(places.map { Array(($0.table ?? "").utf8) } == names.map { Array($0.utf8) })
  }

  /// A bundle may record any number of rows.
  @Test func rowsOfAGroupHaveNoNegativeSum() {
    var groups = TriageGroups(by: .family)
    for live in [Int.max, 3, -1] {
      var line = TriageLine(path: "x", kind: .bundle)
      line.rows = .init(live: live)
      groups.add(line)
    }
    #expect(groups.report.groups.map(\.liveRows) == [Int.max])
  }

  @Test func timesOfBundlesAreTakenOnlyInTheirForm() {
    #expect(ShortText.second("2026-11-20T21:53:07.000Z") == "2026-11-20T21:53:07Z")
    for text in [
      "", "2026-11-20", "2026-11-20 21:53:07Z", "yyyy-11-20T21:53:07.000Z",
      "2026-11-20T21:53:07+01:00",
    ] {
      #expect(ShortText.second(text) == nil, "\(text)")
    }
  }
}
