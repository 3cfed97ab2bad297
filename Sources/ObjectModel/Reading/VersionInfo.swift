/// The contents of `VersionInfo.plist`. Xcode's compiler puts this file beside the versions of a model in a `.momd`.
package struct VersionInfo: Sendable, Hashable {
  /// The name of the current version, without extension; nil in very old files, which do not name one.
  package let currentVersionName: String?
  /// The recorded hashes of each version, by version name without extension.
  package let versions: [String: RecordedHashes]

  /// The version names, sorted.
  package var versionNames: [String] { ByteOrder.sorted(versions.keys) }

  /// Makes the contents for the versions of a model.
  ///
  /// - Parameters:
  ///   - versions: the hashes of each version, by version name without extension.
  ///   - currentVersionName: the name of the current version; nil if there is none.
  package init(versions: [String: RecordedHashes], currentVersionName: String?) {
    self.versions = versions
    self.currentVersionName = currentVersionName
  }

  /// Reads the bytes of the file, a binary or XML property list.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the bytes are a property list of another kind.
  package init(bytes: [UInt8]) throws(ModelError) {
    let list: PropertyList
    do {
      list = try PropertyList(bytes: bytes)
    } catch {
      throw ModelError(error)
    }
    try self.init(list)
  }

  /// Reads the property list of the file.
  ///
  /// The keys are `NSManagedObjectModel_VersionHashes` (by version, then by entity: 32 bytes),
  /// `NSManagedObjectModel_VersionChecksums` (only from newer compilers), and
  /// `NSManagedObjectModel_CurrentVersionName`.
  ///
  /// - Throws: ``ModelError``; `model.notAModel` if the list is a property list of another kind.
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
