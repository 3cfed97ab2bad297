/// The encoding of numbers on pages (file format, section 1.6).
enum PageBytes {
  /// Returns the number of bytes of a variable-length integer with this value, from 1 to 9.
  @inline(__always)
  static func varintLength(_ value: UInt64) -> Int {
    if value < 0x80 { return 1 }
    let bits = 64 - value.leadingZeroBitCount
    return bits > 56 ? 9 : (bits + 6) / 7
  }
}

extension ContiguousArray<UInt8> {
  /// Writes the header of a b-tree page whose cells and cell pointers have already been written. Fills the gap between
  /// cell pointers and cells with zeros, so that no bytes of an earlier page in the same memory remain.
  ///
  /// `length`: the length of the page header in bytes. `base`: the index at which the page begins.
  mutating func setHeader(
    _ kind: UInt8, of length: Int, cellCount: Int, cellStart: Int, at base: Int = 0
  ) {
    for index in base..<base + length { self[index] = 0 }
    self[base] = kind
    set(UInt16(cellCount), at: base + 3)
    // The offset 65,536 is stored as 0.
    set(UInt16(truncatingIfNeeded: cellStart), at: base + 5)
    for index in base + length + 2 * cellCount..<base + cellStart { self[index] = 0 }
  }

  mutating func append(bigEndian value: UInt32) {
    append(contentsOf: repeatElement(0, count: 4))
    set(value, at: count - 4)
  }

  mutating func set(_ value: UInt32, at place: Int) {
    set(UInt16(value >> 16), at: place)
    set(UInt16(truncatingIfNeeded: value), at: place + 2)
  }

  @inlinable @inline(__always)
  package mutating func set(_ value: UInt16, at place: Int) {
    self[place] = UInt8(truncatingIfNeeded: value >> 8)
    self[place + 1] = UInt8(truncatingIfNeeded: value)
  }

  /// Returns the eight bytes from index `place` on, as a big-endian number.
  @inlinable @inline(__always)
  package func word(at place: Int) -> UInt64 {
    precondition(place >= 0 && place <= count - 8)
    return unsafe withUnsafeBytes {
      UInt64(bigEndian: unsafe $0.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }
  }

  @inlinable @inline(__always)
  package mutating func set(_ value: UInt64, at place: Int) {
    precondition(place >= 0 && place <= count - 8)
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.bigEndian, toByteOffset: place, as: UInt64.self)
    }
  }

  @inline(__always)
  mutating func copy(
    _ other: borrowing ContiguousArray<UInt8>, _ range: Range<Int>, to place: Int
  ) {
    unsafe withUnsafeMutableBytes { bytes in
      unsafe other.withUnsafeBytes { other in
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[place..<place + range.count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: other[range]))
      }
    }
  }

  mutating func append(varint value: UInt64) {
    var place = count
    append(contentsOf: repeatElement(0, count: PageBytes.varintLength(value)))
    set(varint: value, at: &place)
  }

  /// Reads the variable-length integer at index `place`, and sets `place` to the index after the integer. The integer
  /// must be complete.
  func varint(at place: inout Int) -> UInt64 {
    var value: UInt64 = 0
    for _ in 0..<8 {
      let byte = self[place]
      place += 1
      value = value << 7 | UInt64(byte & 0x7f)
      if byte < 0x80 { return value }
    }
    // The ninth byte has eight bits.
    value = value << 8 | UInt64(self[place])
    place += 1
    return value
  }

  /// Writes a variable-length integer over the bytes from index `place` on, and sets `place` to the index after the
  /// integer (file format, section 1.6).
  @inline(__always)
  mutating func set(varint value: UInt64, at place: inout Int) {
    if value < 0x80 {
      self[place] = UInt8(value)
      place += 1
      return
    }
    let length = PageBytes.varintLength(value)
    var rest = value
    var index = length - 1
    if length == 9 {
      self[place + 8] = UInt8(truncatingIfNeeded: rest)
      rest >>= 8
      index = 7
    }
    while index >= 0 {
      self[place + index] =
        UInt8(truncatingIfNeeded: rest) & 0x7f | (index == length - 1 ? 0 : 0x80)
      rest >>= 7
      index -= 1
    }
    place += length
  }
}
