package import SQLiteFile

/// What the values of a column must be by Core Data's rules, which SQLite does not know.
package struct ColumnDemand: Sendable {
  /// The table.
  package var table: String
  /// The column's index in the table.
  package var column: Int
  /// The storage classes that values may have.
  package var classes: StorageClasses
  /// The table whose row ids are the only integers allowed; nil for any integer.
  package var rowIDsOf: String?
  /// The integers that are allowed; nil for any.
  package var numbers: Set<Int64>?
  /// The length of a blob in bytes; nil for any length.
  package var blobLength: Int?
  /// Tells whether a reference to an external file is valid; called for blobs of 38 bytes that start with 2.
  package var holds: (@Sendable ([UInt8]) -> Bool)?

  package init(table: String, column: Int, classes: StorageClasses) {
    self.table = table
    self.column = column
    self.classes = classes
  }
}

/// A demand that values do not meet.
package struct DemandBreach: Sendable {
  /// How a value fails a demand.
  package enum Kind: UInt8, Sendable {
    case storageClass, number, length, untrue, rowID
  }

  /// The demand's index in the given list.
  package let demand: Int
  /// How the values fail it.
  package let kind: Kind
  /// How many values fail it.
  package let count: Int
  /// The first value that fails it.
  package let first: ValuePlace
}

/// Where a value is in the files.
package struct ValuePlace: Sendable, Hashable {
  package var member: Finding.Member
  package var page: UInt32
  /// The offset of the cell, in bytes from the start of the member.
  package var offset: Int64
  /// Nil in an index or a WITHOUT ROWID table.
  package var rowID: Int64?
}
