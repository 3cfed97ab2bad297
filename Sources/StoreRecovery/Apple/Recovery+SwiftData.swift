#if canImport(SwiftData) && canImport(CoreData)
  import CoreData
  public import Foundation
  public import SwiftData

  @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
  extension Recovery {
    /// Opens the store in a SwiftData container that has no other store. If the store does not open, ``Recovery``
    /// decides what to do.
    ///
    /// SwiftData does not say why a store does not load. So a store is set aside only if its version hashes differ from
    /// those of `types`, SwiftData could not migrate it in two attempts, there is space for a migration, and nothing
    /// else prevents the move.
    ///
    /// - Parameters:
    ///   - types: All model types of the container's newest schema.
    ///   - make: Makes a new container for each attempt, with a configuration for the given URL.
    /// - Returns: On success, the container, and the incident of the earlier store. On failure, the first error of
    ///   `make`, unchanged, and a verdict that says what to do.
    public func openModelContainer(
      for types: [any PersistentModel.Type], container make: (URL) throws -> ModelContainer
    ) -> Outcome<ModelContainer> {
      let model = NSManagedObjectModel.makeManagedObjectModel(for: types)
      let policy = policy.adaptedToProcess().forErrorsWithoutCause()
      return with(policy).attemptSynchronously(expecting: model.flatMap { ExpectedModel($0) }) {
        url in try autoreleasepool { try make(url) }
      }
    }
  }
#endif
