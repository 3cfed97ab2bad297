public import SQLiteFile

/// The result of a check that also compares column values with a list of ``ColumnDemand``.
package struct DemandingCheck {
  package var report: CheckReport
  package var breaches: [DemandBreach]
  /// The highest row id of each table that has row ids and at least one row.
  package var highestRowIDs: [SQLName: Int64]
}

extension SQLiteDatabase {
  /// Checks the whole file: the header, the freelist, the pointer map, every b-tree, cell and record, and whether each
  /// index has the right number of entries.
  ///
  /// - Parameters:
  ///   - depth: how thorough the check is.
  ///   - progress: called periodically with the number of pages checked so far.
  /// - Returns: the report. Damage is a finding in the report and never throws.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public func check(depth: CheckDepth = .quick, progress: ((Int) -> Void)? = nil)
    throws(SQLiteFileError) -> CheckReport
  {
    try check(depth: depth, demands: [], progress: progress).report
  }

  /// Checks the whole file as ``check(depth:progress:)`` does. Also checks whether the column values meet `demands`.
  package func check(
    depth: CheckDepth, demands: [ColumnDemand], progress: ((Int) -> Void)? = nil
  ) throws(SQLiteFileError) -> DemandingCheck {
    var check = StructureCheck(self, depth: depth, demands: demands, onPages: progress)
    try check.run()
    return DemandingCheck(
      report: check.report, breaches: check.breaches, highestRowIDs: check.highestRowIDs)
  }

  /// Follows the freelist alone. Reading rows does not need the freelist, so ``findings`` has nothing about it.
  /// - Returns: the findings about the freelist, all of them damage. Empty if the header, which says where the freelist
  ///   begins, is lost.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  package func freelistFindings() throws(SQLiteFileError) -> FindingList {
    guard !isHeaderLost, votedLayout == nil else { return FindingList() }
    var reader = anotherReader()
    let limit = min(pageCount, reader.pageLimit)
    var tree = BTreeCheck(mainPageCount: mainPageCount, encoding: header.textEncoding)
    _ = try FreelistCheck.run(header, upTo: limit, &tree, &reader)
    return tree.findings
  }
}
