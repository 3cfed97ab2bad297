package import SQLiteFile

/// What Core Data's rules require of the values of a column. NULL is always allowed.
package struct ColumnDemand: Sendable {
  package var table: String
  /// The index of the column in the table's declaration, from 0.
  package var column: Int
  package var classes: StorageClasses
  /// The name of the table that the column refers to: each integer in the column must be a row id of this table. Nil if
  /// the column refers to no table.
  package var rowIDsOf: String?
  /// The allowed integers; nil if all integers are allowed.
  package var numbers: Set<Int64>?
  /// The length that every blob must have, in bytes; nil if any length is allowed.
  package var blobLength: Int?
  /// A function that returns whether a reference to an external file is valid. It is called with each blob of 38 bytes
  /// that starts with the byte 2. Nil if such references are not checked.
  package var holds: (@Sendable ([UInt8]) -> Bool)?

  package init(table: String, column: Int, classes: StorageClasses) {
    self.table = table
    self.column = column
    self.classes = classes
  }
}

/// A demand that some values do not meet.
package struct DemandBreach: Sendable {
  package enum Kind: UInt8, Sendable {
    case storageClass, number, length, untrue, rowID
  }

  /// An index into the list of demands that was given to the check.
  package let demand: Int
  package let kind: Kind
  /// The number of values that do not meet the demand for the reason ``kind``.
  package let count: Int
  package let first: ValuePlace
}

package struct ValuePlace: Sendable, Hashable {
  package var member: Finding.Member
  package var page: UInt32
  /// The offset of the cell, in bytes from the start of the file `member`.
  package var offset: Int64
  /// The row id; nil in an index or a WITHOUT ROWID table.
  package var rowID: Int64?
}
