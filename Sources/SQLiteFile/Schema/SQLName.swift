/// A name that is compared in the way SQLite compares names: ASCII letters without regard to case, all other bytes
/// exactly. Swift's own `==` and `lowercased()` would treat the names of some different SQLite tables as equal.
package struct SQLName: Hashable, Comparable, Sendable {
  private let folded: [UInt8]

  /// Creates a name. `text` must have no quotes around it.
  package init(_ text: some StringProtocol) { folded = text.utf8.map(Self.folded) }

  /// Whether the name starts with `prefix`, ignoring the case of ASCII letters. `prefix` must be in lower case.
  package func hasPrefix(_ prefix: StaticString) -> Bool {
    folded.starts(with: prefix.description.utf8)
  }

  package static func < (one: SQLName, other: SQLName) -> Bool {
    one.folded.lexicographicallyPrecedes(other.folded)
  }

  package static func isSame(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    var rest = other.utf8.makeIterator()
    for byte in one.utf8 {
      guard let next = rest.next(), folded(byte) == folded(next) else { return false }
    }
    return true
  }

  @inline(__always)
  private static func folded(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }
}
