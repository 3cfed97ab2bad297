import CoreData
import Fixtures
import Foundation
import StoreRecovery
import Testing

/// The forms of loading a container.
enum Form: CaseIterable {
  case waiting, synchronous, completion
}

@MainActor @Suite struct ContainerTests {
  let stack: Stack

  init() throws { stack = try Stack() }

  func load(
    _ form: Form, policy: Policy = Stack.policy,
    _ make: @escaping @MainActor () -> NSPersistentContainer
  ) async throws -> OpenedContainer<NSPersistentContainer> {
    switch form {
    case .waiting:
      return try await Recovery.load(app: Stack.app, policy: policy) { make() }.get()
    case .synchronous:
      return try Recovery.loadSynchronously(app: Stack.app, policy: policy) { make() }.get()
    case .completion:
      var result: ContainerOutcome<NSPersistentContainer>?
      await withCheckedContinuation { continuation in
        Recovery.load(app: Stack.app, policy: policy, container: make) {
          result = $0
          continuation.resume()
        }
        #expect(result == nil, "it returns at once")
      }
      return try #require(result).get()
    }
  }

  @Test(arguments: Form.allCases) func normalLaunch(_ form: Form) async throws {
    try stack.makeStore("Done.sqlite", Stack.second)
    let opened = try await load(form) { stack.container([stack.description("Done.sqlite")]) }
    #expect(opened.incidents.isEmpty)
    #expect(opened.container.persistentStoreCoordinator.persistentStores.count == 1)
    #expect(stack.made == 1)
    #expect(!stack.hasQuarantine)
  }

  /// The whole story: 134100 twice, the store set aside with its log, a fresh container over a fresh store.
  @Test(arguments: Form.allCases, [false, true])
  func mismatch(_ form: Form, isAsynchronous: Bool) async throws {
    try stack.makeStore("Done.sqlite")
    let opened = try await load(form) {
      let description = stack.description("Done.sqlite")
      description.shouldAddStoreAsynchronously = isAsynchronous
      return stack.container([description])
    }
    let incident = try #require(opened.incidents.first)
    #expect(opened.incidents.count == 1)
    #expect(incident.verdict.rule.rawValue == "model.mismatch")
    #expect(incident.evidence.failure?.cocoaCode == 134100)
    #expect(incident.model?.differing == ["Task"])
    #expect(stack.made == 3)
    #expect(!stack.overlapped, "a container that failed is gone before the next is made")
    #expect(opened.container === stack.last)
    #expect(opened.container.persistentStoreCoordinator.persistentStores.count == 1)
    #expect(try stack.rows("Done.sqlite") == [])
    #expect(try stack.rows(keptIn: incident)?.count == 1)
  }

  /// Apps without a sandbox may all find the same file.
  @Test(arguments: Form.allCases) func storeOfAnotherApp(_ form: Form) async throws {
    try stack.makeStore("default.store", Stack.other)
    let error = await #expect(throws: NSError.self) {
      _ = try await load(form) { stack.container([stack.description("default.store")]) }
    }
    #expect(error?.code == 134100)
    #expect(stack.made == 1)
    #expect(!stack.hasQuarantine)
    #expect(try stack.rows("default.store")?.count == 1)
    let outcome = Recovery.loadSynchronously(app: Stack.app, policy: Stack.policy) {
      stack.container([stack.description("default.store")])
    }
    guard case .failed(let failed) = outcome else {
      Issue.record("it opened")
      return
    }
    #expect(failed.verdict.rule.rawValue == "model.foreign")
    #expect(failed.verdict.finding == .foreign)
  }

  /// A store of the app itself, in whose newest version all entities have other names.
  @Test(arguments: Form.allCases) func renamedEntities(_ form: Form) async throws {
    try stack.makeStore("Done.sqlite")
    let opened = try await load(form) {
      stack.container([stack.description("Done.sqlite")], Stack.renamed)
    }
    #expect(opened.incidents.map(\.verdict.rule.rawValue) == ["model.mismatch"])
  }

  @Test(arguments: Form.allCases) func onlyTheStoreThatFails(_ form: Form) async throws {
    try stack.makeStore("A.sqlite", Stack.second)
    try stack.makeStore("B.sqlite")
    try stack.makeStore("C.sqlite", Stack.second)
    let opened = try await load(form) {
      stack.container(["A.sqlite", "B.sqlite", "C.sqlite"].map(stack.description))
    }
    #expect(opened.incidents.map(\.storeName) == ["B.sqlite"])
    #expect(try stack.rows("A.sqlite")?.count == 1)
    #expect(try stack.rows("B.sqlite") == [])
    #expect(try stack.rows("C.sqlite")?.count == 1)
    #expect(!stack.overlapped)
  }

  @Test(arguments: Form.allCases) func bothFail(_ form: Form) async throws {
    try stack.makeStore("A.sqlite")
    try stack.makeStore("B.sqlite")
    let opened = try await load(form) {
      stack.container(["A.sqlite", "B.sqlite"].map(stack.description))
    }
    #expect(opened.incidents.map(\.storeName) == ["B.sqlite", "A.sqlite"])
    for incident in opened.incidents { #expect(try stack.rows(keptIn: incident)?.count == 1) }
    #expect(opened.container.persistentStoreCoordinator.persistentStores.count == 2)
    #expect(!stack.overlapped)
  }

  /// The error of one store says nothing of the other, whichever comes first.
  @Test(arguments: Form.allCases, ["A.sqlite", "B.sqlite"])
  func busyBesideMismatch(_ form: Form, busy: String) async throws {
    for name in ["A.sqlite", "B.sqlite"] where name != busy { try stack.makeStore(name) }
    try stack.makeStore(busy, Stack.second)
    let mine = Stack.sqliteError(5)
    let error = await #expect(throws: NSError.self) {
      _ = try await load(form) {
        let container = stack.container(["A.sqlite", "B.sqlite"].map(stack.description))
        container.persistentStoreCoordinator.stubFault = {
          if $0?.lastPathComponent == busy { throw mine }
        }
        return container
      }
    }
    #expect(error === mine)
    #expect(try stack.rows(busy)?.count == 1)
    // The last store is the first to be recovered.
    let other = try #require(["A.sqlite", "B.sqlite"].first { $0 != busy })
    #expect(try stack.rows(other)?.count == (busy == "B.sqlite" ? 1 : 0))
    #expect(stack.hasQuarantine == (busy == "A.sqlite"))
  }

  /// Nothing is open while a store is moved, even if someone else holds on to the container that failed.
  @Test(arguments: Form.allCases) func failedContainersAreClosed(_ form: Form) async throws {
    try stack.makeStore("A.sqlite", Stack.second)
    try stack.makeStore("B.sqlite")
    var all: [NSPersistentContainer] = []
    let opened = try await load(form) {
      #expect(all.allSatisfy { $0.persistentStoreCoordinator.persistentStores.isEmpty })
      all.append(stack.container(["A.sqlite", "B.sqlite"].map(stack.description)))
      return all[all.count - 1]
    }
    #expect(all.count == 3)
    #expect(opened.container.persistentStoreCoordinator.persistentStores.count == 2)
  }

  @Test(arguments: Form.allCases, [5, 13, 23, 522, 3850])
  func errorWithoutRecovery(_ form: Form, code: Int) async throws {
    try stack.makeStore("Done.sqlite")
    let mine = Stack.sqliteError(code)
    let error = await #expect(throws: NSError.self) {
      _ = try await load(form) {
        let container = stack.container([stack.description("Done.sqlite")])
        container.persistentStoreCoordinator.stubFault = { _ in throw mine }
        return container
      }
    }
    #expect(error === mine)
    #expect(stack.made == 1)
    #expect(try stack.rows("Done.sqlite")?.count == 1)
    #expect(!stack.hasQuarantine)
  }

  /// A busy store is tried again, each time in a fresh container.
  @Test(arguments: Form.allCases) func passingTrouble(_ form: Form) async throws {
    try stack.makeStore("A.sqlite", Stack.second)
    try stack.makeStore("B.sqlite", Stack.second)
    var policy = Stack.policy
    policy.retryPauses = [.zero, .zero]
    let opened = try await load(form, policy: policy) {
      let container = stack.container(["A.sqlite", "B.sqlite"].map(stack.description))
      if stack.made <= 2 {
        container.persistentStoreCoordinator.stubFault = {
          if $0?.lastPathComponent == "A.sqlite" { throw Stack.sqliteError(5) }
        }
      }
      return container
    }
    #expect(opened.incidents.isEmpty)
    #expect(stack.made == 3)
    #expect(!stack.overlapped)
  }

  /// The outcome tells what to do, and for which store.
  @Test func whatToDo() async throws {
    try stack.makeStore("Done.sqlite", Stack.second)
    let outcome = await Recovery.load(app: Stack.app) {
      let container = stack.container([stack.description("Done.sqlite")])
      container.persistentStoreCoordinator.stubFault = { _ in throw Stack.sqliteError(13) }
      return container
    }
    guard case .failed(let failed) = outcome else {
      Issue.record("a full disk opened the store")
      return
    }
    #expect(failed.verdict.action == .wait)
    #expect(failed.evidence?.failure?.sqliteCode == 13)
  }

  /// A fault that also strikes the fresh store: everything goes back.
  @Test(arguments: Form.allCases) func freshStoreFails(_ form: Form) async throws {
    try stack.makeStore("Done.sqlite")
    let error = await #expect(throws: NSError.self) {
      _ = try await load(form) {
        let container = stack.container([stack.description("Done.sqlite")])
        if stack.made == 3 {
          container.persistentStoreCoordinator.stubFault = { _ in throw Stack.sqliteError(13) }
        }
        return container
      }
    }
    #expect(error?.code == 134100)
    #expect(stack.made == 3)
    #expect(try stack.rows("Done.sqlite")?.count == 1)
  }

  @Test(arguments: Form.allCases) func noDatabase(_ form: Form) async throws {
    try Data(repeating: 0x41, count: 8192).write(to: stack.url("Done.sqlite"))
    let opened = try await load(form) { stack.container([stack.description("Done.sqlite")]) }
    #expect(opened.incidents.map(\.verdict.finding) == [.foreign])
    #expect(opened.incidents.map(\.verdict.rule.rawValue) == ["sqlite.26"])
  }

  /// A store that comes with the app does not fit: the error is the app's to see, the file stays.
  @Test(arguments: Form.allCases) func readOnly(_ form: Form) async throws {
    try stack.makeStore("Seed.sqlite")
    try stack.makeStore("Done.sqlite", Stack.second)
    let error = await #expect(throws: NSError.self) {
      _ = try await load(form) {
        let seed = stack.description("Seed.sqlite")
        seed.isReadOnly = true
        return stack.container([stack.description("Done.sqlite"), seed])
      }
    }
    #expect(error?.code == 134100)
    #expect(stack.made == 1)
    #expect(!stack.hasQuarantine)
    #expect(try stack.rows("Done.sqlite")?.count == 1)
  }

  @Test(arguments: Form.allCases) func inMemory(_ form: Form) async throws {
    try stack.makeStore("Done.sqlite")
    let opened = try await load(form) {
      let inMemory = stack.description("Other")
      inMemory.type = NSInMemoryStoreType
      inMemory.url = nil
      return stack.container([stack.description("Done.sqlite").inMemory(), inMemory])
    }
    #expect(opened.incidents.isEmpty)
    #expect(opened.container.persistentStoreCoordinator.persistentStores.count == 2)
    #expect(try stack.rows("Done.sqlite")?.count == 1)
  }

  @Test(arguments: Form.allCases) func noStores(_ form: Form) async throws {
    let opened = try await load(form) { stack.container([]) }
    #expect(opened.incidents.isEmpty)
  }

  /// What the app throws while it makes its container is passed on.
  @Test func makeThrows() async throws {
    struct Mine: Error {}
    await #expect(throws: Mine.self) {
      _ = try await Recovery.load(app: Stack.app) { () throws -> NSPersistentContainer in
        throw Mine()
      }.get()
    }
    try stack.makeStore("Done.sqlite")
    #expect(throws: Mine.self) {
      _ = try Recovery.loadSynchronously(app: Stack.app) {
        () throws -> NSPersistentContainer in
        if stack.made > 1 { throw Mine() }
        let container = stack.container([stack.description("Done.sqlite")])
        container.persistentStoreCoordinator.stubFault = { _ in throw Mine() }
        return container
      }.get()
    }
    #expect(try stack.rows("Done.sqlite")?.count == 1)
  }

  @Test(arguments: Form.allCases) func extensionsNeverAct(_ form: Form) async throws {
    try stack.makeStore("Done.sqlite")
    var policy = Stack.policy
    policy.hostState = { HostState(isExtension: true) }
    let error = await #expect(throws: NSError.self) {
      _ = try await load(form, policy: policy) {
        stack.container([stack.description("Done.sqlite")])
      }
    }
    #expect(error?.code == 134100)
    #expect(!stack.hasQuarantine)
  }

  @Test func optionsAreKept() async throws {
    let description = stack.description("Done.sqlite")
    description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
    description.configuration = "Cloud"
    description.cloudKitContainerOptions = .init(containerIdentifier: "iCloud.done")
    let memory = description.inMemory()
    #expect(memory.url?.path == "/dev/null")
    #expect(memory.type == NSSQLiteStoreType)
    #expect(memory.configuration == "Cloud")
    #expect(memory.options[NSPersistentHistoryTrackingKey] == true as NSNumber)
    #expect(memory.cloudKitContainerOptions == nil)
    #expect(description.url == stack.url("Done.sqlite"))
    try stack.makeStore("Done.sqlite")
    _ = try await Recovery.load(app: Stack.app) { stack.container([description]) }.get()
    #expect(description.url == stack.url("Done.sqlite"))
    #expect(description.cloudKitContainerOptions != nil)
    #expect(!description.shouldAddStoreAsynchronously)
  }
}
