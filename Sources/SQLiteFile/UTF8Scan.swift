/// UTF-8 as the Unicode standard has it (table 3-7, "Well-Formed UTF-8 Byte Sequences").
enum UTF8Scan {
  /// Whether all bytes are well-formed.
  static func isValid(_ bytes: RawSpan) -> Bool {
    let end = bytes.byteCount
    var offset = 0
    // Words look three bytes back, so the first characters are taken one by one.
    if end >= 24 {
      while offset < 3 {
        guard let length = characterLength(bytes, at: offset) else { return false }
        offset &+= length
      }
      while offset &+ 32 <= end {
        guard isValidBlock(bytes, at: offset) else { return false }
        offset &+= 32
      }
      while offset &+ 8 <= end {
        guard isValidWord(bytes, at: offset) else { return false }
        offset &+= 8
      }
      // A character that the last word has only begun is judged from its start.
      var back = 0
      while back < 3, bytes.byte(at: offset &- 1) & 0xc0 == 0x80 {
        offset &-= 1
        back &+= 1
      }
      if bytes.byte(at: offset &- 1) >= 0xc0 {
        offset &-= 1
      } else {
        offset &+= back
      }
    }
    while offset < end {
      // Fewer than eight bytes left: those before them were looked at, and may be once more.
      if offset &+ 8 > end, end >= 8, bytes.word(at: end &- 8) & 0x8080_8080_8080_8080 == 0 {
        return true
      }
      if offset &+ 8 <= end, bytes.word(at: offset) & 0x8080_8080_8080_8080 == 0 {
        offset &+= 8
        continue
      }
      guard let length = characterLength(bytes, at: offset) else { return false }
      offset &+= length
    }
    return true
  }

  @inline(__always)
  private static func characterLength(_ bytes: RawSpan, at offset: Int) -> Int? {
    if bytes.byte(at: offset) < 0x80 { return 1 }
    let length = sequenceLength(bytes, at: offset)
    return length == 0 ? nil : length
  }

  /// The same for 32 bytes at once; see ``isValidWord(_:at:)``, which also looks at the rarer leads.
  @inline(__always)
  private static func isValidBlock(_ bytes: RawSpan, at offset: Int) -> Bool {
    let tops = SIMD4<UInt64>(repeating: 0x8080_8080_8080_8080)
    let block = bytes.block(at: offset)
    let three = bytes.block(at: offset &- 3)
    if isZero((block | three) & tops) { return true }
    let one = bytes.block(at: offset &- 1)
    let two = bytes.block(at: offset &- 2)
    let isTrail = block & ~(block &<< 1)
    let leads = one & one &<< 1
    let far = three & three &<< 1 & three &<< 2 & three &<< 3
    let wanted = leads | (two & two &<< 1 & two &<< 2) | far
    if !isZero((isTrail ^ wanted) & tops) { return false }
    let low = one &<< 4 | one &<< 5 | one &<< 6
    let isShort = ~(one &<< 2) & ~(one &<< 3 | low)
    let isLong = one &<< 2 & ~(one &<< 3)
    let isE0 = ~(low | one &<< 7)
    let isED = one &<< 4 & one &<< 5 & ~(one &<< 6) & one &<< 7
    let special = leads & tops & (isShort | isLong & (isE0 | isED) | one &<< 2 & one &<< 3)
    if isZero(special) { return true }
    return isValidWord(bytes, at: offset) && isValidWord(bytes, at: offset &+ 8)
      && isValidWord(bytes, at: offset &+ 16) && isValidWord(bytes, at: offset &+ 24)
  }

  @inline(__always)
  private static func isZero(_ block: SIMD4<UInt64>) -> Bool {
    let half = block.lowHalf | block.highHalf
    return half.x | half.y == 0
  }

  /// Whether eight bytes go on well from the three before them. What a byte must be follows from those three: a trail
  /// byte exactly where one of them calls for it. In each word of eight lanes only the top bit of a lane counts, and a
  /// shift brings a lower bit of the same lane there.
  @inline(__always)
  private static func isValidWord(_ bytes: RawSpan, at offset: Int) -> Bool {
    let tops: UInt64 = 0x8080_8080_8080_8080
    let word = bytes.word(at: offset)
    let three = bytes.word(at: offset &- 3)
    if (word | three) & tops == 0 { return true }
    let one = bytes.word(at: offset &- 1)
    let two = bytes.word(at: offset &- 2)
    let isTrail = word & ~(word << 1)
    let leads = one & one << 1
    let far = three & three << 1 & three << 2 & three << 3
    let wanted = leads | (two & two << 1 & two << 2) | far
    if (isTrail ^ wanted) & tops != 0 { return false }
    // Leads after which not every trail byte will do: C0, C1, E0, ED, F0 and above.
    let low = one << 4 | one << 5 | one << 6
    let isShort = ~(one << 2) & ~(one << 3 | low)
    let isLong = one << 2 & ~(one << 3)
    let isE0 = ~(low | one << 7)
    let isED = one << 4 & one << 5 & ~(one << 6) & one << 7
    var special = leads & tops & (isShort | isLong & (isE0 | isED) | one << 2 & one << 3)
    while special != 0 {
      let lane = special.trailingZeroBitCount >> 3
      special &= special &- 1
      let second = bytes.byte(at: offset &+ lane)
      switch bytes.byte(at: offset &+ lane &- 1) {
      case 0xe0: if second < 0xa0 { return false }
      case 0xed: if second > 0x9f { return false }
      case 0xf0: if second < 0x90 { return false }
      case 0xf1...0xf3: break
      case 0xf4: if second > 0x8f { return false }
      default: return false
      }
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
