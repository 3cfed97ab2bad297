import Crypto

/// SHA-256 in lower-case hex.
package enum Digest {
  /// The digest of some bytes.
  package static func sha256(_ bytes: [UInt8]) -> String { hex(SHA256.hash(data: bytes)) }

  /// A digest as text.
  package static func hex(_ digest: some Sequence<UInt8>) -> String {
    digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}
