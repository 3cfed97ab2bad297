/// Which bytes of a b-tree page are spoken for, a bit each.
///
/// With a bit for each byte, overlaps show whatever the order of the cells is, and what is left over must be the
/// fragments that the page's header counts.
struct PageSpace {
  private var bits = ContiguousArray<UInt64>(repeating: 0, count: 1024)
  /// Bytes taken so far.
  private(set) var taken = 0

  /// Starts a page with so many usable bytes.
  mutating func reset(_ usableSize: Int) {
    let count = (usableSize &+ 63) >> 6
    var index = 0
    while index < count {
      bits[index] = 0
      index &+= 1
    }
    taken = 0
  }

  /// Takes bytes; false when one of them was taken already. The caller has checked that they lie inside the page.
  @inline(__always)
  mutating func take(_ start: Int, _ count: Int) -> Bool {
    taken &+= count
    let last = start &+ count &- 1
    var word = start >> 6
    let lastWord = last >> 6
    var isFree = true
    var mask = ~UInt64(0) << UInt64(start & 63)
    while word < lastWord {
      if bits[word] & mask != 0 { isFree = false }
      bits[word] |= mask
      mask = ~0
      word &+= 1
    }
    mask &= ~UInt64(0) >> UInt64(63 &- (last & 63))
    if bits[word] & mask != 0 { isFree = false }
    bits[word] |= mask
    return isFree
  }
}
