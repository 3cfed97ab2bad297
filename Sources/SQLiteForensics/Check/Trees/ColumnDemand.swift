package import SQLiteFile

/// What the rules of Core Data, which SQLite does not know, require of the values of a column. NULL is always allowed.
package struct ColumnDemand: Sendable {
  /// The name of the table that has the column.
  package var table: String
  /// The index of the column in the table's declaration, from 0.
  package var column: Int
  /// The storage classes that the values may have.
  package var classes: StorageClasses
  /// The name of the table that the column refers to: each integer in the column must be a row id of that table. Nil if
  /// the column refers to no table.
  package var rowIDsOf: String?
  /// The integers that are allowed; nil if all integers are allowed.
  package var numbers: Set<Int64>?
  /// The length that every blob must have, in bytes; nil if any length is allowed.
  package var blobLength: Int?
  /// Returns whether a reference to an external file is valid. The closure is called with each blob of 38 bytes that
  /// starts with the byte 2. Nil if references to external files are not checked.
  package var holds: (@Sendable ([UInt8]) -> Bool)?

  package init(table: String, column: Int, classes: StorageClasses) {
    self.table = table
    self.column = column
    self.classes = classes
  }
}

/// A demand that some values do not meet.
package struct DemandBreach: Sendable {
  /// The way in which a value fails a demand.
  package enum Kind: UInt8, Sendable {
    case storageClass, number, length, untrue, rowID
  }

  /// The index of the demand in the list of demands that was given to the check.
  package let demand: Int
  /// The way in which the values fail the demand.
  package let kind: Kind
  /// The number of values that fail the demand in this way.
  package let count: Int
  /// The place of the first value that fails the demand.
  package let first: ValuePlace
}

/// The location of a value in the files of a store.
package struct ValuePlace: Sendable, Hashable {
  package var member: Finding.Member
  package var page: UInt32
  /// The offset of the cell, in bytes from the start of the file `member`.
  package var offset: Int64
  /// The row id of the value's row; nil in an index or a WITHOUT ROWID table.
  package var rowID: Int64?
}
