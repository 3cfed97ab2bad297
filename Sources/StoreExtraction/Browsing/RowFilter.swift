import SQLiteFile

/// A text that a row must have in one of its values, in upper or lower case.
package struct RowFilter: Sendable {
  private let needle: TextNeedle
  private let text: String
  /// Whether numbers, dates and UUIDs can have the text; all others need not be made into text to be looked at.
  package let mayBeNumber: Bool

  /// - Parameter text: what is looked for; nothing is found with an empty text.
  package init(_ text: String) {
    self.text = text
    needle = TextNeedle(text.unicodeScalars, in: .utf8, isCaseSensitive: false)
    let marks = Set("0123456789abcdefABCDEFTZtz+-:.".utf8)
    mayBeNumber = text.utf8.allSatisfy { marks.contains($0) }
  }

  /// Whether a text has it.
  package func fits(_ text: String) -> Bool { fits(Array(text.utf8)) }

  private func fits(_ bytes: [UInt8]) -> Bool {
    // The longest and the shortest form of a letter differ by less.
    guard bytes.count >= text.utf8.count / 4 else { return false }
    let bytes = ContiguousArray(bytes)
    return needle.firstMatch(in: bytes.rawSpan) != nil
  }

  /// Whether one of the texts of a row has it.
  package func fitsText(of row: BrowsedRow) -> Bool {
    for value in row.values {
      if case .text(let text) = value, fits(text.utf8) { return true }
    }
    return false
  }
}
