import SQLiteFile

enum UTF16Scan {
  /// Whether the bytes are well-formed UTF-16: their number is even, and surrogates occur only in pairs, the high
  /// surrogate first.
  static func isValid(_ bytes: RawSpan, isBigEndian: Bool) -> Bool {
    let end = bytes.byteCount
    guard end & 1 == 0 else { return false }
    var offset = 0
    var wantsLow = false
    while offset < end {
      let stored = bytes.uint16(at: offset)
      let unit = isBigEndian ? stored : stored.byteSwapped
      let isLow = unit & 0xfc00 == 0xdc00
      if isLow != wantsLow { return false }
      wantsLow = unit & 0xfc00 == 0xd800
      offset &+= 2
    }
    return !wantsLow
  }

  /// Converts UTF-16 to UTF-8 as SQLite does (`READ_UTF16LE`, utf.c). A surrogate always forms a pair with the next
  /// code unit, even if that code unit is not a low surrogate.
  static func appendUTF8(
    of bytes: RawSpan, isBigEndian: Bool, to output: inout ContiguousArray<UInt8>
  ) {
    var offset = 0
    func unit() -> UInt32 {
      let stored = bytes.uint16(at: offset)
      return UInt32(isBigEndian ? stored : stored.byteSwapped)
    }
    while offset &+ 2 <= bytes.byteCount {
      var scalar = unit()
      offset &+= 2
      if scalar >= 0xd800, scalar < 0xe000, offset &+ 2 <= bytes.byteCount {
        let low = unit()
        offset &+= 2
        scalar = (low & 0x3ff) + ((scalar & 0x3f) << 10) + (((scalar & 0x3c0) + 0x40) << 10)
      }
      output.append(scalar: scalar)
    }
  }
}
