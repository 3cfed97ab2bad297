extension ContiguousArray<UInt8> {
  /// Returns the length, in bytes, of the varint of `value`. Precondition: the varint takes at most eight bytes. This
  /// is true of every number in a record header.
  @inline(__always)
  static func length(ofVarint value: UInt64) -> Int {
    value < 0x80 ? 1 : (70 - value.leadingZeroBitCount) / 7
  }

  /// Appends `value`, a number in a record header, as a varint (file format, section 1.6).
  @inline(__always)
  package mutating func append(varint value: UInt64) {
    if value >= 0x80 {
      var shift = UInt64(7 * (Self.length(ofVarint: value) - 1))
      while shift > 0 {
        append(0x80 | UInt8(truncatingIfNeeded: value >> shift) & 0x7f)
        shift -= 7
      }
    }
    append(UInt8(truncatingIfNeeded: value) & 0x7f)
  }

  /// Returns the length of a record header in bytes, which is the first number in the header. The length includes the
  /// varint of this number itself. `typeBytes`: the total length of the varints of all serial types, in bytes.
  @inline(__always)
  package static func headerLength(_ typeBytes: Int) -> Int {
    // No row has so many values that the varint of the header length takes more than three bytes.
    let length = typeBytes + (typeBytes + 1 >= 1 << 7 ? 2 : 1)
    return length >= 1 << 14 ? length + 1 : length
  }

  @inline(__always)
  mutating func append(_ bytes: RawSpan, _ range: Range<Int>) {
    unsafe bytes.extracting(range).withUnsafeBytes { unsafe append(contentsOf: $0) }
  }
}
