/// The numbers in a record header that give the type and length of each value (file format, section 2.1).
@usableFromInline package enum SerialType {
  /// Returns the serial type under which SQLite stores an integer, and the number of bytes that the value takes (0 for
  /// the integers 0 and 1).
  @inlinable @inline(__always)
  package static func shortest(for integer: Int64) -> (type: UInt8, byteCount: Int) {
    if integer == 0 || integer == 1 { return (8 + UInt8(truncatingIfNeeded: integer), 0) }
    // The number of significant bits, without the sign bit.
    let bits = 64 - (integer < 0 ? ~integer : integer).leadingZeroBitCount
    if bits < 32 { return (UInt8(truncatingIfNeeded: bits / 8 + 1), bits / 8 + 1) }
    return bits < 48 ? (5, 6) : (6, 8)
  }
}
