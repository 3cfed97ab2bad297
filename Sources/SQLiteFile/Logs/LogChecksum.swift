/// The running checksum of a write-ahead log (file format, section 4.2 "Checksum Algorithm").
@usableFromInline package struct LogChecksum: Equatable {
  @usableFromInline package let isBigEndian: Bool
  package var first: UInt32 = 0
  package var second: UInt32 = 0

  /// Creates a checksum that continues from stored sums, or by default the checksum of no bytes.
  package init(isBigEndian: Bool, first: UInt32 = 0, second: UInt32 = 0) {
    self.isBigEndian = isBigEndian
    self.first = first
    self.second = second
  }

  /// Returns `word` in the byte order of the checksum. `word` must have been loaded as big-endian.
  @inlinable @inline(__always)
  package func counted(_ word: UInt32) -> UInt32 { isBigEndian ? word : word.byteSwapped }

  /// Adds bytes to the checksum, eight at a time. If fewer than eight bytes remain at the end, they are ignored.
  package mutating func add(_ bytes: RawSpan) {
    var offset = 0
    let end = bytes.byteCount & ~7
    while offset < end {
      first = first &+ counted(bytes.uint32(at: offset)) &+ second
      second = second &+ counted(bytes.uint32(at: offset &+ 4)) &+ first
      offset &+= 8
    }
  }

  /// Adds the bytes in `range` to the checksum. The length of the range must be a multiple of eight.
  package mutating func add(_ bytes: [UInt8], _ range: Range<Int>) {
    unsafe bytes.withUnsafeBytes {
      add(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: $0[range])))
    }
  }

  /// Undoes ``add(_:)`` for `bytes`, which must be the bytes that were added last.
  package mutating func remove(_ bytes: RawSpan) {
    var offset = (bytes.byteCount & ~7) - 8
    while offset >= 0 {
      second = second &- counted(bytes.uint32(at: offset &+ 4)) &- first
      first = first &- counted(bytes.uint32(at: offset)) &- second
      offset &-= 8
    }
  }
}
