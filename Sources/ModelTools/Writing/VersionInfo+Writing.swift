package import ObjectModel

extension VersionInfo {
  /// Returns the bytes of the file: a binary property list with the keys found in real files. No real file has a
  /// digest, so no digest is written.
  package func binaryBytes() -> [UInt8] {
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
