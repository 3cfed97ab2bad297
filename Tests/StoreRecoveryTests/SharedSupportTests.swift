import StoreFiles
import Foundation
import Testing

@testable import StoreRecovery

@Suite struct SharedSupportTests {
  private func open(_ bench: Workbench, _ events: Counter) throws -> Opened<Void> {
    var policy = Workbench.policy()
    policy.report = { event in
      guard case .setAsideFailed(let error) = event, let own = error as? StoreRecoveryError else {
        return
      }
      events.next("\(own.code.rawValue) \(own.message)")
    }
    let calls = Counter()
    return try bench.recovery(policy: policy, structure: Workbench.mismatching).openSynchronously(
      expecting: Workbench.model
    ) { _ in
      if calls.next() <= 2 { throw HostError() }
    }
  }

  /// Two stores with one support folder: neither may take it along.
  @Test(arguments: ["Done.db", "Done"], [true, false])
  func anotherStoreHasTheSameStem(name: String, hasLog: Bool) throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.copyItem(atPath: bench.store, toPath: bench.folder + "/" + name)
    if hasLog { try bench.write("log", to: name + "-wal") }
    let before = bench.snapshot()
    let events = Counter()
    #expect(throws: HostError.self) { try open(bench, events) }
    #expect(events.count == 1)
    #expect(events.notes.first?.hasPrefix("quarantine.unmovable the store \(name) ") == true)
    #expect(bench.snapshot() == before)
    #expect(!bench.names().contains("Incompatible"))
  }

  /// A file that this user may not read may be a store, too.
  @Test func anUnreadableFileMayBeAStore() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try bench.write("notes", to: "Done.db")
    #expect(Posix.chmod(bench.folder + "/Done.db", 0) == 0)
    guard let user = try BoundUser(for: bench) else { return }
    let before = bench.names()
    let refused = try Child.run("open", bench.store, ["row=fresh"], user: user.id)
    guard refused.status == 0, let line = refused.lines.first else {
      print("skipped: another user cannot run the program: \(refused)")
      return
    }
    #expect(line.contains("Done.db cannot be read and may be a store"), "\(refused.lines)")
    #expect(bench.names() == before)
  }

  @Test func otherFilesDoNotMatter() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try bench.write("notes", to: "Done.txt")
    try FileManager.default.copyItem(atPath: bench.store, toPath: bench.folder + "/Donee.db")
    #expect(try open(bench, Counter()).incident != nil)
  }

  @Test func withoutASupportFolder() throws {
    let bench = try Workbench()
    try bench.makeStore()
    try FileManager.default.removeItem(atPath: bench.folder + "/.Done_SUPPORT")
    try FileManager.default.copyItem(atPath: bench.store, toPath: bench.folder + "/Done.db")
    #expect(try open(bench, Counter()).incident != nil)
    #expect(bench.names() == [".Done.sqlite.opened-by-2.1", "Done.db", "Incompatible"])
  }
}
