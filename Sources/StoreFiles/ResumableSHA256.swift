import ObjectModel

/// SHA-256 (FIPS 180-4) whose intermediate state can be saved, so that a later process can continue the computation.
///
/// This code is slower than swift-crypto's `SHA256`, so use it only for a file that is too large to be hashed in one
/// launch of the app.
package struct ResumableSHA256: Sendable {
  /// The state of the computation after a whole number of 64-byte blocks.
  package struct State: Sendable, Codable, Equatable {
    /// The intermediate hash value, eight words.
    package var words: [UInt32]
    /// The number of bytes hashed so far, a multiple of 64.
    package var byteCount: Int64

    package static let initial = State(
      words: [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
      ], byteCount: 0)

    /// Whether hashing can continue from this state. Check this for a state that was decoded from a file, because its
    /// numbers may be invalid.
    package var isValid: Bool { words.count == 8 && byteCount >= 0 && byteCount % 64 == 0 }
  }

  package private(set) var state: State
  private var schedule = [UInt32](repeating: 0, count: 64)

  /// Creates a hasher that continues from `state`, which must be valid.
  package init(_ state: State = .initial) {
    precondition(state.isValid)
    self.state = state
  }

  /// Hashes the whole 64-byte blocks of `bytes`, and ignores an incomplete block at the end.
  ///
  /// - Returns: The number of bytes hashed.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) -> Int {
    let count = bytes.count / 64 * 64
    var offset = 0
    while offset < count {
      for index in 0..<16 {
        schedule[index] = unsafe UInt32(
          bigEndian: bytes.loadUnaligned(fromByteOffset: offset + index * 4, as: UInt32.self))
      }
      compress()
      offset += 64
    }
    state.byteCount += Int64(count)
    return count
  }

  /// Hashes `rest`, which must be shorter than a block, and returns the hash of all bytes in lower-case hex.
  package mutating func finalize(_ rest: [UInt8]) -> String {
    let bits = UInt64(state.byteCount + Int64(rest.count)) &* 8
    var last = rest + [0x80]
    last += [UInt8](repeating: 0, count: (120 - last.count % 64) % 64)
    for shift in stride(from: 56, through: 0, by: -8) {
      last.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
    }
    unsafe last.withUnsafeBytes { unsafe _ = update($0) }
    var digest: [UInt8] = []
    for word in state.words {
      for shift in [24, 16, 8, 0] {
        digest.append(UInt8(truncatingIfNeeded: word >> UInt32(shift)))
      }
    }
    return Hex.string(digest)
  }

  private mutating func compress() {
    for index in 16..<64 {
      let (far, near) = (schedule[index - 15], schedule[index - 2])
      let first = Self.rotated(far, 7) ^ Self.rotated(far, 18) ^ (far >> 3)
      let second = Self.rotated(near, 17) ^ Self.rotated(near, 19) ^ (near >> 10)
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
    var (a, b, c, d) = (state.words[0], state.words[1], state.words[2], state.words[3])
    var (e, f, g, h) = (state.words[4], state.words[5], state.words[6], state.words[7])
    for index in 0..<64 {
      let mixed = Self.rotated(e, 6) ^ Self.rotated(e, 11) ^ Self.rotated(e, 25)
      let one = h &+ mixed &+ ((e & f) ^ (~e & g)) &+ Self.constants[index] &+ schedule[index]
      let turned = Self.rotated(a, 2) ^ Self.rotated(a, 13) ^ Self.rotated(a, 22)
      let two = turned &+ ((a & b) ^ (a & c) ^ (b & c))
      (h, g, f, e) = (g, f, e, d &+ one)
      (d, c, b, a) = (c, b, a, one &+ two)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() {
      state.words[index] = state.words[index] &+ word
    }
  }

  @inline(__always)
  private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word >> count | word << (32 - count)
  }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
    0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
    0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
    0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
    0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
    0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
    0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
    0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]
}
