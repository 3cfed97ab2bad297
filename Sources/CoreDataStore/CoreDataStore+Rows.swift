import ObjectModel
import SafeText
public import SQLiteFile

extension CoreDataStore {
  /// Calls `receive` with each row of the given entities until `receive` returns false.
  ///
  /// - Parameters:
  ///   - entityNames: the entities whose rows are wanted; the rows of their descendants are included. Nil for all
  ///     entities.
  ///   - tables: the tables to read, chosen from ``entityTables``; nil for all ``entityTables``.
  ///   - receive: gets a row, and returns false when it wants no more rows.
  /// - Throws: `SQLiteFileError` when the device fails. Damage in the file is not thrown but added to ``findings``.
  public func forEachRow(
    of entityNames: [String]? = nil, in tables: [Table]? = nil, _ receive: (ManagedRow) -> Bool
  ) throws(SQLiteFileError) {
    let wanted = entityNames.map(numbers(ofEntities:))
    var goesOn = true
    for table in tables ?? entityTables where goesOn {
      guard let plan = try plan(for: table, wanted: wanted) else { continue }
      var unknownNumbers: [Int64?: Int] = [:]
      try database.forEachRow(of: table) { row in
        let managed = managedRow(row, plan)
        if managed.entityName == nil { unknownNumbers[managed.entityNumber, default: 0] += 1 }
        // A row is not wanted if its entity number belongs to no entity of this table.
        if let wanted, managed.entityName == nil || !wanted.contains(managed.entityNumber ?? 0) {
          return true
        }
        goesOn = receive(managed)
        return goesOn
      }
      note(unknownNumbers, in: table)
    }
  }

  /// Returns the plan that turns the columns of a table into properties. Nil if the table does not hold rows of
  /// entities, or if no entity of the table has a number in `wanted`. If `wanted` is nil, every entity is wanted.
  package func plan(
    for table: Table, wanted: Set<Int64>?
  ) throws(SQLiteFileError) -> RowPlan? {
    guard let plan = try plan(for: table) else { return nil }
    guard let wanted else { return plan }
    return plan.entities.keys.contains { wanted.contains($0) } ? plan : nil
  }

  /// Adds findings about rows of a table whose entity number belongs to none of the table's entities. `unknownNumbers`
  /// has the number of rows for each such entity number; the key nil stands for rows without an entity number. At most
  /// 100 findings are added.
  package func note(_ unknownNumbers: [Int64?: Int], in table: Table) {
    let sorted = unknownNumbers.sorted { ($0.key ?? .min) < ($1.key ?? .min) }
    for (number, count) in sorted.prefix(100) {
      let what =
        number.map { " the entity number \($0), which does not belong to this table" }
        ?? " no entity number"
      coreDataFindings.add(
        Finding(
          .coredataUnknownEntity,
          counted(count, "row has", "rows have") + what, table: table.name))
    }
  }

  /// Returns the plan that turns a table's columns into properties. Returns nil when the table's definition cannot be
  /// read, or has no column Z_PK.
  package func plan(for table: Table) throws(SQLiteFileError) -> RowPlan? {
    guard let definition = table.definition else { return nil }
    let columns = Dictionary(
      firstOf: definition.columns.enumerated().map { ($1.name.uppercased(), $0) })
    guard let keyColumn = columns["Z_PK"] else { return nil }
    let declared = RowPlan.declaredFields(of: definition)
    var plans: [Int64: RowPlan.EntityPlan] = [:]
    for record in records(in: table) {
      guard let name = entityName(ofNumber: record.number) else { continue }
      let names = [name] + (model?.ancestors(of: name).map(\.name) ?? [])
      let isShown = { (property: String) in self.shows?(property, names) ?? true }
      guard let layout, let place = layout.table(of: name), place.name == table.name.uppercased()
      else {
        plans[record.number] = RowPlan.EntityPlan(
          name: name, fields: declared.filter { isShown($0.name) }, links: [])
        continue
      }
      let lineage = Set([name] + layout.model.ancestors(of: name).map(\.name))
      let fields = RowPlan.fields(of: name, in: definition, layout)
      plans[record.number] = RowPlan.EntityPlan(
        name: name, fields: fields.filter { isShown($0.name) },
        links: try links(of: lineage, layout).filter { isShown($0.name) })
    }
    return RowPlan(
      table: table, keyColumn: keyColumn, entityColumn: columns["Z_ENT"],
      saveCountColumn: columns["Z_OPT"], entities: plans, fallback: shows == nil ? declared : [])
  }

  private func links(of lineage: Set<String>, _ layout: TableLayout) throws(SQLiteFileError)
    -> [RowPlan.Links]
  {
    var links: [RowPlan.Links] = []
    for join in layout.joinTables {
      if lineage.contains(join.ownerName),
        let table = try linkTable(join, isInverse: false, layout)
      {
        links.append(
          .init(
            name: join.relationship.name, destinations: table,
            destinationName: join.relationship.destinationEntityName))
      }
      guard let inverse = TableLayout.inverse(of: join.relationship, in: layout.model) else {
        continue
      }
      let isDestination = lineage.contains(join.relationship.destinationEntityName)
      if isDestination, inverse.name != join.relationship.name || !lineage.contains(join.ownerName),
        let table = try linkTable(join, isInverse: true, layout)
      {
        links.append(
          .init(name: inverse.name, destinations: table, destinationName: join.ownerName))
      }
    }
    return links.sorted { $0.name < $1.name }
  }

  /// Returns the links of a join table, sorted by owner or, if `isInverse` is true, by destination. Nil when the store
  /// does not have this join table. For each order, a join table is read only once.
  private func linkTable(_ join: TableLayout.JoinTable, isInverse: Bool, _ layout: TableLayout)
    throws(SQLiteFileError) -> LinkTable?
  {
    let key = join.name + (isInverse ? "<" : ">")
    if let known = linkCache[key] { return known }
    guard let (table, columns) = joinTable(join) else { return nil }
    var pairs: [(owner: Int64, destination: Int64, order: Int64)] = []
    try database.forEachRow(of: table) { row in
      guard case .integer(let owner) = row.values[columns.owner],
        case .integer(let destination) = row.values[columns.destination]
      else { return true }
      let orderColumn = isInverse ? columns.ownerOrder : columns.destinationOrder
      let order = row.values.integer(at: orderColumn) ?? 0
      pairs.append(isInverse ? (destination, owner, order) : (owner, destination, order))
      return true
    }
    let links = LinkTable(pairs)
    linkCache[key] = links
    return links
  }

  package typealias JoinColumns = (
    owner: Int, destination: Int, ownerOrder: Int?, destinationOrder: Int?
  )

  /// Returns the table that stores a many-to-many relationship, and the indexes of the table's columns. Nil when the
  /// store has no such table.
  package func joinTable(_ join: TableLayout.JoinTable)
    -> (Table, JoinColumns)?
  {
    let found = Self.joinTable(join) { name in
      let table = database.schema.table(named: name)
      return table?.definition.flatMap { definition in table.map { ($0.name, definition) } }
    }
    guard let found, let table = database.schema.table(named: found.name) else { return nil }
    return (table, found.columns)
  }

  /// Finds the join table of a many-to-many relationship. The closure `table` looks up a table by its name. The names
  /// to look up are ``TableLayout/JoinTable/name`` and ``TableLayout/JoinTable/otherName``. A join table must have at
  /// least two key columns. Returns nil when no such table is found.
  package static func joinTable(
    _ join: TableLayout.JoinTable,
    among table: (_ name: String) -> (name: String, definition: TableDefinition)?
  ) -> (name: String, columns: JoinColumns)? {
    for name in [join.name, join.otherName].compactMap({ $0 }) {
      guard let (found, definition) = table(name) else { continue }
      let columns = definition.columns.map { $0.name.uppercased() }
      let keys = columns.indices.filter { !columns[$0].utf8.starts(with: "Z_FOK_".utf8) }
      guard keys.count >= 2 else { continue }
      // The columns are found by name. If a name is not the expected one, the order of the key columns decides: the
      // owner's column comes first.
      let destination = columns.firstIndex(of: join.destinationColumn)
      let owner = columns.firstIndex(of: join.ownerColumn)
      let columnsFound: JoinColumns = (
        owner ?? keys.first { $0 != destination } ?? keys[0],
        destination ?? keys.first { $0 != (owner ?? keys[0]) } ?? keys[1],
        join.ownerOrderColumn.flatMap { columns.firstIndex(of: $0) },
        join.destinationOrderColumn.flatMap { columns.firstIndex(of: $0) }
      )
      return (found, columnsFound)
    }
    return nil
  }

  /// Turns a stored row into a row of its entity, according to the plan of the row's table. The primary key is the
  /// integer in Z_PK. If Z_PK has no integer, the primary key is the row id; without a row id, it is 0.
  package func managedRow(_ row: StoredRow, _ plan: RowPlan) -> ManagedRow {
    let number = row.values.integer(at: plan.entityColumn)
    let key = row.values.integer(at: plan.keyColumn) ?? row.rowID ?? 0
    let entity = number.flatMap { plan.entities[$0] }
    var properties: [ManagedRow.Property] = []
    for field in entity?.fields ?? plan.fallback where field.column < row.values.count {
      let value = field.value(row.values[field.column], storePath: database.path) { column in
        row.values.integer(at: column).flatMap { entityName(ofNumber: $0) }
      }
      properties.append(.init(name: field.name, value: value))
    }
    for link in entity?.links ?? [] {
      let references = link.destinations.destinations(of: key).map {
        ObjectReference(entityName: link.destinationName, primaryKey: $0)
      }
      properties.append(.init(name: link.name, value: .toMany(references)))
    }
    return ManagedRow(
      entityName: entity?.name, entityNumber: number, primaryKey: key,
      saveCount: row.values.integer(at: plan.saveCountColumn), properties: properties)
  }
}
