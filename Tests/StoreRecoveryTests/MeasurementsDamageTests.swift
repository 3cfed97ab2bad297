import CSQLite
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// X4 of failed-open.md: a store with 10 rows in the main file and 50 in its log, damaged in one way after the
/// other. Real SQLite says first what it makes of it; then the store goes through a launch.
@Suite struct MeasurementsDamageTests {
  /// One way of damage, what SQLite answers, and the verdict.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    /// What SQLite's answer is, or the rows that it sees.
    let answer: Answer
    let finding: Verdict.Finding
    let action: Action
    let rule: String
    /// Without the log, where the main file alone is the case.
    var hasLog = false
    let damage: @Sendable (Workbench) throws -> Void

    var testDescription: String { name }
  }

  enum Answer: Equatable {
    case code(Int32)
    case rows(Int64)
  }

  private static func main(_ bench: Workbench) -> URL { URL(fileURLWithPath: bench.store) }
  private static func log(_ bench: Workbench) -> URL { URL(fileURLWithPath: bench.store + "-wal") }
  private static func remove(_ path: String) throws {
    try FileManager.default.removeItem(atPath: path)
  }

  static let cases: [Case] = [
    Case(
      name: "garbage text", answer: .code(26), finding: .foreign, action: .quarantine,
      rule: "sqlite.26"
    ) { try Data(String(repeating: "garbage ", count: 1024).utf8).write(to: main($0)) },
    Case(
      name: "random bytes, as of an encrypted file", answer: .code(26), finding: .foreign,
      action: .refuse, rule: "sqlite.26"
    ) { try randomFile(main($0), bytes: 8192, seed: 4) },
    Case(
      name: "zeros", answer: .code(26), finding: .foreign, action: .quarantine, rule: "sqlite.26"
    ) { try Data(count: 8192).write(to: main($0)) },
    Case(
      name: "36 bytes of text", answer: .code(26), finding: .foreign, action: .quarantine,
      rule: "sqlite.26"
    ) { try Data("this file is thirty-six bytes long..".utf8).write(to: main($0)) },
    Case(
      name: "the first 36 bytes", answer: .code(11), finding: .corrupt, action: .quarantine,
      rule: "sqlite.11"
    ) { try Data(try bytes(of: main($0)).prefix(36)).write(to: main($0)) },
    Case(
      name: "read version 3", answer: .code(26), finding: .newer, action: .refuse,
      rule: "sqlite.26"
    ) { try overwrite(main($0), at: 19, bytes: [3]) },
    Case(
      name: "truncated to a page", answer: .code(11), finding: .corrupt, action: .quarantine,
      rule: "sqlite.11"
    ) { try Data(try bytes(of: main($0)).prefix(4096)).write(to: main($0)) },
    Case(
      name: "body of page 1 smashed", answer: .code(11), finding: .corrupt, action: .quarantine,
      rule: "sqlite.11"
    ) { try overwrite(main($0), at: 100, bytes: [UInt8](repeating: 0xa5, count: 3996)) },
    Case(
      name: "schema format 9", answer: .code(1), finding: .hostError, action: .refuse,
      rule: "sqlite.1"
    ) { try overwrite(main($0), at: 44, bytes: [0, 0, 0, 9]) },
    Case(
      name: "a folder", answer: .code(14), finding: .unavailable, action: .refuse,
      rule: "sqlite.14"
    ) {
      try remove($0.store)
      try FileManager.default.createDirectory(atPath: $0.store, withIntermediateDirectories: true)
    },
    Case(
      name: "a dangling link", answer: .code(14), finding: .unavailable, action: .refuse,
      rule: "sqlite.14"
    ) {
      try remove($0.store)
      try FileManager.default.createSymbolicLink(
        atPath: $0.store, withDestinationPath: $0.folder + "/none/Done.sqlite")
    },
    Case(
      name: "the log is a folder", answer: .code(14), finding: .unavailable, action: .refuse,
      rule: "sqlite.14"
    ) {
      try FileManager.default.createDirectory(
        atPath: $0.store + "-wal", withIntermediateDirectories: true)
    },
    Case(
      name: "nothing is wrong", answer: .rows(60), finding: .healthy, action: .open, rule: "open",
      hasLog: true
    ) { _ in },
    Case(
      name: "0 bytes", answer: .rows(0), finding: .healthy, action: .open, rule: "open"
    ) { try Data().write(to: main($0)) },
    Case(
      name: "0 bytes beside a log", answer: .rows(0), finding: .corrupt, action: .refuse,
      rule: "store.mainEmpty", hasLog: true
    ) { try Data().write(to: main($0)) },
    Case(
      name: "log without a main file (X2)", answer: .rows(0), finding: .corrupt, action: .refuse,
      rule: "store.mainMissing", hasLog: true
    ) { try remove($0.store) },
    Case(
      name: "header of the log smashed", answer: .rows(10), finding: .corrupt, action: .refuse,
      rule: "store.walDamaged", hasLog: true
    ) { try overwrite(log($0), at: 0, bytes: [UInt8](repeating: 0xa5, count: 32)) },
  ]

  /// A host's error with SQLite's text in it, as most have.
  struct Failure: Error {
    let code: Int32
    let text: String
  }

  /// Opens a store, reads its schema and its rows. A table that is not there counts as one without rows.
  static func opener(_ url: URL) throws -> Int64 {
    do {
      let database = try Database(url.path)
      defer { database.close() }
      guard try database.number("SELECT count(*) FROM sqlite_schema") > 0 else { return 0 }
      return try database.number("SELECT count(*) FROM ZTASK NOT INDEXED WHERE T <> ''")
    } catch let error as SQLiteFailure {
      // The text of code 1 that a connection to such a file gives.
      throw Failure(code: error.code, text: error.code == 1 ? "unsupported file format" : "")
    }
  }

  private static func policy(_ verdicts: Verdicts) -> Policy {
    var policy = Policy()
    policy.sqliteCode = { ($0 as? Failure)?.code }
    policy.report = { if case .judged(let verdict) = $0 { verdicts.add(verdict) } }
    return policy
  }

  private func bench(_ test: Case) throws -> Workbench {
    let bench = try Workbench()
    try bench.makeStore()
    try Self.remove(bench.store + "-shm")
    if !test.hasLog { try Self.remove(bench.store + "-wal") }
    try test.damage(bench)
    return bench
  }

  private func answer(_ bench: Workbench) -> Answer {
    do {
      return .rows(try Self.opener(URL(fileURLWithPath: bench.store)))
    } catch let error as Failure {
      return .code(error.code)
    } catch {
      return .code(-1)
    }
  }

  @Test(arguments: cases)
  func measured(_ test: Case) throws {
    #expect(answer(try bench(test)) == test.answer, "what SQLite makes of it")
  }

  @Test(arguments: cases)
  func launched(_ test: Case) throws {
    let bench = try bench(test)
    let folder = URL(fileURLWithPath: bench.folder)
    let before = treeState(of: folder)
    let verdicts = Verdicts()
    let recovery = Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: "2.1"),
      policy: Self.policy(verdicts))
    let result = Result { try recovery.openSynchronously { try Self.opener($0) } }
    guard test.action != .open else {
      #expect(try result.get().incident == nil && verdicts.all.isEmpty)
      return
    }
    let verdict = try #require(verdicts.all.last)
    #expect(verdict.finding == test.finding, "\(verdict)")
    #expect(verdict.action == test.action, "\(verdict)")
    #expect(verdict.rule.rawValue == test.rule, "\(verdict)")
    if test.action == .quarantine {
      let opened = try result.get()
      #expect(opened.handle == 0, "the fresh store")
      let kept = try #require(opened.incident).folder + "/store"
      let after = treeState(of: URL(fileURLWithPath: kept))
      #expect(after["Done.sqlite"] == before["Done.sqlite"])
    } else if test.rule == "store.walDamaged" {
      // The launch goes on with what SQLite reads, once a copy of the set is kept.
      let opened = try result.get()
      let incident = try #require(opened.incident)
      #expect(opened.handle == 10 && incident.kind == .copied)
      let kept = treeState(of: URL(fileURLWithPath: incident.folder + "/store"))
      for name in ["Done.sqlite", "Done.sqlite-wal"] {
        #expect(kept[name]?.sha256 == before[name]?.sha256)
      }
    } else {
      #expect(throws: (any Error).self) { try result.get() }
      // SQLite itself may have made an empty log and an index of it.
      let after = treeState(of: folder)
      #expect(
        after.filter { before[$0.key] != nil && $0.key != "." } == before.filter { $0.key != "." })
    }
  }

  /// The folder of the store is missing.
  @Test func missingFolder() throws {
    let bench = try Workbench()
    let url = URL(fileURLWithPath: bench.folder + "/none/Done.sqlite")
    let verdicts = Verdicts()
    let recovery = Recovery(
      url, app: .init(name: "Done", version: "2.1"), policy: Self.policy(verdicts))
    let error = #expect(throws: Failure.self) {
      try recovery.openSynchronously { try Self.opener($0) }
    }
    #expect(error?.code == 14)
    #expect(verdicts.all.last?.rule.rawValue == "sqlite.14" && verdicts.all.last?.action == .refuse)
    #expect(verdicts.all.last?.reason.contains("folder does not exist") == true)
    #expect(bench.names().isEmpty)
  }

  /// Another process holds an exclusive lock.
  @Test func exclusiveLock() throws {
    guard let sessions = try Sessions(for: "exclusiveLock") else { return }
    let bench = try Workbench()
    try bench.makeStore()
    try sessions.run(bench.store, .stay, ["PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE"])
    let verdicts = Verdicts()
    let recovery = Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: "2.1"),
      policy: Self.policy(verdicts))
    let error = #expect(throws: Failure.self) {
      try recovery.openSynchronously { try Self.opener($0) }
    }
    #expect(error?.code == 5 || error?.code == 261)
    #expect(verdicts.all.last?.action == .retry)
    #expect(!bench.names().contains("Incompatible"))
    try sessions.end(killed: true)
    #expect(try recovery.openSynchronously { try Self.opener($0) }.handle == 60)
  }

  /// X4: a log that was halved, and log and index deleted: SQLite opens with fewer rows and says nothing. What
  /// betrays it is in SilentLossTests; here nothing is left that could, and the report says just that.
  @Test(arguments: [true, false])
  func silentLossWithoutAWitness(isHalved: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try Self.remove(bench.store + "-shm")
    let log = try bytes(of: Self.log(bench))
    if isHalved {
      try Data(log.prefix(log.count / 2)).write(to: Self.log(bench))
    } else {
      try Self.remove(bench.store + "-wal")
    }
    let recovery = Recovery(
      URL(fileURLWithPath: bench.store), app: .init(name: "Done", version: "2.1"))
    let evidence = try recovery.examine()
    #expect(evidence.wal?.loss == nil)
    #expect(evidence.wal?.doubt?.kind == (isHalved ? .cutShort : nil), "a partial frame")
    let sentence = try #require(evidence.silentLossSentence)
    #expect(sentence.contains(isHalved ? "not certain" : "cannot be excluded"))
    let seen = try recovery.openSynchronously { try Self.opener($0) }.handle
    #expect(isHalved ? (11..<60).contains(seen) : seen == 10)
  }
}

/// The verdicts that a launch reported.
final class Verdicts: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [Verdict] = []

  func add(_ verdict: Verdict) { lock.withLock { list.append(verdict) } }
  var all: [Verdict] { lock.withLock { list } }
}
