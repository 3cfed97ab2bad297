/// A value as SQLite stores it, in one of the five storage classes.
public enum StoredValue: Sendable, Hashable {
  /// NULL.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A 64-bit float. It is never NaN, because SQLite stores NaN as NULL.
  case real(Double)
  /// Text, converted to UTF-8 from the encoding of the file.
  case text(StoredText)
  /// A BLOB.
  case blob([UInt8])
}

/// Text as it is in a file, valid or not.
public struct StoredText: Sendable, Hashable {
  /// The bytes of the text as UTF-8. Lone surrogates of UTF-16 are in their three-byte form. This form is not valid
  /// UTF-8, so ``isValid`` is then false.
  public let utf8: [UInt8]

  /// Creates text from UTF-8 bytes, which need not be valid.
  public init(utf8: [UInt8]) { self.utf8 = utf8 }

  /// Creates text from a string.
  public init(_ string: String) { utf8 = Array(string.utf8) }

  /// The text as a string, with U+FFFD in place of invalid bytes.
  public var string: String { String(decoding: utf8, as: UTF8.self) }

  /// Whether the bytes are valid UTF-8, so that ``string`` is exact.
  public var isValid: Bool { String(validating: utf8, as: UTF8.self) != nil }
}

/// A row of a table, with its values as they are stored.
public struct StoredRow: Sendable, Hashable {
  /// The row id; nil in a WITHOUT ROWID table.
  public let rowID: Int64?
  /// The values, one for each column, in the order of the table's columns.
  public let values: [StoredValue]

  /// Creates a row. `values` must contain one value for each column.
  package init(rowID: Int64?, values: [StoredValue]) {
    self.rowID = rowID
    self.values = values
  }
}

package struct ValueSink: RowSink, ~Copyable {
  private let receive: (StoredRow) -> Bool
  private var rowID: Int64?
  private var values: [StoredValue] = []
  package private(set) var wantsMore = true

  /// Creates a sink. `receive` receives each row, and returns whether the next row is wanted.
  package init(receive: @escaping (StoredRow) -> Bool) { self.receive = receive }

  package mutating func beginRow(_ rowID: Int64?) {
    self.rowID = rowID
    values.removeAll(keepingCapacity: true)
  }
  package mutating func null() { values.append(.null) }
  package mutating func integer(_ value: Int64) { values.append(.integer(value)) }
  package mutating func real(_ value: Double) { values.append(.real(value)) }
  package mutating func text(_ bytes: RawSpan) {
    values.append(.text(StoredText(utf8: bytes.array())))
  }
  package mutating func blob(_ bytes: RawSpan) { values.append(.blob(bytes.array())) }
  package mutating func endRow() {
    wantsMore = receive(StoredRow(rowID: rowID, values: values))
  }
}
