#if canImport(CoreData)
  public import CoreData
  import Foundation

  extension ExpectedModel {
    /// Creates an expectation from a model that Core Data has loaded; nil when one of the model's version hashes is
    /// invalid.
    ///
    /// Pass the container's or coordinator's own model. Core Data tries to migrate a store to that model, and a store
    /// records the hashes of all entities of the model, whatever the configuration. A store that has none of the
    /// model's entities, by name or by renaming identifier, is treated as the store of another app.
    public init?(_ model: NSManagedObjectModel) {
      self.init(
        name: Self.name(ofIdentifiers: model.versionIdentifiers),
        hashData: model.entityVersionHashesByName,
        renamingIdentifiers: model.entities.map(\.renamingIdentifier))
    }
  }

  extension NSPersistentStoreDescription {
    /// A copy of this description for an in-memory store at `/dev/null`, without CloudKit mirroring. An app that
    /// continues although its store cannot be used can give the copy to a new container.
    public func inMemory() -> NSPersistentStoreDescription {
      let memory =
        copy() as? NSPersistentStoreDescription
        ?? NSPersistentStoreDescription(url: URL(fileURLWithPath: Recovery.inMemoryPath))
      memory.url = URL(fileURLWithPath: Recovery.inMemoryPath)
      memory.type = NSSQLiteStoreType
      memory.isReadOnly = false
      memory.cloudKitContainerOptions = nil
      return memory
    }
  }

  extension Recovery {
    /// Adds the store to a coordinator; if the store does not open, recovery decides what to do.
    ///
    /// - Parameters:
    ///   - configuration: The name of the model's configuration; nil for the whole model.
    ///   - options: The options for the store. Without `NSMigratePersistentStoresAutomaticallyOption`, a store of an
    ///     earlier version does not fit the model, so migrate the store before this call. A store that is opened
    ///     read-only is left to Core Data.
    ///   - make: Makes a new coordinator for each attempt, because a coordinator that failed may fail again.
    /// - Returns: The coordinator with the store open, and the incident if the store was set aside or copied. On
    ///   failure, a verdict that says what to do, and the first error that `make` or Core Data threw, unchanged.
    public func addStore(
      configuration: String? = nil, options: [AnyHashable: Any]? = nil,
      coordinator make: () throws -> NSPersistentStoreCoordinator
    ) -> Outcome<NSPersistentStoreCoordinator> {
      // No other variable holds the coordinator, so that a coordinator that failed is released.
      var spare: NSPersistentStoreCoordinator?
      do { spare = try make() } catch { return .failed(SeveralStores.Stopped(error).failed) }
      func add(_ url: URL) throws -> NSPersistentStoreCoordinator {
        try autoreleasepool {
          let coordinator = try spare ?? make()
          spare = nil
          do {
            _ = try coordinator.addPersistentStore(
              ofType: NSSQLiteStoreType, configurationName: configuration, at: url,
              options: options)
          } catch {
            if let half = coordinator.persistentStore(for: url) { try? coordinator.remove(half) }
            throw error
          }
          return coordinator
        }
      }
      let isReadOnly = options?[NSReadOnlyPersistentStoreOption] as? Bool ?? false
      guard Self.covers(isSQLite: true, url: storeURL, isReadOnly: isReadOnly) else {
        do {
          return .opened(Opened(handle: try add(storeURL), incident: nil))
        } catch {
          return .failed(SeveralStores.Stopped(error).failed)
        }
      }
      return with(policy.adaptedToProcess()).attemptSynchronously(
        expecting: (spare?.managedObjectModel).flatMap { ExpectedModel($0) }, opener: add)
    }
  }
#endif
