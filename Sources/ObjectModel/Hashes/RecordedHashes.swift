/// Hashes that Core Data recorded, as opposed to computed ones.
public struct RecordedHashes: Sendable, Hashable {
  /// The hash of each entity.
  public let hashes: [String: VersionHash]
  /// The recorded model checksum, base64; nil when none was recorded.
  package let checksum: String?
  /// The recorded model digest, base64; nil when none was recorded.
  package let digest: String?

  /// Bundles recorded values.
  public init(hashes: [String: VersionHash], checksum: String? = nil, digest: String? = nil) {
    self.hashes = hashes
    self.checksum = checksum
    self.digest = digest
  }
}
