public import Foundation

/// The result of opening all stores of a container: the container, and the incidents and losses that the app must
/// report to the user.
public struct OpenedContainer<Container> {
  /// The container, with all its stores open.
  public let container: Container
  /// The incidents of this open, one for each store that was set aside or copied; empty on a normal launch. The app
  /// must tell the user about them.
  public let incidents: [Incident]
  /// For each store from which SQLite silently left out committed rows: the loss. The key is the URL of the store. See
  /// ``Opened/loss``.
  public let losses: [URL: SilentLoss]
}

extension OpenedContainer: Sendable where Container: Sendable {}

/// The result of an attempt to open all stores of a container.
public enum ContainerOutcome<Container> {
  /// All stores are open, each of them either the existing store or a fresh one.
  case opened(OpenedContainer<Container>)
  /// No store of the container is open. The value describes the failure of one store, or of the container itself. If
  /// this attempt has set another store aside, that store may stay in its quarantine, with a fresh store in its place.
  /// ``Incidents`` lists the quarantined store.
  case failed(FailedOpen)

  /// The open container.
  ///
  /// - Throws: ``FailedOpen/error`` when no store is open.
  public func get() throws -> OpenedContainer<Container> {
    switch self {
    case .opened(let opened): return opened
    case .failed(let failed): throw failed.error
    }
  }
}

extension ContainerOutcome: Sendable where Container: Sendable {}

/// Several stores that are opened together in one container, each with its own ``Recovery``.
///
/// The evidence of every store is read before the container opens any store. No store is read while the container has
/// it open. Each recovery gets only the errors of its own store. If a store fails, the recoveries of the others get a
/// `CancellationError`, and their stores stay in place or are moved back.
struct SeveralStores {
  struct Member {
    let recovery: Recovery
    let model: ExpectedModel?
  }

  struct Loaded<Container> {
    let container: Container
    /// The errors of the stores that failed to open, by the store's index in ``members``.
    let failures: [Int: any Error]
  }

  let members: [Member]

  /// Opens all stores.
  ///
  /// - Parameters:
  ///   - isolation: The actor on which `load` runs, by default the caller's.
  ///   - close: Closes all stores of a container. Called before a store is moved or opened again.
  ///   - load: Makes a container and opens the stores at the given URLs in it. If the cause of a failure is not one of
  ///     the stores, `load` throws and leaves nothing open.
  /// - Returns: The container, with the incidents in the order in which they happened; otherwise the first failure that
  ///   no recovery could handle.
  func open<Container>(
    isolation: isolated (any Actor)? = #isolation, close: (Container) -> Void,
    load: ([URL]) async throws -> Loaded<Container>
  ) async -> ContainerOutcome<Container> {
    var results = OpenResults()
    do throws(Stopped) {
      let loaded = try await open(
        from: [], isolation: isolation, results: &results, close: close, load: load)
      return results.outcome(loaded.container)
    } catch {
      return .failed(error.failed)
    }
  }

  private func open<Container>(
    from urls: [URL], isolation: isolated (any Actor)?, results: inout OpenResults,
    close: (Container) -> Void, load: ([URL]) async throws -> Loaded<Container>
  ) async throws(Stopped) -> Loaded<Container> {
    let index = urls.count
    guard index < members.count else {
      do { return try await load(urls) } catch { throw Stopped(error) }
    }
    var elsewhere: Stopped?
    let outcome = await members[index].recovery.attempt(
      expecting: members[index].model, isolation: isolation
    ) { url in
      let loaded: Loaded<Container>
      do throws(Stopped) {
        loaded = try await open(
          from: urls + [url], isolation: isolation, results: &results, close: close, load: load)
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
    return try results.note(outcome, of: members[index].recovery.storeURL, elsewhere)
  }

  /// Opens all stores as ``open(isolation:close:load:)`` does, but with a synchronous `load`.
  func openSynchronously<Container>(
    close: (Container) -> Void, load: ([URL]) throws -> Loaded<Container>
  ) -> ContainerOutcome<Container> {
    var results = OpenResults()
    do throws(Stopped) {
      let loaded = try openSynchronously(from: [], results: &results, close: close, load: load)
      return results.outcome(loaded.container)
    } catch {
      return .failed(error.failed)
    }
  }

  private func openSynchronously<Container>(
    from urls: [URL], results: inout OpenResults, close: (Container) -> Void,
    load: ([URL]) throws -> Loaded<Container>
  ) throws(Stopped) -> Loaded<Container> {
    let index = urls.count
    guard index < members.count else {
      do { return try load(urls) } catch { throw Stopped(error) }
    }
    var elsewhere: Stopped?
    let outcome = members[index].recovery.attemptSynchronously(expecting: members[index].model) {
      url in
      let loaded: Loaded<Container>
      do throws(Stopped) {
        loaded = try openSynchronously(
          from: urls + [url], results: &results, close: close, load: load)
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
    return try results.note(outcome, of: members[index].recovery.storeURL, elsewhere)
  }
}

extension SeveralStores {
  /// The error that ends the attempt to open all stores of a container.
  struct Stopped: Error {
    let failed: FailedOpen

    init(_ failed: FailedOpen) { self.failed = failed }

    /// Creates the failure for an error of the container that none of its stores has caused.
    init(_ error: any Error) {
      failed = FailedOpen(
        error: error,
        verdict: Verdict(
          finding: .hostError, action: .refuse,
          reason:
            "the container could not be opened, for a cause outside the stores that Recovery opens",
          rule: .containerFailed),
        evidence: nil)
    }
  }

  private struct OpenResults {
    var incidents: [Incident] = []
    var losses: [URL: SilentLoss] = [:]

    mutating func note<Handle>(
      _ outcome: Outcome<Handle>, of url: URL, _ elsewhere: Stopped?
    ) throws(Stopped) -> Handle {
      switch outcome {
      case .opened(let opened):
        if let incident = opened.incident { incidents.append(incident) }
        if let loss = opened.loss { losses[url] = loss }
        return opened.handle
      case .failed(let failed):
        if failed.error is CancellationError, let elsewhere { throw elsewhere }
        throw Stopped(failed)
      }
    }

    func outcome<Container>(_ container: Container) -> ContainerOutcome<Container> {
      .opened(OpenedContainer(container: container, incidents: incidents, losses: losses))
    }
  }
}
