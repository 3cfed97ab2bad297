extension VersionInfo {
  /// Gathers what is to be said of the versions of a model.
  ///
  /// - Parameters:
  ///   - versions: the hashes of each version, by version name without extension.
  ///   - currentVersionName: the current one; nil for none.
  public init(versions: [String: RecordedHashes], currentVersionName: String?) {
    self.versions = versions
    self.currentVersionName = currentVersionName
  }

  /// The file's bytes, a binary property list with the keys of real files; a digest is in none of them.
  public func binaryBytes() -> [UInt8] {
    var list: [String: PropertyList] = [
      Key.hashes: .dictionary(
        versions.mapValues { version in
          .dictionary(version.hashes.mapValues { .data($0.bytes) })
        })
    ]
    let checksums = versions.compactMapValues { $0.checksum.map { PropertyList.string($0) } }
    if !checksums.isEmpty { list[Key.checksums] = .dictionary(checksums) }
    if let currentVersionName { list[Key.current] = .string(currentVersionName) }
    return PropertyList.dictionary(list).binaryBytes()
  }
}
