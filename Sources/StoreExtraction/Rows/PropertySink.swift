import CoreDataStore
import SQLiteFile

/// Receives the values of an entity's rows, each in the type of its property. A sink only says how its form of output
/// writes a value of each type; which type a stored value has is decided here for all forms.
///
/// SQLite allows any storage class in any column. A value whose storage class does not fit the type of its property is
/// passed on as it is stored, because a conversion would hide the mismatch.
protocol PropertySink: RowSink, ~Copyable {
  /// Returns the column of the next value, and writes what precedes the value. Returns nil if the value is not written:
  /// after the last column, for a primary key, and for the entity number of a destination. `key`: the value if it is an
  /// integer, otherwise nil.
  mutating func next(key: Int64?) -> EntityRendering.Column?
  mutating func appendNull()
  mutating func append(integer value: Int64, _ column: EntityRendering.Column)
  mutating func append(real value: Double, _ column: EntityRendering.Column)
  /// Appends a whole number of a Double, Float or Decimal attribute, which SQLite stores as an integer.
  mutating func append(number value: Int64, _ column: EntityRendering.Column)
  mutating func append(boolean value: Bool, _ column: EntityRendering.Column)
  mutating func append(date seconds: Double, _ column: EntityRendering.Column)
  mutating func append(toOne key: Int64, _ column: EntityRendering.Column)
  mutating func append(text bytes: RawSpan, _ column: EntityRendering.Column)
  mutating func append(uuid bytes: RawSpan, _ column: EntityRendering.Column)
  mutating func append(binary bytes: RawSpan, _ column: EntityRendering.Column)
  mutating func append(external file: String, _ column: EntityRendering.Column)
  /// Called after each value that was written. `isInteger`: whether SQLite stores the value as an integer.
  mutating func end(_ column: EntityRendering.Column, isInteger: Bool)
}

extension PropertySink where Self: ~Copyable {
  mutating func append(number value: Int64, _ column: EntityRendering.Column) {
    // A double would round a number beyond 2^53, so such a number is written as an integer.
    if let exact = Double(exactly: value) {
      append(real: exact, column)
    } else {
      append(integer: value, column)
    }
  }

  mutating func append(boolean value: Bool, _ column: EntityRendering.Column) {
    append(integer: value ? 1 : 0, column)
  }

  mutating func append(toOne key: Int64, _ column: EntityRendering.Column) {
    append(integer: key, column)
  }

  mutating func end(_ column: EntityRendering.Column, isInteger: Bool) {}

  // MARK: - Stored values

  mutating func null() {
    guard let column = next(key: nil) else { return }
    appendNull()
    end(column, isInteger: false)
  }

  mutating func integer(_ value: Int64) {
    guard let column = next(key: value) else { return }
    switch column.role {
    case .boolean where value == 0 || value == 1: append(boolean: value == 1, column)
    case .date: append(date: Double(value), column)
    case .number: append(number: value, column)
    case .toOne: append(toOne: value, column)
    default: append(integer: value, column)
    }
    end(column, isInteger: true)
  }

  mutating func real(_ value: Double) {
    guard let column = next(key: nil) else { return }
    if column.role == .date { append(date: value, column) } else { append(real: value, column) }
    end(column, isInteger: false)
  }

  mutating func text(_ bytes: RawSpan) {
    guard let column = next(key: nil) else { return }
    append(text: bytes, column)
    end(column, isInteger: false)
  }

  mutating func blob(_ bytes: RawSpan) {
    guard let column = next(key: nil) else { return }
    if column.role == .uuid, bytes.byteCount == 16 {
      append(uuid: bytes, column)
    } else if column.mayBeExternal, bytes.byteCount == 38,
      let file = ExternalBlob.identifier(in: bytes.array())
    {
      append(external: file, column)
    } else if column.mayBeExternal, bytes.byteCount > 0, bytes.byte(at: 0) == 1 {
      // If the first byte is 1, the value is stored in the row itself, after that byte.
      append(binary: bytes.part(1, bytes.byteCount - 1), column)
    } else {
      append(binary: bytes, column)
    }
    end(column, isInteger: false)
  }
}
