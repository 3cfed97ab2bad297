/// The 32-byte version hash of an entity, as Core Data records it in a store's metadata and in
/// `VersionInfo.plist`.
public struct VersionHash: Sendable, Hashable {
  /// The number of bytes of every version hash (a SHA-256 value).
  public static let byteCount = 32

  /// The hash itself, always exactly ``byteCount`` bytes.
  public let bytes: [UInt8]

  /// Wraps recorded bytes; nil unless there are exactly ``byteCount`` of them.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Reads 64 hexadecimal digits of either case; nil for anything else.
  public init?(hex: String) {
    guard let bytes = Hex.bytes(hex) else { return nil }
    self.init(bytes: bytes)
  }

  /// The hash as 64 lowercase hexadecimal digits.
  public var hex: String { Hex.string(bytes) }

  /// For values this target computed itself, whose length SHA-256 guarantees.
  package init(digest: [UInt8]) { bytes = digest }
}

extension VersionHash: CustomStringConvertible {
  /// The hexadecimal form.
  public var description: String { hex }
}

extension VersionHash: Codable {
  /// Reads the hexadecimal form.
  ///
  /// - Throws: `DecodingError.dataCorrupted` when the text is not 64 hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let hash = VersionHash(hex: text) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "A version hash is 64 hexadecimal digits."))
    }
    self = hash
  }

  /// Writes the hexadecimal form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}
