import Crypto
import ObjectModel

/// Computes SHA-256 hashes as lower-case hexadecimal text.
package enum Digest {
  /// SHA-256 of `bytes` as 64 hexadecimal digits.
  package static func sha256(_ bytes: [UInt8]) -> String { Hex.string(SHA256.hash(data: bytes)) }
}
