import Crypto

/// SHA-256 in lower-case hex.
package enum Digest {
  /// The digest of some bytes.
  package static func sha256(_ bytes: [UInt8]) -> String {
    SHA256.hash(data: bytes).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }
}
