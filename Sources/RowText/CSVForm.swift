import SQLiteFile

/// How CSV is written: as RFC 4180 has it, or as a spreadsheet program takes it when it opens a file.
package struct CSVForm: Sendable {
  /// What is between two fields: a comma, or a semicolon where numbers are written with a comma.
  package var separator = UInt8(ascii: ",")
  /// Whether numbers have a comma in place of the point.
  package var hasDecimalComma = false
  /// Whether text that a spreadsheet would take for a formula gets an apostrophe.
  package var isSafeForSpreadsheets = false
  /// Whether the output begins with the bytes by which Excel tells UTF-8.
  package var hasByteOrderMark = false

  /// The form of RFC 4180.
  package init(isSafeForSpreadsheets: Bool = false) {
    self.isSafeForSpreadsheets = isSafeForSpreadsheets
  }

  /// The form that Excel opens by itself.
  ///
  /// - Parameter hasDecimalComma: whether the reader's language writes numbers with a comma. Excel then splits fields at
  ///   semicolons, and would take 1.5 for a date.
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
  /// Appends a number as CSV has it.
  package mutating func append(csvReal value: Double, _ form: CSVForm) {
    let text = value.description
    guard form.hasDecimalComma else { return append(text) }
    for byte in text.utf8 { append(byte == UInt8(ascii: ".") ? UInt8(ascii: ",") : byte) }
  }
}
