/// The version hashes of a model that a store or `VersionInfo.plist` records.
public struct RecordedHashes: Sendable, Hashable {
  /// The recorded version hashes, by entity name.
  public let hashes: [String: VersionHash]
  /// The recorded model checksum as base64; nil if none is recorded.
  package let checksum: String?
  /// The recorded model digest as base64; nil if none is recorded.
  package let digest: String?

  /// Makes a record from entity hashes and, if they are recorded, the model's checksum and digest in base64.
  public init(hashes: [String: VersionHash], checksum: String? = nil, digest: String? = nil) {
    self.hashes = hashes
    self.checksum = checksum
    self.digest = digest
  }
}
