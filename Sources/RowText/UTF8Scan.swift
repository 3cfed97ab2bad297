public import SQLiteFile

/// Checks whether bytes are UTF-8 as the Unicode standard defines it (table 3-7, "Well-Formed UTF-8 Byte Sequences").
@usableFromInline package enum UTF8Scan {
  @inlinable static var tops: UInt64 { 0x8080_8080_8080_8080 }

  @usableFromInline package static func isValid(_ bytes: RawSpan) -> Bool {
    let end = bytes.byteCount
    guard end >= 35 else { return isValidShort(bytes) }
    // Each block is checked together with the three bytes before it, so the first characters are checked one by one.
    var offset = 0
    while offset < 3 {
      guard let length = characterLength(bytes, at: offset) else { return false }
      offset &+= length
    }
    // Bytes after the last whole block are checked in one more block that ends at the end of the text. That block may
    // overlap bytes that are already checked.
    while offset &+ 32 <= end {
      guard isValidBlock(bytes, at: offset) else { return false }
      offset &+= 32
    }
    if offset < end, !isValidBlock(bytes, at: end &- 32) { return false }
    // The text must not end within a character.
    return bytes.byte(at: end &- 1) < 0xc0 && bytes.byte(at: end &- 2) < 0xe0
      && bytes.byte(at: end &- 3) < 0xf0
  }

  /// A quick test for short texts: true means that `count` bytes from `start` on are ASCII. False means that they are
  /// not or were not tested. More than 64 bytes, and some texts of fewer than eight bytes at the end of `bytes`, are
  /// not tested.
  @inlinable @inline(__always)
  package static func isASCII(_ bytes: RawSpan, _ start: Int, _ count: Int) -> Bool {
    if count >= 8 {
      guard count <= 64 else { return false }
      let last = start &+ count &- 8
      var all = bytes.word(at: last)
      var offset = start
      while offset < last {
        all |= bytes.word(at: offset)
        offset &+= 8
      }
      return all & tops == 0
    }
    if count == 0 { return true }
    guard start &+ 8 <= bytes.byteCount else { return false }
    return bytes.uint64(at: start) >> UInt64(64 &- 8 &* count) & tops == 0
  }

  /// Whether a text of fewer than 35 bytes is well-formed UTF-8, checked word by word.
  private static func isValidShort(_ bytes: RawSpan) -> Bool {
    let end = bytes.byteCount
    var before: UInt64 = 0
    var offset = 0
    while offset < end {
      var word: UInt64 = 0
      if offset &+ 8 <= end {
        word = bytes.word(at: offset).littleEndian
      } else if end >= 8 {
        // The last bytes are read as part of a whole word, and the bytes before them are shifted out; the text must not
        // end within a character.
        word =
          bytes.word(at: end &- 8).littleEndian
          >> UInt64(truncatingIfNeeded: (offset &+ 8 &- end) &* 8)
      } else {
        for place in 0..<end { word |= UInt64(bytes.byte(at: place)) << UInt64(place &* 8) }
      }
      if (word | before) & tops != 0, !isValidWord(word, behind: before, bytes, at: offset) {
        return false
      }
      before = word
      offset &+= 8
    }
    return before & tops == 0 || isValidWord(0, behind: before, bytes, at: offset)
  }

  @inlinable @inline(__always)
  static func characterLength(_ bytes: RawSpan, at offset: Int) -> Int? {
    if bytes.byte(at: offset) < 0x80 { return 1 }
    let length = sequenceLength(bytes, at: offset)
    return length == 0 ? nil : length
  }

  @inlinable @inline(__always)
  static func isValidWord(_ bytes: RawSpan, at offset: Int) -> Bool {
    let before = bytes.word(at: offset &- 3).littleEndian << 40
    return isValidWord(bytes.word(at: offset).littleEndian, behind: before, bytes, at: offset)
  }

  /// Whether the eight bytes of `word` are valid UTF-8 when the eight bytes of `before` precede them. The lowest byte
  /// of a word is its first byte in the text.
  ///
  /// A byte must be a trail byte if a lead byte among the three bytes before it requires this, and must not be one
  /// otherwise. All bytes are tested at once, each in its top bit.
  @inlinable @inline(__always)
  static func isValidWord(
    _ word: UInt64, behind before: UInt64, _ bytes: RawSpan, at offset: Int
  ) -> Bool {
    let one = word << 8 | before >> 56
    let two = word << 16 | before >> 48
    let three = word << 24 | before >> 40
    let isTrail = word & ~(word << 1)
    let leads = one & one << 1
    let far = three & three << 1 & three << 2 & three << 3
    let wanted = leads | (two & two << 1 & two << 2) | far
    if (isTrail ^ wanted) & tops != 0 { return false }
    // Lead bytes that do not allow every trail byte: C0, C1, E0, ED, F0 and above.
    let low = one << 4 | one << 5 | one << 6
    let isShort = ~(one << 2) & ~(one << 3 | low)
    let isLong = one << 2 & ~(one << 3)
    let isE0 = ~(low | one << 7)
    let isED = one << 4 & one << 5 & ~(one << 6) & one << 7
    let special = leads & (isShort | isLong & (isE0 | isED) | one << 2 & one << 3) & tops
    return special == 0 || areSecondsValid(bytes, special, at: offset)
  }

  /// Whether the 32 bytes at `offset` are valid UTF-8 as a continuation of the three bytes before them.
  @inlinable @inline(__always)
  static func isValidBlock(_ bytes: RawSpan, at offset: Int) -> Bool {
    let block = bytes.block(at: offset)
    let three = bytes.block(at: offset &- 3)
    if hasNoTop(block | three) { return true }
    let one = bytes.block(at: offset &- 1)
    let two = bytes.block(at: offset &- 2)
    let sevens: UInt64 = 0x7f7f_7f7f_7f7f_7f7f
    let leads = one & (one &+ one)
    // From 0xe0 and from 0xf0 on.
    let wanted =
      leads | two & ((two & sevens) &+ 0x2020_2020_2020_2020)
      | three & ((three & sevens) &+ 0x1010_1010_1010_1010)
    let twice = block &+ block
    let wrong = (block & ~twice) ^ wanted
    // The low six bits distinguish the lead bytes. The top bit of each sum is set unless these bits are those of C0 or
    // C1, of E0, of ED, or of F0. After F0, bit 4 or 5 of the second byte must be set.
    let low = one & 0x3f3f_3f3f_3f3f_3f3f
    let notC = (low & 0x3e3e_3e3e_3e3e_3e3e) &+ 0x7e7e_7e7e_7e7e_7e7e
    let notE0 = (low ^ 0x2020_2020_2020_2020) &+ sevens
    let notED = (low ^ 0x2d2d_2d2d_2d2d_2d2d) &+ sevens
    let four = twice &+ twice
    let notF0 = (low ^ 0x3030_3030_3030_3030) &+ sevens | four | (four &+ four)
    let isMore = low &+ 0x4f4f_4f4f_4f4f_4f4f
    let special = leads & ~(notC & notE0 & notED & notF0 & ~isMore)
    return hasNoTop(wrong | special) || areValidWords(bytes, at: offset)
  }

  /// Whether the four words at `offset` continue UTF-8 correctly after the bytes before them. If this function were
  /// inlined into ``isValidBlock(_:at:)``, the compiler would split the lanes of that function.
  @inline(never)
  @usableFromInline static func areValidWords(_ bytes: RawSpan, at offset: Int) -> Bool {
    isValidWord(bytes, at: offset) && isValidWord(bytes, at: offset &+ 8)
      && isValidWord(bytes, at: offset &+ 16) && isValidWord(bytes, at: offset &+ 24)
  }

  @inlinable @inline(__always)
  static func hasNoTop(_ block: SIMD4<UInt64>) -> Bool {
    let half = block.lowHalf | block.highHalf
    return (half.x | half.y) & tops == 0
  }

  /// Whether each marked byte is allowed as the second byte of a UTF-8 sequence. The lead byte before a marked byte
  /// decides this. `marked` stands for the eight bytes at `offset`: a byte is marked if its top bit is set in `marked`.
  @usableFromInline static func areSecondsValid(_ bytes: RawSpan, _ marked: UInt64, at offset: Int)
    -> Bool
  {
    var marked = marked
    while marked != 0 {
      let lane = marked.trailingZeroBitCount >> 3
      marked &= ~(0x80 << UInt64(lane &* 8))
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

  /// Returns the length of the well-formed sequence at `offset` in bytes, 2 to 4; 0 when there is no such sequence. The
  /// byte at `offset` must be 0x80 or above.
  @usableFromInline package static func sequenceLength(_ bytes: RawSpan, at offset: Int) -> Int {
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
