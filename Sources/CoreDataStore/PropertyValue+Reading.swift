package import ObjectModel
package import SQLiteFile

extension [StoredValue] {
  /// Returns the integer in a column; nil if there is no such column, or if it holds another value.
  package func integer(at column: Int?) -> Int64? {
    guard let column, column < count, case .integer(let value) = self[column] else { return nil }
    return value
  }
}

extension PropertyValue {
  /// Makes the value of a column that the model does not describe. If `isDate` is true, a number becomes a date: the
  /// seconds since 2001-01-01T00:00:00Z. Any other stored value is kept unchanged.
  package init(_ stored: StoredValue, isDate: Bool) {
    switch stored {
    case .null: self = .null
    case .integer(let value):
      self = isDate ? .date(ReferenceDate(seconds: Double(value))) : .integer(value)
    case .real(let value): self = isDate ? .date(ReferenceDate(seconds: value)) : .real(value)
    case .text(let text): self = .string(text)
    case .blob(let bytes): self = .binary(bytes)
    }
  }

  /// Makes the value of an attribute, in the attribute's type. If the storage class of the stored value does not fit
  /// the type, the value is kept unchanged: SQLite allows any class in any column, and a conversion would hide the
  /// mismatch. `storePath` is the path of the store's main file, next to which external files are found.
  package init(_ stored: StoredValue, _ attribute: Attribute, storePath: String) {
    switch (attribute.type, stored) {
    case (.boolean, .integer(0)): self = .boolean(false)
    case (.boolean, .integer(1)): self = .boolean(true)
    case (.date, .integer), (.date, .real): self.init(stored, isDate: true)
    case (.uuid, .blob(let bytes)) where bytes.count == 16: self = .uuid(bytes)
    case (.double, .integer(let value)), (.float, .integer(let value)),
      (.decimal, .integer(let value)):
      // In these columns, SQLite stores a whole number as an integer. A float would round an integer beyond 2^53.
      if let exact = Double(exactly: value) { self = .real(exact) } else { self = .integer(value) }
    case (_, .blob(let bytes)) where attribute.allowsExternalBinaryDataStorage:
      if let identifier = ExternalBlob.identifier(in: bytes) {
        self = .external(ExternalBlob(identifier: identifier, storePath: storePath))
      } else if bytes.first == 1 {
        self = .binary(Array(bytes.dropFirst()))
      } else {
        self = .binary(bytes)
      }
    default: self.init(stored, isDate: false)
    }
  }
}
