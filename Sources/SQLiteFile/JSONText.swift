extension OutputBuffer {
  /// Appends text between quotes, escaped as JSON asks (RFC 8259, section 7).
  ///
  /// - Returns: false when the bytes are not valid UTF-8; U+FFFD stands for each byte that is not.
  @discardableResult
  package mutating func append(jsonString bytes: RawSpan) -> Bool {
    append(UInt8(ascii: "\""))
    var isValid = true
    var offset = 0
    let end = bytes.byteCount
    while offset < end {
      let left = end &- offset
      var special: UInt8
      if left >= 8 || end >= 8 {
        // The last bytes are read with those before them, shifted out; spaces fill the rest of the word.
        let missing = left >= 8 ? 0 : 8 &- left
        var word = bytes.word(at: offset &- missing).littleEndian
        if missing > 0 {
          let shift = UInt64(missing &* 8)
          word = word >> shift | Self.spaces << (64 &- shift)
        }
        let hits = Self.specialBytes(word)
        let plain = hits == 0 ? 8 &- missing : hits.trailingZeroBitCount >> 3
        append(word: word.littleEndian, length: plain)
        offset &+= plain
        if hits == 0 { continue }
        special = UInt8(truncatingIfNeeded: word >> UInt64(plain &* 8))
      } else {
        special = bytes.byte(at: offset)
      }
      if special < 0x80 {
        appendEscaped(special)
        offset &+= 1
        continue
      }
      let length = UTF8Scan.sequenceLength(bytes, at: offset)
      if length == 0 {
        append(word: 0x00bd_bfef, length: 3)
        isValid = false
        offset &+= 1
      }
      var index = 0
      while index < length {
        append(bytes.byte(at: offset &+ index))
        index &+= 1
      }
      offset &+= length
    }
    append(UInt8(ascii: "\""))
    return isValid
  }

  private static let spaces: UInt64 = 0x2020_2020_2020_2020

  /// The top bit of each byte that is a control character, a quote, a backslash or not ASCII. Behind the lowest
  /// such byte others may be marked too.
  @inline(__always)
  private static func specialBytes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    // Subtracting brings up the top bit of a byte below 0x20, or of one that the exclusive or made 0.
    let control = word &- ones &* 0x20
    let quote = (word ^ ones &* 0x22) &- ones
    let backslash = (word ^ ones &* 0x5c) &- ones
    return (control | quote | backslash | word) & tops
  }

  @inline(__always)
  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case 0x22, 0x5c:
      append(UInt8(ascii: "\\"))
      append(byte)
    case 0x20...: append(byte)
    case 0x0a: append(word: 0x6e5c, length: 2)
    case 0x0d: append(word: 0x725c, length: 2)
    case 0x09: append(word: 0x745c, length: 2)
    default:
      append("\\u00")
      append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
      let low = byte & 0xf
      append(low < 10 ? low + 48 : low + 87)
    }
  }

  /// Appends a string between quotes, escaped as JSON asks.
  package mutating func append(jsonString string: String) {
    let bytes = ContiguousArray(string.utf8)
    append(jsonString: bytes.rawSpan)
  }

  /// Appends a number with the fewest digits that read back as the same one. JSON has no infinity; 9e999 is
  /// read as one by every reader that has it.
  package mutating func append(jsonReal value: Double) {
    if value.isInfinite {
      append(value < 0 ? "-9e999" : "9e999")
    } else if value.isNaN {
      append("null")
    } else {
      append(value.description)
    }
  }
}
