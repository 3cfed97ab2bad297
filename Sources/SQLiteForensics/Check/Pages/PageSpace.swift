import SQLiteFile

/// Records which bytes of a b-tree page are taken by cells and freeblocks.
///
/// There is a bit for each byte, so that overlaps are found in whatever order the cells come. When all cells and
/// freeblocks are recorded, the number of remaining bytes in the cell content area must be the number of fragmented
/// bytes in the page's header.
struct PageSpace {
  /// A bit for each byte of the page, set if a cell or freeblock takes the byte. The lowest bit of each word stands for
  /// the first of 64 bytes.
  ///
  /// A caller that marks many ranges first swaps this array into a local variable, so that Swift checks only once
  /// whether the array's storage is shared.
  var bits = ContiguousArray<UInt64>(repeating: 0, count: 1024)
  /// The number of bytes of the page that cells and freeblocks take. A byte that two of them share counts twice.
  var taken = 0

  mutating func reset(_ usableSize: Int) {
    let count = (usableSize &+ 63) >> 6
    var index = 0
    while index < count {
      bits[index] = 0
      index &+= 1
    }
    taken = 0
  }

  /// Marks `count` bytes from the offset `start` on as taken. These bytes must lie inside the page. Returns false if
  /// any of the bytes was already taken.
  mutating func take(_ start: Int, _ count: Int) -> Bool {
    taken &+= count
    var bits = bits.mutableSpan
    return Self.take(start, count, of: &bits)
  }

  /// Marks bytes in `bits`, without counting them in ``taken``. Returns false if any of the bytes was marked before.
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
