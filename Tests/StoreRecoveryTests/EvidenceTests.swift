import StoreFiles
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
        evidence.strays == ["Done.sqlite-journal holds an unfinished transaction"])
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

  /// A process that is killed while it syncs the journal of a store's first transaction leaves an empty main file
  /// and this journal: sound, without records, of a database of no pages. SQLite makes the store anew.
  @Test func journalOfAStoreThatWasNeverMade() throws {
    let bench = try Workbench()
    try bench.write("", to: "Done.sqlite")
    let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
    func journal(pages: UInt8) throws {
      let header =
        magic + [0, 0, 0, 0, 0xc6, 0x34, 0x61, 0x4b, 0, 0, 0, pages, 0, 0, 2, 0, 0, 0, 0x10, 0]
      let bytes = header + [UInt8](repeating: 0, count: 512 - header.count)
      try Data(bytes).write(to: URL(fileURLWithPath: bench.store + "-journal"))
    }
    // The database had a page, so its main file was emptied by something else.
    try journal(pages: 1)
    #expect(FileEvidence.read(bench.store).journal?.isHot == true)
    #expect(classify(FileEvidence.read(bench.store)).rule.rawValue == "store.mainEmpty")
    // Without a main file nothing tells what it was.
    try journal(pages: 0)
    try FileManager.default.removeItem(atPath: bench.store)
    #expect(classify(FileEvidence.read(bench.store)).rule.rawValue == "store.mainMissing")
    try bench.write("", to: "Done.sqlite")
    #expect(FileEvidence.read(bench.store).strays == [])
    let opened = try bench.recovery().openSynchronously { url in
      let database = try Database(url.path)
      defer { database.close() }
      try database.run("CREATE TABLE t(a)")
    }
    #expect(opened.incident == nil)
    #expect(!bench.names().contains("Done.sqlite-journal"))
    // A page of the first transaction was written: SQLite takes it back.
    try journal(pages: 0)
    #expect(FileEvidence.read(bench.store).journal?.isHot == true)
  }

  @Test func strays() throws {
    let bench = try Workbench()
    try bench.makeStore()
    #expect(FileEvidence.read(bench.store).strays == [])
    try FileManager.default.removeItem(atPath: bench.store + "-wal")
    try bench.write("x", to: ".Done.sqlite.migrationdestination_41b5")
    #expect(
      FileEvidence.read(bench.store).strays == [
        "Done.sqlite-shm has no write-ahead log",
        ".Done.sqlite.migrationdestination_41b5 is left over from an unfinished migration",
      ])
    try FileManager.default.removeItem(atPath: bench.store)
    #expect(
      FileEvidence.read(bench.store).strays.first
        == "Done.sqlite-shm has no main file")
  }
}
