package import CoreDataStore
package import ObjectModel
import SQLiteFile
package import SQLiteForensics
import SafeText

/// Turns rows that were recovered from a damaged store into rows of entities, with the names of the store's model.
package struct RecoveredNaming {
  /// The names of the entities, by entity number.
  package let entityNames: [Int64: String]
  private let plans: [Int: [Int64: [RowPlan.Field]]]
  private let declared: [Int: [RowPlan.Field]]
  /// For each entity number whose table is among the tables of entities: the indexes of the tables with this name.
  private let ownTables: [Int64: Set<Int>]
  private let storePath: String
  private let model: ManagedObjectModel?

  /// Makes a naming for the rows that were recovered from a damaged store.
  ///
  /// - Parameters:
  ///   - tables: the tables of the damaged database, from ``DamagedDatabase/tables``.
  ///   - entities: the rows of Z_PRIMARYKEY that were recovered. There may be none.
  ///   - model: the model; nil to use column names as property names.
  ///   - storePath: the path of the store's main file, next to which the external files are found.
  package init(
    tables: [ExpectedTable], entities: [EntityRecord], model: ManagedObjectModel?,
    storePath: String
  ) {
    self.storePath = storePath
    self.model = model
    let layout = model.map { TableLayout($0) }
    let own = entities.filter { !$0.isHistory }
    var names = Dictionary(firstOf: own.map { ($0.number, $0.name) })
    // The model's names take precedence, because a damaged store may have lost rows of Z_PRIMARYKEY. But if the store
    // has more entities than the model, or higher entity numbers, the recorded names are used.
    if let layout, own.count <= layout.numbering.names.count,
      own.allSatisfy({ $0.number <= Int64(layout.numbering.names.count) })
    {
      for (number, name) in layout.numbering.names.enumerated() { names[Int64(number + 1)] = name }
    }
    entityNames = names
    var plans: [Int: [Int64: [RowPlan.Field]]] = [:]
    var declared: [Int: [RowPlan.Field]] = [:]
    for (place, table) in tables.enumerated() {
      guard CoreDataStore.hasShape(table.definition.columns.map(\.name)),
        !Self.isHistory(table.name)
      else { continue }
      declared[place] = RowPlan.declaredFields(of: table.definition)
      guard let layout else { continue }
      for (number, name) in names where layout.table(of: name)?.name == table.name.uppercased() {
        plans[place, default: [:]][number] = RowPlan.fields(
          of: name, in: table.definition, layout)
      }
    }
    self.plans = plans
    self.declared = declared
    let places = Dictionary(grouping: declared.keys) { SQLName(tables[$0].name) }
    let records = Dictionary(firstOf: own.map { ($0.number, $0) })
    var ownTables: [Int64: Set<Int>] = [:]
    for (number, name) in names {
      let tableNames =
        records[number]?.tableNames(among: records) { names[$0] }
        ?? [EntityRecord.tableName(ofRoot: name)]
      for tableName in tableNames {
        ownTables[number, default: []].formUnion(places[tableName] ?? [])
      }
    }
    self.ownTables = ownTables
  }

  private static func isHistory(_ table: String) -> Bool {
    ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"].contains(table.uppercased())
  }

  /// Returns the given entity names, and the names of all entities that inherit from them. Without a model, only the
  /// given names.
  package func withDescendants(_ names: [String]) -> [String] {
    guard let model else { return names }
    let wanted = Set(names)
    return names
      + entityNames.values.filter { name in
        model.ancestors(of: name).contains { wanted.contains($0.name) }
      }
  }

  /// Returns the name and the properties of the entity to which rows with the entity number `number` belong. `table` is
  /// an index into the initializer's `tables`. If the number is unknown, or is that of an entity in another table, the
  /// name is nil, and the properties are the columns as declared. Returns nil when the table does not contain rows of
  /// entities.
  package func fields(of table: Int, _ number: Int64?) -> (
    entity: String?, fields: [RowPlan.Field]
  )? {
    guard let fallback = declared[table] else { return nil }
    let fields = number.flatMap { plans[table]?[$0] }
    let ownTables = number.flatMap { self.ownTables[$0] } ?? []
    let mayBeHere = ownTables.isEmpty || ownTables.contains(table)
    let isNamed = fields != nil || plans[table] == nil && mayBeHere
    return (isNamed ? number.flatMap { entityNames[$0] } : nil, fields ?? fallback)
  }

  /// Returns a recovered row as a row of an entity, and for each of its properties the index of the property's column.
  /// Returns nil when the row's table does not contain rows of entities.
  ///
  /// If the primary key is lost, the row id replaces the key; if the row id is lost, too, the key is 0. Many-to-many
  /// relationships are left out. Partial values are null.
  package func managedRow(_ row: RecoveredRow) -> (row: ManagedRow, columns: [Int])? {
    guard let place = row.origin.table ?? row.origin.guess else { return nil }
    let number = row.values.integer(at: 1)
    guard let (entity, fields) = fields(of: place, number) else { return nil }
    var properties: [ManagedRow.Property] = []
    var columns: [Int] = []
    for field in fields where field.column < row.values.count {
      let value = field.value(row.values[field.column], storePath: storePath) { column in
        row.values.integer(at: column).flatMap { entityNames[$0] }
      }
      properties.append(.init(name: field.name, value: value))
      columns.append(field.column)
    }
    return (
      ManagedRow(
        entityName: entity, entityNumber: number,
        primaryKey: row.values.integer(at: 0) ?? row.rowID ?? 0,
        saveCount: row.values.integer(at: 2), properties: properties),
      columns
    )
  }
}
