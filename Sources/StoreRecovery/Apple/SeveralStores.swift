import Foundation

/// A container whose stores are all open.
public struct OpenedContainer<Container> {
  /// The container.
  public let container: Container
  /// What happened to the earlier stores, one for each that was set aside; empty on a normal launch. Tell the
  /// user.
  public let incidents: [Incident]
}

extension OpenedContainer: Sendable where Container: Sendable {}

/// Several stores that open together in one container, each with a recovery of its own.
///
/// The recoveries stand inside each other: so the evidence of every store is read before any of them opens, and
/// none is read while the container has it open. Each one is shown the errors of its own store only; what goes
/// wrong elsewhere reaches it as a cancellation, which leaves its store, or brings it back to, where it was.
struct SeveralStores {
  /// One store of the container.
  struct Member {
    let recovery: StoreRecovery
    let model: ExpectedModel?
  }

  /// A container after the attempt to open all its stores.
  struct Loaded<Container> {
    let container: Container
    /// What went wrong, by the place of the member.
    let failures: [Int: any Error]
  }

  let members: [Member]

  /// Opens all stores.
  ///
  /// - Parameters:
  ///   - isolation: The actor that `load` stays on: the caller's.
  ///   - close: Closes whatever is open in a container. Called before a store is moved or tried again.
  ///   - load: Opens a fresh container, with the members at the URLs that it gets. It throws, with nothing left
  ///     open, when something fails that is no member's fault.
  /// - Returns: The container, and the incidents in the order in which they happened.
  /// - Throws: As ``StoreRecovery/open(expecting:isolation:opener:)``. A store that was set aside before another
  ///   one turned out to be beyond recovery stays aside, with a fresh one in its place.
  func open<Container>(
    isolation: isolated (any Actor)? = #isolation, close: (Container) -> Void,
    load: ([URL]) async throws -> Loaded<Container>
  ) async throws -> OpenedContainer<Container> {
    var incidents: [Incident] = []
    let loaded = try await open(
      from: [], isolation: isolation, incidents: &incidents, close: close, load: load)
    return OpenedContainer(container: loaded.container, incidents: incidents)
  }

  private func open<Container>(
    from urls: [URL], isolation: isolated (any Actor)?, incidents: inout [Incident],
    close: (Container) -> Void, load: ([URL]) async throws -> Loaded<Container>
  ) async throws -> Loaded<Container> {
    let index = urls.count
    guard index < members.count else { return try await load(urls) }
    var elsewhere: (any Error)?
    do {
      let opened = try await members[index].recovery.open(
        expecting: members[index].model, isolation: isolation
      ) { url in
        let loaded: Loaded<Container>
        do {
          loaded = try await open(
            from: urls + [url], isolation: isolation, incidents: &incidents, close: close,
            load: load)
        } catch {
          elsewhere = error
          throw CancellationError()
        }
        if let failure = loaded.failures[index] {
          close(loaded.container)
          throw failure
        }
        return loaded
      }
      if let incident = opened.incident { incidents.append(incident) }
      return opened.handle
    } catch let cancellation as CancellationError {
      throw elsewhere ?? cancellation
    }
  }

  /// Opens all stores with a `load` that does not wait. All else is as in the other form.
  func openSynchronously<Container>(
    close: (Container) -> Void, load: ([URL]) throws -> Loaded<Container>
  ) throws -> OpenedContainer<Container> {
    var incidents: [Incident] = []
    let loaded = try openSynchronously(from: [], incidents: &incidents, close: close, load: load)
    return OpenedContainer(container: loaded.container, incidents: incidents)
  }

  private func openSynchronously<Container>(
    from urls: [URL], incidents: inout [Incident], close: (Container) -> Void,
    load: ([URL]) throws -> Loaded<Container>
  ) throws -> Loaded<Container> {
    let index = urls.count
    guard index < members.count else { return try load(urls) }
    var elsewhere: (any Error)?
    do {
      let opened = try members[index].recovery.openSynchronously(expecting: members[index].model) {
        url in
        let loaded: Loaded<Container>
        do {
          loaded = try openSynchronously(
            from: urls + [url], incidents: &incidents, close: close, load: load)
        } catch {
          elsewhere = error
          throw CancellationError()
        }
        if let failure = loaded.failures[index] {
          close(loaded.container)
          throw failure
        }
        return loaded
      }
      if let incident = opened.incident { incidents.append(incident) }
      return opened.handle
    } catch let cancellation as CancellationError {
      throw elsewhere ?? cancellation
    }
  }
}
