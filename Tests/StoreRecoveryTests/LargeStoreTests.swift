import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// Sets that are too large to be sealed in one launch.
@Suite struct LargeStoreTests {
  /// A launch reads this much for a seal, and notes each half of it.
  private static let pace = "pace=524288,262144"
  private static let bigBytes = 3 * 1024 * 1024 + 77
  private static let film: Data = {
    var random = SplitMix64(seed: 15)
    return Data(random.bytes(bigBytes))
  }()

  private func bench() throws -> KillBench {
    let bench = try Workbench()
    try FileManager.default.createDirectory(
      atPath: bench.folder + "/.Done_SUPPORT", withIntermediateDirectories: true)
    try Self.film.write(to: URL(fileURLWithPath: bench.folder + "/.Done_SUPPORT/film"))
    return try KillBench(bench)
  }

  private func entry(_ made: KillBench) throws -> Incidents.Entry {
    try #require(try Incidents(in: made.bench.folder, fileSystem: .real).list().first)
  }

  /// How far the seal has come, in bytes.
  private func progress(_ made: KillBench) throws -> Int64 {
    let path = try entry(made).folder + "/" + QuarantineFolder.sealingName
    guard let noted = try RecordFile(fileSystem: .real).read(SealProgress.self, from: path) else {
      return 0
    }
    return StoreSeal(files: noted.files).sizeBytes + (noted.current?.state.byteCount ?? 0)
  }

  private func isSetAside(_ made: KillBench) -> Bool {
    made.places.contains { $0.hasSuffix("/store") }
  }

  @Test func eachLaunchGetsOn() throws {
    let made = try bench()
    // The first launch reads all and is killed in the middle.
    let first = try Child.run("open", made.store, ["row=fresh", Self.pace, "chunk=9"])
    #expect(first.status == Child.ended)
    #expect(isSetAside(made))
    // The next ones go forward, and are killed again and again.
    var seen: [Int64] = []
    for _ in 1...4 {
      let killed = try Child.run("open", made.store, ["row=fresh", Self.pace, "chunk=8"])
      #expect(isSetAside(made), "\(killed.lines)")
      seen.append(try progress(made))
      if killed.status != Child.ended { break }
    }
    // One that lives opens a fresh store, with the set aside and not sealed yet.
    let opened = try Child.run("open", made.store, [Self.pace])
    #expect(opened.lines.first?.hasPrefix("open ") == true, "\(opened.lines)")
    #expect(made.places.count == 1 && isSetAside(made), "\(made.places)")
    let entry = try entry(made)
    #expect(entry.incident != nil && entry.problem == nil)
    #expect(entry.incident?.seal == nil && entry.isSealPending)
    let incidents = Incidents(in: made.bench.folder, fileSystem: .real)
    #expect(try incidents.verify(entry.id).finding == .unsealed)
    #expect(
      try incidents.prune(Retention(maximumCount: 0), dryRun: true).kept.first?.why == .unfinished)
    // Each launch reads its share, until the seal is whole.
    seen.append(try progress(made))
    var launches = 0
    while try self.entry(made).incident?.seal == nil, launches < 20 {
      launches += 1
      _ = try Child.run("open", made.store, [Self.pace])
      if try self.entry(made).isSealPending { seen.append(try progress(made)) }
      #expect(isSetAside(made))
    }
    #expect(launches > 1 && launches < 10)
    #expect(seen == seen.sorted() && Set(seen).count > 2, "\(seen)")
    #expect(try incidents.verify(entry.id).finding == .intact)
    #expect(!made.bench.names(entry.folder).contains { $0.contains("seal.json") })
    // Nothing is left to do, and the set goes back as it was.
    try made.heal("sealed")
    _ = try incidents.restore(entry.id)
    #expect(made.places == [made.bench.folder])
  }

  /// Killed before each piece that is read, in the first launch and in one that goes on: one whole set.
  @Test func killedAnywhere() throws {
    let pieces = Self.bigBytes / StoreSeal.window + 8
    for chunk in stride(from: 1, through: pieces, by: Rounds.areLong ? 1 : 6) {
      let made = try bench()
      for launch in ["first", "second"] {
        _ = try Child.run("open", made.store, ["row=fresh", Self.pace, "chunk=\(chunk)"])
        #expect(made.places.count > 0, "\(launch), piece \(chunk): \(made.paths)")
      }
      _ = try Child.run("open", made.store, ["row=fresh", Self.pace])
      #expect(made.places.count == 1 && isSetAside(made), "piece \(chunk): \(made.places)")
      try made.heal("piece \(chunk)")
    }
  }

  /// Killed at each step of a launch that goes on with a seal. Outside the long rounds, at each fourth step, the first
  /// of each kind and the last.
  @Test func killedAtEachStepOfALaterLaunch() throws {
    func halfway() throws -> KillBench {
      let made = try bench()
      _ = try Child.run("open", made.store, ["row=fresh", Self.pace, "chunk=9"])
      _ = try Child.run("open", made.store, ["row=fresh", Self.pace])
      #expect(try entry(made).isSealPending)
      return made
    }
    let whole = try halfway()
    let counted = try Child.run("open", whole.store, [Self.pace, "count="])
    #expect(isSetAside(whole))
    let steps = try #require(counted.lines.last { $0.hasPrefix("steps ") }).split(separator: " ")
      .dropFirst()
    #expect(steps.contains("replace"))
    for (index, name) in steps.enumerated()
    where Rounds.areLong || index % 4 == 0 || index == steps.count - 1
      || !steps.prefix(index).contains(name)
    {
      for end in name == "write" ? ["before", "inside", "after"] : ["before"] {
        let made = try halfway()
        _ = try Child.run("open", made.store, [Self.pace, "at=\(index + 1)", "end=" + end])
        #expect(made.places.count == 1 && isSetAside(made), "\(end) \(name)")
        try made.heal("\(end) \(name)")
      }
    }
  }

  /// Where somebody has used the store after a kill, it goes back: the quarantine has not all of it.
  @Test(arguments: ["rows", "log", "file"])
  func aSetThatWasUsedSinceGoesBack(change: String) throws {
    let made = try bench()
    _ = try Child.run("open", made.store, ["row=fresh", Self.pace, "chunk=9"])
    #expect(made.places.count == 2)
    switch change {
    case "rows":
      let database = try Database(made.store)
      try database.run("INSERT INTO ZTASK(T) VALUES('newer')")
      database.close()
    case "log":
      #expect(Posix.rename(made.store + "-wal", made.store + "-wal.old") == 0)
      try made.bench.write("another", to: "Done.sqlite-wal")
    default: try made.bench.write("another", to: "Done.sqlite-journal")
    }
    let opened = try made.bench.recovery().openSynchronously { _ in true }
    #expect(opened.incident == nil)
    #expect(FileManager.default.fileExists(atPath: made.store))
    // What stood in the way of the earlier log is kept beside it.
    let left = try Incidents(in: made.bench.folder, fileSystem: .real).list()
    #expect(left.allSatisfy { $0.incident == nil } && left.isEmpty == (change != "log"))
  }

  /// A note of the seal that says anything costs a second reading and no more.
  @Test(arguments: [
    "{}", "x", #"{"schema":"lifeboat.sealProgress","version":1,"files":[],"current":null}"#,
    #"{"schema":"lifeboat.sealProgress","version":1,"files":[{"name":"../x","role":"main","kind":"file","sizeBytes":9223372036854775807,"modifiedNanoseconds":0,"inode":1}]}"#,
  ])
  func damagedNotes(text: String) throws {
    let made = try bench()
    _ = try Child.run("open", made.store, ["row=fresh", Self.pace, "chunk=9"])
    _ = try Child.run("open", made.store, ["row=fresh", Self.pace])
    let entry = try entry(made)
    try Data(text.utf8).write(
      to: URL(fileURLWithPath: entry.folder + "/" + QuarantineFolder.sealingName))
    _ = try Child.run("open", made.store, [])
    #expect(
      try Incidents(in: made.bench.folder, fileSystem: .real).verify(entry.id).finding == .intact)
  }

  // MARK: Seals that go on

  /// A quarantine's folder whose kept set is a support folder alone.
  private func quarantine(_ bench: Workbench, _ inner: String = "") throws -> QuarantineFolder {
    let folder = QuarantineFolder(home: bench.folder, storeName: "Done.sqlite", id: Workbench.stamp)
    try FileManager.default.createDirectory(
      atPath: folder.kept(".Done_SUPPORT" + inner), withIntermediateDirectories: true)
    return folder
  }

  /// A set with so many files that the note of its seal is larger than other records.
  @Test func aLongNoteIsRead() throws {
    let bench = try Workbench()
    let inner = String(repeating: "/" + String(repeating: "d", count: 250), count: 13)
    let folder = try quarantine(bench, inner)
    for number in 1...1300 {
      try Data([0x78]).write(
        to: URL(fileURLWithPath: folder.kept(".Done_SUPPORT\(inner)/\(number)")))
    }
    let mover = SetMover(fileSystem: .real)
    let kept = StoreSet(at: folder.keptMainPath)
    var budget: Int64? = 1290
    #expect(try mover.seal(folder, kept, budget: &budget) == nil)
    #expect(budget == 0)
    let note = try #require(try FileStatus.of(folder.sealing))
    #expect(note.sizeBytes > RecordFile.lookLimit)
    budget = 1290
    #expect(try mover.seal(folder, kept, budget: &budget)?.sizeBytes == 1300)
  }

  /// With the smallest share, a launch still reads one step of a large file.
  @Test func aShareOfNothingIsOneStep() throws {
    let bench = try Workbench()
    let folder = try quarantine(bench)
    let bytes = [UInt8](repeating: 7, count: Self.bigBytes)
    try Data(bytes).write(to: URL(fileURLWithPath: folder.kept(".Done_SUPPORT/film")))
    var mover = SetMover(fileSystem: .real)
    mover.pace = SealPace(bytesPerLaunch: 0, bytesPerNote: 1024 * 1024)
    let kept = StoreSet(at: folder.keptMainPath)
    var seal: StoreSeal?
    var launches = 0
    while seal == nil, launches < 30 {
      launches += 1
      var budget: Int64? = 0
      seal = try mover.seal(folder, kept, budget: &budget)
    }
    #expect(launches == 4)
    #expect(seal?.files.last?.sha256 == Digest.sha256(bytes))
  }

  private func setAside(_ bench: Workbench) throws {
    try bench.makeStore()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    _ = try recovery.setAside(recovery.judge(try recovery.examine(expecting: Workbench.model)))
  }

  /// Makes an incident one that has no seal yet.
  private func unseal(_ bench: Workbench, _ id: String) throws -> String {
    let folder = bench.incompatible + "/" + id
    let records = RecordFile(fileSystem: .real)
    var incident = try #require(try records.incident(in: folder))
    incident.seal = nil
    try records.write(incident, to: folder + "/incident.json", replacing: true)
    try records.write(SealProgress(), to: folder + "/" + QuarantineFolder.sealingName)
    return folder
  }

  /// An incident whose files somebody has removed keeps no later one from its seal.
  @Test func anEmptyIncidentBlocksNoOther() throws {
    let bench = try Workbench()
    for _ in 1...2 { try setAside(bench) }
    let first = try unseal(bench, Workbench.stamp)
    _ = try unseal(bench, Workbench.stamp + "-2")
    try FileManager.default.removeItem(atPath: first + "/store")
    _ = try bench.recovery().openSynchronously { _ in true }
    let incidents = Incidents(in: bench.folder, fileSystem: .real)
    #expect(try incidents.verify(Workbench.stamp + "-2").finding == .intact)
    #expect(try incidents.verify(Workbench.stamp).finding == .unsealed)
  }

  /// The share of a launch is for all incidents together: here it is just enough for one of them.
  @Test func oneShareIsForAllIncidents() throws {
    let bench = try Workbench()
    let ids = [Workbench.stamp, Workbench.stamp + "-2", Workbench.stamp + "-3"]
    for _ in ids { try setAside(bench) }
    for id in ids { _ = try unseal(bench, id) }
    let kept = StoreSet(at: bench.incompatible + "/" + Workbench.stamp + "/store/Done.sqlite")
    var policy = Workbench.policy()
    policy.sealPace = SealPace(bytesPerLaunch: kept.sizeBytes, bytesPerNote: 1024 * 1024)
    let incidents = Incidents(in: bench.folder, fileSystem: .real)
    for launch in 1...ids.count {
      _ = try bench.recovery(policy: policy).openSynchronously { _ in true }
      let sealed = try ids.filter { try incidents.verify($0).finding == .intact }
      #expect(sealed == Array(ids.prefix(launch)), "launch \(launch)")
    }
  }

  /// A set that has no seal yet and holds a file that cannot be read goes back only by force.
  @Test func anUnreadableFileOfAnUnsealedSet() throws {
    let bench = try Workbench()
    try setAside(bench)
    let folder = try unseal(bench, Workbench.stamp)
    #expect(Posix.chmod(folder + "/store/.Done_SUPPORT/_EXTERNAL_DATA/5AB00A06", 0) == 0)
    guard let user = try BoundUser(for: bench) else { return }
    let id = "id=" + Workbench.stamp
    let refused = try Child.run("restore", bench.store, [id], user: user.id)
    guard refused.status == 0, let line = refused.lines.first else {
      print("skipped: another user cannot run the program: \(refused)")
      return
    }
    #expect(line.hasPrefix("error incident.sealBroken"), "\(refused.lines)")
    #expect(!bench.names().contains("Done.sqlite"))
    let forced = try Child.run("restore", bench.store, [id, "force="], user: user.id)
    #expect(forced.lines.first?.hasPrefix("restored") == true, "\(forced.lines)")
    #expect(bench.names().contains("Done.sqlite"))
  }

  /// Called off while the seal is taken: all is where it was.
  @Test func calledOff() throws {
    let made = try bench()
    let asked = Counter()
    let recovery = Recovery(
      URL(fileURLWithPath: made.store), app: .init(name: "Done", version: "2.1"),
      policy: Workbench.policy(), structure: Workbench.mismatching, clock: { Workbench.now },
      isCancelled: { asked.next() > 5 })
    let outcome = recovery.attemptSynchronously(expecting: Workbench.model) { _ in
      throw HostError()
    }
    guard case .failed = outcome else { return #expect(Bool(false), "it opened") }
    #expect(asked.count == 6)
    #expect(made.places == [made.bench.folder])
    #expect(made.bench.names(made.bench.incompatible).filter { !$0.hasPrefix(".") } == [])
  }

  /// The state that is written down gives what the library gives (FIPS 180-4), wherever it is cut.
  @Test func resumableHash() throws {
    var random = SplitMix64(seed: 180)
    for count in Array(0...200) + [4096, 100_001] {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      var hasher = ResumableSHA256()
      var rest: [UInt8] = []
      var offset = 0
      while offset < count {
        let size = min(Int.random(in: 1...150, using: &random), count - offset)
        rest += bytes[offset..<offset + size]
        offset += size
        let taken = unsafe rest.withUnsafeBytes { unsafe hasher.update($0) }
        rest.removeFirst(taken)
        let state = try JSONEncoder().encode(hasher.state)
        hasher = ResumableSHA256(try JSONDecoder().decode(ResumableSHA256.State.self, from: state))
      }
      #expect(hasher.finalize(rest) == Digest.sha256(bytes), "\(count)")
    }
  }
}
