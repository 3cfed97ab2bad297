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

  /// Returns the index of the element whose name has the same bytes as `name`. Without one, returns the index of the
  /// first element whose name Swift treats as equal, because a keyboard composes letters in only one way. Nil when no
  /// name is equal.
  package static func place<Element>(
    of name: String, in elements: [Element], _ nameOf: (Element) -> String
  ) -> Int? {
    elements.firstIndex { isSame(nameOf($0), name) } ?? elements.firstIndex { nameOf($0) == name }
  }

  /// Returns the elements that are named by one of `names`, in their order; all for nil. A name whose bytes no element
  /// has stands for those whose names Swift treats as equal to it.
  package static func named<Element>(
    _ names: [String]?, among elements: [Element], _ nameOf: (Element) -> String
  ) -> [Element] {
    guard let names else { return elements }
    let known = Set(elements.map { ExactText(nameOf($0)) })
    let exact = Set(names.map { ExactText($0) })
    let others = Set(names.filter { !known.contains(ExactText($0)) })
    return elements.filter {
      exact.contains(ExactText(nameOf($0))) || others.contains(nameOf($0))
    }
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
