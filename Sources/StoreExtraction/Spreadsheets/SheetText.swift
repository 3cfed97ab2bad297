import RowText
import SQLiteFile

/// Text in the form that the cells of a spreadsheet require (ECMA-376, part 1, 22.9.2.19, ST_Xstring).
enum SheetText {
  /// The maximum length of a cell's text in UTF-16 units.
  static let maxUnits = 32_767
  /// The maximum length of a cell's text as XML, in bytes: seven bytes for each UTF-16 unit; see
  /// ``RowText/OutputBuffer/append(cellText:)``.
  static let maxBytes = 7 * maxUnits

  static func fits(_ bytes: RawSpan) -> Bool {
    // A UTF-16 unit takes one to three bytes of UTF-8.
    if bytes.byteCount <= maxUnits { return true }
    if bytes.byteCount > 3 * maxUnits { return false }
    var units = 0
    var offset = 0
    while offset < bytes.byteCount {
      let length = length(of: bytes, at: offset)
      units &+= length == 4 ? 2 : 1
      offset &+= max(1, length)
    }
    return units <= maxUnits
  }

  /// Whether a text begins like a formula. A cell with such a text would become a formula when somebody edits the cell.
  static func looksLikeFormula(_ bytes: RawSpan) -> Bool {
    guard bytes.byteCount > 0 else { return false }
    switch bytes.byte(at: 0) {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"): return true
    default: return false
    }
  }

  /// Returns the length in bytes of the character at `offset`; 0 if the bytes there are not UTF-8. A lone UTF-16
  /// surrogate counts as a character of three bytes.
  fileprivate static func length(of bytes: RawSpan, at offset: Int) -> Int {
    if bytes.byte(at: offset) < 0x80 { return 1 }
    let length = UTF8Scan.sequenceLength(bytes, at: offset)
    return length == 0 && isSurrogate(bytes, at: offset) ? 3 : length
  }

  private static func isSurrogate(_ bytes: RawSpan, at offset: Int) -> Bool {
    bytes.byteCount &- offset >= 3 && bytes.byte(at: offset) == 0xed
      && bytes.byte(at: offset &+ 1) >= 0xa0 && bytes.byte(at: offset &+ 1) <= 0xbf
      && bytes.byte(at: offset &+ 2) & 0xc0 == 0x80
  }

  /// Whether `_xHHHH_` begins at `offset`. Programs that read the workbook take such a sequence for a single character.
  fileprivate static func isEscape(_ bytes: RawSpan, at offset: Int) -> Bool {
    guard bytes.byteCount &- offset >= 7, bytes.byte(at: offset &+ 1) == UInt8(ascii: "x"),
      bytes.byte(at: offset &+ 6) == UInt8(ascii: "_")
    else { return false }
    return (2...5).allSatisfy { place in
      switch bytes.byte(at: offset &+ place) {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
        UInt8(ascii: "A")...UInt8(ascii: "F"):
        true
      default: false
      }
    }
  }
}

extension OutputBuffer {
  /// Appends text as the content of an XML element or of a quoted attribute value. Characters that XML 1.0 does not
  /// allow are written as `_xHHHH_`. If the text itself contains such a sequence, its first underscore is escaped in
  /// the same way.
  ///
  /// - Parameter bytes: the text as UTF-8. The buffer must have room for seven bytes per UTF-16 unit of the text.
  /// - Returns: false when the bytes are not valid UTF-8; U+FFFD replaces each invalid byte.
  @discardableResult
  mutating func append(cellText bytes: RawSpan) -> Bool {
    var isValid = true
    /// The offset in `bytes` of the first byte that is not in the buffer yet.
    var start = 0
    var offset = 0
    let end = bytes.byteCount
    while offset < end {
      let byte = bytes.byte(at: offset)
      var length = 1
      var text: String?
      switch byte {
      case UInt8(ascii: "&"): text = "&amp;"
      case UInt8(ascii: "<"): text = "&lt;"
      case UInt8(ascii: ">"): text = "&gt;"
      case UInt8(ascii: "\""): text = "&quot;"
      // A carriage return that is not escaped would be read as a line feed (XML 1.0, 2.11).
      case 0x0d: text = "&#13;"
      case 0x09, 0x0a: break
      case 0x00..<0x20: text = Self.escape(UInt16(byte))
      case UInt8(ascii: "_"): if SheetText.isEscape(bytes, at: offset) { text = Self.escape(0x5f) }
      case 0x00..<0x80: break
      default:
        length = SheetText.length(of: bytes, at: offset)
        if length == 0 {
          length = 1
          text = "\u{FFFD}"
          isValid = false
        } else if length == 3 {
          let unit =
            UInt16(byte & 0xf) << 12 | UInt16(bytes.byte(at: offset &+ 1) & 0x3f) << 6
            | UInt16(bytes.byte(at: offset &+ 2) & 0x3f)
          if unit >= 0xfffe || (0xd800...0xdfff).contains(unit) { text = Self.escape(unit) }
        }
      }
      if let text {
        append(bytes.part(start, offset &- start))
        append(text)
        start = offset &+ length
      }
      offset &+= length
    }
    append(bytes.part(start, end &- start))
    return isValid
  }

  private static func escape(_ unit: UInt16) -> String {
    let digits = String(unit, radix: 16, uppercase: true)
    return "_x" + String(repeating: "0", count: 4 - digits.utf8.count) + digits + "_"
  }
}
