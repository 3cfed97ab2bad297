/// A number with what it counts: `1 page`, `2 pages`.
///
/// - Parameters:
///   - count: the number.
///   - one: the noun after 1; with an `s`, the noun after all other numbers.
///   - many: the noun after all other numbers; nil for `one` with an `s`.
/// - Returns: the number and the noun.
package func counted(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
  count == 1 ? "1 \(one)" : "\(count) \(many ?? one + "s")"
}
