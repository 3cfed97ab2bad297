#if canImport(CoreData)
  public import CoreData
  import Foundation

  extension Recovery {
    /// Loads the stores of a container. If an SQLite store in a file does not open, recovery decides what to do with
    /// that store. In-memory stores, read-only stores and stores of other types are left to Core Data. Each description
    /// keeps its options.
    ///
    /// - Parameters:
    ///   - app: The app that opens the stores.
    ///   - policy: The host's settings. Lifeboat detects by itself whether this process is an extension.
    ///   - isolation: The actor on which `make` runs, by default the caller's. Core Data loads stores with
    ///     `shouldAddStoreAsynchronously` on another thread, as always.
    ///   - make: Makes the container and sets its descriptions, the same ones each time, but loads nothing. Called once
    ///     if all stores open, and again for each further attempt, because a container that failed cannot be reused.
    /// - Returns: The container with all its stores open, and the incidents; on failure, the first error of `make` or
    ///   Core Data, unchanged, and a verdict that says what to do.
    public static func load<Container: NSPersistentContainer>(
      app: App, policy: Policy = .init(), isolation: isolated (any Actor)? = #isolation,
      container make: () throws -> Container
    ) async -> ContainerOutcome<Container> {
      // No other variable holds the container, so that a container that failed is released.
      var spare: Container?
      do { spare = try make() } catch { return .failed(SeveralStores.Stopped(error).failed) }
      let stores = SeveralStores(spare, app: app, policy: policy)
      return await stores.open(isolation: isolation, close: closeAll) { urls in
        let container = try spare ?? make()
        spare = nil
        let failures = await withCheckedContinuation(isolation: isolation) { continuation in
          loadAll(container) { continuation.resume(returning: $0) }
        }
        return try .init(container, failures: failures, paths: urls.map(\.path), close: closeAll)
      }
    }

    /// Loads the stores of a container synchronously, for an app that needs its container before it goes on. Stores
    /// with `shouldAddStoreAsynchronously` in their description are added synchronously too.
    ///
    /// - Parameters:
    ///   - app: The app that opens the stores.
    ///   - policy: The host's settings. Lifeboat detects by itself whether this process is an extension.
    ///   - make: Makes the container, as in the asynchronous `load`.
    /// - Returns: The same as the asynchronous `load`.
    public static func loadSynchronously<Container: NSPersistentContainer>(
      app: App, policy: Policy = .init(), container make: () throws -> Container
    ) -> ContainerOutcome<Container> {
      // No other variable holds the container, so that a container that failed is released.
      var spare: Container?
      do { spare = try make() } catch { return .failed(SeveralStores.Stopped(error).failed) }
      let stores = SeveralStores(spare, app: app, policy: policy)
      return stores.openSynchronously(close: closeAll) { urls in
        let container = try spare ?? make()
        spare = nil
        for one in container.persistentStoreDescriptions {
          one.shouldAddStoreAsynchronously = false
        }
        let answers = loadAll(container)
        guard let failures = answers.complete else {
          closeAll(container)
          throw StoreRecoveryError(
            .refused, "the container loads its stores asynchronously; call load with await")
        }
        return try .init(container, failures: failures, paths: urls.map(\.path), close: closeAll)
      }
    }

    /// Loads the stores of a container and calls `completion`, for code that does not use `async`. Returns at once.
    ///
    /// - Parameters:
    ///   - app: The app that opens the stores.
    ///   - policy: The host's settings. Lifeboat detects by itself whether this process is an extension.
    ///   - make: Makes the container, as in the form with `async`.
    ///   - completion: Called once, with the value that the form with `async` returns.
    @MainActor public static func load<Container: NSPersistentContainer>(
      app: App, policy: Policy = .init(),
      container make: @escaping @MainActor () throws -> Container,
      completion: @escaping @MainActor (ContainerOutcome<Container>) -> Void
    ) {
      Task { @MainActor in completion(await load(app: app, policy: policy) { try make() }) }
    }

    /// Starts to load all stores of `container`. Not isolated, because Core Data may call back on a thread of its own.
    @discardableResult
    private nonisolated static func loadAll(
      _ container: NSPersistentContainer,
      whenComplete: (@Sendable ([StoreAnswers.Failure]) -> Void)? = nil
    ) -> StoreAnswers {
      let answers = StoreAnswers(
        count: container.persistentStoreDescriptions.count, whenComplete: whenComplete)
      container.loadPersistentStores { answers.take(path: $0.url?.path, error: $1) }
      return answers
    }

    private static func closeAll(_ container: NSPersistentContainer) {
      let coordinator = container.persistentStoreCoordinator
      for store in coordinator.persistentStores { try? coordinator.remove(store) }
    }
  }

  extension SeveralStores {
    fileprivate init(
      _ container: NSPersistentContainer?, app: Recovery.App, policy: Policy
    ) {
      let model = (container?.managedObjectModel).flatMap { ExpectedModel($0) }
      let policy = policy.adaptedToProcess()
      let covered = (container?.persistentStoreDescriptions ?? []).filter {
        Recovery.covers(
          isSQLite: $0.type == NSSQLiteStoreType, url: $0.url, isReadOnly: $0.isReadOnly)
      }
      members = covered.compactMap(\.url).map {
        Member(recovery: Recovery($0, app: app, policy: policy), model: model)
      }
    }
  }
#endif
