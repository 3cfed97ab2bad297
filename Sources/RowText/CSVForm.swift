import SQLiteFile

/// How CSV is written: in the form of RFC 4180, or in the form that spreadsheet programs expect.
package struct CSVForm: Sendable {
  /// The byte between two fields: a comma, or a semicolon where numbers have a decimal comma.
  package var separator = UInt8(ascii: ",")
  package var hasDecimalComma = false
  /// Whether an apostrophe is put before text that a spreadsheet would take for a formula.
  package var isSafeForSpreadsheets = false
  /// Whether the output begins with a byte order mark, by which Excel recognises UTF-8.
  package var hasByteOrderMark = false

  /// The form of RFC 4180: commas, decimal points, no byte order mark.
  package init(isSafeForSpreadsheets: Bool = false) {
    self.isSafeForSpreadsheets = isSafeForSpreadsheets
  }

  /// Creates the form of CSV that Excel reads correctly when the user opens the file: it begins with a byte order mark,
  /// and text that looks like a formula gets an apostrophe.
  /// - Parameter hasDecimalComma: whether numbers in the user's language have a decimal comma. Excel then expects
  ///   semicolons between fields, and would take the text `1.5` for a date.
  package init(forExcel hasDecimalComma: Bool) {
    separator = UInt8(ascii: hasDecimalComma ? ";" : ",")
    self.hasDecimalComma = hasDecimalComma
    isSafeForSpreadsheets = true
    hasByteOrderMark = true
  }

  /// The byte order mark, U+FEFF, in UTF-8.
  package static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]
}

extension OutputBuffer {
  /// Appends the text that precedes the rows of a CSV: a byte order mark if `form` has one, and the header line.
  package mutating func append(csvHeader names: [String], _ form: CSVForm) {
    if form.hasByteOrderMark { append(CSVForm.byteOrderMark) }
    for (index, name) in names.enumerated() {
      if index > 0 { append(form.separator) }
      append(csvField: name, safeForSpreadsheets: form.isSafeForSpreadsheets)
    }
    append("\r\n")
  }

  /// Appends a real number as Swift prints it: in the shortest form that reads back as the same number. If the form
  /// asks for a decimal comma, the comma replaces the decimal point.
  package mutating func append(csvReal value: Double, _ form: CSVForm) {
    let text = value.description
    guard form.hasDecimalComma else { return append(text) }
    for byte in text.utf8 { append(byte == UInt8(ascii: ".") ? UInt8(ascii: ",") : byte) }
  }
}
