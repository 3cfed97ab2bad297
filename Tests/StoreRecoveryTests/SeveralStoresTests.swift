import Foundation
import Testing

@testable import StoreRecovery

/// Stores that open together, with recoveries inside each other.
@Suite struct SeveralStoresTests {
  /// A container in which stores fail in a prepared way.
  final class Container {
    var isClosed = false
  }

  let benches: [Workbench]
  let calls = Counter()

  init() throws {
    benches = try (0..<3).map { _ in try Workbench() }
    for bench in benches { try bench.makeStore() }
  }

  /// Every store differs from the model, so that each one goes as soon as an error that speaks of the model is
  /// taken for its own.
  func stores(refusing: Set<Int> = []) -> SeveralStores {
    SeveralStores(
      members: benches.enumerated().map { index, bench in
        var policy = Workbench.policy()
        policy.setsAsideOnMismatchAlone = true
        policy.retryPauses = []
        policy.hostState = { HostState(isExtension: refusing.contains(index)) }
        return .init(
          recovery: bench.recovery(policy: policy, structure: Workbench.mismatching),
          model: Workbench.model)
      })
  }

  var moved: [Bool] { benches.map { $0.names().contains("Incompatible") } }

  func open(
    _ stores: SeveralStores, isSynchronous: Bool, load: ([URL]) throws -> [Int: any Error]
  ) async throws -> [Incident] {
    var last: Container?
    func close(_ container: Container) { container.isClosed = true }
    func loaded(_ urls: [URL]) throws -> SeveralStores.Loaded<Container> {
      #expect(last?.isClosed != false, "closed before the next one is opened")
      calls.next()
      #expect(urls == benches.map { URL(fileURLWithPath: $0.store) })
      let container = Container()
      last = container
      do {
        return .init(container: container, failures: try load(urls))
      } catch {
        close(container)
        throw error
      }
    }
    let opened =
      isSynchronous
      ? try stores.openSynchronously(close: close, load: loaded).get()
      : try await stores.open(close: close, load: loaded).get()
    #expect(opened.container === last)
    #expect(!opened.container.isClosed)
    return opened.incidents
  }

  /// An error of one store that stays where it is says nothing of the others, wherever that store stands.
  @Test(arguments: 0..<3, [true, false])
  func othersErrors(failing: Int, isSynchronous: Bool) async throws {
    let mine = NSError(domain: "NSCocoaErrorDomain", code: 134100)
    let error = await #expect(throws: NSError.self) {
      try await open(stores(refusing: [failing]), isSynchronous: isSynchronous) { _ in
        [failing: mine]
      }
    }
    #expect(error === mine)
    #expect(calls.count == 1)
    #expect(moved == [false, false, false])
  }

  @Test(arguments: 0..<3, [true, false])
  func oneFails(failing: Int, isSynchronous: Bool) async throws {
    let incidents = try await open(stores(), isSynchronous: isSynchronous) { _ in
      calls.count <= 2 ? [failing: NSError(domain: "NSCocoaErrorDomain", code: 134100)] : [:]
    }
    #expect(incidents.count == 1)
    #expect(calls.count == 3)
    #expect(moved == (0..<3).map { $0 == failing })
  }

  /// The store that was set aside comes back when, with its fresh one, another store does not open.
  @Test(arguments: [true, false]) func backAgain(isSynchronous: Bool) async throws {
    let before = benches.map { $0.snapshot() }
    let first = NSError(domain: "NSCocoaErrorDomain", code: 134100)
    let error = await #expect(throws: NSError.self) {
      try await open(stores(), isSynchronous: isSynchronous) { _ in
        calls.count <= 2 ? [0: first] : [1: NSError(domain: "NSPOSIXErrorDomain", code: 28)]
      }
    }
    #expect(error === first)
    #expect(benches.map { $0.snapshot() } == before)
  }

  /// What is no store's fault is nobody's verdict.
  @Test(arguments: [true, false]) func loadThrows(isSynchronous: Bool) async throws {
    let mine = NSError(domain: "NSCocoaErrorDomain", code: 134100)
    let error = await #expect(throws: NSError.self) {
      try await open(stores(), isSynchronous: isSynchronous) { _ in throw mine }
    }
    #expect(error === mine)
    #expect(calls.count == 1)
    #expect(moved == [false, false, false])
  }

  @Test(arguments: [true, false]) func cancelled(isSynchronous: Bool) async throws {
    await #expect(throws: CancellationError.self) {
      try await open(stores(), isSynchronous: isSynchronous) { _ in [1: CancellationError()] }
    }
    #expect(moved == [false, false, false])
  }
}
