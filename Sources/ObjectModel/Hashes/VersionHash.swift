/// The 32-byte version hash of an entity, as Core Data records it in a store's metadata and in `VersionInfo.plist`.
public struct VersionHash: Sendable, Hashable {
  /// The length in bytes of every version hash. A version hash is a SHA-256 value.
  public static let byteCount = 32

  /// The bytes of the hash, always ``byteCount`` of them.
  public let bytes: [UInt8]

  /// Makes a hash from its bytes; nil if there are not exactly ``byteCount`` bytes.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Makes a hash from a string of 64 hexadecimal digits in upper or lower case; nil for any other string.
  public init?(hex: String) {
    guard let bytes = Hex.bytes(hex) else { return nil }
    self.init(bytes: bytes)
  }

  /// The hash as 64 lowercase hexadecimal digits.
  public var hex: String { Hex.string(bytes) }

  /// Makes a hash from a SHA-256 value that this library computed. The length is not checked.
  package init(digest: [UInt8]) { bytes = digest }
}

extension VersionHash: CustomStringConvertible {
  /// The hash as 64 lowercase hexadecimal digits, the same as ``hex``.
  public var description: String { hex }
}

extension VersionHash: Codable {
  /// Decodes a hash from a string of 64 hexadecimal digits.
  ///
  /// - Throws: `DecodingError.dataCorrupted` when the string is not 64 hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let hash = VersionHash(hex: text) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "The text is not a version hash; such a hash has 64 hexadecimal digits."
        ))
    }
    self = hash
  }

  /// Encodes the hash as a string of 64 lowercase hexadecimal digits.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}
