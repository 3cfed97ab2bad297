/// The order of names in version hashes: by UTF-8 bytes, case-sensitive.
///
/// Swift compares strings by their normalised form, which gives the same order only for ASCII.
package enum ByteOrder {
  package static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  package static func sorted(_ names: some Sequence<String>) -> [String] {
    names.sorted(by: precedes)
  }

  package static func isASCII(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 < 0x80 }
  }
}
