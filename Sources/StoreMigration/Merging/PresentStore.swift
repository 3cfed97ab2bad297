import CoreDataStore
package import ObjectModel
import StoreExtraction
import StoreFiles

/// The store that the app has used since another one was set aside: the other one's rows go among its own. It is only
/// read.
package struct PresentStore {
  package let path: String
  let source: Migration.Source
  let policy: MergePolicy
  let watch: EvidenceWatch
  /// The model that the store carries; nil when none can be read.
  package let model: ManagedObjectModel?
  private let recorded: [String: VersionHash]

  /// Opens the store. If it is damaged, its live rows are taken wherever they are found.
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

  /// Whether the store records the hashes of a model.
  package func records(_ wanted: ManagedObjectModel) -> Bool {
    !recorded.isEmpty && recorded == wanted.versionHashes().hashes
  }

  /// Refuses a model that the store is known not to have.
  func check(_ wanted: ManagedObjectModel) throws {
    let hashes = wanted.versionHashes().hashes
    // What the store records may be lost, or be hashes of an older kind; then its own model says what it is.
    let own = recorded == hashes ? recorded : model?.versionHashes().hashes ?? recorded
    guard own != hashes, !own.isEmpty else { return }
    let differing = Set(own.keys).union(hashes.keys).filter { own[$0] != hashes[$0] }
    throw MigrationError(
      .presentStore,
      [
        "\(path) has another version of the model than the one to migrate to; they differ in \(differing.sorted().prefix(5).joined(separator: ", "))"
      ])
  }
}
