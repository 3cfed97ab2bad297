import SQLiteFile

/// How CSV is written: in the form of RFC 4180, or in the form that spreadsheet programs expect.
package struct CSVForm: Sendable {
  /// A comma, or a semicolon where numbers have a decimal comma.
  package var separator = UInt8(ascii: ",")
  package var hasDecimalComma = false
  /// An apostrophe is put before text that a spreadsheet would take for a formula.
  package var isSafeForSpreadsheets = false
  /// Excel recognises UTF-8 by the byte order mark.
  package var hasByteOrderMark = false

  /// The form of RFC 4180: commas, decimal points, no byte order mark.
  package init(isSafeForSpreadsheets: Bool = false) {
    self.isSafeForSpreadsheets = isSafeForSpreadsheets
  }

  /// The form that Excel reads correctly when a user opens the file: with a byte order mark, and safe for spreadsheets.
  ///
  /// - Parameter hasDecimalComma: whether the user's language writes numbers with a comma. Excel then splits fields at
  ///   semicolons, and would take the text `1.5` for a date.
  package init(forExcel hasDecimalComma: Bool) {
    separator = UInt8(ascii: hasDecimalComma ? ";" : ",")
    self.hasDecimalComma = hasDecimalComma
    isSafeForSpreadsheets = true
    hasByteOrderMark = true
  }

  /// U+FEFF in UTF-8.
  package static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
}

extension OutputBuffer {
  /// The shortest form that reads back as the same number, as Swift prints it.
  package mutating func append(csvReal value: Double, _ form: CSVForm) {
    let text = value.description
    guard form.hasDecimalComma else { return append(text) }
    for byte in text.utf8 { append(byte == UInt8(ascii: ".") ? UInt8(ascii: ",") : byte) }
  }
}
