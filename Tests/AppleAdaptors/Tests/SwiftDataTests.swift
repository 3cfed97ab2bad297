import CoreData
import Fixtures
import Foundation
import StoreRecovery
import SwiftData
import Testing

/// The version of the app that wrote the store knows `Task` in another form.
private final class Task: PersistentModel {
  static var stubHash: Data { Stack.hash(3) }
}

private final class Tag: PersistentModel {
  static var stubHash: Data { Stack.hash(2) }
}

@Suite struct SwiftDataTests {
  let stack: Stack

  init() throws { stack = try Stack() }

  private func open(_ policy: Policy = Stack.policy) throws -> Opened<ModelContainer> {
    try Recovery(stack.url("default.store"), app: Stack.app, policy: policy)
      .openModelContainer(for: [Task.self, Tag.self]) { url in
        stack.made += 1
        return try ModelContainer(
          for: Task.self, Tag.self, configurations: ModelConfiguration(url: url))
      }.get()
  }

  @Test func normalLaunch() throws {
    try stack.makeStore("default.store", Stack.second)
    let opened = try open()
    #expect(opened.incident == nil)
    #expect(stack.made == 1)
    #expect(opened.handle.stubCoordinator.persistentStores.count == 1)
  }

  /// The error is mute, so the hashes decide.
  @Test func mismatch() throws {
    try stack.makeStore("default.store")
    let opened = try open()
    #expect(opened.incident?.verdict.rule.rawValue == "model.mismatch")
    #expect(opened.incident?.evidence.failure?.sqliteCode == nil)
    #expect(stack.made == 3)
    #expect(try stack.rows(keptIn: opened.incident)?.count == 1)
  }

  /// Apps without a sandbox all find the same `default.store`.
  @Test func storeOfAnotherApp() throws {
    try stack.makeStore("default.store", Stack.other)
    let recovery = Recovery(
      stack.url("default.store"), app: Stack.app, policy: Stack.policy)
    let outcome = recovery.openModelContainer(for: [Task.self, Tag.self]) { url in
      stack.made += 1
      return try ModelContainer(
        for: Task.self, Tag.self, configurations: ModelConfiguration(url: url))
    }
    guard case .failed(let failed) = outcome else {
      Issue.record("it opened")
      return
    }
    #expect(failed.verdict.finding == .foreign)
    #expect(failed.verdict.rule.rawValue == "model.foreign")
    #expect(stack.made == 1)
    #expect(!stack.hasQuarantine)
    #expect(try stack.rows("default.store")?.count == 1)
  }

  /// The same mute error, and a store that fits.
  @Test func healthyStore() throws {
    try stack.makeStore("default.store", Stack.second)
    #expect(throws: SwiftDataError.loadIssueModelContainer) {
      _ = try Recovery(stack.url("default.store"), app: Stack.app)
        .openModelContainer(for: [Task.self, Tag.self]) { _ in
          throw SwiftDataError.loadIssueModelContainer
        }.get()
    }
    #expect(!stack.hasQuarantine)
    #expect(try stack.rows("default.store")?.count == 1)
  }

  /// A migration that found no room fails on a sound store.
  @Test func noRoomForMigration() throws {
    try stack.makeStore("default.store")
    var policy = Stack.policy
    policy.minimumFreeBytes = .max / 2
    #expect(throws: SwiftDataError.loadIssueModelContainer) { try open(policy) }
    #expect(!stack.hasQuarantine)
  }

  @Test func damaged() throws {
    try stack.makeStore("default.store", Stack.second)
    let url = stack.url("default.store")
    var bytes = try Data(contentsOf: url)
    bytes.replaceSubrange(100..<200, with: repeatElement(0xEE, count: 100))
    try bytes.write(to: url)
    let opened = try open()
    #expect(opened.incident?.verdict.rule.rawValue == "file.damaged")
  }
}
