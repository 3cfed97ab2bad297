/// The contents of `VersionInfo.plist`, which Xcode's compiler puts beside the versions of a model
/// in a `.momd`.
package struct VersionInfo: Sendable, Hashable {
  /// The name of the current version, without extension; very old files have none.
  package let currentVersionName: String?
  /// The recorded hashes of each version, by version name without extension.
  package let versions: [String: RecordedHashes]

  /// The version names, sorted.
  package var versionNames: [String] { ByteOrder.sorted(versions.keys) }

  /// Makes the contents for the versions of a model.
  ///
  /// - Parameters:
  ///   - versions: the hashes of each version, by version name without extension.
  ///   - currentVersionName: the current one; nil for none.
  package init(versions: [String: RecordedHashes], currentVersionName: String?) {
    self.versions = versions
    self.currentVersionName = currentVersionName
  }

  /// Reads the file's bytes, binary or XML.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` when it is another property list.
  package init(bytes: [UInt8]) throws(ModelError) {
    let list: PropertyList
    do {
      list = try PropertyList(bytes: bytes)
    } catch {
      throw ModelError(error)
    }
    try self.init(list)
  }

  /// Reads the file's property list.
  ///
  /// Keys: `NSManagedObjectModel_VersionHashes` (version to entity to 32 bytes),
  /// `NSManagedObjectModel_VersionChecksums` (newer compilers), and
  /// `NSManagedObjectModel_CurrentVersionName`.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` when it is another property list.
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
