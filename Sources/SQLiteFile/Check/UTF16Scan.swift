/// UTF-16 as the Unicode standard has it: surrogates come in pairs.
enum UTF16Scan {
  /// Whether the bytes are well-formed.
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
}
