/// Big-endian loads. They are the only unsafe reads of this target.
///
/// `RawSpan` traps when an offset is outside its bounds, so these functions cannot read other memory. The caller must
/// check offsets first, because a damaged file must not cause a trap.
extension RawSpan {
  @inlinable @inline(__always)
  package func byte(at offset: Int) -> UInt8 {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt8.self)
  }

  @inlinable @inline(__always)
  package func uint16(at offset: Int) -> UInt16 {
    unsafe UInt16(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inlinable @inline(__always)
  package func uint32(at offset: Int) -> UInt32 {
    unsafe UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inlinable @inline(__always)
  package func uint64(at offset: Int) -> UInt64 {
    unsafe UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Returns the eight bytes at `offset` in memory order, so that all of them can be tested at once.
  @inlinable @inline(__always)
  package func word(at offset: Int) -> UInt64 {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// Returns 32 bytes in memory order.
  @inlinable @inline(__always)
  package func block(at offset: Int) -> SIMD4<UInt64> {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD4<UInt64>.self)
  }

  /// Returns the 16 bytes at an offset, each followed by a zero byte, in four lanes of eight bytes. The first byte is
  /// the lowest byte of its lane.
  @inlinable @inline(__always)
  package func spread(at offset: Int) -> SIMD4<UInt64> {
    var spread = SIMD32<UInt8>()
    spread.evenHalf = unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self)
    let lanes = unsafe unsafeBitCast(spread, to: SIMD4<UInt64>.self)
    return SIMD4(
      UInt64(littleEndian: lanes.x), UInt64(littleEndian: lanes.y),
      UInt64(littleEndian: lanes.z), UInt64(littleEndian: lanes.w))
  }

  /// Returns a part of the span. The caller must have checked that the part is within the span.
  @inlinable @inline(__always)
  @_lifetime(copy self)
  package func part(_ offset: Int, _ count: Int) -> RawSpan {
    extracting(offset..<(offset &+ count))
  }

  /// Returns the bytes as an array, for values that must outlive the span.
  package func array() -> [UInt8] {
    unsafe withUnsafeBytes { unsafe [UInt8]($0) }
  }
}

extension ContiguousArray<UInt8> {
  /// The elements of the array as a span. `ContiguousArray.span` needs a newer system than the oldest supported one.
  @usableFromInline package var rawSpan: RawSpan {
    @_lifetime(borrow self)
    get { unsafe span.bytes }
  }
}
