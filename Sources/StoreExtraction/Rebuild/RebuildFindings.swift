import SQLiteFile
import SQLiteForensics

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
    if result.unreadablePageCount > maxPages {
      let more = result.unreadablePageCount - maxPages
      list.add(
        Finding(
          .pageUnreadable,
          "\(more) more \(more == 1 ? "page is" : "pages are") in use but not readable as b-tree pages"
        ))
    }
    if result.unattributedCount > 0 {
      list.add(
        Finding(
          .recoverUnattributed,
          "\(Counted.rows(result.unattributedCount)) may belong to any of several tables"))
    }
    let empty = Set(result.tables.filter { $0.rowCount == 0 }.map { SQLName($0.name) })
    for expected in store.database.tables
    where expected.definition.isWithoutRowID && expected.rootPage == nil
      && empty.contains(SQLName(expected.name))
    {
      list.add(
        Finding(
          .recoverWithoutRowID,
          "rows of a WITHOUT ROWID table can be found only through its root page, which is not known",
          table: expected.name))
    }
    for table in result.tables where table.isAssumed == true {
      list.add(
        Finding(
          .recoverTableAssumed,
          "nothing in the store mentions this table; it is created empty because the model or store given with --like has it",
          severity: .note, table: table.name))
    }
    for table in result.tables {
      if table.partialRowCount > 0 {
        list.add(
          Finding(
            .recoverPartial,
            "\(Counted.rows(table.partialRowCount, "has", "have")) incomplete values",
            table: table.name))
      }
      if table.conflictCount > 0 {
        list.add(
          Finding(
            .recoverConflict,
            table.conflictCount == 1
              ? "1 row breaks a constraint of its table and is kept in a separate table"
              : "\(table.conflictCount) rows break a constraint of their table and are kept in a separate table",
            table: table.name))
      }
      if table.repeatedCount > 0 {
        list.add(
          Finding(
            .recoverRepeated,
            "\(Counted.rows(table.repeatedCount, "was", "were")) found twice with the same values",
            severity: .note, table: table.name))
      }
      if table.renumberedCount > 0 {
        list.add(
          Finding(
            .recoverRenumbered,
            table.renumberedCount == 1
              ? "1 row has a new row id because its old row id is lost"
              : "\(table.renumberedCount) rows have new row ids because their old row ids are lost",
            table: table.name))
      }
    }
    return list
  }
}

enum Counted {
  /// Returns a number of rows as text, such as `1 row` or `2 rows`. If verbs are given, the singular or plural verb
  /// that fits follows.
  static func rows(_ count: Int, _ one: String = "", _ several: String = "") -> String {
    let verb = count == 1 ? one : several
    return "\(count) row\(count == 1 ? "" : "s")\(verb.isEmpty ? "" : " " + verb)"
  }
}
