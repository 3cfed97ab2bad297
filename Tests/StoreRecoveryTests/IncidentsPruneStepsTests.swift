import StoreFiles
import Fixtures
import Foundation
import SafeText
import Testing

@testable import StoreRecovery

/// Removal, stopped at each of its steps.
@Suite struct IncidentsPruneStepsTests {
  struct Stop: Error {}

  private let limits = Retention(maximumCount: 0)

  /// Two copies of one content, another content, and the record of a restored store.
  private func shelf() throws -> Shelf {
    let shelf = try Shelf()
    let restored = try shelf.setAside(hour: 0, rows: 3)
    try shelf.setAside(hour: 1)
    try shelf.setAside(hour: 2, rows: 5)
    try shelf.setAside(hour: 3)
    _ = try shelf.incidents(hour: 4).restore(restored)
    return shelf
  }

  /// Stopped at every call by an error or a kill: no content is lost, what is listed is whole, and the next
  /// run ends what was begun, as does the next open. Outside the long rounds, the four ways share the calls.
  @Test(arguments: [true, false], [true, false])
  func stoppedAnywhere(isKilled: Bool, isOpened: Bool) throws {
    let calls = Counter()
    let whole = try shelf()
    let contents = try whole.contents()
    let watched = FileSystem.watched { call, path in calls.next("\(call) \(path)") }
    let report = try whole.incidents(watched).prune(limits, dryRun: false)
    #expect(report.removed.map(\.why) == [.restored, .duplicate])
    try #require(calls.count > 25)
    let wholeNames = whole.names
    let way = (isKilled ? 2 : 0) + (isOpened ? 1 : 0)
    for step in Rounds.part(of: 1...calls.count, every: 4, from: way) {
      let shelf = try shelf()
      let before = try Set(shelf.incidents().list().map(\.id))
      let now = Counter()
      let system = FileSystem.watched { _, _ in
        let count = now.next()
        if count == step || (isKilled && count > step) { throw Stop() }
      }
      let note = "step \(step): \(calls.notes[step - 1])"
      let stopped = try? shelf.incidents(system).prune(limits, dryRun: false)
      if let stopped, !isKilled {
        // What the report says is what happened; the next run may end what this one could not.
        let listed = try Set(shelf.incidents().list().map(\.id))
        #expect(listed.isDisjoint(with: stopped.removed.map(\.id)), "\(note)")
      }
      try expectWhole(shelf, contents, note)
      if isOpened {
        _ = try shelf.bench.recovery().openSynchronously { _ in true }
        let names = shelf.names
        #expect(Set(names).isSubset(of: before), "\(note): \(names)")
        try expectWhole(shelf, contents, note)
        for name in names {
          #expect(!shelf.bench.names(shelf.path(name)).contains(Removal.recordName) || isKilled)
        }
      }
      let again = try shelf.incidents().prune(limits, dryRun: false)
      #expect(again.kept.allSatisfy { $0.why == .onlyCopy }, "\(note): \(again.kept)")
      #expect(shelf.names == wholeNames, "\(note)")
      try expectWhole(shelf, contents, note)
      #expect(try shelf.contents().values.allSatisfy { $0 == 1 }, "\(note)")
      // A third run has nothing left to do.
      let quiet = Counter()
      let third = FileSystem.watched { call, path in
        if call != "lock" { quiet.next("\(call) \(path)") }
      }
      #expect(try shelf.incidents(third).prune(limits, dryRun: false).removed == [])
      #expect(quiet.notes == [], "\(note)")
    }
  }

  private func expectWhole(_ shelf: Shelf, _ contents: [String: Int], _ note: String) throws {
    #expect(try Set(shelf.contents().keys) == Set(contents.keys), "\(note)")
    #expect(try shelf.incidents().verify().allSatisfy(\.isSound), "\(note)")
  }

  /// What a dry run says after a stop is what the next run does. Outside the long rounds, a stop at each second call.
  @Test func dryRunAfterAStop() throws {
    let calls = Counter()
    let whole = try shelf()
    _ = try whole.incidents(.watched { _, _ in calls.next() }).prune(limits, dryRun: false)
    try #require(whole.tree.count > 0 && calls.count > 25)
    for step in Rounds.part(of: 1...calls.count, every: 2) {
      let shelf = try shelf()
      let now = Counter()
      let system = FileSystem.watched { _, _ in if now.next() >= step { throw Stop() } }
      _ = try? shelf.incidents(system).prune(limits, dryRun: false)
      let before = shelf.tree
      let promised = try shelf.incidents().prune(limits, dryRun: true)
      #expect(shelf.tree == before, "step \(step)")
      let done = try shelf.incidents().prune(limits, dryRun: false)
      let putBack = Set(promised.kept.filter { $0.why == .interrupted }.map(\.id))
      #expect(
        Set(promised.removed.map(\.id)).union(putBack).isSuperset(of: done.removed.map(\.id)),
        "step \(step)")
      #expect(
        Set(done.removed.map(\.id)).isSuperset(of: promised.removed.map(\.id)), "step \(step)")
    }
  }

  /// Somebody puts a file into the folder, or changes one, after it was looked at: it stays, under its name.
  @Test(arguments: ["note.txt", "store/note.txt", "store/Done.sqlite-wal", ".back.json"])
  func changedMeanwhile(name: String) throws {
    let shelf = try Shelf()
    let id = try shelf.setAside(hour: 0)
    try shelf.setAside(hour: 1)
    let system = FileSystem.watched { call, path in
      guard call == "rename", path.contains("/" + Removal.prefix) else { return }
      try Data("late".utf8).write(to: URL(fileURLWithPath: shelf.path(id, name)))
    }
    let report = try shelf.incidents(system).prune(limits, dryRun: false)
    #expect(report.removed == [])
    #expect(report.kept.first { $0.id == id && $0.why == .failed } != nil)
    #expect(
      FileManager.default.contents(atPath: shelf.path(id, name)) == Data("late".utf8))
    #expect(!shelf.bench.names(shelf.path(id)).contains(Removal.recordName))
    #expect(shelf.names.count == 2)
  }

  /// A file that appears while the others go is kept, and so is the folder; it comes up in each report.
  @Test func aFileAppearsDuringTheRemoval() throws {
    let shelf = try Shelf()
    try shelf.setAside(hour: 0)
    let keeper = try shelf.setAside(hour: 1)
    let system = FileSystem.watched { call, path in
      guard call == "unlink", path.hasSuffix("store/Done.sqlite") else { return }
      let folder = PathText.folder(of: PathText.folder(of: path))
      try Data("late".utf8).write(to: URL(fileURLWithPath: folder + "/store/note.txt"))
    }
    let report = try shelf.incidents(system).prune(limits, dryRun: false)
    #expect(report.removed == [])
    let hidden = try #require(
      shelf.names.first { $0.hasPrefix(Removal.prefix) })
    #expect(try shelf.incidents().list().map(\.id) == [keeper])
    let again = try shelf.incidents().prune(limits, dryRun: false)
    #expect(again.kept.contains { $0.id.hasPrefix(Removal.prefix) && $0.why == .failed })
    let files = shelf.tree.filter { $0.key.hasSuffix("note.txt") }
    #expect(files.values.first == Data("late".utf8))
    #expect(!hidden.isEmpty)
  }

  /// Many at once: each folder is removed by one, and no content is lost.
  @Test func severalAtOnce() async throws {
    let shelf = try Shelf()
    for hour in 0..<8 { try shelf.setAside(hour: hour, rows: hour % 2) }
    let contents = try shelf.contents()
    let limits = limits
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { _ = try? shelf.incidents().prune(limits, dryRun: false) }
      }
      try await group.waitForAll()
    }
    _ = try shelf.incidents().prune(limits, dryRun: false)
    #expect(try Set(shelf.contents().keys) == Set(contents.keys))
    #expect(try shelf.contents().values.allSatisfy { $0 == 1 })
    #expect(shelf.names.count == 2)
  }
}
