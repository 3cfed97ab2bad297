/// The entries of a store's metadata that identify the model version with which the store was written.
package struct StoreModelRecord: Sendable, Hashable {
  /// The hashes of all entities of the model, by entity name (`NSStoreModelVersionHashes`); empty if the store records
  /// no hashes. Even a store that has only the entities of one configuration records the hashes of the whole model.
  package let hashes: [String: VersionHash]
  /// The version of the hash rules (`NSStoreModelVersionHashesVersion`); nil if it is not recorded. In all stores that
  /// were examined it is 3.
  package let hashesVersion: Int64?
  /// The version of the framework that wrote the store (`NSPersistenceFrameworkVersion`); nil if it is not recorded.
  package let frameworkVersion: Int64?
  /// The highest version of a framework that ever wrote the store (`NSPersistenceMaximumFrameworkVersion`). Nil if it
  /// is not recorded, as in most stores.
  package let maximumFrameworkVersion: Int64?
  /// The model's version identifiers, which are free text. Several versions may have the same identifiers, so an
  /// identifier only hints at a version.
  package let versionIdentifiers: [String]

  /// The version of the hash rules that this library implements (`NSStoreModelVersionHashesVersion`). Recorded hashes
  /// confirm these rules.
  package static let confirmedHashesVersion: Int64 = 3

  package init(
    hashes: [String: VersionHash], hashesVersion: Int64? = Self.confirmedHashesVersion,
    frameworkVersion: Int64? = nil, maximumFrameworkVersion: Int64? = nil,
    versionIdentifiers: [String] = []
  ) {
    self.hashes = hashes
    self.hashesVersion = hashesVersion
    self.frameworkVersion = frameworkVersion
    self.maximumFrameworkVersion = maximumFrameworkVersion
    self.versionIdentifiers = versionIdentifiers
  }

  /// Whether the hashes of entities with derived attributes may differ from those of the model. A system from iOS 13 to
  /// 16 (frameworks 977 to 1251) recorded a new hash for such an entity each time a model was created. True for a store
  /// that such a system wrote, and for a store that records no framework version.
  package var hasUnstableDerivedHashes: Bool {
    frameworkVersion.map { (977...1251).contains($0) } ?? true
  }
}
