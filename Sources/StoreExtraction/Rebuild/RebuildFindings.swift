import SQLiteFile

/// What the new file tells of the old one.
enum RebuildFindings {
  /// The findings of reading, then what the rows add up to.
  static func all(of store: DamagedStore, _ result: RebuildResult) -> FindingList {
    var list = store.database.findings
    let (pages, count) = store.database.unreadablePages()
    for page in pages {
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

/// Rows of tables that the page-by-page reader has none of, from the ordinary reader.
enum HealthyRows {
  /// How many rows a table has; 0 when it cannot be read.
  static func count(of table: ExpectedTable, in path: String) -> Int {
    guard let database = try? SQLiteDatabase(path: path),
      let found = database.schema.table(named: table.name),
      let count = try? database.rowCount(of: found)
    else { return 0 }
    return count.count
  }
}
