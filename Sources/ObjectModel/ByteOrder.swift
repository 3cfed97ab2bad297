/// The order of names in the computation of version hashes: by UTF-8 bytes, case-sensitive.
///
/// Swift's own order compares normalised forms of strings. The two orders agree only for ASCII strings.
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
