import SQLiteFile

/// What the new file tells of the old one.
enum RebuildFindings {
  /// The findings of reading, then what the rows add up to.
  static func all(of store: DamagedStore, _ result: RebuildResult) -> FindingList {
    var list = store.database.findings
    let (pages, count) = store.database.unreadablePages()
    let told = Set(list.kept.compactMap(\.page))
    for page in pages where !told.contains(page) {
      let place = store.database.place(of: page)
      list.add(
        Finding(
          "page.unreadable", "something leads to this page, and it is no page of a b-tree",
          member: place.member, page: page, offset: place.offset))
    }
    if count > pages.count {
      list.add(
        Finding("page.unreadable", "\(count - pages.count) more pages are like that"))
    }
    if result.unattributedCount > 0 {
      list.add(
        Finding(
          "recover.unattributed",
          "\(result.unattributedCount) rows may be of any of several tables"))
    }
    let empty = Set(result.tables.filter { $0.rowCount == 0 }.map(\.name))
    for expected in store.database.tables
    where expected.definition.isWithoutRowID && expected.rootPage == nil
      && empty.contains(expected.name)
    {
      list.add(
        Finding(
          "recover.withoutRowID",
          "rows of a table WITHOUT ROWID are only found through its root page, which is not known",
          table: expected.name))
    }
    for table in result.tables {
      if table.partialRowCount > 0 {
        list.add(
          Finding(
            "recover.partial", "\(table.partialRowCount) rows have values that are not whole",
            table: table.name))
      }
      if table.conflictCount > 0 {
        list.add(
          Finding(
            "recover.conflict",
            "\(table.conflictCount) rows cannot stand in their table and are kept beside it",
            table: table.name))
      }
      if table.repeatedCount > 0 {
        list.add(
          Finding(
            "recover.repeated", "\(table.repeatedCount) rows were met twice, equal in every value",
            severity: .note, table: table.name))
      }
      if table.renumberedCount > 0 {
        list.add(
          Finding(
            "recover.renumbered",
            "\(table.renumberedCount) rows have a new row id because theirs is lost",
            table: table.name))
      }
    }
    return list
  }
}
