/// Fields of CSV (RFC 4180), judged by their bytes.
package enum CSVText {
  /// Whether a field needs quotes: it is empty, or holds a comma, a quote or a line end.
  package static func needsQuotes(_ text: String) -> Bool {
    text.utf8.isEmpty || text.utf8.contains { $0 == 0x22 || $0 == 0x2c || $0 == 0x0a || $0 == 0x0d }
  }

  /// `text` as one field, empty text as `""`.
  package static func field(_ text: String) -> String {
    guard needsQuotes(text) else { return text }
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { result += "\"" }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }

  /// Whether a spreadsheet would take a field that begins with this byte for a formula (OWASP, "CSV injection").
  /// White space before one of the signs is passed over by some programs, so it counts too.
  package static func startsFormula(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0d,
      0x0a:
      true
    default: false
    }
  }

  /// Whether a spreadsheet would take text for a formula, of whose bytes `byte` gives those from 0 up to `count`.
  /// Spaces of any kind before a sign are passed over, and the wide forms of the signs are signs too, as some programs
  /// have it.
  @inline(__always)
  package static func isFormula(count: Int, byte: (Int) -> UInt8) -> Bool {
    guard count > 0 else { return false }
    let first = byte(0)
    // Letters and digits begin most texts.
    if first > 0x40, first < 0xc2 { return false }
    return isFormulaBehindSpace(count: count, byte: byte)
  }

  private static func isFormulaBehindSpace(count: Int, byte: (Int) -> UInt8) -> Bool {
    var place = 0
    while place < count {
      let first = byte(place)
      if first < 0x80 {
        guard first == 0x20 else { return startsFormula(first) }
        place += 1
        continue
      }
      let second = place + 1 < count ? byte(place + 1) : 0
      let third = place + 2 < count ? byte(place + 2) : 0
      switch (first, second, third) {
      // U+00A0; then U+2000 to 200F, 202F, 205F and 2060, 3000 and FEFF.
      case (0xc2, 0xa0, _): place += 2
      case (0xe2, 0x80, 0x80...0x8f), (0xe2, 0x80, 0xaf), (0xe2, 0x81, 0x9f), (0xe2, 0x81, 0xa0),
        (0xe3, 0x80, 0x80), (0xef, 0xbb, 0xbf):
        place += 3
      // U+FF0B, FF0D, FF1D, FF20 and the minus sign, 2212.
      case (0xef, 0xbc, 0x8b), (0xef, 0xbc, 0x8d), (0xef, 0xbc, 0x9d), (0xef, 0xbc, 0xa0),
        (0xe2, 0x88, 0x92):
        return true
      default: return false
      }
    }
    return false
  }
}
