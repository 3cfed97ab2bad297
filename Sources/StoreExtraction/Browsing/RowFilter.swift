import SQLiteFile

/// A filter for rows in which a text occurs in at least one value. Upper and lower case are not distinguished.
package struct RowFilter: Sendable {
  private let needle: TextNeedle
  private let text: String
  /// Whether the filter's text can occur in a number, date or UUID. If false, only values that are text need to be
  /// examined.
  package let mayBeNumber: Bool

  /// Creates a filter for a text. The filter for an empty text selects no row.
  package init(_ text: String) {
    self.text = text
    needle = TextNeedle(text.unicodeScalars, in: .utf8, isCaseSensitive: false)
    let marks = Set("0123456789abcdefABCDEFTZtz+-:.".utf8)
    mayBeNumber = text.utf8.allSatisfy { marks.contains($0) }
  }

  package func fits(_ text: String) -> Bool { fits(Array(text.utf8)) }

  private func fits(_ bytes: [UInt8]) -> Bool {
    // The upper-case and the lower-case form of a letter differ in length by less than a factor of four. So a value
    // shorter than a quarter of the filter's text cannot contain the text.
    guard bytes.count >= text.utf8.count / 4 else { return false }
    let bytes = ContiguousArray(bytes)
    return needle.firstMatch(in: bytes.rawSpan) != nil
  }

  /// Whether the filter's text occurs in one of the row's values that are text.
  package func fitsText(of row: BrowsedRow) -> Bool {
    row.values.contains { value in
      if case .text(let text) = value { fits(text.utf8) } else { false }
    }
  }
}
