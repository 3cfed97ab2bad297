public import SQLiteFile

/// The result of a check with demands on values.
package struct DemandingCheck {
  /// The report that every check makes.
  package var report: CheckReport
  /// The demands that were not met.
  package var breaches: [DemandBreach]
  /// The highest row id of each table that has one.
  package var highestRowIDs: [SQLName: Int64]
}

extension SQLiteDatabase {
  /// Checks the whole file: header, freelist, pointer map, every b-tree, cell and record, index counts.
  ///
  /// - Parameters:
  ///   - depth: whether the entries of indexes are compared with the rows too.
  ///   - progress: called periodically with the number of pages checked so far.
  /// - Returns: the report; damage is a finding in it.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func check(depth: CheckDepth = .quick, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> CheckReport
  {
    try check(depth: depth, demands: [], progress: progress).report
  }

  /// ``check(depth:progress:)`` with demands on the values of columns.
  package func check(
    depth: CheckDepth, demands: [ColumnDemand], progress: ((Int) -> Void)? = nil
  ) throws(SQLiteFileError) -> DemandingCheck {
    var check = StructureCheck(self, depth: depth, demands: demands, onPages: progress)
    try check.run()
    return DemandingCheck(
      report: check.report, breaches: check.breaches, highestRowIDs: check.highestRowIDs)
  }
}
