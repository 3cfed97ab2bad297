import CoreDataStore
package import ObjectModel
package import SQLiteFile
package import SQLiteForensics

/// The tables that a store must have had before it lost its schema: Core Data's own tables and the tables of the
/// store's model.
package enum CoreDataExpectations {
  /// Core Data's own tables, which are the same in every store (macOS 10.12 and later).
  package static let bookkeeping: [ExpectedTable] =
    FreshStoreSchema.bookkeeping.compactMap { fresh in
      var table = ExpectedTable(name: fresh.name, sql: fresh.sql)
      // No value in these tables is ever NULL.
      if let count = table?.definition.columns.count { table?.notNull = Set(0..<count) }
      return table
    }

  /// The tables of persistent history, in their form since iOS 13. The columns for values of deleted rows are left out.
  package static let history: [ExpectedTable] =
    FreshStoreSchema.historyTables(tombstoneCount: 0).compactMap { _, number, fresh in
      var table = ExpectedTable(name: fresh.name, sql: fresh.sql)
      table?.integers[1] = number...number
      table?.notNull.insert(1)
      return table
    }

  /// Returns the tables that Core Data creates for a model, each with the range of entity numbers that its rows can
  /// have. Empty when no store can be made for the model.
  package static func tables(of model: ManagedObjectModel) -> [ExpectedTable] {
    let layout = TableLayout(model)
    guard let schema = try? FreshStoreSchema(model) else { return [] }
    var tables: [ExpectedTable] = []
    for fresh in schema.tables {
      let name = fresh.name
      guard !bookkeeping.contains(where: { $0.name == name }),
        var table = ExpectedTable(name: name, sql: fresh.sql)
      else { continue }
      if let described = layout.tables.first(where: { $0.name == name }) {
        let numbers = described.entityNames.compactMap { layout.numbering.number(of: $0) }
        if let least = numbers.min(), let most = numbers.max() { table.integers[1] = least...most }
        // Core Data never leaves the entity number NULL.
        table.notNull.insert(1)
      }
      tables.append(table)
    }
    return tables
  }

  /// Finds the tables of the persistent history in a store that has lost both schema and model. Only tables with live
  /// rows are returned. The tables of the persistent history are the same in every store, and their entity numbers are
  /// never those of an app's entities.
  private static func recordedHistory(in database: DamagedDatabase, beside known: [ExpectedTable])
    throws(SQLiteFileError) -> [ExpectedTable]
  {
    try database.expect(known + history)
    var met: Set<Int> = []
    try database.forEachRow(.live, of: history.map(\.name)) { row in
      if let table = row.origin.table, row.partial.isEmpty { met.insert(table) }
      return met.count < history.count
    }
    return met.sorted().map { database.tables[$0] }
  }

  /// Tells `database` which tables the store must have had: the tables of the schema, and those of the model that
  /// ``missing(_:_:_:)`` finds. If the readable part of the schema has neither Z_METADATA nor Z_PRIMARYKEY, all tables of
  /// the model are added. The model is `given` or, if `given` is nil, the model that is cached in the store.
  ///
  /// - Returns: the names of tables whose entries the schema table lacks, although all of its entries can be read.
  package static func expect(in database: DamagedDatabase, model given: ManagedObjectModel? = nil)
    throws(SQLiteFileError) -> [String]
  {
    var known = database.tables
    for table in bookkeeping {
      guard let index = known.firstIndex(where: { $0.name == table.name && $0.isDescribed }) else {
        continue
      }
      known[index].notNull.formUnion(table.notNull)
    }
    let names = Set(known.filter(\.isDescribed).map(\.name))
    let missing = bookkeeping.filter { !names.contains($0.name) }
    let isStore = names.contains("Z_METADATA") || names.contains("Z_PRIMARYKEY")
    if !missing.isEmpty, !isStore {
      try database.expect(known + missing)
    }
    var model = given
    var knowsEntities = false
    var records: [EntityRecord] = []
    let described = database.tables
    try database.forEachRow(.live, of: ["Z_MODELCACHE", "Z_PRIMARYKEY"]) { row in
      guard let table = row.origin.table, row.partial.isEmpty else { return true }
      switch described[table].name {
      case "Z_MODELCACHE":
        if model == nil, case .blob(let content)? = row.values.first {
          model = try? ModelCache.model(from: content)
        }
      default:
        if row.values.count >= 4, case .text = row.values[1] { knowsEntities = true }
        let stored = StoredRow(rowID: row.rowID, values: row.values)
        if records.count < EntityRecord.maxCount, let record = EntityRecord(row: stored) {
          records.append(record)
        }
      }
      return true
    }
    if !missing.isEmpty, !isStore {
      if knowsEntities || model != nil { known = database.tables }
      if model == nil { known += try recordedHistory(in: database, beside: known) }
    }
    // In the table of an entity, every row has an entity number.
    for index in known.indices {
      let names = known[index].definition.columns.prefix(2).map(\.name)
      if names == ["Z_PK", "Z_ENT"] { known[index].notNull.insert(1) }
    }
    let named = known.filter { !$0.isDropped || database.wasDropped($0) }
    let lost = isStore ? Self.missing(model, records, named) : []
    if !lost.isEmpty { try database.addMissingEntries(of: lost, to: &known) }
    for table in model.map({ tables(of: $0) + history }) ?? [] {
      if let index = known.firstIndex(where: { $0.name == table.name && $0.isDescribed }) {
        known[index].integers.merge(table.integers) { old, _ in old }
        known[index].notNull.formUnion(table.notNull)
      } else if !isStore || lost.contains(table.name)
        || known.contains(where: { $0.name == table.name })
      {
        known.append(table)
      }
    }
    try database.expect(known)
    return lost
  }

  /// Returns the names of the tables that a store must have, but that are not among `known`: the tables of the entities
  /// that `records`, the rows of Z_PRIMARYKEY, name. Without a model, Core Data's usual name of each table is returned.
  ///
  /// `known`: the tables of the schema, and those that SQLite has dropped.
  private static func missing(
    _ model: ManagedObjectModel?, _ records: [EntityRecord], _ known: [ExpectedTable]
  ) -> [String] {
    let present = Set(known.map { SQLName($0.name) })
    let recorded = Set(records.map(\.name))
    let roots = records.filter { !$0.isHistory && $0.superNumber == 0 }
    let names =
      model.map {
        TableLayout($0).tables.filter { recorded.contains($0.rootEntityName) }.map(\.name)
      } ?? Set(roots.map { "Z" + $0.name.uppercased() }).sorted()
    return names.filter { !present.contains(SQLName($0)) }
  }
}
