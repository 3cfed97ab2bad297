package import SQLiteFile

/// What the values of a column must be by Core Data's rules, which SQLite does not know. NULL is always allowed.
package struct ColumnDemand: Sendable {
  /// The name of the table that has the column.
  package var table: String
  /// The index of the column in the table's declaration, from 0.
  package var column: Int
  /// The storage classes that values may have.
  package var classes: StorageClasses
  /// The name of the table that integers refer to: each must be one of its row ids. Nil when integers refer to no
  /// table.
  package var rowIDsOf: String?
  /// The integers that are allowed; nil when all are.
  package var numbers: Set<Int64>?
  /// The length that a blob must have, in bytes; nil when any length is allowed.
  package var blobLength: Int?
  /// Tells whether a reference to an external file is valid; called for blobs of 38 bytes that start with the byte 2.
  /// Nil when references are not checked.
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

  /// The index of the demand in the list of demands that the check was given.
  package let demand: Int
  /// How the values fail the demand.
  package let kind: Kind
  /// How many values fail the demand in this way.
  package let count: Int
  /// Where the first value that fails the demand is.
  package let first: ValuePlace
}

/// Where a value is in the files.
package struct ValuePlace: Sendable, Hashable {
  package var member: Finding.Member
  package var page: UInt32
  /// The offset of the cell, in bytes from the start of the file `member`.
  package var offset: Int64
  /// The row id; nil in an index or a WITHOUT ROWID table.
  package var rowID: Int64?
}
