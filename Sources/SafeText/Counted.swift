/// Returns a number followed by the noun that it counts, for example `1 page` or `2 pages`.
///
/// - Parameters:
///   - count: the number.
///   - one: the noun in the singular.
///   - many: the noun in the plural; nil to append `s` to `one`.
/// - Returns: the number and the noun.
package func counted(_ count: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
  count == 1 ? "1 \(one)" : "\(count) \(many ?? one + "s")"
}
