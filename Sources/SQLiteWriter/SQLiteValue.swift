/// One value as SQLite stores it: the five storage classes of <https://sqlite.org/datatype3.html>.
package enum SQLiteValue: Sendable, Hashable {
  /// SQL NULL.
  case null
  /// A 64-bit signed integer.
  case integer(Int64)
  /// A 64-bit IEEE 754 number. SQLite has no NaN: one bound as a parameter is stored as NULL, so
  /// NaN never comes back. Infinities and subnormals are kept; negative zero may come back as zero.
  case real(Double)
  /// Text as UTF-8 bytes, stored with its full length, so an embedded NUL survives. A UTF-8 database
  /// stores the bytes untouched even where they are not valid UTF-8; a UTF-16 database converts them,
  /// and there an invalid sequence becomes U+FFFD.
  case text([UInt8])
  /// Bytes, stored untouched.
  case blob([UInt8])

  /// Text of a Swift string, as UTF-8.
  package static func string(_ string: String) -> SQLiteValue {
    .text([UInt8](string.utf8))
  }
}
