package import CoreDataStore
import CoreDataForensics
package import ObjectModel
import SQLiteFile
import SQLiteForensics
package import StoreExtraction
import StoreFiles

extension Migration {
  /// The store whose rows a migration copies.
  package enum Source {
    /// A store that counts as undamaged. Its rows are read as SQLite reads them.
    case sound(CoreDataStore)
    /// A store that may be damaged, and whose rows are read by recovery. `deleted` says whether deleted rows are
    /// copied, too.
    case damaged(DamagedStore, deleted: Bool)

    init(_ path: String, salvages: Bool) throws {
      self =
        salvages
        ? .damaged(try DamagedStore(path: path), deleted: false)
        : .sound(try CoreDataStore(path: path))
    }

    /// The version hashes in the store's metadata; nil when the metadata is lost or has no version hashes.
    package var recordedHashes: [String: VersionHash]? {
      let recorded =
        switch self {
        case .sound(let store): store.metadata?.versionHashes ?? [:]
        case .damaged(let store, _): store.recordedHashes
        }
      return recorded.isEmpty ? nil : recorded
    }

    var path: String {
      switch self {
      case .sound(let store): store.database.path
      case .damaged(let store, _): store.database.path
      }
    }

    package var model: ManagedObjectModel? {
      switch self {
      case .sound(let store): store.model
      case .damaged(let store, _): store.model
      }
    }
  }
}

extension SourceTables {
  init(_ model: ManagedObjectModel, _ source: Migration.Source) throws {
    let layout = TableLayout(model)
    switch source {
    case .sound(let store):
      var names: [Int64: String] = [:]
      for record in store.entities where !record.isHistory {
        names[record.number] = store.entityName(ofNumber: record.number) ?? record.name
      }
      // If the recorded entity names are not those of the given model, the entities are numbered by the model.
      if names.isEmpty || !Set(names.values).isSubset(of: Set(layout.numbering.names)),
        names.count <= layout.numbering.names.count
      {
        for (index, name) in layout.numbering.names.enumerated() { names[Int64(index + 1)] = name }
      }
      self.init(
        layout, entityNames: names,
        store.database.schema.tables.compactMap { table in
          table.definition.map { (table.name, $0) }
        })
    case .damaged(let store, _):
      let naming = RecoveredNaming(
        tables: store.database.tables, entities: store.entities, model: model,
        storePath: store.database.path)
      // A table whose statement is damaged stands beside the description that the model gives of it.
      self.init(
        layout, entityNames: naming.entityNames,
        store.database.tables.filter(\.isDescribed).map { ($0.name, $0.definition) })
    }
  }

  /// Describes the tables of a store that is made with `schema`.
  init(_ model: ManagedObjectModel, storeMadeBy schema: FreshStoreSchema) {
    self.init(
      TableLayout(model),
      entityNames: Dictionary(
        uniqueKeysWithValues: schema.entities.map { ($0.number, $0.name) }),
      schema.tables.compactMap { table in
        TableDefinition(sql: table.sql).map { (table.name, $0) }
      })
  }
}

extension Migration.Source {
  /// Returns the highest primary key of the table named `name`, according to the table's rows and to `Z_PRIMARYKEY`.
  /// Returns 0 if no key is known.
  func highestKey(in name: String) throws -> Int64 {
    func recordedKey(_ entities: [EntityRecord]) -> Int64 {
      entities.filter { "Z" + $0.name.uppercased() == name.uppercased() }
        .map(\.highestKey).max() ?? 0
    }
    switch self {
    case .sound(let store):
      let recorded = recordedKey(store.entities)
      guard let table = store.database.schema.table(named: name) else { return recorded }
      return max(recorded, try store.database.rowCount(of: table).highestRowID ?? 0)
    case .damaged(let store, let deleted):
      let tables = store.database.tables
      var highest = recordedKey(store.entities)
      try store.database.forEachRow(deleted ? .all : .readable, of: [name]) { row in
        if let place = row.origin.table, SQLName.isSame(tables[place].name, name) {
          highest = max(highest, row.rowID ?? 0)
        }
        return true
      }
      return highest
    }
  }
}
