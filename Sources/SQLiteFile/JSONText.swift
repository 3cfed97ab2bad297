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
      if offset &+ 8 <= end {
        let word = bytes.word(at: offset)
        if Self.isPlain(word) {
          append(word: word, length: 8)
          offset &+= 8
          continue
        }
      }
      // Up to the next whole word byte by byte: a word that is not plain has a character that needs care.
      let stop = min(offset &+ 8, end)
      while offset < stop {
        let byte = bytes.byte(at: offset)
        if byte < 0x80 {
          appendEscaped(byte)
          offset &+= 1
        } else {
          let length = UTF8Scan.sequenceLength(bytes, at: offset)
          if length > 0 {
            var index = 0
            while index < length {
              append(bytes.byte(at: offset &+ index))
              index &+= 1
            }
            offset &+= length
          } else {
            append(word: 0x00bd_bfef, length: 3)
            isValid = false
            offset &+= 1
          }
        }
      }
    }
    append(UInt8(ascii: "\""))
    return isValid
  }

  /// Whether eight bytes are ASCII without control characters, quotes and backslashes.
  @inline(__always)
  private static func isPlain(_ word: UInt64) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let control = word &- ones &* 0x20
    let quote = word ^ ones &* 0x22
    let backslash = word ^ ones &* 0x5c
    // A byte's top bit comes up when it is below 0x20, equal to the character, or above 0x7f.
    let hits = control | (quote &- ones) | (backslash &- ones) | word
    return hits & tops == 0
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
