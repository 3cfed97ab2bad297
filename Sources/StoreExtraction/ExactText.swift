/// A string that is compared, ordered and hashed by its UTF-8 bytes, as SQLite does. Swift's own `==` treats strings as
/// equal if they differ only in the composition of letters.
package struct ExactText: Hashable, Comparable, Sendable {
  package let text: String

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

  /// Whether two strings have equal bytes, or both are nil.
  package static func isSame(_ one: String?, _ other: String?) -> Bool {
    guard let left = one, let right = other else { return one == nil && other == nil }
    // Swift's `==` may reject two texts first, because texts that Swift treats as different never have equal bytes.
    return left == right && left.utf8.elementsEqual(right.utf8)
  }

  /// Returns the index of the first element whose name has the same bytes as `name`. If there is no such element,
  /// returns the index of the first element whose name Swift treats as equal to `name`, because the user's keyboard may
  /// compose letters differently. If there is no such element either, returns nil.
  package static func place<Element>(
    of name: String, in elements: [Element], _ nameOf: (Element) -> String
  ) -> Int? {
    elements.firstIndex { isSame(nameOf($0), name) } ?? elements.firstIndex { nameOf($0) == name }
  }

  /// Returns the elements whose names are in `names`, in the order of `elements`; all elements if `names` is nil. Names
  /// are compared by their bytes. If no element has the same bytes as a name, the name selects the elements whose names
  /// are equal as Swift strings.
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

/// A set of strings in which two strings are the same element only if all their bytes are equal.
struct ExactTexts {
  private var texts: Set<ExactText> = []

  func contains(_ text: String) -> Bool { texts.contains(ExactText(text)) }

  @discardableResult
  mutating func insert(_ text: String) -> Bool { texts.insert(ExactText(text)).inserted }
}
