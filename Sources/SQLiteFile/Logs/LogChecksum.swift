/// The running checksum of a write-ahead log (file format, section 4.2 "Checksum Algorithm").
@usableFromInline package struct LogChecksum: Equatable {
  @usableFromInline package let isBigEndian: Bool
  package var first: UInt32 = 0
  package var second: UInt32 = 0

  /// Continues from stored sums; by default the checksum of no bytes.
  package init(isBigEndian: Bool, first: UInt32 = 0, second: UInt32 = 0) {
    self.isBigEndian = isBigEndian
    self.first = first
    self.second = second
  }

  /// The number that the checksum adds for a word that was loaded as big-endian.
  @inlinable @inline(__always)
  package func counted(_ word: UInt32) -> UInt32 { isBigEndian ? word : word.byteSwapped }

  /// Adds eight bytes at a time. A rest of fewer than eight bytes is ignored.
  package mutating func add(_ bytes: RawSpan) {
    var offset = 0
    let end = bytes.byteCount & ~7
    while offset < end {
      first = first &+ counted(bytes.uint32(at: offset)) &+ second
      second = second &+ counted(bytes.uint32(at: offset &+ 4)) &+ first
      offset &+= 8
    }
  }

  /// The length of `range` must be a multiple of eight.
  package mutating func add(_ bytes: [UInt8], _ range: Range<Int>) {
    unsafe bytes.withUnsafeBytes {
      add(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: $0[range])))
    }
  }

  /// Undoes the addition of the bytes that were added last, because each step of the sum can be undone.
  package mutating func remove(_ bytes: RawSpan) {
    var offset = (bytes.byteCount & ~7) - 8
    while offset >= 0 {
      second = second &- counted(bytes.uint32(at: offset &+ 4)) &- first
      first = first &- counted(bytes.uint32(at: offset)) &- second
      offset &-= 8
    }
  }
}
