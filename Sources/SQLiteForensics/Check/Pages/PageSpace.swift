import SQLiteFile

/// Which bytes of a b-tree page are in use, a bit each.
///
/// With a bit for each byte, overlaps show whatever the order of the cells, and the bytes left over must be the
/// fragments that the page's header counts.
struct PageSpace {
  /// The bits. A loop that takes many ranges moves them out, so that the array's uniqueness is checked once and not
  /// each time.
  var bits = ContiguousArray<UInt64>(repeating: 0, count: 1024)
  /// Bytes taken so far.
  var taken = 0

  /// Starts a page with this many usable bytes.
  mutating func reset(_ usableSize: Int) {
    let count = (usableSize &+ 63) >> 6
    var index = 0
    while index < count {
      bits[index] = 0
      index &+= 1
    }
    taken = 0
  }

  /// Takes bytes; false when one of them was taken before. The caller checks that they lie inside the page.
  mutating func take(_ start: Int, _ count: Int) -> Bool {
    taken &+= count
    var bits = bits.mutableSpan
    return Self.take(start, count, of: &bits)
  }

  /// Takes bytes, without counting them.
  @inline(__always)
  static func take(_ start: Int, _ count: Int, of bits: inout MutableSpan<UInt64>) -> Bool {
    let last = start &+ count &- 1
    var word = start >> 6
    let lastWord = last >> 6
    var before: UInt64 = 0
    var mask = ~UInt64(0) << UInt64(start & 63)
    while word < lastWord {
      before |= bits[word] & mask
      bits[word] |= mask
      mask = ~0
      word &+= 1
    }
    mask &= ~UInt64(0) >> UInt64(63 &- (last & 63))
    before |= bits[word] & mask
    bits[word] |= mask
    return before == 0
  }
}
