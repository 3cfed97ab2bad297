import SQLiteFile

/// Compares the entries of an index with the rows of its table without keeping either: each side adds up a hash of
/// every entry, and equal entries give equal sums, in any order.
enum IndexSum {
  /// What one index takes from a row: the fields and the row id.
  struct Part {
    /// The number of the sum to which rows are added.
    var sum: Int
    /// The indexed fields in the index's order, then the fields that lead to the row; -1 stands for the row id.
    var fields: ContiguousArray<Int32>
  }

  static let seed: UInt64 = 0x9e37_79b9_7f4a_7c15
  static let null: UInt64 = 0x2545_f491_4f6c_dd1d

  @inline(__always)
  static func mix(_ value: UInt64) -> UInt64 {
    var value = value &* 0xbf58_476d_1ce4_e5b9
    value ^= value >> 29
    return value &* 0x94d0_49bb_1331_11eb
  }

  /// The hash of an entry with one more value. The order of the values counts.
  @inline(__always)
  static func combine(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    mix((hash << 7 | hash >> 57) ^ value)
  }

  @inline(__always)
  static func of(_ integer: Int64) -> UInt64 { mix(UInt64(bitPattern: integer) ^ seed) }

  /// The hash of a real. It is the hash of an integer if the two are equal, because an index may store either.
  @inline(__always)
  static func of(_ real: Double) -> UInt64 {
    if let integer = Int64(exactly: real) { return of(integer) }
    return mix(real.bitPattern &+ seed)
  }

  /// The hash of a text or a blob. The two differ even for the same bytes.
  static func of(_ bytes: RawSpan, isText: Bool) -> UInt64 {
    var hash: UInt64 = isText ? 0x1f83_d9ab_fb41_bd6b : 0x5be0_cd19_137e_2179
    hash ^= UInt64(bytes.byteCount)
    var offset = 0
    let end = bytes.byteCount
    while offset &+ 8 <= end {
      hash = (hash ^ bytes.word(at: offset)) &* 0xbf58_476d_1ce4_e5b9
      hash ^= hash >> 31
      offset &+= 8
    }
    var tail: UInt64 = 0
    while offset < end {
      tail = tail << 8 | UInt64(bytes.byte(at: offset))
      offset &+= 1
    }
    return mix(hash ^ tail)
  }
}
