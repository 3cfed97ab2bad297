import SQLiteFile

/// Which bytes of a b-tree page are in use.
///
/// Each byte has a bit. So overlaps are found in whatever order the cells are taken, and the bytes that stay unused
/// must be the fragments that the page's header counts.
struct PageSpace {
  /// A bit for each byte of the page, set when the byte is taken; the lowest bit of a word is its first byte. A loop
  /// that takes many ranges moves the array out of this value, so that the array's uniqueness is checked only once.
  var bits = ContiguousArray<UInt64>(repeating: 0, count: 1024)
  /// How many bytes were taken so far; a byte that was taken twice counts twice.
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

  /// Takes `count` bytes from the offset `start` on. Returns false when one of them was taken before. The caller checks
  /// that the range lies inside the page.
  mutating func take(_ start: Int, _ count: Int) -> Bool {
    taken &+= count
    var bits = bits.mutableSpan
    return Self.take(start, count, of: &bits)
  }

  /// Takes bytes of `bits` as ``take(_:_:)`` does, but without counting them in ``taken``.
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
