/// A small value for each page of a file, or for each group of pages. Memory for a block of values is allocated only
/// when one of them is not the usual value, because a sparse file may have any number of pages.
@usableFromInline package struct PageValues<Value: BitwiseCopyable & Equatable> {
  @inlinable static var blockLength: Int { 4096 }
  @usableFromInline var blocks: ContiguousArray<ContiguousArray<Value>>
  @usableFromInline let usual: Value
  @usableFromInline package let count: Int

  @inlinable package init(repeating usual: Value, count: Int) {
    self.usual = usual
    self.count = count
    blocks = ContiguousArray(
      repeating: [], count: (count + Self.blockLength - 1) / Self.blockLength)
  }

  @inlinable @inline(__always)
  package var indices: Range<Int> { 0..<count }

  @inlinable @inline(__always)
  package subscript(index: Int) -> Value {
    get {
      let block = index / Self.blockLength
      return blocks[block].isEmpty ? usual : blocks[block][index % Self.blockLength]
    }
    set {
      let block = index / Self.blockLength
      if blocks[block].isEmpty {
        guard newValue != usual else { return }
        let length = min(Self.blockLength, count - block * Self.blockLength)
        blocks[block] = ContiguousArray(repeating: usual, count: length)
      }
      blocks[block][index % Self.blockLength] = newValue
    }
  }

  /// Returns the first index, from `index` on, whose block of values has been allocated; ``count`` if no such index
  /// follows.
  @inlinable @inline(__always)
  package func nextMade(from index: Int) -> Int {
    guard index < count else { return count }
    var block = index / Self.blockLength
    if !blocks[block].isEmpty { return index }
    while block < blocks.count, blocks[block].isEmpty { block += 1 }
    return min(block * Self.blockLength, count)
  }

  /// Calls `body` with the index and the value of each element in an allocated block, from index `start` on. Blocks
  /// that were never allocated are skipped: all their elements have the value that was given at creation.
  @inlinable @inline(__always)
  package func forEachMade(from start: Int = 0, _ body: (Int, Value) -> Void) {
    var index = nextMade(from: start)
    while index < count {
      body(index, self[index])
      index += 1
      if index % Self.blockLength == 0 { index = nextMade(from: index) }
    }
  }
}
