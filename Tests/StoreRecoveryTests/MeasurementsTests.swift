import CSQLite
import StoreFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// The measurements of failed-open.md but X4: real SQLite says what it does, then the store goes through a launch.
@Suite struct MeasurementsTests {
  private func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

  private func move(_ from: String, _ to: String) throws {
    try FileManager.default.moveItem(atPath: from, toPath: to)
  }

  private func recovery(
    _ path: String, _ verdicts: Verdicts = Verdicts(), expecting free: Int64? = nil
  ) -> Recovery {
    var policy = Workbench.policy()
    if let free { policy.minimumFreeBytes = free }
    policy.report = { if case .judged(let verdict) = $0 { verdicts.add(verdict) } }
    return Recovery(
      URL(fileURLWithPath: path), app: .init(name: "Done", version: "2.1"), policy: policy)
  }

  private func rows(_ path: String) throws -> Int64 {
    let database = try Database(path)
    defer { database.close() }
    return try database.number("SELECT count(*) FROM ZTASK")
  }

  /// The rows of the log are seen when it has the main file's name; our quarantine keeps both names.
  @Test func x1() throws {
    for (log, seen) in [("Done.sqlite-wal.corrupt.T", 10), ("Done.sqlite.corrupt.T-wal", 60)] {
      let bench = try Workbench()
      try bench.makeStore()
      try remove(bench.store + "-shm")
      try move(bench.store, bench.store + ".corrupt.T")
      try move(bench.store + "-wal", bench.folder + "/" + log)
      #expect(try rows(bench.store + ".corrupt.T") == seen)
    }
    let bench = try Workbench()
    try bench.makeStore()
    let incident = try #require(
      try bench.recovery(structure: Workbench.mismatching).openSynchronously(
        expecting: Workbench.model
      ) { url in
        guard !FileManager.default.fileExists(atPath: url.path) else { throw HostError() }
        try Database.open(url).close()
      }.incident)
    #expect(try Database.rows(ofSetIn: incident.folder + "/store") == 60)
    try remove(incident.folder + "/store/Done.sqlite-shm")
    #expect(try Database.rows(ofSetIn: incident.folder + "/store") == 60)
  }

  /// Another database in the place of the main file, whose log stayed: it shows the log's rows, and the check is
  /// content. (The main file missing altogether is a case of X4.)
  @Test func x2() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try remove(bench.store + "-shm")
    let other = try Database(bench.folder + "/other")
    try other.run("CREATE TABLE ZTASK(Z_PK INTEGER PRIMARY KEY, T TEXT)")
    try other.run("INSERT INTO ZTASK(Z_PK, T) VALUES(1, 'its own')")
    other.close()
    // The record of the launch before.
    let wal = try #require(FileEvidence.read(bench.store).wal)
    wal.unrecorded?.write(for: bench.store)
    #expect(unsafe rename(bench.folder + "/other", bench.store) == 0)
    let loss = try #require(FileEvidence.read(bench.store).wal?.loss)
    #expect(loss.kind == .foreign && loss.witness == .record)
    let connection = try SQLiteConnection(bench.store)
    defer { connection.close() }
    #expect(try connection.integer("SELECT count(*) FROM ZTASK") == 60)
    #expect(try connection.integer("SELECT count(*) FROM ZTASK WHERE T = 'its own'") == 0)
    #expect(try connection.integrityCheck() == ["ok"])
  }

  /// A transaction that was interrupted after it wrote to the main file, with its journal and without.
  @Test(arguments: [true, false])
  func x3(hasJournal: Bool) throws {
    let bench = try Workbench()
    let database = try Database(bench.folder + "/first")
    try database.run(
      "PRAGMA page_size=1024; PRAGMA cache_size=4; CREATE TABLE ZTASK(Z_PK INTEGER PRIMARY KEY, T TEXT)"
    )
    try database.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400) INSERT INTO ZTASK(T) SELECT hex(randomblob(100)) FROM n"
    )
    try database.run("BEGIN; DELETE FROM ZTASK WHERE Z_PK % 7 <> 0")
    try database.run("UPDATE ZTASK SET T = hex(randomblob(400)); PRAGMA cache_spill=1")
    for suffix in ["", "-journal"] where suffix == "" || hasJournal {
      let content = try bytes(of: URL(fileURLWithPath: bench.folder + "/first" + suffix))
      try Data(content).write(to: URL(fileURLWithPath: bench.store + suffix))
    }
    database.close()
    let verdicts = Verdicts()
    let before = try bytes(of: URL(fileURLWithPath: bench.store))
    let opener: (URL) throws -> Int64 = { url in
      let database = try Database(url.path)
      defer { database.close() }
      guard try database.number("SELECT count(*) FROM sqlite_schema") > 0 else { return -1 }
      return try database.number("SELECT count(*) FROM ZTASK WHERE length(T) > 0")
    }
    let opened = try recovery(bench.store, verdicts).openSynchronously(opener: opener)
    if hasJournal {
      #expect(opened.handle == 400 && opened.incident == nil && verdicts.all.isEmpty)
    } else {
      #expect(opened.handle == -1, "the fresh store")
      #expect(
        verdicts.all.allSatisfy { $0.rule.rawValue == "sqlite.11" && $0.action == .quarantine })
      let kept = try #require(opened.incident).folder + "/store/Done.sqlite"
      #expect(try bytes(of: URL(fileURLWithPath: kept)) == before)
    }
  }

  /// Neither way in which SQLite opens a store for reading leaves it alone and sees all; ours does.
  @Test func x5() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try remove(bench.store + "-shm")
    let before = treeState(of: URL(fileURLWithPath: bench.folder))
    let evidence = try recovery(bench.store).examine()
    #expect((evidence.wal?.committedFrames ?? 0) >= 50)
    #expect(treeState(of: URL(fileURLWithPath: bench.folder)) == before)
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    let fixed = try SQLiteConnection("file:\(bench.store)?immutable=1", flags: flags)
    #expect(try fixed.integer("SELECT count(*) FROM ZTASK") == 10)
    fixed.close()
    try remove(bench.store + "-wal")
    #expect(bench.names().filter { $0.hasPrefix("Done.sqlite") } == ["Done.sqlite"])
    let reading = try SQLiteConnection("file:\(bench.store)?mode=ro", flags: flags)
    #expect(try reading.integer("SELECT count(*) FROM ZTASK") == 10)
    #expect(
      bench.names().filter { $0.hasPrefix("Done.sqlite") }
        == ["Done.sqlite", "Done.sqlite-shm", "Done.sqlite-wal"])
    reading.close()
  }

  /// The file is moved while it is open.
  @Test func x6() throws {
    let bench = try Workbench()
    let first = try Database(bench.store)
    try first.run("CREATE TABLE ZTASK(Z_PK INTEGER PRIMARY KEY, T TEXT)")
    first.close()
    let before = bench.snapshot()
    let verdicts = Verdicts()
    let error = #expect(throws: SQLiteFailure.self) {
      try recovery(bench.store, verdicts).openSynchronously { url in
        let database = try Database(url.path)
        defer { database.close() }
        _ = try database.number("SELECT count(*) FROM ZTASK")
        try move(url.path, url.path + ".moved")
        defer { try? move(url.path + ".moved", url.path) }
        try database.run("INSERT INTO ZTASK(T) VALUES('x')")
      }
    }
    #expect(error?.code == 1032)
    #expect(
      verdicts.all.last?.rule.rawValue == "sqlite.1032" && verdicts.all.last?.action == .retry)
    #expect(bench.snapshot() == before)
    // With a log nothing fails: the moved set gets the rows.
    let database = try Database(bench.store)
    try database.run("PRAGMA journal_mode=WAL; INSERT INTO ZTASK(T) VALUES('x')")
    try FileManager.default.createDirectory(
      atPath: bench.folder + "/moved", withIntermediateDirectories: true)
    for suffix in ["", "-wal", "-shm"] {
      try move(bench.store + suffix, bench.folder + "/moved/Done.sqlite" + suffix)
    }
    try database.run("INSERT INTO ZTASK(T) VALUES('y')")
    #expect(try Database.rows(ofSetIn: bench.folder + "/moved") == 2)
    database.close()
  }

  /// Reading the file and closing it in the process that holds a lock takes the lock away. A launch does so only
  /// before the opener has run, and never after one that is merely kept out.
  @Test func x7() throws {
    guard let sessions = try Sessions(for: "x7") else { return }
    let bench = try Workbench()
    try Database.open(URL(fileURLWithPath: bench.store)).close()
    let change = ["PRAGMA journal_mode=DELETE"]
    #expect(try sessions.run(bench.store, .close, change) == "ok")
    let write = ["BEGIN IMMEDIATE"]
    let opened = try recovery(bench.store).openSynchronously { url in
      let database = try Database(url.path)
      try database.run("BEGIN IMMEDIATE")
      return database
    }
    #expect(try sessions.run(bench.store, .close, write).contains("locked"), "the lock is kept")
    #expect(throws: SQLiteFailure(code: 5)) {
      try recovery(bench.store).openSynchronously { _ in throw SQLiteFailure(code: 5) }
    }
    // The second launch in one process read the file before its opener ran, as the rule forbids.
    #expect(try sessions.run(bench.store, .close, write) == "ok", "the lock is lost")
    opened.handle.close()
  }

  /// A volume without space.
  @Test func x8() throws {
    let bench = try Workbench()
    let volume = bench.folder + "/volume"
    try FileManager.default.createDirectory(atPath: volume, withIntermediateDirectories: true)
    guard let mount = findTool("mount"), let unmount = findTool("umount"),
      try run(mount, ["-t", "tmpfs", "-o", "size=64k", "tmpfs", volume]).status == 0
    else {
      print("skipped: x8, no volume can be mounted here")
      return
    }
    defer { _ = try? run(unmount, [volume]) }
    let store = volume + "/Done.sqlite"
    let database = try Database(store)
    try database.run("PRAGMA journal_mode=WAL; CREATE TABLE ZTASK(Z_PK INTEGER, T)")
    database.close()
    let filler = volume + "/filler"
    try Data().write(to: URL(fileURLWithPath: filler))
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: filler))
    while (try? handle.write(contentsOf: Data(count: 512))) != nil {}
    try handle.close()
    let before = treeState(of: URL(fileURLWithPath: volume)).filter { $0.key != "." }
    let verdicts = Verdicts()
    let error = #expect(throws: SQLiteFailure.self) {
      try recovery(store, verdicts).openSynchronously { try Database.open($0).close() }
    }
    #expect(error?.code == 4874)
    #expect(verdicts.all.last?.rule.rawValue == "sqlite.4874" && verdicts.all.last?.action == .wait)
    let after = treeState(of: URL(fileURLWithPath: volume))
    #expect(after.filter { before[$0.key] != nil } == before)
    // What might be set aside stays as well: a rename works, the fresh store would not.
    var evidence = FileEvidence.read(store)
    evidence.failure = .init(sqliteCode: 11)
    evidence.structure = .init(findings: ["page.pointer"], findingCount: 1, isUnopenable: true)
    #expect(
      classify(evidence).rule.rawValue == "hold.noSpace" && classify(evidence).action == .wait)
    try move(store, store + ".moved")
    #expect(throws: SQLiteFailure(code: 13)) {
      let fresh = try Database(store)
      defer { fresh.close() }
      try fresh.run("CREATE TABLE ZTASK(Z_PK INTEGER, T)")
    }
  }

  /// An index is damaged: the table is whole, so that nothing is set aside.
  @Test func x9() throws {
    let bench = try Workbench()
    let database = try Database(bench.store)
    try database.run(
      "CREATE TABLE ZTASK(Z_PK INTEGER PRIMARY KEY, T TEXT); CREATE INDEX i ON ZTASK(T)")
    try database.run("INSERT INTO ZTASK(T) VALUES('a'), ('b'), ('c')")
    let root = try database.number("SELECT rootpage FROM sqlite_schema WHERE name = 'i'")
    database.close()
    try overwrite(
      URL(fileURLWithPath: bench.store), at: Int(root - 1) * 4096,
      bytes: [UInt8](repeating: 0xee, count: 4096))
    let before = bench.snapshot()
    #expect(try rows(bench.store, "SELECT count(*) FROM ZTASK NOT INDEXED") == 3)
    let verdicts = Verdicts()
    let error = #expect(throws: SQLiteFailure.self) {
      try recovery(bench.store, verdicts).openSynchronously { url in
        try rows(url.path, "SELECT count(*) FROM ZTASK INDEXED BY i WHERE T > 'a'")
      }
    }
    #expect(error?.code == 11 || error?.code == 779)
    #expect([.retry, .refuse].contains(verdicts.all.last?.action))
    #expect(bench.snapshot() == before)
  }

  private func rows(_ path: String, _ sql: String) throws -> Int64 {
    let database = try Database(path)
    defer { database.close() }
    return try database.number(sql)
  }
}
