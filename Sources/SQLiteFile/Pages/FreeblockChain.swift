/// The chain of freeblocks of a b-tree page (file format, section 1.6). A freeblock starts with the offset of the next
/// one and its own size, two bytes each. Freeblocks must be in ascending order of offset, so every walk along a chain
/// ends.
@usableFromInline package struct FreeblockChain {
  /// A freeblock with its size as stored. The caller must check that the size is at least 4 and that the block does not
  /// extend past the end of the page.
  @usableFromInline package struct Block {
    @usableFromInline package let offset: Int
    /// The size of the block in bytes, as stored.
    @usableFromInline package let size: Int

    @inlinable
    package init(offset: Int, size: Int) {
      self.offset = offset
      self.size = size
    }

    @inlinable package var end: Int { offset &+ size }
  }

  /// The offset of the next freeblock, as the page stores it; 0 at the end of the chain.
  @usableFromInline package private(set) var offset: Int
  /// The offset of the previous block; 0 before the first block.
  @usableFromInline package private(set) var last = 0
  @usableFromInline package let usableSize: Int

  /// Creates the chain of freeblocks of a b-tree page. `first` is the offset of the first freeblock, from bytes 1 and 2
  /// of the page header.
  @inlinable
  package init(first: Int, usableSize: Int) {
    offset = first
    self.usableSize = usableSize
  }

  /// Whether the chain is broken at ``offset``: the offset is not after the previous block, or is too near the end of
  /// the page. If so, ``next(_:)`` returns nil.
  @inlinable package var isBroken: Bool {
    offset != 0 && (isBackwards || offset &+ 4 > usableSize)
  }

  /// Whether the next freeblock, at ``offset``, starts at or before the start of the previous freeblock. False at the
  /// end of the chain.
  @inlinable package var isBackwards: Bool { offset != 0 && offset <= last }

  /// Returns the next block; nil at the end of the chain, or when the chain is broken.
  @inlinable
  package mutating func next(_ page: RawSpan) -> Block? {
    guard offset != 0, !isBroken else { return nil }
    let block = Block(offset: offset, size: Int(page.uint16(at: offset &+ 2)))
    last = offset
    offset = Int(page.uint16(at: offset))
    return block
  }

  /// Calls `body` with each freeblock of a b-tree page. Returns false if the chain of freeblocks is inconsistent;
  /// `body` may then have been called with the blocks before the fault.
  ///
  /// `first`: the offset of the first freeblock. `floor`: the lowest offset at which a freeblock may start.
  @inlinable @inline(__always)
  package static func walk(
    _ page: RawSpan, first: Int, floor: Int, usableSize: Int, _ body: (Block) -> Void
  ) -> Bool {
    var chain = FreeblockChain(first: first, usableSize: usableSize)
    var end = floor
    while let block = chain.next(page) {
      guard block.offset >= end, block.size >= 4, block.end <= usableSize else { return false }
      body(block)
      end = block.end
    }
    return !chain.isBroken
  }
}
