/// A file name that is compared and hashed by its bytes.
///
/// `String` treats two names as equal if they differ only in the composition of their accents, although the names may
/// belong to two files.
package struct FileName: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: FileName, right: FileName) -> Bool {
    PathText.isSame(left.text, right.text)
  }

  package static func < (left: FileName, right: FileName) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    // No name contains a zero byte, so the hashed bytes of one name are never a prefix of another's.
    hasher.combine(UInt8(0))
  }
}

extension Sequence<String> {
  package func sortedByBytes() -> [String] {
    sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}
