package import CoreDataStore
package import ObjectModel
import SQLiteFile
package import SQLiteForensics

/// Turns recovered rows of a damaged store into rows of entities, with the names of its model.
package struct RecoveredNaming {
  /// The names of the entities, by number.
  package let entityNames: [Int64: String]
  private let plans: [Int: [Int64: [RowPlan.Field]]]
  private let declared: [Int: [RowPlan.Field]]
  private let storePath: String
  private let model: ManagedObjectModel?

  /// - Parameters:
  ///   - tables: the tables of the database, as ``DamagedDatabase/tables`` has them.
  ///   - entities: the remaining rows of Z_PRIMARYKEY; may be empty.
  ///   - model: the model; without one the column names are used.
  ///   - storePath: the main file; the files of external values are beside it.
  package init(
    tables: [ExpectedTable], entities: [EntityRecord], model: ManagedObjectModel?,
    storePath: String
  ) {
    self.storePath = storePath
    self.model = model
    let layout = model.map { TableLayout($0) }
    let own = entities.filter { !$0.isHistory }
    var names = Dictionary(
      own.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
    // The model's names are newer. They apply unless the store has more entities than the model; a damaged store may
    // have lost some entities.
    if let layout, own.count <= layout.numbering.names.count,
      own.allSatisfy({ $0.number <= Int64(layout.numbering.names.count) })
    {
      for (number, name) in layout.numbering.names.enumerated() { names[Int64(number + 1)] = name }
    }
    entityNames = names
    var plans: [Int: [Int64: [RowPlan.Field]]] = [:]
    var declared: [Int: [RowPlan.Field]] = [:]
    for (place, table) in tables.enumerated() {
      let columns = table.definition.columns.prefix(3).map { $0.name.uppercased() }
      guard columns == ["Z_PK", "Z_ENT", "Z_OPT"], !Self.isHistory(table.name) else { continue }
      declared[place] = RowPlan.declaredFields(of: table.definition)
      guard let layout else { continue }
      for (number, name) in names where layout.table(of: name)?.name == table.name.uppercased() {
        plans[place, default: [:]][number] = RowPlan.fields(
          of: name, in: table.definition, layout)
      }
    }
    self.plans = plans
    self.declared = declared
  }

  private static func isHistory(_ table: String) -> Bool {
    ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"].contains(table.uppercased())
  }

  /// Returns these names and the names of all descendants of these entities. Without a model, only the names are
  /// returned.
  package func withDescendants(_ names: [String]) -> [String] {
    guard let model else { return names }
    let wanted = Set(names)
    return names
      + entityNames.values.filter { name in
        model.ancestors(of: name).contains { wanted.contains($0.name) }
      }
  }

  /// The properties of rows in a table that have this entity number, and the name of their entity, which is nil for an
  /// unknown number. Returns nil when the table does not hold an entity's rows. `table` is an index in the
  /// initializer's `tables`.
  package func fields(of table: Int, _ number: Int64?) -> (
    entity: String?, fields: [RowPlan.Field]
  )? {
    guard let fallback = declared[table] else { return nil }
    let fields = number.flatMap { plans[table]?[$0] }
    let isNamed = fields != nil || plans[table] == nil
    return (isNamed ? number.flatMap { entityNames[$0] } : nil, fields ?? fallback)
  }

  /// Turns a recovered row into a row of an entity, and says which columns its properties come from. Returns nil when
  /// the row's table does not hold an entity's rows. In place of a lost primary key, the row has its row id or else 0.
  ///
  /// Many-to-many relationships are not followed. Partial values are null.
  package func managedRow(_ row: RecoveredRow) -> (row: ManagedRow, columns: [Int])? {
    guard let place = row.origin.table ?? row.origin.guess else { return nil }
    func integer(_ column: Int) -> Int64? {
      guard column < row.values.count, case .integer(let value) = row.values[column] else {
        return nil
      }
      return value
    }
    let number = integer(1)
    guard let (entity, fields) = fields(of: place, number) else { return nil }
    var properties: [ManagedRow.Property] = []
    var columns: [Int] = []
    for field in fields where field.column < row.values.count {
      let stored = row.values[field.column]
      let value: PropertyValue
      switch field.kind {
      case .attribute(let attribute): value = PropertyValue(stored, attribute, storePath: storePath)
      case .declared(let isDate): value = PropertyValue(stored, isDate: isDate)
      case .toOne(let destination, let entityColumn):
        if case .integer(let key) = stored {
          let name = entityColumn.flatMap { integer($0) }.flatMap { entityNames[$0] }
          value = .toOne(ObjectReference(entityName: name ?? destination, primaryKey: key))
        } else {
          value = PropertyValue(stored, isDate: false)
        }
      }
      properties.append(.init(name: field.name, value: value))
      columns.append(field.column)
    }
    return (
      ManagedRow(
        entityName: entity, entityNumber: number,
        primaryKey: integer(0) ?? row.rowID ?? 0, saveCount: integer(2), properties: properties),
      columns
    )
  }
}
