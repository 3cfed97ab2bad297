/// UTF-8 as the Unicode standard has it (table 3-7, "Well-Formed UTF-8 Byte Sequences").
enum UTF8Scan {
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
