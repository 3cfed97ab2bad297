public import SQLiteFile

extension OutputBuffer {
  /// Appends text as a JSON string if the text is valid UTF-8. Otherwise appends nothing and returns false.
  package mutating func appendIfValid(jsonString bytes: RawSpan) -> Bool {
    guard let start = mark(for: bytes.byteCount &* 6 &+ 64) else {
      guard UTF8Scan.isValid(bytes) else { return false }
      return append(jsonString: bytes)
    }
    if append(jsonString: bytes) { return true }
    takeBack(to: start)
    return false
  }

  /// Appends text between quotes, escaped as JSON requires (RFC 8259, section 7).
  ///
  /// - Returns: false when the bytes are not valid UTF-8; U+FFFD replaces each invalid byte.
  @discardableResult
  package mutating func append(jsonString bytes: RawSpan) -> Bool {
    append(UInt8(ascii: "\""))
    var isValid = true
    // At the first non-ASCII byte, the rest of the text is validated, only once. If the rest is valid, it is copied
    // word by word as ASCII is.
    var passes: UInt64 = 0
    var isChecked = false
    var offset = 0
    let end = bytes.byteCount
    while offset < end {
      // A byte becomes at most six bytes, and a character may extend three bytes past the part.
      let part = min(end &- offset, 4096)
      var cursor = room(for: part &* 6 &+ 24)
      let stop = offset &+ part
      while offset < stop {
        while offset &+ 32 <= stop {
          let block = bytes.block(at: offset)
          let hits = Self.specialBytes(block, passes)
          let half = hits.lowHalf | hits.highHalf
          if half.x | half.y != 0 { break }
          put(block, at: cursor)
          cursor &+= 32
          offset &+= 32
        }
        if offset == stop { break }
        var special: UInt8
        if end >= 8 {
          // The last bytes are read as part of a whole word, and the bytes before them are shifted out; spaces fill the
          // rest of the word.
          let missing = max(0, 8 &- (end &- offset))
          var word = bytes.word(at: offset &- missing).littleEndian
          if missing > 0 {
            let shift = UInt64(truncatingIfNeeded: missing &* 8)
            word = word >> shift | Self.spaces << (64 &- shift)
          }
          let hits = Self.specialBytes(word, passes)
          let plain = hits == 0 ? 8 &- missing : hits.trailingZeroBitCount >> 3
          put(word, at: cursor)
          cursor &+= plain
          offset &+= plain
          if hits == 0 { continue }
          special = UInt8(truncatingIfNeeded: word >> UInt64(truncatingIfNeeded: plain &* 8))
        } else {
          special = bytes.byte(at: offset)
        }
        if special < 0x80 {
          let (text, length) = Self.escape(special)
          put(text, at: cursor)
          cursor &+= length
          offset &+= 1
          continue
        }
        if !isChecked {
          isChecked = true
          if UTF8Scan.isValid(bytes.part(offset, end &- offset)) {
            passes = Self.tops
            if end >= 8 { continue }
          }
        }
        let length = UTF8Scan.sequenceLength(bytes, at: offset)
        if length == 0 {
          put(0x00bd_bfef, at: cursor)
          cursor &+= 3
          offset &+= 1
          isValid = false
        }
        var index = 0
        while index < length {
          put(UInt64(bytes.byte(at: offset &+ index)), at: cursor &+ index)
          index &+= 1
        }
        cursor &+= length
        offset &+= length
      }
      advance(to: cursor)
    }
    append(UInt8(ascii: "\""))
    return isValid
  }

  /// Writes a part of `bytes` as a JSON string in quotes. The part has `length` bytes, from `start` on. The string is
  /// written at `position`. Returns the position after the string; nil when the part is not valid UTF-8.
  ///
  /// Six times `length` and 64 more bytes must be free at `position`. A text that is long or needs escapes requires 32
  /// further free bytes. If these are missing, the result is nil, too.
  @inlinable @inline(__always)
  package mutating func put(
    jsonString bytes: RawSpan, _ start: Int, _ length: Int, at position: Int
  ) -> Int? {
    // Most texts are short and need no escapes, so the text is put first and checked for escapes afterwards. It is put
    // in two parts of equal size, which may overlap; the second part ends where the text does.
    guard length <= 64, start &+ max(8, length) <= bytes.byteCount else {
      return put(anyString: bytes.part(start, length), at: position)
    }
    put(UInt64(UInt8(ascii: "\"")), at: position)
    let cursor = position &+ 1
    var hits: UInt64
    var all: UInt64
    if length >= 32 {
      let first = bytes.block(at: start)
      let last = bytes.block(at: start &+ length &- 32)
      put(first, at: cursor)
      put(last, at: cursor &+ length &- 32)
      let special = Self.specialBytes(first, Self.tops) | Self.specialBytes(last, Self.tops)
      let both = first | last
      hits = special.x | special.y | special.z | special.w
      all = both.x | both.y | both.z | both.w
    } else if length >= 8 {
      let step = length >= 16 ? 8 : 0
      let rest = length &- 8
      let words = SIMD4(
        bytes.word(at: start).littleEndian, bytes.word(at: start &+ step).littleEndian,
        bytes.word(at: start &+ rest &- step).littleEndian,
        bytes.word(at: start &+ rest).littleEndian)
      put(words.x, at: cursor)
      put(words.y, at: cursor &+ step)
      put(words.z, at: cursor &+ rest &- step)
      put(words.w, at: cursor &+ rest)
      let special = Self.specialBytes(words, Self.tops)
      hits = special.x | special.y | special.z | special.w
      all = words.x | words.y | words.z | words.w
    } else {
      let word = bytes.word(at: start).littleEndian
      put(word, at: cursor)
      // Bytes after the text do not count.
      let own = (1 &<< UInt64(truncatingIfNeeded: length &* 8)) &- 1
      hits = Self.specialBytes(word, Self.tops) & own
      all = word & own
    }
    guard hits == 0 else { return put(anyString: bytes.part(start, length), at: position) }
    if all & Self.tops != 0, !UTF8Scan.isValid(bytes.part(start, length)) { return nil }
    put(UInt64(UInt8(ascii: "\"")), at: cursor &+ length)
    return cursor &+ length &+ 1
  }

  @inline(never)
  @usableFromInline mutating func put(anyString bytes: RawSpan, at position: Int) -> Int? {
    guard bytes.byteCount &* 6 &+ 96 <= capacity &- position else { return nil }
    advance(to: position)
    return appendIfValid(jsonString: bytes) ? count : nil
  }

  private static let spaces: UInt64 = 0x2020_2020_2020_2020

  @inlinable static var tops: UInt64 { 0x8080_8080_8080_8080 }

  /// Returns a word in which a byte has its top bit set if that byte of `word` is a control character, a quote or a
  /// backslash. Other bytes than ASCII are marked too, unless `passes` has the top bit of each byte set. Only the
  /// lowest mark is certain: bytes after it may be marked by mistake.
  @inlinable @inline(__always)
  static func specialBytes(_ word: UInt64, _ passes: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    // The subtraction sets the top bit of a byte that is less than 0x21. With bit 1 flipped, a quote is 0x20, and bytes
    // below 0x20 stay below 0x20.
    let controlOrQuote = (word ^ ones &* 2) &- ones &* 0x21
    let backslash = (word ^ ones &* 0x5c) &- ones
    return ((controlOrQuote | backslash) & ~word | word & ~passes) & tops
  }

  /// Marks special bytes in the four words of `block`: sets the top bit of each control character, quote and backslash
  /// and, depending on `passes`, of each byte that is not ASCII. In each word, only the lowest mark is certain.
  @inlinable @inline(__always)
  static func specialBytes(_ block: SIMD4<UInt64>, _ passes: UInt64) -> SIMD4<UInt64> {
    let controlOrQuote = (block ^ 0x0202_0202_0202_0202) &- 0x2121_2121_2121_2121
    let backslash = (block ^ 0x5c5c_5c5c_5c5c_5c5c) &- 0x0101_0101_0101_0101
    return ((controlOrQuote | backslash) & ~block | block & ~SIMD4(repeating: passes)) & tops
  }

  /// Returns the JSON escape of an ASCII character, as a word with the first byte lowest, and the length of the escape
  /// in bytes. A character that needs no escape is returned unchanged.
  private static func escape(_ byte: UInt8) -> (text: UInt64, length: Int) {
    switch byte {
    case 0x22, 0x5c: return (UInt64(byte) << 8 | 0x5c, 2)
    case 0x20...: return (UInt64(byte), 1)
    case 0x0a: return (0x6e5c, 2)
    case 0x0d: return (0x725c, 2)
    case 0x09: return (0x745c, 2)
    default:
      // \u00 and two digits.
      let low = byte & 0xf
      let digits = UInt64(low < 10 ? low + 48 : low + 87) << 8 | (byte < 0x10 ? 0x30 : 0x31)
      return (digits << 32 | 0x3030_755c, 6)
    }
  }

  package mutating func append(jsonString string: String) {
    let bytes = ContiguousArray(string.utf8)
    append(jsonString: bytes.rawSpan)
  }

  /// Appends what precedes the values of a row as SQLite stores it: a comma after the row before, the template, and the
  /// row id.
  package mutating func append(startOf rowID: Int64?, as form: JSONForm, isFirst: inout Bool) {
    if form == .object {
      if !isFirst { append(word: 0x0a2c, length: 2) }
      isFirst = false
    }
    appendTemplate()
    if let rowID { append(integer: rowID) } else { append("null") }
    // `,"values":[` in two words.
    append(word: 0x7365_756c_6176_222c, length: 8)
    append(word: 0x5b3a_22, length: 3)
  }

  /// Appends bytes as a JSON object: `{"hex":"00ff"}`.
  package mutating func append(jsonBlob bytes: RawSpan) {
    append(word: 0x223a_2278_6568_227b, length: 8)
    append(hexadecimal: bytes)
    append(word: 0x7d22, length: 2)
  }
}
