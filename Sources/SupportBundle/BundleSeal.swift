import SafeText

/// The archive comment of a bundle, which holds a digest over all bytes before the end record. The seal shows a change
/// anywhere, even one that no reader would notice. It guards against accidents, not against forgery.
enum BundleSeal {
  static let prefix = "lifeboat.bundle/1 sha256:"

  static func comment(sha256: String) -> String { prefix + sha256 }

  /// The digest in a comment; nil when the comment is not a seal.
  static func sha256(in comment: [UInt8]) -> String? {
    PathText.dropping(prefix: prefix, from: String(decoding: comment, as: UTF8.self))
  }
}
