/// The version hashes of a model, as recorded in a store or in `VersionInfo.plist`.
public struct RecordedHashes: Sendable, Hashable {
  /// The recorded version hashes, by entity name.
  public let hashes: [String: VersionHash]
  /// The recorded model checksum in base64; nil if not recorded.
  package let checksum: String?
  /// The recorded model digest in base64; nil if not recorded.
  package let digest: String?

  /// Makes recorded hashes from entity hashes, and from the model's checksum and digest in base64; nil for a checksum
  /// or digest that is not recorded.
  public init(hashes: [String: VersionHash], checksum: String? = nil, digest: String? = nil) {
    self.hashes = hashes
    self.checksum = checksum
    self.digest = digest
  }
}
