package import CoreDataStore
package import ObjectModel
import StoreExtraction
import StoreFiles

/// The store that the app has used since another one was set aside: the other one's rows go among its own. It is only
/// read.
package struct PresentStore {
  package let store: CoreDataStore
  package let policy: MergePolicy
  let watch: EvidenceWatch

  /// The store at `path`, which must be sound and have the model.
  ///
  /// - Throws: ``MigrationError``; `SQLiteFileError` when the file cannot be read.
  package init(path: String, model: ManagedObjectModel, policy: MergePolicy) throws {
    watch = EvidenceWatch(path)
    let check = try StoreCheck(path: path)
    guard check.isSound else {
      throw MigrationError(
        .presentStore,
        [
          "\(path) is damaged, and nothing is merged into a damaged store; salvage it first, and merge into the result"
        ])
    }
    store = try CoreDataStore(path: path, model: model)
    self.policy = policy
    let wanted = model.versionHashes().hashes
    // What the store records may be hashes of an older kind; then its own model says what it is.
    let recorded = store.metadata?.versionHashes ?? [:]
    let own = recorded == wanted ? recorded : store.cachedModel?.versionHashes().hashes ?? recorded
    guard own == wanted else {
      let differing = Set(own.keys).union(wanted.keys).filter { own[$0] != wanted[$0] }
      throw MigrationError(
        .presentStore,
        [
          "\(path) has another version of the model than the one to migrate to; they differ in \(differing.sorted().prefix(5).joined(separator: ", "))"
        ])
    }
  }
}
