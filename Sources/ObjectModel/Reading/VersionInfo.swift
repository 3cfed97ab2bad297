/// The contents of `VersionInfo.plist`, which Xcode's compiler writes into a `.momd`, beside the model's versions.
package struct VersionInfo: Sendable, Hashable {
  /// The name of the current version, without extension. Nil if the file does not name the current version, as in very
  /// old files.
  package let currentVersionName: String?
  /// The recorded hashes of each version, by the version's name without extension.
  package let versions: [String: RecordedHashes]

  package var versionNames: [String] { ByteOrder.sorted(versions.keys) }

  package init(versions: [String: RecordedHashes], currentVersionName: String?) {
    self.versions = versions
    self.currentVersionName = currentVersionName
  }

  /// Reads the bytes of the file, which is a binary or XML property list.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the property list is not a `VersionInfo.plist`.
  package init(bytes: [UInt8]) throws(ModelError) {
    try self.init(try PropertyList(ofModel: bytes))
  }

  /// Reads the property list in the file.
  ///
  /// The keys are `NSManagedObjectModel_VersionHashes` (for each version name, a dictionary of entity names and hashes
  /// of 32 bytes), `NSManagedObjectModel_VersionChecksums` (written only by newer compilers), and
  /// `NSManagedObjectModel_CurrentVersionName`.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the property list is not a `VersionInfo.plist`.
  package init(_ list: PropertyList) throws(ModelError) {
    guard let stored = list[Key.hashes]?.entries else {
      throw ModelError(
        code: .notAModel, message: "This property list is not the VersionInfo.plist of a model.")
    }
    let checksums = list[Key.checksums]?.entries ?? [:]
    var versions: [String: RecordedHashes] = [:]
    for (version, entities) in stored {
      guard let entities = entities.entries else {
        throw ModelError(
          code: .malformed, message: "The hashes of version \(version) are not a dictionary.")
      }
      var hashes: [String: VersionHash] = [:]
      for (entity, value) in entities {
        guard let bytes = value.dataValue, let hash = VersionHash(bytes: bytes) else {
          throw ModelError(
            code: .malformed,
            message: "The hash of \(entity) in version \(version) is not 32 bytes long.")
        }
        hashes[entity] = hash
      }
      versions[version] = RecordedHashes(
        hashes: hashes, checksum: checksums[version]?.stringValue)
    }
    self.versions = versions
    currentVersionName = list[Key.current]?.stringValue
  }

  package enum Key {
    package static let hashes = "NSManagedObjectModel_VersionHashes"
    package static let checksums = "NSManagedObjectModel_VersionChecksums"
    package static let current = "NSManagedObjectModel_CurrentVersionName"
  }
}
