import SQLiteFile

/// Compares the entries of an index with the rows of its table, without storing the entries or the rows. One sum adds
/// up the hashes of the index's entries. The other sum adds up the hashes of the entries that the rows require. If the
/// entries are equal, the sums are equal, whatever the order of the entries.
enum IndexSum {
  /// The fields of a row that make up an entry of one index.
  struct Part {
    /// The index, in ``RecordCheck/sums``, of the sum over the entries that the rows require in the index.
    var sum: Int
    /// The fields of the row that form the index entry: the indexed fields, then the fields that identify the row. -1
    /// stands for the row id.
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

  /// Extends the hash of an entry by one value. The order of the values matters.
  @inline(__always)
  static func combine(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    mix((hash << 7 | hash >> 57) ^ value)
  }

  @inline(__always)
  static func of(_ integer: Int64) -> UInt64 { mix(UInt64(bitPattern: integer) ^ seed) }

  /// The hash of a real. A real and an integer of the same value have the same hash, because an index may store either.
  @inline(__always)
  static func of(_ real: Double) -> UInt64 {
    if let integer = Int64(exactly: real) { return of(integer) }
    return mix(real.bitPattern &+ seed)
  }

  /// The hash of a string or a blob. A string and a blob with the same bytes have different hashes.
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
