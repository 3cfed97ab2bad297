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
  /// Returns whether a BLOB is a valid reference to an external file. It is called with each BLOB of 38 bytes that
  /// begins with the byte 2. Nil if references to external files are not checked.
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

  /// The index of the unmet demand in the list of demands that was given to the check.
  package let demand: Int
  package let kind: Kind
  /// The number of values that violate the demand in the way that ``kind`` names.
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
