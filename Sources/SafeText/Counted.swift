/// A number with what it counts: `1 page`, `2 pages`.
///
/// - Parameters:
///   - count: the number.
///   - one: what stands behind 1, and with an `s` behind all others.
///   - many: what stands behind all others; nil for `one` with an `s`.
/// - Returns: the words.
package func counted(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
  count == 1 ? "1 \(one)" : "\(count) \(many ?? one + "s")"
}
