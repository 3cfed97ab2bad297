/// A text that is compared, ordered and hashed by its UTF-8 bytes, as SQLite does. Swift's own `==` treats two texts as
/// equal that differ only in how their letters are composed.
package struct ExactText: Hashable, Comparable, Sendable {
  /// The text, unchanged.
  package let text: String

  /// Wraps `text` for comparison by bytes.
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
    // Texts that Swift treats as different never have equal bytes, so its own comparison may reject them first.
    one == other && one.utf8.elementsEqual(other.utf8)
  }

  /// Returns the index of the element that is named `name`: the one whose name has the same bytes, else the first whose
  /// name Swift treats as equal, because a keyboard composes letters in only one way. Nil when no element is named so.
  package static func place<Element>(
    of name: String, in elements: [Element], _ nameOf: (Element) -> String
  ) -> Int? {
    elements.firstIndex { isSame(nameOf($0), name) } ?? elements.firstIndex { nameOf($0) == name }
  }
}

/// A set of texts. Two texts are the same element only when all their bytes are equal.
struct ExactTexts {
  private var texts: Set<ExactText> = []

  func contains(_ text: String) -> Bool { texts.contains(ExactText(text)) }

  /// Adds a text. Returns false when the set has the text already.
  @discardableResult
  mutating func insert(_ text: String) -> Bool { texts.insert(ExactText(text)).inserted }
}
