import CoreDataStore
import Foundation
import Testing

@testable import StoreRecovery

/// Facts about the surroundings of a store, against what SQLite itself makes and holds.
@Suite struct EvidenceTests {
  /// SQLite's own shell, which holds a lock as long as it runs.
  private struct Shell {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    var id: Int32 { process.processIdentifier }

    init(_ store: String, _ sql: String) throws {
      process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
      process.arguments = ["-batch", store]
      process.standardInput = input
      process.standardOutput = output
      try process.run()
      try input.fileHandleForWriting.write(contentsOf: Data("\(sql);\nSELECT 'ready';\n".utf8))
      var said = ""
      while !said.contains("ready") {
        guard let more = try output.fileHandleForReading.read(upToCount: 1), !more.isEmpty else {
          throw HostError()
        }
        said += String(decoding: more, as: UTF8.self)
      }
    }

    func end() throws {
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
    }
  }

  @Test(arguments: [
    "PRAGMA journal_mode=WAL; SELECT count(*) FROM t", "BEGIN IMMEDIATE", "BEGIN; SELECT * FROM t",
  ])
  func whoHoldsTheLock(sql: String) throws {
    let bench = try Workbench()
    let database = try Database(bench.store)
    try database.run("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    database.close()
    #expect(FileEvidence.read(bench.store).isUsedElsewhere == false)
    let shell = try Shell(bench.store, sql)
    let evidence = FileEvidence.read(bench.store)
    #expect(evidence.isUsedElsewhere == true)
    #expect(evidence.lockHolder == shell.id)
    try shell.end()
    #expect(FileEvidence.read(bench.store).lockHolder == nil)
  }

  /// A journal whose transaction was not finished, and the ones that are only kept.
  @Test(arguments: ["hot", "PERSIST", "TRUNCATE"])
  func journals(form: String) throws {
    let bench = try Workbench()
    let database = try Database(bench.store)
    try database.run(
      "PRAGMA journal_mode=\(form == "hot" ? "DELETE" : form); CREATE TABLE t(a); INSERT INTO t VALUES(1)"
    )
    if form == "hot" {
      try database.run("PRAGMA cache_spill=ON; PRAGMA cache_size=1; BEGIN")
      try database.run(
        "WITH n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<999) INSERT INTO t SELECT hex(randomblob(200)) FROM n"
      )
      let other = bench.folder + "/copy"
      try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
      for suffix in ["", "-journal"] {
        try FileManager.default.copyItem(
          atPath: bench.store + suffix, toPath: other + "/Done.sqlite" + suffix)
      }
      let evidence = FileEvidence.read(other + "/Done.sqlite")
      #expect(evidence.journal?.isHot == true)
      #expect(
        evidence.strays == ["Done.sqlite-journal holds a transaction that was not finished"])
      database.close()
      return
    }
    database.close()
    let evidence = FileEvidence.read(bench.store)
    #expect(evidence.members.contains { $0.role == .journal })
    #expect(evidence.journal?.isHot == false)
    #expect(evidence.strays == [])
    // Such a journal proves nothing about an empty main file.
    var empty = evidence
    empty.mainSizeBytes = 0
    #expect(classify(empty).action == .open)
  }

  @Test func strays() throws {
    let bench = try Workbench()
    try bench.makeStore()
    #expect(FileEvidence.read(bench.store).strays == [])
    try FileManager.default.removeItem(atPath: bench.store + "-wal")
    try bench.write("x", to: ".Done.sqlite.migrationdestination_41b5")
    #expect(
      FileEvidence.read(bench.store).strays == [
        "Done.sqlite-shm has no write-ahead log that it belongs to",
        ".Done.sqlite.migrationdestination_41b5 is left from a migration that did not end",
      ])
    try FileManager.default.removeItem(atPath: bench.store)
    #expect(
      FileEvidence.read(bench.store).strays.first
        == "Done.sqlite-shm has no main file that it belongs to")
  }
}
