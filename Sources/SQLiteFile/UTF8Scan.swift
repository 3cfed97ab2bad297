/// UTF-8 as the Unicode standard has it (table 3-7, "Well-Formed UTF-8 Byte Sequences").
enum UTF8Scan {
  /// Whether all bytes are well-formed.
  @inline(__always)
  static func isValid(_ bytes: RawSpan) -> Bool {
    let end = bytes.byteCount
    var offset = 0
    while offset &+ 8 <= end {
      let high = bytes.word(at: offset).littleEndian & 0x8080_8080_8080_8080
      if high == 0 {
        offset &+= 8
        continue
      }
      // The place of the first byte that is not ASCII.
      offset &+= high.trailingZeroBitCount >> 3
      guard offset &+ 4 <= end else { break }
      // The four bytes from here on, the first one on top: the common forms of two and three bytes in one look.
      repeat {
        let word = bytes.uint32(at: offset)
        if word & 0xe0c0_0000 == 0xc080_0000, word >= 0xc200_0000 {
          offset &+= 2
        } else if word & 0xf0c0_c000 == 0xe080_8000, word >= 0xe0a0_0000,
          word & 0xffe0_0000 != 0xeda0_0000
        {
          offset &+= 3
        } else if word >= 0x8000_0000 {
          let length = sequenceLength(bytes, at: offset)
          if length == 0 { return false }
          offset &+= length
        } else {
          break
        }
      } while offset &+ 4 <= end
    }
    while offset < end {
      if bytes.byte(at: offset) < 0x80 {
        offset &+= 1
        continue
      }
      let length = sequenceLength(bytes, at: offset)
      if length == 0 { return false }
      offset &+= length
    }
    return true
  }

  /// The length of the well-formed sequence at `offset`, 2 to 4 bytes, or 0 when there is none. For bytes of
  /// 0x80 and above.
  static func sequenceLength(_ bytes: RawSpan, at offset: Int) -> Int {
    let left = bytes.byteCount &- offset
    let first = bytes.byte(at: offset)
    func isTrail(_ index: Int) -> Bool { bytes.byte(at: offset &+ index) & 0xc0 == 0x80 }
    switch first {
    case 0xc2...0xdf:
      return left >= 2 && isTrail(1) ? 2 : 0
    case 0xe0...0xef:
      guard left >= 3, isTrail(1), isTrail(2) else { return 0 }
      let second = bytes.byte(at: offset &+ 1)
      if first == 0xe0, second < 0xa0 { return 0 }
      if first == 0xed, second > 0x9f { return 0 }
      return 3
    case 0xf0...0xf4:
      guard left >= 4, isTrail(1), isTrail(2), isTrail(3) else { return 0 }
      let second = bytes.byte(at: offset &+ 1)
      if first == 0xf0, second < 0x90 { return 0 }
      if first == 0xf4, second > 0x8f { return 0 }
      return 4
    default:
      return 0
    }
  }
}
