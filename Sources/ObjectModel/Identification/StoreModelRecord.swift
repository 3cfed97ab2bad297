/// What a store records about the model that it was written with: the part of its metadata that
/// decides which version of a model fits.
package struct StoreModelRecord: Sendable, Hashable {
  /// The hash of each entity of the whole model, even if the store is of one configuration
  /// (`NSStoreModelVersionHashes`); empty when none are recorded.
  package let hashes: [String: VersionHash]
  /// The version of the hash rules (`NSStoreModelVersionHashesVersion`), 3 in every store seen; nil
  /// when it is not recorded.
  package let hashesVersion: Int64?
  /// The framework that wrote the store (`NSPersistenceFrameworkVersion`); nil when not recorded.
  package let frameworkVersion: Int64?
  /// The highest framework that ever wrote the store (`NSPersistenceMaximumFrameworkVersion`); nil when not recorded,
  /// as in most stores.
  package let maximumFrameworkVersion: Int64?
  /// The model's version identifiers: free text that may repeat between versions, a hint only.
  package let versionIdentifiers: [String]

  /// The hashes version whose rules are confirmed by data.
  package static let confirmedHashesVersion: Int64 = 3

  /// Bundles recorded values.
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

  /// The latest framework known to have written the store; nil when none is recorded.
  package var latestFramework: Int64? {
    [frameworkVersion, maximumFrameworkVersion].compactMap { $0 }.max()
  }

  /// Whether a system from iOS 13 to 16 (frameworks 977 to 1251) wrote the store. For entities with derived attributes
  /// these recorded hashes that changed at each creation of the model. True without a framework version.
  package var hasUnstableDerivedHashes: Bool {
    frameworkVersion.map { (977...1251).contains($0) } ?? true
  }

  /// Whether the framework, of about 2011 or before, tries a second style of hash if the first does not fit.
  package var hasSecondTry: Bool { frameworkVersion.map { $0 <= 386 } ?? false }
}
