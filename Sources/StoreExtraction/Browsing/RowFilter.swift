import SQLiteFile

/// A text that must occur in one of a row's values. Case does not matter.
package struct RowFilter: Sendable {
  private let needle: TextNeedle
  private let text: String
  /// Whether numbers, dates and UUIDs can contain the text. If false, only values that are text need to be examined.
  package let mayBeNumber: Bool

  /// - Parameter text: the text to look for. An empty text is never found.
  package init(_ text: String) {
    self.text = text
    needle = TextNeedle(text.unicodeScalars, in: .utf8, isCaseSensitive: false)
    let marks = Set("0123456789abcdefABCDEFTZtz+-:.".utf8)
    mayBeNumber = text.utf8.allSatisfy { marks.contains($0) }
  }

  /// Whether the filter's text occurs in `text`.
  package func fits(_ text: String) -> Bool { fits(Array(text.utf8)) }

  private func fits(_ bytes: [UInt8]) -> Bool {
    // The forms of a letter in upper and lower case differ in length by less than a factor of four.
    guard bytes.count >= text.utf8.count / 4 else { return false }
    let bytes = ContiguousArray(bytes)
    return needle.firstMatch(in: bytes.rawSpan) != nil
  }

  /// Whether the filter's text occurs in one of the row's values that are text.
  package func fitsText(of row: BrowsedRow) -> Bool {
    for value in row.values {
      if case .text(let text) = value, fits(text.utf8) { return true }
    }
    return false
  }
}
