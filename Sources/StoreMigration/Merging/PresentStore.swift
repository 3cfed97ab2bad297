import CoreDataStore
package import ObjectModel
import StoreExtraction
import StoreFiles

/// The store that the app has used since the old store was set aside. A merge only reads this store, and writes the
/// rows of both stores into a new file.
package struct PresentStore {
  /// The path of the main file of the store that the app uses now.
  package let path: String
  let source: Migration.Source
  let policy: MergePolicy
  let watch: EvidenceWatch
  /// The model that is cached in the store; nil when the store has no readable model.
  package let model: ManagedObjectModel?
  private let recorded: [String: VersionHash]

  /// Opens the present store. If the store is damaged, recovery reads its live rows.
  ///
  /// - Throws: `SQLiteFileError` when the file is not a database, or cannot be read.
  package init(path: String, policy: MergePolicy) throws {
    self.path = path
    self.policy = policy
    watch = EvidenceWatch(path)
    if try StoreCheck(path: path).isSound {
      let store = try CoreDataStore(path: path)
      source = .sound(store)
      model = store.cachedModel
      recorded = store.metadata?.versionHashes ?? [:]
    } else {
      let store = try DamagedStore(path: path)
      source = .damaged(store, deleted: false)
      model = store.model
      recorded = store.recordedHashes
    }
  }

  /// Whether the metadata of the present store records the version hashes of the model `wanted`.
  package func records(_ wanted: ManagedObjectModel) -> Bool {
    !recorded.isEmpty && recorded == wanted.versionHashes().hashes
  }

  /// Checks that the present store has the model version `wanted`. Throws ``MigrationError`` if it certainly has
  /// another one.
  func check(_ wanted: ManagedObjectModel) throws {
    let hashes = wanted.versionHashes().hashes
    // If the recorded hashes are lost, or were computed by an older rule, the hashes of the cached model are used.
    let own = recorded == hashes ? recorded : model?.versionHashes().hashes ?? recorded
    guard own != hashes, !own.isEmpty else { return }
    let differing = Set(own.keys).union(hashes.keys).filter { own[$0] != hashes[$0] }
    throw MigrationError(
      .presentStore,
      [
        "the model version of \(path) is not the version to migrate to; the two differ in \(differing.sorted().prefix(5).joined(separator: ", "))"
      ])
  }
}
