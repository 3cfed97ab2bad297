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
}
