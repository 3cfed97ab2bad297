import SQLiteFile

/// A row that differs between two versions of a table: only one version has the row, or the values of the row differ.
package struct RowChange: Sendable {
  package enum Kind: String, Sendable {
    case added
    case removed
    case changed
  }

  package var kind: Kind { old == nil ? .added : new == nil ? .removed : .changed }
  /// The row in the old version of the table; nil when the row was added.
  package let old: ComparedRow?
  /// The row in the new version of the table; nil when the row was removed.
  package let new: ComparedRow?

  /// The row id; nil in a WITHOUT ROWID table.
  package var rowID: Int64? { (new ?? old)?.rowID }

  /// Reads the old and the new rows of a table with row ids side by side in key order. Calls `receive` with each row
  /// that differs, until `receive` returns false. Returns the number of old rows and the number of new rows that were
  /// read. Throws when the device fails.
  ///
  /// `old`, `new`: the rows of the old and of the new version of the table; nil if the table does not exist in that
  /// version.
  /// `isEqual`: whether two rows with equal keys are equal.
  @discardableResult
  static func forEach(
    from old: RowCursor?, to new: RowCursor?, isEqual: (ComparedRow, ComparedRow) -> Bool,
    _ receive: (RowChange) -> Bool
  ) throws(SQLiteFileError) -> (old: Int, new: Int) {
    var left = try old?.next()
    var right = try new?.next()
    var counts = (old: left == nil ? 0 : 1, new: right == nil ? 0 : 1)
    while left != nil || right != nil {
      let (key, otherKey) = (left?.rowID ?? 0, right?.rowID ?? 0)
      let takesLeft = left != nil && (right == nil || key <= otherKey)
      let takesRight = right != nil && (left == nil || otherKey <= key)
      var differs = true
      if takesLeft, takesRight, let left, let right { differs = !isEqual(left, right) }
      if differs,
        !receive(RowChange(old: takesLeft ? left : nil, new: takesRight ? right : nil))
      {
        return counts
      }
      if takesLeft {
        left = try old?.next()
        if left != nil { counts.old += 1 }
      }
      if takesRight {
        right = try new?.next()
        if right != nil { counts.new += 1 }
      }
    }
    return counts
  }
}
