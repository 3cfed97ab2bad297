import Crypto
import ObjectModel

package enum Digest {
  /// The SHA-256 hash of `bytes` as 64 lower-case hexadecimal digits.
  package static func sha256(_ bytes: [UInt8]) -> String { Hex.string(SHA256.hash(data: bytes)) }
}
