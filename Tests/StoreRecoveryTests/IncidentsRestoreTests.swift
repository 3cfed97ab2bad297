import StoreFiles
import SafeFiles
import Fixtures
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct IncidentsRestoreTests {
  private func write(_ text: String, _ path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  @Test func storesInUseStay() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let twin = try shelf.setAside(hour: 1)
    try shelf.bench.makeStore()
    for path in [shelf.bench.store, shelf.path(id, "store/Done.sqlite")] {
      let before = (shelf.tree, shelf.bench.snapshot())
      try lockedElsewhere(path) {
        let error = #expect(throws: StoreRecoveryError.self) {
          try shelf.incidents().restore(id, force: true)
        }
        #expect(error?.code == .inUse)
        #expect(error?.path == path)
        let report = try shelf.incidents().prune(Retention(maximumCount: 0), dryRun: true)
        let isKept = path != shelf.bench.store
        #expect(report.kept.first { $0.id == id }?.why == (isKept ? .inUse : nil))
        #expect(report.kept.contains { $0.id == twin && $0.why == .onlyCopy })
      }
      #expect(shelf.tree == before.0 && shelf.bench.snapshot() == before.1)
    }
    _ = try shelf.incidents().restore(id)
  }

  /// On one volume a restoration needs no room to speak of; where it copies it needs both sets' sizes.
  @Test func freeSpaceIsLookedAtFirst() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try shelf.bench.makeStore()
    let bytes = StoreSet(at: shelf.bench.store).sizeBytes
    let before = (shelf.tree, shelf.bench.snapshot())
    func incidents(free: Int64, isOtherVolume: Bool) -> Incidents {
      var system = FileSystem.watched { _, _ in }
      system.freeSpace = { _ in free }
      let status = system.status
      system.status = { path in
        guard let real = try status(path) else { return nil }
        return isOtherVolume && path.hasSuffix("/store") ? try real.moved() : real
      }
      return shelf.incidents(system)
    }
    let record: Int64 = 1024 * 1024
    for (free, isOtherVolume) in [
      (record - 1, false), (record + bytes - 1, true), (record, true), (0, true),
    ] {
      let error = #expect(throws: StoreRecoveryError.self) {
        try incidents(free: free, isOtherVolume: isOtherVolume).restore(id)
      }
      #expect(error?.code == .noSpace)
      #expect(shelf.tree == before.0 && shelf.bench.snapshot() == before.1)
    }
    _ = try incidents(free: record + bytes, isOtherVolume: true).restore(id)
    #expect(shelf.bench.snapshot() != before.1)
  }

  /// A store that made room for an earlier one waits for no fresh one: whoever looks next ends its move, and that of the
  /// earlier one, which has begun.
  @Test func replacedStoreWaitsForNoFreshOne() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try shelf.bench.makeStore()
    let failing = FileSystem.watched { call, path in
      if call == "unlink", path.hasSuffix("-replaced/.intent.json") { throw HostError() }
    }
    #expect(throws: (any Error).self) { try shelf.incidents(failing).restore(id) }
    #expect(try shelf.incidents().list().map(\.isUnfinished) == [false, true])
    #expect(try shelf.bench.recovery().resume(makingFresh: { _ in }) == nil)
    #expect(try shelf.incidents().list().map(\.isUnfinished) == [false, false])
    let error = #expect(throws: StoreRecoveryError.self) { try shelf.incidents().restore(id) }
    #expect(error?.code == .nothingKept)
    #expect(FileManager.default.fileExists(atPath: shelf.bench.store))
    #expect(try shelf.incidents().verify().allSatisfy(\.isSound))
  }

  /// What this user may not look at is not taken for gone.
  @Test func unreadableKeptFilesAreNotGone() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let store = shelf.path(id, "store")
    // Without members, which is how a folder looks that refuses every look.
    for name in try FileManager.default.contentsOfDirectory(atPath: store) {
      try FileManager.default.removeItem(atPath: store + "/" + name)
    }
    var system = FileSystem.watched { _, _ in }
    let entries = system.entries
    system.entries = { path in
      if path.hasSuffix("/store") {
        throw SystemCallError(call: "open", path: path, errno: EACCES)
      }
      return try entries(path)
    }
    for force in [false, true] {
      let refused = #expect(throws: StoreRecoveryError.self) {
        try shelf.incidents(system).restore(id, force: force)
      }
      #expect(refused?.code == .unmovable)
      #expect(refused?.errno == EACCES)
      let gone = #expect(throws: StoreRecoveryError.self) {
        try shelf.incidents().restore(id, force: force)
      }
      #expect(gone?.code == .nothingKept)
    }
  }

  /// By force, files come back that could not be compared, and that is said.
  @Test func filesThatCannotBeComparedAreTold() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    let path = shelf.path(id, "store/Done.sqlite")
    var incidents = shelf.incidents()
    // The file grows whenever it is read.
    incidents.isCancelled = {
      let file = FileHandle(forWritingAtPath: path)
      _ = try? file?.seekToEnd()
      try? file?.write(contentsOf: Data([0]))
      return false
    }
    let result = try incidents.restore(id, force: true)
    #expect(result.differences.map(\.id) == [.notCompared])
    #expect(result.differences.first?.name == "Done.sqlite")
    #expect(result.differences.first?.text.contains("changes while it is read") == true)
  }

  private static let blob = ".Done_SUPPORT/_EXTERNAL_DATA/5AB00A06"

  /// A file that this user may not read goes back by force with all others, because no byte of it has to be read.
  @Test func anUnreadableFileGoesBackByForce() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    #expect(Posix.chmod(shelf.path(id, "store/" + Self.blob), 0) == 0)
    guard let user = try BoundUser(for: shelf.bench) else { return }
    let options = ["id=" + id, "sync=real"]
    let refused = try Child.run("restore", shelf.bench.store, options, user: user.id)
    guard refused.status == 0, let line = refused.lines.first else {
      return print("skipped: another user cannot run the program: \(refused)")
    }
    #expect(line.hasPrefix("error incident.sealBroken"), "\(refused.lines)")
    #expect(!shelf.bench.names().contains("Done.sqlite"))
    let forced = try Child.run("restore", shelf.bench.store, options + ["force="], user: user.id)
    #expect(forced.lines.first?.hasPrefix("restored") == true, "\(forced.lines)")
    #expect(try FileStatus.of(shelf.folder + "/" + Self.blob)?.kind == .file)
    #expect(try FileStatus.of(shelf.path(id, "store")) == nil)
    #expect(try shelf.incidents().list().allSatisfy { !$0.isUnfinished })
  }

  /// From another volume a file only goes back by being read, so nothing moves when one cannot be.
  @Test func anUnreadableFileOnAnotherVolumeStays() throws {
    let shelf = try Shelf()
    let volume = shelf.bench.incompatible
    try FileManager.default.createDirectory(atPath: volume, withIntermediateDirectories: true)
    guard
      (try? run("/bin/mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", volume]))?.status == 0
    else { return print("skipped: no volume can be mounted by this user") }
    defer { _ = try? run("/bin/umount", [volume]) }
    let id = try shelf.setAside(hour: 0)
    #expect(Posix.chmod(shelf.path(id, "store/" + Self.blob), 0) == 0)
    guard let user = try BoundUser(for: shelf.bench) else { return }
    let options = ["id=" + id, "force=", "sync=real"]
    let refused = try Child.run("restore", shelf.bench.store, options, user: user.id)
    guard refused.status == 0, let line = refused.lines.first else {
      return print("skipped: another user cannot run the program: \(refused)")
    }
    #expect(line.hasPrefix("error quarantine.unmovable"), "\(refused.lines)")
    #expect(!shelf.bench.names().contains("Done.sqlite"))
    #expect(try shelf.incidents().list().allSatisfy { !$0.isUnfinished && $0.outcome == nil })
  }

  /// What is left of a set without its main file takes the place of no store, whatever the user asks for.
  @Test func aSetWithoutItsMainFileReplacesNoStore() throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try FileManager.default.removeItem(atPath: shelf.path(id, "store/Done.sqlite"))
    try shelf.bench.makeStore()
    let before = (shelf.tree, shelf.bench.snapshot())
    for force in [false, true] {
      let error = #expect(throws: StoreRecoveryError.self) {
        try shelf.incidents().restore(id, force: force)
      }
      #expect(error?.code == .notAStore)
      #expect(shelf.tree == before.0 && shelf.bench.snapshot() == before.1)
    }
  }

  @Test func theHostsWordsAndApp() throws {
    let shelf = try Shelf()
    let ids = try [Verdict.Finding.incompatible, .newer, .corrupt, .foreign, .hostError]
      .enumerated().map { try shelf.setAside(hour: $0, rows: $0 + 1, $1) }
    var steps: [Incidents.Restoration.NextStep] = []
    for (hour, id) in ids.enumerated() {
      let result = try shelf.incidents(hour: 100 + hour).restore(
        id, app: .init(name: "Done", version: "3.0"),
        texts: IncidentTexts { incident in
          .init(
            title: "Zurück: \(incident.kind.rawValue)", whatHappened: "a", whatWasKept: "b",
            whatToDo: "c")
        })
      steps.append(result.nextStep)
      if hour > 0 {
        #expect(result.replaced?.notice.title == "Zurück: replaced")
        #expect(result.replaced?.app.version == "3.0")
      } else {
        #expect(result.replaced == nil)
      }
    }
    #expect(steps == [.openWithFittingBuild, .openWithFittingBuild, .salvage, .salvage, .open])
    let replaced = try shelf.incidents().list().filter { $0.incident?.kind == .replaced }
    #expect(replaced.count == 4)
    #expect(try shelf.incidents(hour: 200).restore(replaced[0].id).nextStep == .open)
    #expect(try shelf.contents().values.allSatisfy { $0 == 1 })
  }
}

extension FileStatus {
  /// The same on another device.
  fileprivate func moved() throws -> FileStatus {
    let data = try JSONEncoder().encode(self)
    var object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    object["device"] = device + 1
    return try JSONDecoder().decode(
      FileStatus.self, from: try JSONSerialization.data(withJSONObject: object))
  }
}
