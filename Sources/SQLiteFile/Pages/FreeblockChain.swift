/// The freeblocks of a b-tree page (file format, section 1.6). The first two bytes of a freeblock give the offset of
/// the next one, the following two its own size. Freeblocks are in ascending order of offset, so every chain ends.
@usableFromInline package struct FreeblockChain {
  /// A freeblock. Its size is as stored; the caller checks for a size that is less than 4 or reaches past the page's
  /// end.
  @usableFromInline package struct Block {
    /// Offset of the block in the page.
    @usableFromInline package let offset: Int
    /// Size in bytes, as stored.
    @usableFromInline package let size: Int

    @inlinable
    package init(offset: Int, size: Int) {
      self.offset = offset
      self.size = size
    }

    /// Offset of the first byte after the block.
    @inlinable package var end: Int { offset &+ size }
  }

  /// The offset stored for the next block; 0 at the chain's end.
  @usableFromInline package private(set) var offset: Int
  /// Offset of the previous block; 0 before the first one.
  @usableFromInline package private(set) var last = 0
  @usableFromInline package let usableSize: Int

  /// The chain that starts at the header's field "start of the first freeblock" (bytes 1 and 2).
  @inlinable
  package init(first: Int, usableSize: Int) {
    offset = first
    self.usableSize = usableSize
  }

  /// Whether the chain leads backwards, or to an offset where no block can be. ``next(_:)`` returns nil there.
  @inlinable package var isBroken: Bool {
    offset != 0 && (isBackwards || offset &+ 4 > usableSize)
  }

  /// Whether the chain leads to an offset that is not after the previous block.
  @inlinable package var isBackwards: Bool { offset != 0 && offset <= last }

  /// The next block; nil at the end, or when the chain is broken.
  @inlinable
  package mutating func next(_ page: RawSpan) -> Block? {
    guard offset != 0, !isBroken else { return nil }
    let block = Block(offset: offset, size: Int(page.uint16(at: offset &+ 2)))
    last = offset
    offset = Int(page.uint16(at: offset))
    return block
  }

  /// Calls `body` with the blocks of a consistent chain. Returns false for an inconsistent chain, possibly after some
  /// of its blocks.
  ///
  /// `floor`: the lowest offset at which a block may start.
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
