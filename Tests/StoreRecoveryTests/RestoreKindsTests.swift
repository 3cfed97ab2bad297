import StoreFiles
import SafeFiles
import Foundation
import Testing

@testable import StoreRecovery

/// What goes back, and what is said afterwards.
@Suite struct RestoreKindsTests {
  private func setAside(_ bench: Workbench) throws -> String {
    let calls = Counter()
    let opened = try bench.recovery(structure: Workbench.mismatching).openSynchronously(
      expecting: Workbench.model
    ) { url in
      if calls.next() <= 2 { throw HostError() }
      try Database.open(url).close()
    }
    return try #require(opened.incident?.id)
  }

  private func incidents(_ bench: Workbench) -> Incidents {
    Incidents(in: bench.folder, fileSystem: .real, clock: { Workbench.now })
  }

  /// The incident's record is made to say that all is as it was sealed.
  private func reseal(_ bench: Workbench, _ id: String) throws {
    let records = RecordFile(fileSystem: .real)
    let folder = bench.incompatible + "/" + id
    var incident = try #require(try records.incident(in: folder))
    incident.seal = try StoreSeal(sealing: StoreSet(at: folder + "/store/Done.sqlite"))
    try records.write(incident, to: folder + "/incident.json", replacing: true)
  }

  @Test(arguments: [
    "linkedMain", "linkedLog", "folderMain", "pipeMain", "pipeLog", "linkedBlob", "pipeBlob",
    "textMain", "emptyMain", "missingMain",
  ])
  func onlyFilesThatAreADatabase(change: String) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let store = bench.incompatible + "/" + id + "/store"
    try bench.write("secret", to: "secret")
    let main = store + "/Done.sqlite"
    let blob = store + "/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"
    let path =
      change.hasSuffix("Log") ? main + "-wal" : change.hasSuffix("Blob") ? blob : main
    try FileManager.default.removeItem(atPath: path)
    switch change.prefix(4) {
    case "link": #expect(Posix.symlink(bench.folder + "/secret", path) == 0)
    case "fold": #expect(Posix.mkdir(path, 0o700) == 0)
    case "pipe": #expect(Posix.mkfifo(path) == 0)
    case "text": try Data("no database at all".utf8).write(to: URL(fileURLWithPath: path))
    case "empt": try Data().write(to: URL(fileURLWithPath: path))
    default: break
    }
    // A zero-length main file was not so when it was sealed; all else is, by the record.
    if change != "emptyMain" { try reseal(bench, id) }
    let before = (bench.names(), bench.names(store), bench.snapshot())
    let error = #expect(throws: StoreRecoveryError.self) { try incidents(bench).restore(id) }
    #expect(error?.code == .notAStore)
    #expect(error?.message.contains("nothing was moved") == true)
    #expect((bench.names(), bench.names(store)) == (before.0, before.1))
    #expect(bench.snapshot() == before.2)
    // A set without its main file does not take the place of the fresh store, even by force.
    let mayBeForced = ["linkedBlob", "pipeBlob", "textMain", "emptyMain"].contains(change)
    if mayBeForced {
      _ = try incidents(bench).restore(id, force: true)
    } else {
      let forced = #expect(throws: StoreRecoveryError.self) {
        try incidents(bench).restore(id, force: true)
      }
      #expect(forced?.code == .notAStore)
      #expect(bench.names() == before.0)
    }
  }

  @Test func anEmptyStoreThatWasEmptyGoesBack() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let store = bench.incompatible + "/" + id + "/store/Done.sqlite"
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: store + suffix)
    }
    try Data().write(to: URL(fileURLWithPath: store))
    try reseal(bench, id)
    _ = try incidents(bench).restore(id)
    #expect(bench.bytes("Done.sqlite")?.count == 0)
  }

  /// `incident.txt` said for ever that the data is in the folder beside it.
  @Test func theNoteSaysWhatBecameOfTheData() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let note = "Incompatible/" + id + "/incident.txt"
    let before = String(decoding: try #require(bench.bytes(note)), as: UTF8.self)
    #expect(before.contains("“store”") || before.contains("store"))
    var incidents = incidents(bench)
    _ = try incidents.restore(id)
    let after = String(decoding: try #require(bench.bytes(note)), as: UTF8.self)
    #expect(after != before)
    let english = try #require(NoticeWords.english.kept[.restored])
    #expect(after.contains(english.title) && after.contains(english.whatWasKept), "\(after)")
    incidents.isCancelled = { true }
    #expect(try incidents.restorable(with: Workbench.model).isEmpty)
    #expect(!bench.names(bench.incompatible + "/" + id).contains { $0.hasSuffix(".part") })
  }

  /// A host's own words know nothing of an outcome.
  @Test func ownWordsGiveWayToTheOutcome() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let incident = try #require(try incidents(bench).show(id).incident)
    let own = IncidentTexts(notice: { _ in
      .init(title: "mine", whatHappened: "", whatWasKept: "kept in the folder", whatToDo: "")
    })
    #expect(incident.notice(in: own).title == "mine")
    let outcome = IncidentOutcome(kind: .restored, date: Workbench.now)
    #expect(incident.notice(in: own, outcome: outcome).whatWasKept != "kept in the folder")
  }

  /// Called off while the files are compared with their seal: nothing moves.
  @Test func calledOff() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let before = (bench.names(), bench.snapshot(), bench.names(bench.incompatible))
    var incidents = incidents(bench)
    incidents.isCancelled = { true }
    for force in [false, true] {
      let error = #expect(throws: StoreRecoveryError.self) {
        try incidents.restore(id, force: force)
      }
      #expect(error?.code == .cancelled)
    }
    #expect(bench.names() == before.0 && bench.snapshot() == before.1)
    #expect(bench.names(bench.incompatible) == before.2)
    #expect(try incidents.verify(id).finding == .unread)
  }

  /// A link is not another one because its target has as many letters.
  @Test func linksAreComparedByTheirTargets() throws {
    let bench = try Workbench()
    let paths = ["a", "b", "c"].map { bench.folder + "/" + $0 }
    for (path, target) in zip(paths, ["/one", "/two", "/one"]) {
      #expect(Posix.symlink(target, path) == 0)
    }
    func isEqual(_ one: String, _ other: String) throws -> Bool {
      try SetMover(fileSystem: .real).hasEqualContent(
        one, try #require(try FileStatus.of(one)), other, try #require(try FileStatus.of(other)))
    }
    #expect(try !isEqual(paths[0], paths[1]))
    #expect(try isEqual(paths[0], paths[2]))
  }

  // MARK: Records

  /// Sums of sizes that a record claims.
  @Test func sizesSaturate() throws {
    let file = StoreSeal.File(
      name: "Done.sqlite", role: .main, kind: .file, sizeBytes: .max, sha256: nil,
      modifiedNanoseconds: .max, inode: .max)
    #expect(StoreSeal(files: [file, file, file]).sizeBytes == .max)
    let negative = StoreSeal.File(
      name: "Done.sqlite", role: .main, kind: .file, sizeBytes: .min, sha256: nil,
      modifiedNanoseconds: .min, inode: 0)
    #expect(StoreSeal(files: [negative, file]).sizeBytes == .max)
    #expect(StoreSeal(files: [negative]).sizeBytes == 0)
  }

  /// A record of 5 MB beside a store of a few files is not read; one beside as many files is.
  @Test func recordsAreBounded() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let record = bench.incompatible + "/" + id + "/incident.json"
    var bytes = try Data(contentsOf: URL(fileURLWithPath: record))
    bytes.append(Data(repeating: 0x20, count: 5 * 1024 * 1024))
    try bytes.write(to: URL(fileURLWithPath: record))
    #expect(
      try incidents(bench).show(id).problem == "the record is not an ordinary file, or is too large"
    )
    let support = bench.incompatible + "/" + id + "/store/.Done_SUPPORT/"
    for index in 0..<600 { try FileSystem.real.link(record, support + "\(index)") }
    #expect(try incidents(bench).show(id).problem == nil)
    // An intent that cannot be looked at may be that of a move.
    let intent = bench.incompatible + "/" + id + "/.intent.json"
    try bytes.write(to: URL(fileURLWithPath: intent))
    #expect(try incidents(bench).show(id).isUnfinished)
  }

  /// A pipe among the external files is never opened. It goes along where a link can take it, else it stays and is
  /// told by its name; the data goes back either way.
  @Test(arguments: [false, true])
  func aPipeAmongExternalFiles(isOtherVolume: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let id = try setAside(bench)
    let support = "/.Done_SUPPORT/_EXTERNAL_DATA"
    let store = bench.incompatible + "/" + id + "/store"
    #expect(Posix.mkfifo(store + support + "/pipe") == 0)
    var system = FileSystem.real
    if isOtherVolume {
      let refuse: @Sendable (String, String) throws -> Void = { from, to in
        guard from.contains("/store/") == to.contains("/store/") else {
          throw SystemCallError(call: "link", path: to, errno: EXDEV)
        }
      }
      system.link = {
        try refuse($0, $1); try FileSystem.real.link($0, $1)
      }
      system.rename = {
        try refuse($0, $1); try FileSystem.real.rename($0, $1)
      }
    }
    let incidents = Incidents(in: bench.folder, fileSystem: system, clock: { Workbench.now })
    let result = try incidents.restore(id, force: true)
    #expect(
      result.leftBehind
        == (isOtherVolume ? [".Done_SUPPORT/_EXTERNAL_DATA/pipe, a pipe, socket or device"] : []))
    let there = isOtherVolume ? store : bench.folder
    #expect(try FileStatus.of(there + support + "/pipe")?.kind == .other)
    #expect(try FileStatus.of(bench.folder + support + "/5AB00A06")?.kind == .file)
    #expect(!bench.names().contains { $0.hasPrefix(".lifeboat-") })
  }
}
