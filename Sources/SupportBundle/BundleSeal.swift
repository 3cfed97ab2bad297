import SafeText

/// The archive comment of a bundle: a digest of all bytes before the archive's end record. The digest reveals any
/// change to these bytes, even a change that no zip reader would notice. It guards against accidents, not against
/// forgery: anybody can compute a new digest.
enum BundleSeal {
  static let prefix = "lifeboat.bundle/1 sha256:"

  static func comment(sha256: String) -> String { prefix + sha256 }

  /// Returns the hexadecimal SHA-256 that follows ``prefix`` in an archive comment; nil when the comment does not begin
  /// with ``prefix``.
  static func sha256(in comment: [UInt8]) -> String? {
    PathText.dropping(prefix: prefix, from: String(decoding: comment, as: UTF8.self))
  }
}
