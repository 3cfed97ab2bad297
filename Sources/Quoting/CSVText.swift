/// Predicts how programs that import CSV read the text of a field.
package enum CSVText {
  /// Whether the byte is a semicolon, a tab or a line end. A program that does not separate fields by commas may end a
  /// field at such a byte.
  package static func isOtherSeparator(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ";") || byte == 0x09 || byte == 0x0a || byte == 0x0d
  }

  /// Whether a spreadsheet would take text for a formula (OWASP, "CSV injection"). A formula begins with =, +, - or @,
  /// or with a fullwidth form of these signs or the minus sign U+2212. Invisible characters before the sign are
  /// skipped: spaces, control characters, combining marks, and bytes that are not UTF-8. The text after each semicolon,
  /// tab or line end is judged like a text of its own. A tab or a line end at the start of the text makes a formula by
  /// itself.
  ///
  /// `count`: the number of bytes. `byte`: returns the byte at an index below `count`. `separator`: returns the index
  /// of the next byte to examine, at or after the given index. It may skip all bytes except semicolons, tabs and line
  /// ends.
  package static func isFormula(
    count: Int, byte: (Int) -> UInt8, separator: (Int) -> Int = { $0 }
  ) -> Bool {
    // `isStart`: in the current part, all bytes before `place` were skipped. `isFirst`: the current part is the first
    // one.
    var isStart = true
    var isFirst = true
    var place = 0
    while place < count {
      let value = byte(place)
      if isOtherSeparator(value) {
        if isFirst, isStart, value != UInt8(ascii: ";") { return true }
        isStart = true
        isFirst = false
        place += 1
      } else if !isStart {
        place = separator(place + 1)
      } else if value < 0x80 {
        if isSign(UInt32(value)) { return true }
        // A quote after a separator may open a quoted field, so the sign may follow the quote.
        isStart = value <= 0x20 || value == 0x7f || (value == 0x22 && !isFirst)
        place += 1
      } else {
        let next = scalar(at: place, count: count, byte: byte)
        if let scalar = next.scalar {
          if isSign(scalar.value) { return true }
          isStart = isPassedOver(scalar)
        }
        place += next.length
      }
    }
    return false
  }

  private static func isSign(_ scalar: UInt32) -> Bool {
    switch scalar {
    // The signs =, +, - and @; their fullwidth forms; the minus sign.
    case 0x3d, 0x2b, 0x2d, 0x40, 0xff1d, 0xff0b, 0xff0d, 0xff20, 0x2212: true
    default: false
    }
  }

  private static func isPassedOver(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format, .nonspacingMark,
      .spacingMark, .enclosingMark:
      true
    default: false
    }
  }

  /// Returns the scalar that starts with the non-ASCII byte at `place`, and its length in bytes. If the bytes are not
  /// UTF-8, the scalar is nil and the length is 1.
  private static func scalar(at place: Int, count: Int, byte: (Int) -> UInt8) -> (
    scalar: Unicode.Scalar?, length: Int
  ) {
    let first = UInt32(byte(place))
    let length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
    guard first >= 0xc2, first < 0xf5, length <= count - place else { return (nil, 1) }
    var value: UInt32 = first & (UInt32(0xff) >> UInt32(length + 1))
    for offset in 1..<length {
      let next = UInt32(byte(place + offset))
      guard next & 0xc0 == 0x80 else { return (nil, 1) }
      value = (value << 6) | (next & 0x3f)
    }
    guard let scalar = Unicode.Scalar(value) else { return (nil, 1) }
    return (scalar, length)
  }
}
