import Fixtures
import Foundation
import SQLiteWriter
import Testing

@testable import StoreTriage

/// A catalogue, with SQLite's own shell as the truth about the file where it is there.
@Suite struct CatalogTests {
  private let place: TemporaryFolder

  init() throws { place = try TemporaryFolder() }

  private var path: String { place.url.appendingPathComponent("cases.sqlite").path }

  /// A line of a made case.
  private func line(
    _ path: String, _ verdict: String = "corrupt", build: String? = nil, day: String? = nil,
    damage: [String] = [], analysers: [String] = [], uuid: String? = nil
  ) -> TriageLine {
    var line = TriageLine(path: path, kind: .bundle)
    line.signature.verdict = verdict
    line.signature.build = build
    line.signature.damage = damage
    line.signature.analysers = analysers
    line.date = day.map { $0 + "T10:00:00Z" }
    line.store = .init(kind: "coreData", uuid: uuid, system: nil)
    line.fix = Fix(of: line, analyses: analysers)
    line.signature = line.signature.hashed()
    return line
  }

  private func fill(_ lines: [TriageLine]) throws {
    let catalog = try Catalog(path, mayMake: true)
    for line in lines { try catalog.add(line, line.json(), identity: "i" + line.path) }
    try catalog.write()
  }

  private func answer(
    _ query: CatalogQuery, since: String? = nil, build: String? = nil
  ) throws -> [[String: SQLiteValue]] {
    var bounds = CatalogQuery.Bounds()
    bounds.since = since
    bounds.build = build
    let answer = try Catalog(path, mayMake: false).answer(query, bounds)
    return answer.rows.map {
      Dictionary(zip(answer.columns, $0), uniquingKeysWith: { first, _ in first })
    }
  }

  @Test func aLockedCatalogIsSaidToBeOne() throws {
    try fill([line("a")])
    let other = try SharedDatabase(opening: path, isReadOnly: false, patience: 0)
    try other.rows("BEGIN EXCLUSIVE")
    let locked = CatalogError(.locked, path)
    #expect(throws: locked) {
      try Catalog(path, mayMake: false, patience: 0).answer(.frequent, .init())
    }
    #expect(throws: locked) {
      let catalog = try Catalog(path, mayMake: true, patience: 0)
      try catalog.remove("a")
      try catalog.write()
    }
    try other.rows("ROLLBACK")
    #expect(try Catalog(path, mayMake: false, patience: 0).line(of: "a") != nil)
  }

  @Test func aLineComesBackAsItWas() throws {
    let one = line("a", build: "1", day: "2026-11-01", damage: ["page.badType in a table"])
    try fill([one])
    let catalog = try Catalog(path, mayMake: false)
    #expect(try catalog.line(of: "a") == one.json())
    #expect(try catalog.identity(of: "a") == "ia")
    #expect(try catalog.identity(of: "b") == nil)
    // What failed is always read again.
    try fill([TriageLine(path: "b", failed: .init(code: "file.missing", message: "gone"))])
    #expect(try catalog.identity(of: "b") == nil)
    // A later line takes the place of an earlier one.
    let other = line("a", "healthy")
    try fill([other])
    #expect(try catalog.line(of: "a") == other.json())
    let connection = try SQLiteConnection(URL(fileURLWithPath: path))
    defer { connection.close() }
    #expect(try connection.isWhole())
    #expect(try connection.integer("SELECT count(*) FROM input") == 2)
    #expect(try connection.integer("PRAGMA user_version") == 1)
  }

  @Test func aPathThatIsRemovedHasNoLine() throws {
    let catalog = try Catalog(path, mayMake: true)
    let one = line("a", damage: ["x in a table"], analysers: ["file.cutShort"])
    try catalog.add(one, one.json(), identity: nil)
    try catalog.remove("a")
    try catalog.remove("never there")
    let other = line("b")
    try catalog.remove("b")
    try catalog.add(other, other.json(), identity: nil)
    try catalog.write()
    #expect(try catalog.line(of: "a") == nil)
    #expect(try catalog.line(of: "b") == other.json())
    let connection = try SQLiteConnection(URL(fileURLWithPath: path))
    defer { connection.close() }
    for table in ["place", "analyser"] {
      #expect(try connection.integer("SELECT count(*) FROM \(table)") == 0)
    }
  }

  @Test func aCatalogThatIsDamaged() throws {
    let lines = (0..<300).map { line("\($0)", build: "1", damage: ["x in a table"]) }
    try fill(lines)
    let whole = try bytes(of: URL(fileURLWithPath: path))
    try truncate(URL(fileURLWithPath: path), to: whole.count / 8192 * 4096)
    #expect(throws: CatalogError(.damaged, path)) { _ = try answer(.frequent) }
    #expect(throws: CatalogError(.damaged, path)) { try fill(lines) }
    // Pages of other bytes behind a header that holds.
    try Data(whole[..<4096] + [UInt8](repeating: 0x55, count: whole.count - 4096)).write(
      to: URL(fileURLWithPath: path))
    #expect(throws: CatalogError(.damaged, path)) { _ = try answer(.frequent) }
    #expect(throws: CatalogError(.damaged, path)) { try fill(lines) }
    // A table that is gone.
    try Data(whole).write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(URL(fileURLWithPath: path))
    try connection.exec("DROP VIEW family; DROP TABLE input")
    connection.close()
    #expect(throws: CatalogError(.damaged, path)) { _ = try answer(.frequent) }
  }

  @Test func everyQuestionHasItsAnswer() throws {
    try fill([
      line("a1", build: "1", day: "2026-11-01", damage: ["x in a table"], uuid: "U1"),
      line("a2", build: "2", day: "2026-11-10", damage: ["x in a table"], uuid: "U1"),
      line("a3", build: "2", day: "2026-11-11", damage: ["x in a table"], uuid: "U2"),
      line("b1", build: "2", day: "2026-11-12", damage: ["y"], analysers: ["file.cutShort"]),
      line("n1", "newer", build: "1", day: "2026-11-01"),
      line("h1", "healthy", build: "1", day: "2026-11-02"),
      line("h2", "healthy", build: "1", day: "2026-11-02"),
      TriageLine(path: "f1", failed: .init(code: "age.noKeyFits", message: "no key")).hashed(),
    ])
    let frequent = try answer(.frequent)
    #expect(frequent.count == 4)
    #expect(frequent[0]["inputs"] == .integer(3) && frequent[0]["example"] == .string("a1"))
    #expect(frequent[0]["builds"] == .integer(2))
    #expect(try answer(.frequent, build: "1").count == 2)

    let new = try answer(.new, since: "2026-11-05")
    #expect(new.map { $0["example"] } == [.string("b1")])
    #expect(try answer(.new, build: "2").map { $0["example"] } == [.string("b1")])

    // In build 1, 1 of 4 inputs was a case of a; in build 2, 2 of 3.
    let worse = try answer(.worse)
    let a = try #require(
      worse.first { $0["words"] == .string("corrupt, x in a table") && $0["build"] == .string("2") }
    )
    #expect(a["percent"] == .real(66.7) && a["percent_before"] == .real(25))
    #expect(!worse.contains { $0["build"] == .string("2") && $0["words"] == .string("newer") })

    let fixes = try answer(.fixes).map { [$0["fix"], $0["path"]] }
    #expect(
      fixes == [
        [.string("key"), .string("f1")], [.string("resend"), .string("b1")],
        [.string("salvage"), .string("a1")], [.string("salvage"), .string("a2")],
        [.string("salvage"), .string("a3")], [.string("update"), .string("n1")],
      ])
    #expect(try answer(.unexplained).map { $0["inputs"] } == [.integer(3)])
    #expect(try answer(.trend).first?["day"] == .string("2026-11-12"))
    #expect(try answer(.unread).map { $0["path"] } == [.string("f1")])
    let twice = try answer(.duplicates)
    #expect(twice.map { $0["store_uuid"] } == [.string("U1")] && twice[0]["inputs"] == .integer(2))
    for query in CatalogQuery.allCases { _ = try answer(query, since: "2026-11-01", build: "1") }
  }

  /// Two that write at once lose nothing, and neither fails because the other holds the lock.
  @Test func twoWritersAtOnce() async throws {
    let path = path
    let lines = (0..<2).map { writer in
      (0..<1200).map { line("\(writer)-\($0)", build: "\($0 % 7)", damage: ["d\($0 % 5)"]) }
    }
    let failures = Failures()
    let threads = lines.map { lines in
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        do {
          let catalog = try Catalog(path, mayMake: true)
          for (index, line) in lines.enumerated() {
            try catalog.add(line, line.json(), identity: nil)
            if index % 20 == 0 { try catalog.write() }
          }
          try catalog.write()
        } catch { failures.add("\(error)") }
        done.signal()
      }
      return done
    }
    await withCheckedContinuation { (all: CheckedContinuation<Void, Never>) in
      Thread.detachNewThread {
        threads.forEach { $0.wait() }
        all.resume()
      }
    }
    #expect(failures.all == [])
    let connection = try SQLiteConnection(URL(fileURLWithPath: path))
    defer { connection.close() }
    #expect(try connection.integer("SELECT count(*) FROM input") == 2400)
    #expect(try connection.isWhole())
    // Nothing is left of the file that lost the race to be made.
    let names = try FileManager.default.contentsOfDirectory(atPath: place.url.path)
    #expect(names == ["cases.sqlite"])
  }

  @Test func whatIsNoCatalogIsNotTouched() throws {
    let url = URL(fileURLWithPath: path)
    let connection = try SQLiteConnection(url)
    try connection.exec("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    connection.close()
    let before = try bytes(of: url)
    #expect(throws: CatalogError(.notACatalog, path)) { try Catalog(path, mayMake: true) }
    #expect(try bytes(of: url) == before)
    try Data().write(to: url)
    #expect(throws: CatalogError(.notACatalog, path)) { try Catalog(path, mayMake: true) }
    #expect(try bytes(of: url) == [])
    try FileManager.default.removeItem(at: url)
    #expect(throws: CatalogError(.missing, path)) { try Catalog(path, mayMake: false) }
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}

/// What went wrong on other threads.
private final class Failures: @unchecked Sendable {
  // Unchecked because the lock protects it.
  private let lock = NSLock()
  private var texts: [String] = []

  func add(_ text: String) { lock.withLock { texts.append(text) } }
  var all: [String] { lock.withLock { texts } }
}

extension TriageLine {
  fileprivate func hashed() -> TriageLine {
    var line = self
    line.signature = line.signature.hashed()
    return line
  }
}

extension SQLiteConnection {
  fileprivate func isWhole() throws -> Bool { try integrityCheck() == ["ok"] }
}
