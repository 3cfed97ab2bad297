/// The hash function BLAKE2b without a key (RFC 7693). Minisign hashes files with this function, which swift-crypto
/// does not have.
struct BLAKE2b {
  private static let start: [UInt64] = [
    0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
  ]
  private static let order: [[Int]] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
  ]
  private static let blockBytes = 128

  private var state: [UInt64]
  private let byteCount: Int
  private var waiting: [UInt8] = []
  private var total: UInt64 = 0

  /// Starts to compute a hash that has `byteCount` bytes. `byteCount` must be from 1 to 64.
  init(byteCount: Int = 64) {
    self.byteCount = byteCount
    state = Self.start
    state[0] ^= 0x0101_0000 ^ UInt64(byteCount)
  }

  mutating func update(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    // A full block is compressed only when more bytes follow, because the last block is compressed in another way.
    while waiting.count + rest.count > Self.blockBytes {
      let taken = Self.blockBytes - waiting.count
      waiting += rest.prefix(taken)
      rest = rest.dropFirst(taken)
      total &+= UInt64(Self.blockBytes)
      compress(isLast: false)
      waiting.removeAll(keepingCapacity: true)
    }
    waiting += rest
  }

  /// Returns the hash. After this call, no bytes may be added.
  mutating func finalize() -> [UInt8] {
    total &+= UInt64(waiting.count)
    waiting += [UInt8](repeating: 0, count: Self.blockBytes - waiting.count)
    compress(isLast: true)
    let bytes = state.flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
    }
    return Array(bytes.prefix(byteCount))
  }

  static func hash(_ bytes: [UInt8], byteCount: Int = 64) -> [UInt8] {
    var hash = BLAKE2b(byteCount: byteCount)
    hash.update(bytes[...])
    return hash.finalize()
  }

  private mutating func compress(isLast: Bool) {
    var words = [UInt64](repeating: 0, count: 16)
    for (place, byte) in waiting.enumerated() {
      words[place / 8] |= UInt64(byte) << UInt64(place % 8 * 8)
    }
    var v = state + Self.start
    v[12] ^= total
    if isLast { v[14] = ~v[14] }
    for round in 0..<12 {
      let order = Self.order[round % 10]
      for step in 0..<4 {
        Self.mix(
          &v, step, 4 + step, 8 + step, 12 + step, words[order[2 * step]],
          words[order[2 * step + 1]])
      }
      for step in 0..<4 {
        Self.mix(
          &v, step, 4 + (step + 1) % 4, 8 + (step + 2) % 4, 12 + (step + 3) % 4,
          words[order[8 + 2 * step]], words[order[9 + 2 * step]])
      }
    }
    for place in 0..<8 { state[place] ^= v[place] ^ v[place + 8] }
  }

  private static func mix(
    _ v: inout [UInt64], _ a: Int, _ b: Int, _ c: Int, _ d: Int, _ x: UInt64, _ y: UInt64
  ) {
    func turned(_ word: UInt64, _ count: UInt64) -> UInt64 { word >> count | word << (64 - count) }
    v[a] = v[a] &+ v[b] &+ x
    v[d] = turned(v[d] ^ v[a], 32)
    v[c] = v[c] &+ v[d]
    v[b] = turned(v[b] ^ v[c], 24)
    v[a] = v[a] &+ v[b] &+ y
    v[d] = turned(v[d] ^ v[a], 16)
    v[c] = v[c] &+ v[d]
    v[b] = turned(v[b] ^ v[c], 63)
  }
}
