#if canImport(SwiftData) && canImport(CoreData)
  import CoreData
  public import Foundation
  public import SwiftData

  @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
  extension StoreRecovery {
    /// Opens the store in a SwiftData container, with recovery. The container has this one store.
    ///
    /// SwiftData does not say why a store does not load. So the version hashes decide: a store that differs from
    /// `types`, and that SwiftData could not migrate in two attempts, is set aside if there is space for a migration
    /// and nothing else prevents it.
    ///
    /// - Parameters:
    ///   - types: All model types of the container's newest schema.
    ///   - make: Makes the container with a configuration for the given URL, a new one for each attempt.
    /// - Returns: The container, and what happened to the earlier store; or what `make` threw first, untouched,
    ///   and what to do.
    public func openModelContainer(
      for types: [any PersistentModel.Type], container make: (URL) throws -> ModelContainer
    ) -> Outcome<ModelContainer> {
      let model = NSManagedObjectModel.makeManagedObjectModel(for: types)
      let policy = policy.adaptedToProcess().forErrorsWithoutCause(storeAt: storeURL.path)
      return with(policy).attemptSynchronously(expecting: model.flatMap { ExpectedModel($0) }) {
        url in try autoreleasepool { try make(url) }
      }
    }
  }
#endif
