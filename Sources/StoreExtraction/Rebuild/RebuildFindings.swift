import SQLiteFile
import SQLiteForensics
import SafeText

/// Collects the findings of a rebuild, which are about the damaged store and not about the new file.
enum RebuildFindings {
  private static let maxPages = 1000

  /// Returns the findings that were made while the store was read, followed by the findings that result from the counts
  /// of rows.
  static func all(of store: DamagedStore, _ result: RebuildResult, _ pages: LostPages)
    -> FindingList
  {
    var list = store.database.findings
    let lost = pages.lost
    let told = Set(list.kept.compactMap(\.page))
    for page in lost.prefix(maxPages) where !told.contains(page) {
      let place = store.database.place(of: page)
      list.add(
        Finding(
          .pageUnreadable, "this page is in use, but cannot be read as a b-tree page",
          member: place.member, page: page, offset: place.offset))
    }
    func tell(
      _ id: Finding.ID, _ message: String, severity: Finding.Severity = .damage,
      table: String? = nil
    ) {
      list.add(Finding(id, message, severity: severity, table: table))
    }
    if result.unreadablePageCount > maxPages {
      let more = counted(
        result.unreadablePageCount - maxPages, "more page is", "more pages are")
      tell(.pageUnreadable, "\(more) in use but not readable as b-tree pages")
    }
    if result.unattributedCount > 0 {
      let rows = counted(result.unattributedCount, "row")
      tell(.recoverUnattributed, "\(rows) may belong to any of several tables")
    }
    let empty = Set(result.tables.filter { $0.rowCount == 0 }.map { SQLName($0.name) })
    for expected in store.database.tables
    where expected.definition.isWithoutRowID && expected.rootPage == nil
      && empty.contains(SQLName(expected.name))
    {
      tell(
        .recoverWithoutRowID,
        "rows of a WITHOUT ROWID table can be found only through its root page, which is not known",
        table: expected.name)
    }
    for table in result.tables where table.isAssumed == true {
      tell(
        .recoverTableAssumed,
        "nothing in the store mentions this table; it is created empty because the model or store given with --like has it",
        severity: .note, table: table.name)
    }
    for table in result.tables {
      if table.partialRowCount > 0 {
        let rows = counted(table.partialRowCount, "row has", "rows have")
        tell(.recoverPartial, "\(rows) incomplete values", table: table.name)
      }
      let refusedCount = table.conflictCount - table.contradictedCount - table.rowIDLostCount
      if refusedCount > 0 {
        let rows = counted(
          refusedCount, "row breaks a constraint of its table and is kept in a separate table",
          "rows break a constraint of their table and are kept in a separate table")
        tell(.recoverConflict, rows, table: table.name)
      }
      if table.contradictedCount > 0 {
        let rows = counted(
          table.contradictedCount,
          "row that the rest of its page contradicts is kept in a separate table",
          "rows that the rest of their pages contradicts are kept in a separate table")
        tell(.recoverContradicted, rows, table: table.name)
      }
      if table.rowIDLostCount > 0 {
        let rows = counted(
          table.rowIDLostCount, "row has lost its row id and is kept in a separate table",
          "rows have lost their row ids and are kept in a separate table")
        tell(.recoverRowIDLost, rows, table: table.name)
      }
      if table.repeatedCount > 0 {
        let rows = counted(table.repeatedCount, "row was", "rows were")
        tell(
          .recoverRepeated, "\(rows) found twice with the same values", severity: .note,
          table: table.name)
      }
      if table.renumberedCount > 0 {
        let rows = counted(
          table.renumberedCount, "row has a new row id because its old row id is lost",
          "rows have new row ids because their old row ids are lost")
        tell(.recoverRenumbered, rows, table: table.name)
      }
    }
    return list
  }
}
