import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// A run that restores an incident is killed. Before the next run, another program uses the store.
@Suite struct BegunRestoreTests {
  struct Stop: Error {}

  /// A store that was set aside, with 60 rows in main file and log, and a fresh store with one row. The row is in the
  /// main file or in a log that a program has left behind.
  private func bench(
    isFresh: Bool = true, hasLog: Bool = false
  ) throws -> (shelf: Shelf, id: String) {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    guard isFresh else { return (shelf, id) }
    guard hasLog else {
      try use(shelf, "FRESH")
      return (shelf, id)
    }
    let folder = try TemporaryFolder()
    let used = folder.url.appendingPathComponent("Used.sqlite").path
    let database = try Database(used)
    defer { database.close() }
    try database.run(
      """
      PRAGMA journal_mode = WAL; CREATE TABLE OTHER(T);
      CREATE TABLE FRESH(T); INSERT INTO FRESH VALUES('typed')
      """)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: used + suffix, toPath: shelf.bench.store + suffix)
    }
    return (shelf, id)
  }

  /// Opens or makes the store at the path as any program does, and adds a table with one row.
  private func use(_ shelf: Shelf, _ table: String) throws {
    let database = try Database(shelf.bench.store)
    defer { database.close() }
    try database.run("CREATE TABLE \(table)(T); INSERT INTO \(table) VALUES('typed')")
  }

  /// The folders with a store that has `count` rows in `table`: the store's own, and those of incidents.
  private func places(_ shelf: Shelf, _ table: String, _ count: Int = 1) -> [String] {
    let kept = shelf.names.map { shelf.path($0, "store") }
    return ([shelf.folder] + kept).filter {
      (try? KillBench.rows($0, table: table))?.count == count
    }
  }

  /// A file system of which every call fails from the `step`th on, as if the process had ended there.
  private func stopping(at step: Int, _ calls: Counter, _ volume: Volume) -> FileSystem {
    var system = FileSystem.watched { call, path in
      if calls.next("\(call) \(path)") >= step { throw Stop() }
    }
    let rename = system.rename
    if volume != .links {
      system.link = { _, to in throw SystemCallError(call: "link", path: to, errno: EPERM) }
    }
    if volume == .other {
      system.rename = { from, to in
        guard from.contains("/Incompatible/") == to.contains("/Incompatible/") else {
          throw SystemCallError(call: "rename", path: to, errno: EXDEV)
        }
        try rename(from, to)
      }
    }
    return system
  }

  /// A file system that fails for good when the main file is about to get its name beside its log.
  private func stoppingBeforeTheMainFile() -> FileSystem {
    let stopped = Counter()
    return .watched { call, path in
      let isMain =
        call == "link" && path.hasSuffix("/Done.sqlite") && !path.contains("/Incompatible/")
      if isMain { stopped.next() }
      if stopped.count > 0 { throw Stop() }
    }
  }

  /// Stopped at any step: the rows of the program are in place or in an incident, and so are those of both stores.
  @Test(arguments: Volume.allCases, [false, true])
  func aStoreThatIsUsedBetweenTwoRunsIsKept(volume: Volume, hasLog: Bool) throws {
    let calls = Counter()
    let whole = try bench(hasLog: hasLog)
    _ = try whole.shelf.incidents(stopping(at: .max, calls, volume)).restore(whole.id)
    #expect(calls.count > 40)
    for step in Rounds.part(of: 1...calls.count, every: volume == .links ? 1 : 3) {
      let note = "\(volume), step \(step): \(calls.notes[step - 1])"
      let (shelf, id) = try bench(hasLog: hasLog)
      _ = try? shelf.incidents(stopping(at: step, Counter(), volume)).restore(id)
      try use(shelf, "TYPED")
      let healthy = stopping(at: .max, Counter(), volume)
      do { _ = try shelf.incidents(healthy, hour: 2000).restore(id) } catch {
        // The first run may have had nothing left to do but to make its last change durable.
        #expect((error as? StoreRecoveryError)?.code == .nothingKept, "\(note): \(error)")
      }
      #expect(places(shelf, "TYPED").count == 1, "\(note): \(shelf.names)")
      #expect(places(shelf, "ZTASK", 60) == [shelf.folder], "\(note)")
      #expect(places(shelf, "FRESH").count >= 1, "\(note)")
      let checks = try shelf.incidents().verify()
      let unsound = checks.filter { !$0.isSound }
      #expect(unsound.isEmpty, "\(note): \(unsound)")
    }
  }

  /// The log is there first. A store that is made meanwhile becomes an incident, and can be restored in turn.
  @Test func aStoreMadeMeanwhileIsAnIncident() throws {
    let (shelf, id) = try bench(isFresh: false)
    #expect(throws: Stop.self) {
      try shelf.incidents(stoppingBeforeTheMainFile()).restore(id)
    }
    #expect(!shelf.bench.names().contains("Done.sqlite"))
    #expect(shelf.bench.names().contains("Done.sqlite-wal"))
    try use(shelf, "TYPED")
    let result = try shelf.incidents(hour: 2000).restore(id)
    let replaced = try #require(result.replaced)
    #expect(places(shelf, "TYPED") == [shelf.path(replaced.id, "store")])
    #expect(places(shelf, "ZTASK", 60) == [shelf.folder])
    #expect(try shelf.incidents().verify().allSatisfy(\.isSound))
    _ = try shelf.incidents(hour: 3000).restore(replaced.id)
    #expect(places(shelf, "TYPED") == [shelf.folder])
  }

  /// The run that only finishes says what was restored, and which incident keeps the store of before.
  @Test func theFinishingRunSaysWhatWasDone() throws {
    let (shelf, id) = try bench()
    #expect(throws: Stop.self) {
      try shelf.incidents(stoppingBeforeTheMainFile()).restore(id)
    }
    let result = try shelf.incidents(hour: 2000).restore(id)
    #expect(result.restored.contains { $0.hasSuffix("/Done.sqlite") })
    #expect(result.nextStep == .openWithFittingBuild)
    let replaced = try #require(result.replaced)
    #expect(places(shelf, "FRESH") == [shelf.path(replaced.id, "store")])
    #expect(places(shelf, "ZTASK", 60) == [shelf.folder])
    let again = #expect(throws: StoreRecoveryError.self) { try shelf.incidents().restore(id) }
    #expect(again?.code == .nothingKept)
  }

  /// The app's next open keeps the store that it finds, without the log of the other, and the incident keeps its own.
  @Test func theNextOpenKeepsTheStoreInPlace() throws {
    let (shelf, id) = try bench(isFresh: false)
    #expect(throws: Stop.self) {
      try shelf.incidents(stoppingBeforeTheMainFile()).restore(id)
    }
    // A store that is copied into place leaves the log beside it.
    try FileSystem.real.copy(shelf.path(id, "store/Done.sqlite"), shelf.folder + "/template")
    let template = try Database(shelf.folder + "/template")
    try template.run("PRAGMA journal_mode=DELETE; CREATE TABLE TYPED(T)")
    try template.run("INSERT INTO TYPED VALUES('typed')")
    template.close()
    #expect(Posix.rename(shelf.folder + "/template", shelf.bench.store) == 0)
    #expect(shelf.bench.names().contains("Done.sqlite-wal"))
    _ = try shelf.bench.recovery().openSynchronously { _ in true }
    #expect(!shelf.bench.names().contains("Done.sqlite-wal"))
    #expect(places(shelf, "TYPED") == [shelf.folder])
    #expect(try shelf.incidents().verify(id).finding == .intact)
    let entry = try shelf.incidents().show(id)
    #expect(!entry.isUnfinished && entry.outcome == nil)
  }

  /// An earlier version put the main file in place first, by a link. What was written to it, or to a new log beside it,
  /// is another state of the store: the kept log is not laid over it.
  @Test(arguments: [true, false])
  func aMainFileThatWasUsedWithoutItsLog(isInLog: Bool) throws {
    let (shelf, id) = try bench(isFresh: false)
    let kept = shelf.path(id, "store/Done.sqlite")
    let members = try StoreSet(at: kept).members.map { member in
      let status = try #require(try FileStatus.of(member.path))
      return MoveRecord.Member(role: member.role, name: member.name, status: status)
    }
    let record = MoveRecord(
      storeName: "Done.sqlite", members: members, incident: nil, back: .restore)
    try RecordFile(fileSystem: .real).write(record, to: shelf.path(id, ".back.json"))
    #expect(Posix.link(kept, shelf.bench.store) == 0)
    if isInLog {
      try shelf.bench.write("typed", to: "Done.sqlite-wal")
      let replaced = try #require(try shelf.incidents().restore(id).replaced)
      let log = FileManager.default.contents(
        atPath: shelf.path(replaced.id, "store/Done.sqlite-wal"))
      #expect(log == Data("typed".utf8))
      #expect(places(shelf, "ZTASK", 60) == [shelf.folder])
    } else {
      try use(shelf, "TYPED")
      let error = #expect(throws: StoreRecoveryError.self) { try shelf.incidents().restore(id) }
      #expect(error?.code == .sealBroken)
      #expect(try KillBench.rows(shelf.folder, table: "TYPED").count == 1)
      #expect(try FileStatus.of(kept + "-wal") != nil)
      let replaced = try #require(try shelf.incidents().restore(id, force: true).replaced)
      let aside = shelf.path(replaced.id, "store")
      #expect(try KillBench.rows(aside, table: "TYPED").count == 1)
      #expect(try shelf.incidents().verify(replaced.id).finding == .intact)
    }
  }

  /// A link in the place of the folder is not taken for a folder without incidents.
  @Test func theFolderOfTheIncidentsIsNoLink() throws {
    let (shelf, id) = try bench()
    let away = shelf.folder + "/Away"
    #expect(Posix.rename(shelf.bench.incompatible, away) == 0)
    #expect(Posix.symlink(away, shelf.bench.incompatible) == 0)
    let incidents = shelf.incidents()
    for work in [
      { _ = try incidents.list() }, { _ = try incidents.verify() }, { _ = try incidents.show(id) },
      { _ = try incidents.restore(id) },
    ] as [() throws -> Void] {
      let error = #expect(throws: StoreRecoveryError.self) { try work() }
      #expect(error?.code == .noSuchIncident)
      #expect(error?.message.contains("a symbolic link") == true)
    }
  }
}
