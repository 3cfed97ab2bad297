import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

/// A record that rots must neither block a whole store nor let a split one be opened.
@Suite struct DamagedIntentTests {
  static let damaged = [
    "", "{\"bad", "[]", "{\"schema\":\"lifeboat.move\"}",
    #"{"schema":"lifeboat.move","version":2,"storeName":"Done.sqlite","members":[]}"#,
  ]

  private func intent(_ id: String = Workbench.stamp) -> String {
    "Incompatible/\(id)/.intent.json"
  }

  /// A bench whose store was set aside, with or without a fresh one in its place.
  private func committed(fresh: Bool) throws -> Workbench {
    let bench = try Workbench()
    try bench.makeStore()
    let recovery = bench.recovery(structure: Workbench.mismatching)
    _ = try recovery.setAside(recovery.judge(try recovery.examine(expecting: Workbench.model)))
    if fresh { try Database.open(URL(fileURLWithPath: bench.store)).close() }
    return bench
  }

  /// A quarantine's folder with kept files, which are second names of the store's or have moved.
  private func kept(_ bench: Workbench, linked: [String], moved: [String] = []) throws {
    let store = bench.incompatible + "/" + Workbench.stamp + "/store/"
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true)
    for name in linked {
      try FileManager.default.linkItem(atPath: bench.folder + "/" + name, toPath: store + name)
    }
    for name in moved {
      try FileManager.default.moveItem(atPath: bench.folder + "/" + name, toPath: store + name)
    }
  }

  private func open(_ bench: Workbench) throws -> [String] {
    let events = Counter()
    var policy = Workbench.policy()
    policy.report = { event in
      if case .setAsideFailed(let error) = event {
        events.next((error as? StoreRecoveryError)?.code.rawValue ?? "")
      }
    }
    let opened = try bench.recovery(policy: policy).openSynchronously { _ in true }
    #expect(opened.incident == nil)
    return events.notes
  }

  @Test(arguments: damaged)
  func committedAndFinished(text: String) throws {
    let bench = try committed(fresh: true)
    try bench.write(text, to: intent())
    let before = bench.snapshot()
    for _ in 1...2 { #expect(try open(bench) == []) }
    #expect(bench.snapshot() == before)
    #expect(bench.bytes(intent()) == Data(text.utf8))
    #expect(
      try Incidents(in: bench.folder, fileSystem: .real).list().map(\.isUnfinished) == [false])
    _ = try Incidents(in: bench.folder, fileSystem: .real).restore(Workbench.stamp)
    #expect(try Database.rows(ofSetIn: bench.folder) == 60)
  }

  /// An extension, which ends no move, takes the same intent for over.
  @Test(arguments: damaged)
  func anExtensionOpensWhatTheAppOpens(text: String) throws {
    let bench = try committed(fresh: true)
    try bench.write(text, to: intent())
    var policy = Workbench.policy()
    policy.mode = .extension
    #expect(try bench.recovery(policy: policy).openSynchronously { _ in true }.handle)
    // Without the fresh store, the app has to look first.
    try FileManager.default.removeItem(atPath: bench.store)
    let error = #expect(throws: StoreRecoveryError.self) {
      try bench.recovery(policy: policy).openSynchronously { _ in true }
    }
    #expect(error?.code == .unfinished)
  }

  /// Committed, but names of the set are still in place: they go, as an opener would write to kept files.
  @Test(arguments: [["Done.sqlite", "Done.sqlite-wal"], ["Done.sqlite-wal"]])
  func committedWithNamesLeft(names: [String]) throws {
    let bench = try committed(fresh: false)
    let store = bench.incompatible + "/" + Workbench.stamp + "/store"
    let before = bench.snapshot(in: store)
    for name in names {
      try FileManager.default.linkItem(
        atPath: store + "/" + name, toPath: bench.folder + "/" + name)
    }
    try bench.write("{\"bad", to: intent())
    #expect(try open(bench) == [])
    #expect(bench.names() == [".Done.sqlite.opened-by-2.1", "Incompatible"])
    #expect(bench.snapshot(in: store) == before)
  }

  @Test(arguments: damaged)
  func notCommittedAndInPlace(text: String) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try kept(bench, linked: ["Done.sqlite-wal", "Done.sqlite"])
    try bench.write(text, to: intent())
    let before = bench.snapshot()
    #expect(try open(bench) == ["incident.unreadable"])
    #expect(bench.snapshot() == before)
    #expect(bench.bytes(intent()) == Data(text.utf8))
  }

  /// The main file alone is not the store: rows are in the log.
  @Test(arguments: [
    ([], ["Done.sqlite-wal"]), (["Done.sqlite"], ["Done.sqlite-wal"]),
    ([], ["Done.sqlite-wal", "Done.sqlite"]), (["Done.sqlite-wal"], ["Done.sqlite"]),
  ])
  func split(linked: [String], moved: [String]) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try kept(bench, linked: linked, moved: moved)
    try bench.write("{\"bad", to: intent())
    let before = bench.snapshot()
    let error = #expect(throws: StoreRecoveryError.self) { try open(bench) }
    #expect(error?.code == .unfinished)
    #expect(bench.snapshot() == before)
  }

  /// With both records damaged, a fresh store is opened, but not the files that the quarantine shares.
  @Test(arguments: [true, false])
  func bothRecordsDamaged(isFresh: Bool) throws {
    let bench = try committed(fresh: isFresh)
    try bench.write("{\"bad", to: intent())
    try bench.write("{\"bad", to: "Incompatible/\(Workbench.stamp)/incident.json")
    if isFresh {
      #expect(try open(bench) == ["incident.unreadable"])
      return
    }
    try FileManager.default.linkItem(
      atPath: bench.incompatible + "/" + Workbench.stamp + "/store/Done.sqlite",
      toPath: bench.store)
    #expect(throws: StoreRecoveryError.self) { try open(bench) }
  }

  @Test func unrelatedIncidentsDoNotBlockARestoration() throws {
    let bench = try committed(fresh: true)
    let other = bench.incompatible + "/2026-01-01-00-00-00Z/store"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    try bench.write("{\"bad", to: intent("2026-01-01-00-00-00Z"))
    try bench.write("x", to: "Incompatible/2026-01-01-00-00-00Z/store/Other.sqlite")
    _ = try Incidents(in: bench.folder, fileSystem: .real).restore(Workbench.stamp)
    #expect(try Database.rows(ofSetIn: bench.folder) == 60)
  }

  @Test func recordsHaveALimit() throws {
    let bench = try Workbench()
    let records = RecordFile(fileSystem: .real)
    let text = String(repeating: "a", count: 16 * 1024 * 1024 - 2)
    try records.write(text, to: bench.folder + "/fits.json")
    let limit = RecordFile.limit
    #expect(try records.read(String.self, from: bench.folder + "/fits.json", limit: limit) == text)
    let error = #expect(throws: StoreRecoveryError.self) {
      try records.write(text + "a", to: bench.folder + "/large.json")
    }
    #expect(error?.code == .unmovable)
    try bench.write("\"\(text)a\"", to: "large.json")
    let unread = #expect(throws: StoreRecoveryError.self) {
      try records.read(String.self, from: bench.folder + "/large.json", limit: limit)
    }
    #expect(unread?.code == .unreadableIncident)
  }
}
