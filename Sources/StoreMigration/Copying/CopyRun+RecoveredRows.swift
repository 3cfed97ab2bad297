import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeText
import StoreExtraction
import StoreFiles

extension CopyRun {
  /// Copies the rows of a store that may be damaged: the live rows and, if `selection` includes deleted rows, these
  /// too.
  func read(
    _ store: DamagedStore, entityNames: [Int64: String], _ selection: DamagedDatabase.Selection
  ) throws {
    isRecovered = true
    for stage in plan.staged.values {
      try writer.execute(stage.creation)
      let filling = stage.filling
      var misfits = 0
      try each(store, selection, [SQLName(stage.table)]) { row, _ in
        misfits += try self.stage(&row, stage, by: filling)
      }
      filling.finish()
      tellMisfits(misfits, of: stage)
    }
    for links in plan.links.values {
      try writer.execute(links.creation)
      let (live, late) = (links.filling(), links.filling(isLive: false))
      try each(store, selection, [SQLName(links.table)]) { row, _ in
        let filling = row.isLive ? live : late
        try self.stage(&row, links, by: filling)
      }
      live.finish()
      late.finish()
    }
    let places = Dictionary(firstOf: plan.tables.map { (SQLName($0.table), $0) })
    let joins = Dictionary(grouping: plan.joins.filter { !$0.isLate }) { SQLName($0.table) }
    let late = Dictionary(grouping: plan.joins.filter(\.isLate)) { SQLName($0.table) }
    // Counts the live rows that cannot be copied, because their table is unknown or is too damaged to be read as the
    // table of an entity.
    let tables = store.database.tables
    var strangers = 0
    var total = 0
    try store.database.forEachRow(.live) { row in
      guard let place = row.origin.table else {
        strangers += 1
        return true
      }
      let name = tables[place].name
      if places[SQLName(name)] != nil { total += 1 }
      if plan.oldTables.contains(name.uppercased()), places[SQLName(name)] == nil,
        joins[SQLName(name)] == nil, late[SQLName(name)] == nil
      {
        strangers += 1
      }
      return true
    }
    watch.totalRowCount = total
    if strangers > 0 {
      broken.append(
        "\(counted(strangers, "live row is", "live rows are")) not in the new store, because the "
          + "table of \(strangers == 1 ? "the row" : "the rows") is lost or unreadable; "
          + "lifeboat rows --all shows \(strangers == 1 ? "it" : "them")"
      )
    }
    try each(store, selection, Set(places.keys).union(joins.keys)) { row, name in
      if let table = places[name] {
        let number = row.integer(table.entityColumn)
        try self.insert(&row, entityNumber: number, number.flatMap { entityNames[$0] }, table)
      }
      for join in joins[name] ?? [] { try self.link(&row, join) }
    }
    guard plan.tables.contains(where: \.hasSecondPass) || !late.isEmpty else { return }
    try each(store, selection, Set(places.keys).union(late.keys)) { row, name in
      if let table = places[name] {
        try self.update(&row, entityNumber: row.integer(table.entityColumn), table)
      }
      for join in late[name] ?? [] { try self.link(&row, join) }
    }
  }

  private func each(
    _ store: DamagedStore, _ selection: DamagedDatabase.Selection, _ names: Set<SQLName>,
    _ body: (inout ValueRow, SQLName) throws -> Void
  ) throws {
    let tables = store.database.tables
    let keys = tables.map { $0.definition.rowIDColumn ?? $0.definition.place(of: "Z_PK") }
    var failure: (any Error)?
    try store.database.forEachRow(selection) { row in
      guard let place = row.origin.table, names.contains(SQLName(tables[place].name)) else {
        return true
      }
      var copied = ValueRow(row, keyColumn: keys[place], storePath: storePath)
      do { try body(&copied, SQLName(tables[place].name)) } catch { failure = error }
      return failure == nil
    }
    if let failure { throw failure }
  }
}
