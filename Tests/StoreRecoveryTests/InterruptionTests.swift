import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

/// How links behave on the volume of a test.
enum Volume: CaseIterable, Sendable {
  case links
  case noLinks
  case other
}

@Suite struct InterruptionTests {
  struct Stop: Error {}

  /// A file system whose `step`th call fails.
  private func failing(_ calls: Counter, at step: Int, _ volume: Volume)
    -> FileSystem
  {
    var system = FileSystem.watched { call, path in
      let now = calls.next("\(call) \(path)")
      if now == step { throw Stop() }
    }
    let link = system.link
    let rename = system.rename
    if volume != .links {
      system.link = {
        if $0.hasSuffix(".part") { return try link($0, $1) }
        throw SystemCallError(call: "link", path: $1, errno: 1)
      }
    }
    if volume == .other {
      system.rename = {
        if $0.hasSuffix(".part") || $1.contains("failed-fresh") { return try rename($0, $1) }
        throw SystemCallError(call: "rename", path: $1, errno: 18)
      }
    }
    return system
  }

  /// Runs one launch in which the opener fails on the old store, and on the fresh one if asked to.
  private func launch(_ bench: Workbench, _ system: FileSystem, freshFails: Bool = false) throws {
    let before = bench.snapshot()
    _ = try bench.recovery(structure: Workbench.mismatching, fileSystem: system).openSynchronously(
      expecting: Workbench.model
    ) { url in
      // The old store is not opened: a real open would write to its index.
      if bench.snapshot()["Done.sqlite"] == before["Done.sqlite"] { throw HostError() }
      if freshFails {
        try bench.write("left over", to: "Done.sqlite")
        throw HostError()
      }
      try Database.open(url).close()
    }
  }

  private func steps(_ volume: Volume, freshFails: Bool) throws -> Int {
    let bench = try Workbench()
    try bench.makeStore()
    let calls = Counter()
    let system = failing(calls, at: Int.max, volume)
    if freshFails {
      #expect(throws: HostError.self) { try launch(bench, system, freshFails: true) }
    } else {
      try launch(bench, system)
    }
    return calls.count
  }

  /// Where the one complete set is: the folders that hold one with its original bytes.
  private func complete(_ bench: Workbench, _ before: [String: String]) -> [String] {
    let kept = bench.names(bench.incompatible).map { bench.incompatible + "/" + $0 + "/store" }
    return ([bench.folder] + kept).filter { bench.snapshot(in: $0) == before }
  }

  /// Stopped at every call by an error: after the next launch exactly one complete set exists. What a kill leaves,
  /// and errors on a volume with links, are in `KillTests` and `FaultTests`. Outside the long rounds, each second call,
  /// those between them where no fresh store is made.
  @Test(arguments: [Volume.noLinks, .other])
  func moveIsResumed(volume: Volume) throws {
    for freshFails in [false, true] {
      let count = try steps(volume, freshFails: freshFails)
      #expect(count > 20)
      for step in Rounds.part(of: 1...count, every: 2, from: freshFails ? 1 : 0) {
        let bench = try Workbench()
        try bench.makeStore()
        let before = bench.snapshot()
        let calls = Counter()
        let system = failing(calls, at: step, volume)
        try? launch(bench, system, freshFails: freshFails)
        let note = "step \(step): \(calls.notes.dropFirst(step - 1).first ?? "none"), \(volume)"
        // The next launch: its opener would open whatever is there, but is not reached by a split set.
        let healthy = failing(Counter(), at: Int.max, volume)
        let opened = try bench.recovery(structure: nil, fileSystem: healthy).openSynchronously {
          _ in
          bench.snapshot()
        }
        let places = complete(bench, before)
        #expect(
          places.count == 1,
          "\(note): \(places) \(bench.names()) \(bench.names(bench.incompatible))")
        if let place = places.first {
          #expect(try Database.rows(ofSetIn: place) == 60, "\(note)")
          #expect((place == bench.folder) == (opened.handle == before), "\(note)")
        }
        let listed = try Incidents(in: URL(fileURLWithPath: bench.folder)).list()
        #expect(listed.allSatisfy { !$0.isUnfinished && $0.problem == nil }, "\(note)")
        for entry in listed where entry.outcome == nil {
          let kept = StoreSet(at: entry.folder + "/store/Done.sqlite")
          let seal = try StoreSeal(sealing: kept)
          #expect(entry.incident?.seal?.differences(from: seal).isEmpty == true, "\(note)")
        }
        // A third launch has nothing left to do.
        let quiet = Counter()
        let third = failing(quiet, at: Int.max, volume)
        _ = try bench.recovery(fileSystem: third).openSynchronously { _ in true }
        #expect(quiet.notes == [], "\(note)")
      }
    }
  }

  /// A set that was moved by a run that died before it could tell: the next launch tells.
  @Test func incidentOfADeadRunIsReported() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let calls = Counter()
    let system = FileSystem.watched { call, path in
      calls.next("\(call) \(path)")
      if call == "unlink", path.hasSuffix("Done.sqlite-wal") || calls.notes.last == "dead" {
        calls.next("dead")
        throw Stop()
      }
      if calls.notes.contains("dead") { throw Stop() }
    }
    try? launch(bench, system)
    let opened = try bench.recovery().openSynchronously { try Database.open($0).close() }
    #expect(opened.incident?.id == Workbench.stamp)
    #expect(
      try bench.recovery().openSynchronously { try Database.open($0).close() }.incident == nil)
  }

  /// A ghost writes into the main file while its copy is made durable: the move is called off.
  @Test(arguments: Volume.allCases)
  func changeDuringTheMove(volume: Volume) throws {
    let bench = try Workbench()
    try bench.makeStore()
    var system = failing(Counter(), at: Int.max, volume)
    let sync = system.syncFolder
    system.syncFolder = { path in
      try sync(path)
      guard path.hasSuffix("/store/.Done_SUPPORT"), volume != .noLinks else { return }
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: bench.store + "-wal"))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data("ghost".utf8))
      try handle.close()
    }
    let calls = Counter()
    let opened = try? bench.recovery(structure: Workbench.mismatching, fileSystem: system)
      .openSynchronously(expecting: Workbench.model) { _ in
        if calls.next() <= 2 { throw HostError() }
      }
    if volume != .noLinks {
      #expect(opened == nil)
      #expect(calls.count == 2)
      #expect(try Database.rows(ofSetIn: bench.folder) == 60)
      #expect(bench.bytes("Done.sqlite-wal")?.suffix(5) == Data("ghost".utf8))
    } else {
      // Nothing was written.
      #expect(opened?.incident != nil)
    }
  }

  @Test func otherStoresMovesAreLeftAlone() throws {
    let bench = try Workbench()
    try bench.makeStore()
    let folder = bench.incompatible + "/" + Workbench.stamp
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let record = MoveRecord(storeName: "Other.sqlite", members: [], incident: nil, back: nil)
    try RecordFile(fileSystem: .real).write(record, to: folder + "/.intent.json")
    _ = try bench.recovery().openSynchronously { try Database.open($0).close() }
    #expect(bench.names(folder) == [".intent.json"])
  }

  @Test(arguments: [
    "../escape", "Done.sqlite/../../x", "/etc/passwd", ".Done_SUPPORT/../Done.sqlite",
  ])
  func hostileRecords(name: String) throws {
    let bench = try Workbench()
    try bench.makeStore()
    let folder = bench.incompatible + "/" + Workbench.stamp
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let status = try #require(try FileStatus.of(bench.store))
    let record = MoveRecord(
      storeName: "Done.sqlite", members: [.init(role: .main, name: name, status: status)],
      incident: nil, back: .restore)
    try RecordFile(fileSystem: .real).write(record, to: folder + "/.back.json")
    let before = bench.snapshot()
    // Nothing of the store is in that folder, so it is whole and may be opened.
    _ = try bench.recovery().openSynchronously { _ in true }
    #expect(bench.snapshot() == before)
    try FileManager.default.createDirectory(
      atPath: folder + "/store", withIntermediateDirectories: true)
    try bench.write("x", to: "Incompatible/\(Workbench.stamp)/store/Done.sqlite-wal")
    let error = #expect(throws: StoreRecoveryError.self) {
      try bench.recovery().openSynchronously { try Database.open($0) }
    }
    #expect(error?.code == .unfinished)
    #expect(bench.snapshot() == before)
  }
}
