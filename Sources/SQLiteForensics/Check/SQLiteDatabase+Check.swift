public import SQLiteFile

/// The result of a check with demands on values.
package struct DemandingCheck {
  /// The report that every check makes.
  package var report: CheckReport
  /// The demands that some values do not meet.
  package var breaches: [DemandBreach]
  /// The highest row id of each table with row ids and at least one row.
  package var highestRowIDs: [SQLName: Int64]
}

extension SQLiteDatabase {
  /// Checks the whole file: header, freelist, pointer map, every b-tree, cell and record, index counts.
  ///
  /// - Parameters:
  ///   - depth: how much the check looks at.
  ///   - progress: called periodically with the number of pages checked so far.
  /// - Returns: the report; damage is a finding in it.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func check(depth: CheckDepth = .quick, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> CheckReport
  {
    try check(depth: depth, demands: [], progress: progress).report
  }

  /// Checks the whole file as ``check(depth:progress:)`` does, and also whether the values of columns meet demands.
  package func check(
    depth: CheckDepth, demands: [ColumnDemand], progress: ((Int) -> Void)? = nil
  ) throws(SQLiteFileError) -> DemandingCheck {
    var check = StructureCheck(self, depth: depth, demands: demands, onPages: progress)
    try check.run()
    return DemandingCheck(
      report: check.report, breaches: check.breaches, highestRowIDs: check.highestRowIDs)
  }
}
