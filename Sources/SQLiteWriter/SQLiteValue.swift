/// A value in one of the five storage classes of SQLite (<https://sqlite.org/datatype3.html>).
package enum SQLiteValue: Sendable, Hashable {
  case null
  case integer(Int64)
  /// A 64-bit IEEE 754 number. SQLite has no NaN: it stores NULL when NaN is bound, so NaN is never read. Infinities
  /// and subnormal numbers are preserved. Negative zero may be read as zero.
  case real(Double)
  /// Text as UTF-8 bytes. It is stored with its full length, so an embedded NUL is preserved. A UTF-8 database stores
  /// the bytes unchanged, even if they are not valid UTF-8. A UTF-16 database converts them, and replaces each invalid
  /// sequence by U+FFFD.
  case text([UInt8])
  case blob([UInt8])

  /// The integer; nil for a value of another storage class.
  package var int64: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// Returns a string as text; NULL for nil.
  package static func string(_ string: String?) -> SQLiteValue {
    string.map { .text([UInt8]($0.utf8)) } ?? .null
  }
}
