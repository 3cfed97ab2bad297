import Crypto

/// HMAC-SHA-256 (RFC 2104, section 2). A copy of an instance continues from the state after the key, so the key is
/// hashed only once for many messages.
///
/// The `HMAC` of swift-crypto gives the same codes. For a short value, its generic code takes five times as long as the
/// hashing.
struct KeyedCode {
  private var inner = SHA256()
  private var outer = SHA256()

  /// Starts to compute a code with the key `key`, which has at most 64 bytes, the block size of SHA-256.
  init(_ key: SymmetricKey) {
    precondition(key.bitCount <= 8 * SHA256.blockByteCount)
    var block = [UInt8](repeating: 0, count: SHA256.blockByteCount)
    unsafe key.withUnsafeBytes { bytes in
      for place in bytes.indices { unsafe block[place] = bytes[place] }
    }
    inner.update(data: block.map { $0 ^ 0x36 })
    outer.update(data: block.map { $0 ^ 0x5c })
  }

  mutating func update(_ bytes: RawSpan) {
    unsafe bytes.withUnsafeBytes { unsafe inner.update(bufferPointer: $0) }
  }

  mutating func update(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBytes { unsafe inner.update(bufferPointer: $0) }
  }

  /// Adds a number to the message, the most significant byte first.
  mutating func update(_ word: UInt64) {
    unsafe withUnsafeBytes(of: word.bigEndian) { unsafe inner.update(bufferPointer: $0) }
  }

  func finalize() -> SHA256Digest {
    var outer = outer
    unsafe inner.finalize().withUnsafeBytes { unsafe outer.update(bufferPointer: $0) }
    return outer.finalize()
  }
}
