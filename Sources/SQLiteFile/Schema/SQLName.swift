/// A name that is compared as SQLite compares names: ASCII letters without case, all other bytes exactly. Swift's own
/// `==` and `lowercased()` would treat two different SQLite tables as one.
package struct SQLName: Hashable, Comparable, Sendable {
  private let folded: [UInt8]

  /// Creates the name `text`, which has no quotes around it. Folds ASCII letters, as SQLite does to compare names.
  package init(_ text: some StringProtocol) { folded = text.utf8.map(Self.folded) }

  /// Whether the name begins with `prefix`, which has no capitals.
  package func hasPrefix(_ prefix: StaticString) -> Bool {
    folded.starts(with: prefix.description.utf8)
  }

  package static func < (one: SQLName, other: SQLName) -> Bool {
    one.folded.lexicographicallyPrecedes(other.folded)
  }

  /// Whether SQLite treats two names as one.
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
