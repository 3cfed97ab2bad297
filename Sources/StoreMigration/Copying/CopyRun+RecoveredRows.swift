import CoreDataForensics
import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import StoreFiles

extension CopyRun {
  /// Reads the live rows of a store that may be damaged, and the deleted ones when asked.
  func read(
    _ store: DamagedStore, entityNames: [Int64: String], _ selection: DamagedDatabase.Selection
  ) throws {
    for stage in plan.staged.values {
      try writer.execute(stage.creation)
      let filling = stage.filling
      try each(store, selection, [SQLName(stage.table)]) { row, _ in
        try self.run(filling, &row, [])
      }
      filling.finish()
    }
    for links in plan.links.values {
      try writer.execute(links.creation)
      let filling = links.filling
      try each(store, selection, [SQLName(links.table)]) { row, _ in
        try self.run(filling, &row, [])
      }
      filling.finish()
    }
    let places = Dictionary(
      plan.tables.map { (SQLName($0.table), $0) }, uniquingKeysWith: { first, _ in first })
    let joins = Dictionary(grouping: plan.joins.filter { !$0.isLate }) { SQLName($0.table) }
    let late = Dictionary(grouping: plan.joins.filter(\.isLate)) { SQLName($0.table) }
    // Rows that may be an entity's, of a table that is not readable enough to be one's.
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
      if plan.isOld(table: name.uppercased()), places[SQLName(name)] == nil,
        joins[SQLName(name)] == nil, late[SQLName(name)] == nil
      {
        strangers += 1
      }
      return true
    }
    watch.totalRowCount = total
    if strangers > 0 {
      broken.append(
        "\(strangers) live \(strangers == 1 ? "row" : "rows") of no table that the model knows by its columns \(strangers == 1 ? "is" : "are") not in the new store; rows --all shows them"
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
    let keys = tables.map { table in
      table.definition.rowIDColumn
        ?? table.definition.columns.firstIndex { SQLName.isSame($0.name, "Z_PK") }
    }
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
