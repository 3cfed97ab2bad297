/// One value as SQLite stores it: the five storage classes of <https://sqlite.org/datatype3.html>.
package enum SQLiteValue: Sendable, Hashable {
  /// SQL NULL.
  case null
  /// A 64-bit signed integer.
  case integer(Int64)
  /// A 64-bit IEEE 754 number. SQLite has no NaN: a NaN that is bound is stored as NULL, so NaN is never read.
  /// Infinities and subnormals are kept. Negative zero may be read as zero.
  case real(Double)
  /// Text as UTF-8 bytes, stored with its full length, so an embedded NUL survives. A UTF-8 database stores the bytes
  /// unchanged, even when they are not valid UTF-8. A UTF-16 database converts them, and an invalid sequence becomes
  /// U+FFFD.
  case text([UInt8])
  /// Bytes, stored unchanged.
  case blob([UInt8])

  /// The text of a Swift string as UTF-8 bytes.
  package static func string(_ string: String) -> SQLiteValue {
    .text([UInt8](string.utf8))
  }
}
