package import SQLiteFile

/// What the values of a column must be by rules that SQLite does not know: Core Data's.
package struct ColumnDemand: Sendable {
  /// The table.
  package var table: String
  /// The column's place in the table.
  package var column: Int
  /// The classes that values may have.
  package var classes: StorageClasses
  /// The table whose row ids an integer here must be one of; nil for any integer.
  package var rowIDsOf: String?
  /// The integers that may stand here; nil for any.
  package var numbers: Set<Int64>?
  /// How many bytes a blob has; nil for any number.
  package var blobLength: Int?
  /// Whether what a short blob says is true; asked for blobs of 38 bytes that start with 2.
  package var holds: (@Sendable ([UInt8]) -> Bool)?

  package init(table: String, column: Int, classes: StorageClasses) {
    self.table = table
    self.column = column
    self.classes = classes
  }
}

/// Where values did not meet a demand.
package struct DemandBreach: Sendable {
  /// How a value fails a demand.
  package enum Kind: UInt8, Sendable {
    case storageClass, number, length, untrue, rowID
  }

  /// The place of the demand in the list that was given.
  package let demand: Int
  /// How it is not met.
  package let kind: Kind
  /// How many values.
  package let count: Int
  /// The first of them.
  package let first: ValuePlace
}

/// Where a value stands.
package struct ValuePlace: Sendable, Hashable {
  package var member: Finding.Member
  package var page: UInt32
  /// Of the cell, in bytes from the start of the member.
  package var offset: Int64
  /// Nil in an index or a WITHOUT ROWID table.
  package var rowID: Int64?
}
