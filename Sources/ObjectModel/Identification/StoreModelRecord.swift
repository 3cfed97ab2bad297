/// What a store's metadata record about the model that the store was written with. The record decides which version of
/// the model fits.
package struct StoreModelRecord: Sendable, Hashable {
  /// The hashes of all entities of the model, by entity name (`NSStoreModelVersionHashes`); empty if none are recorded.
  /// A store with the entities of one configuration also records the hashes of the whole model.
  package let hashes: [String: VersionHash]
  /// The version of the hash rules (`NSStoreModelVersionHashesVersion`); nil if it is not recorded. Every store seen
  /// has version 3.
  package let hashesVersion: Int64?
  /// The version of the framework that wrote the store (`NSPersistenceFrameworkVersion`); nil if it is not recorded.
  package let frameworkVersion: Int64?
  /// The highest framework version that ever wrote the store (`NSPersistenceMaximumFrameworkVersion`). Nil if it is not
  /// recorded, as in most stores.
  package let maximumFrameworkVersion: Int64?
  /// The model's version identifiers. They are free text that may repeat between versions, so they are only a hint.
  package let versionIdentifiers: [String]

  /// The version of the hash rules that recorded hashes confirm.
  package static let confirmedHashesVersion: Int64 = 3

  /// Makes a record of what a store's metadata say.
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

  /// The version of the latest framework known to have written the store; nil if none is recorded.
  package var latestFramework: Int64? {
    [frameworkVersion, maximumFrameworkVersion].compactMap { $0 }.max()
  }

  /// Whether a system from iOS 13 to 16 (frameworks 977 to 1251) wrote the store, or no framework is recorded. These
  /// systems recorded a new hash for an entity with derived attributes each time the model was created.
  package var hasUnstableDerivedHashes: Bool {
    frameworkVersion.map { (977...1251).contains($0) } ?? true
  }

  /// Whether framework 386 or earlier (about 2011) wrote the store. These frameworks also try a second style of hash.
  package var hasSecondTry: Bool { frameworkVersion.map { $0 <= 386 } ?? false }
}
