/// A text as it is, byte by byte. Swift's own `==` treats two texts as one that differ only in how their letters are
/// composed, which SQLite does not.
package struct ExactText: Hashable, Comparable, Sendable {
  /// The text.
  package let text: String

  /// The text `text`.
  package init(_ text: String) { self.text = text }

  package static func == (one: ExactText, other: ExactText) -> Bool {
    one.text.utf8.elementsEqual(other.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }

  package static func < (one: ExactText, other: ExactText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }

  /// Whether two texts have the same bytes.
  package static func isSame(_ one: String, _ other: String) -> Bool {
    // What Swift treats as different has other bytes.
    one == other && one.utf8.elementsEqual(other.utf8)
  }

  /// Among names, the place of one that was asked for: of the one with the same bytes, else of the first that Swift
  /// treats as equal, because a keyboard composes letters in one way only. Nil for none.
  package static func place<Element>(
    of name: String, in elements: [Element], _ nameOf: (Element) -> String
  ) -> Int? {
    elements.firstIndex { isSame(nameOf($0), name) } ?? elements.firstIndex { nameOf($0) == name }
  }
}

/// A set of texts that differ in a byte.
struct ExactTexts {
  private var texts: Set<ExactText> = []

  func contains(_ text: String) -> Bool { texts.contains(ExactText(text)) }

  /// Returns whether the text is new.
  @discardableResult
  mutating func insert(_ text: String) -> Bool { texts.insert(ExactText(text)).inserted }
}
