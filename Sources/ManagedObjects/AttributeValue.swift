import CoreDataStore
package import ObjectModel
package import SQLiteFile
package import SQLiteWriter

/// Converts attribute values to the values that Core Data stores in SQLite.
enum AttributeValue {
  /// Returns the SQLite value to store in the attribute's column for `value`. Nil when `value` does not fit the
  /// attribute's type, or is out of that type's range.
  static func stored(_ value: PropertyValue, of attribute: Attribute) -> SQLiteValue? {
    switch (value, attribute.type) {
    case (.null, _): .null
    case (.integer(let value), .integer16): Int16(exactly: value).map { .integer(Int64($0)) }
    case (.integer(let value), .integer32): Int32(exactly: value).map { .integer(Int64($0)) }
    case (.integer(let value), .integer64): .integer(value)
    case (.integer(let value), .double), (.integer(let value), .float),
      (.integer(let value), .decimal):
      Double(exactly: value).map { .real($0) }
    case (.real(let value), .double), (.real(let value), .float), (.real(let value), .decimal):
      .real(value)
    case (.boolean(let value), .boolean): .integer(value ? 1 : 0)
    case (.string(let text), .string), (.string(let text), .uri): .text(text.utf8)
    case (.date(let date), .date): .real(date.seconds)
    case (.uuid(let bytes), .uuid): bytes.count == 16 ? .blob(bytes) : nil
    case (.binary(let bytes), .binary), (.binary(let bytes), .transformable):
      .blob(attribute.allowsExternalBinaryDataStorage ? [1] + bytes : bytes)
    case (.external(let blob), .binary), (.external(let blob), .transformable):
      attribute.allowsExternalBinaryDataStorage
        ? .blob([2] + Array(blob.identifier.utf8) + [0]) : nil
    default: nil
    }
  }

  /// Returns the SQLite value of the attribute's default value, for a new object. NULL when the attribute has no
  /// default value, or when the default value is an instance of one of the app's classes.
  static func initial(_ attribute: Attribute) -> SQLiteValue {
    let value: PropertyValue? =
      switch attribute.defaultValue {
      case .integer(let value): .integer(value)
      case .real(let value): .real(value)
      case .boolean(let value): .boolean(value)
      case .decimal(let text): Double(text).map { .real($0) }
      case .string(let text), .uri(let text): .string(StoredText(text))
      case .date(let seconds): .date(ReferenceDate(seconds: seconds))
      case .data(let bytes): .binary(bytes)
      case .uuid(let text): Hex.bytes(ofUUID: text).map { .uuid($0) }
      case .object, .opaque, nil: nil
      }
    return value.flatMap { stored($0, of: attribute) } ?? .null
  }
}

extension Hex {
  /// Returns the 16 bytes of a UUID; nil when the string is not a UUID.
  package static func bytes(ofUUID text: String) -> [UInt8]? {
    bytes(String(decoding: text.utf8.filter { $0 != UInt8(ascii: "-") }, as: UTF8.self))
      .flatMap { $0.count == 16 ? $0 : nil }
  }
}

extension StoredValue {
  package init(_ value: SQLiteValue) {
    self =
      switch value {
      case .null: .null
      case .integer(let value): .integer(value)
      case .real(let value): .real(value)
      case .text(let bytes): .text(StoredText(utf8: bytes))
      case .blob(let bytes): .blob(bytes)
      }
  }
}
