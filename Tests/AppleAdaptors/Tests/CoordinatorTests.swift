import CoreData
import Foundation
import ObjectModel
import StoreRecovery
import Testing

@Suite struct CoordinatorTests {
  let stack: Stack

  init() throws { stack = try Stack() }

  func recovery(_ policy: Policy = Stack.policy) -> Recovery {
    Recovery(stack.url("Done.sqlite"), app: Stack.app, policy: policy)
  }

  func coordinator() -> NSPersistentStoreCoordinator {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Stack.second)
    stack.note(coordinator)
    return coordinator
  }

  @Test func normalLaunch() throws {
    let opened = try recovery().addStore { coordinator() }.get()
    #expect(opened.incident == nil)
    #expect(opened.handle.persistentStores.map(\.url) == [stack.url("Done.sqlite")])
    #expect(stack.made == 1)
  }

  /// A store that is half added is removed, which closes it, before it is moved.
  @Test(arguments: [false, true]) func mismatch(leavesHalf: Bool) throws {
    try stack.makeStore("Done.sqlite")
    var all: [NSPersistentStoreCoordinator] = []
    let opened = try recovery().addStore {
      #expect(all.allSatisfy { $0.persistentStores.isEmpty })
      let coordinator = coordinator()
      coordinator.stubLeavesHalf = leavesHalf
      all.append(coordinator)
      return coordinator
    }.get()
    #expect(opened.incident?.verdict.rule.rawValue == "model.mismatch")
    #expect(stack.made == 3)
    #expect(opened.handle.persistentStores.count == 1)
    #expect(try stack.rows("Done.sqlite") == [])
    #expect(try stack.rows(keptIn: opened.incident)?.count == 1)
  }

  /// Apps without a sandbox may all find the same file.
  @Test func storeOfAnotherApp() throws {
    try stack.makeStore("Done.sqlite", Stack.other)
    guard case .failed(let failed) = recovery().addStore(coordinator: { coordinator() }) else {
      Issue.record("it opened")
      return
    }
    #expect(failed.verdict.finding == .foreign)
    #expect(failed.verdict.rule.rawValue == "model.foreign")
    #expect((failed.error as NSError).code == 134100)
    #expect(stack.made == 1)
    #expect(!stack.hasQuarantine)
    #expect(try stack.rows("Done.sqlite")?.count == 1)
  }

  /// Whoever listens to the recovery hears of it all, and so does the policy's own listener.
  @Test func listeners() throws {
    try stack.makeStore("Done.sqlite")
    let heard = Tally()
    let reported = Tally()
    var policy = Stack.policy
    policy.report = { _ in reported.add() }
    let recovery = recovery(policy)
    recovery.events.listen { _ in heard.add() }
    _ = try recovery.addStore { coordinator() }.get()
    #expect(heard.count >= 3)
    #expect(reported.count == heard.count)
  }

  @Test func failedCoordinatorsGoAway() throws {
    try stack.makeStore("Done.sqlite")
    _ = try recovery().addStore { coordinator() }.get()
    #expect(!stack.overlapped)
  }

  @Test func readOnly() throws {
    try stack.makeStore("Done.sqlite")
    let error = #expect(throws: NSError.self) {
      try recovery().addStore(options: [NSReadOnlyPersistentStoreOption: true]) { coordinator() }
        .get()
    }
    #expect(error?.code == 134100)
    #expect(stack.made == 1)
    #expect(!stack.hasQuarantine)
  }

  @Test func busy() throws {
    try stack.makeStore("Done.sqlite")
    let mine = Stack.sqliteError(5)
    let error = #expect(throws: NSError.self) {
      try recovery().addStore {
        let coordinator = coordinator()
        coordinator.stubFault = { _ in throw mine }
        return coordinator
      }.get()
    }
    #expect(error === mine)
    #expect(stack.made == 1)
  }

  @Test func model() throws {
    let model = try #require(ExpectedModel(Stack.first))
    #expect(model == ExpectedModel(name: nil, hashes: try #require(hashes(Stack.first))))
    let named = NSManagedObjectModel(stubHashes: ["Task": Stack.hash(1)])
    named.versionIdentifiers = ["", "Done 2"]
    #expect(ExpectedModel(named)?.name == "Done 2")
    #expect(ExpectedModel(NSManagedObjectModel(stubHashes: ["Task": Data([1])])) == nil)
  }

  private func hashes(_ model: NSManagedObjectModel) -> [String: VersionHash]? {
    let hashes = model.entityVersionHashesByName.compactMapValues {
      VersionHash(bytes: [UInt8]($0))
    }
    return hashes.count == model.entityVersionHashesByName.count ? hashes : nil
  }
}

private final class Tally: @unchecked Sendable {
  private let lock = NSLock()
  private var value = 0
  func add() { lock.withLock { value += 1 } }
  var count: Int { lock.withLock { value } }
}
