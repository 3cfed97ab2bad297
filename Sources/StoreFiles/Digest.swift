import Crypto
import ObjectModel

/// SHA-256 in lower-case hex.
package enum Digest {
  /// The digest of some bytes.
  package static func sha256(_ bytes: [UInt8]) -> String { Hex.string(SHA256.hash(data: bytes)) }
}
