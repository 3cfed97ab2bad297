/// A variable-length integer of the file format (section 1.6 "B-tree Pages"). It has one to nine bytes and is
/// big-endian. Each byte contributes seven bits, except the ninth, which contributes eight.
@usableFromInline package struct Varint {
  @usableFromInline package let value: UInt64
  /// The number of bytes of the encoded integer, from 1 to 9.
  @usableFromInline package let length: Int

  @inlinable @inline(__always)
  init(value: UInt64, length: Int) {
    self.value = value
    self.length = length
  }

  /// Reads the integer at `offset`. Returns nil when the integer extends past the offset `end`.
  @inlinable @inline(__always)
  package static func read(_ bytes: RawSpan, at offset: Int, end: Int) -> Varint? {
    guard offset < end else { return nil }
    let first = bytes.byte(at: offset)
    if first < 0x80 { return Varint(value: UInt64(first), length: 1) }
    return readLong(bytes, at: offset, end: end)
  }

  @inline(never)
  @usableFromInline static func readLong(_ bytes: RawSpan, at offset: Int, end: Int) -> Varint? {
    var value: UInt64 = 0
    var index = 0
    while index < 9 {
      guard offset &+ index < end else { return nil }
      let byte = bytes.byte(at: offset &+ index)
      index &+= 1
      if index == 9 { return Varint(value: value << 8 | UInt64(byte), length: 9) }
      value = value << 7 | UInt64(byte & 0x7f)
      if byte < 0x80 { break }
    }
    return Varint(value: value, length: index)
  }
}
