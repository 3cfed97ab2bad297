import SafeText

/// The archive comment of a bundle: a digest of all bytes before the archive's end record. It reveals any change to
/// these bytes, even a change that no zip reader would notice. The seal guards against accidents, not against forgery.
enum BundleSeal {
  static let prefix = "lifeboat.bundle/1 sha256:"

  static func comment(sha256: String) -> String { prefix + sha256 }

  /// The digest in an archive comment; nil when the comment is not the comment of a bundle.
  static func sha256(in comment: [UInt8]) -> String? {
    PathText.dropping(prefix: prefix, from: String(decoding: comment, as: UTF8.self))
  }
}
