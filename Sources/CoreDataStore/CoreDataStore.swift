public import ObjectModel
public import SQLiteFile

/// A Core Data or SwiftData store, read as bytes.
///
/// It is opened like any SQLite file, and what Core Data keeps in it is read where it is there: a file that has
/// none of it is a store of ``Kind/sqlite``.
public final class CoreDataStore {
  /// What kind of file it is.
  public enum Kind: String, Sendable, Codable {
    /// It has `Z_METADATA` and `Z_PRIMARYKEY`.
    case coreData
    /// It has tables like Core Data's, but not its metadata.
    case coreDataShaped
    /// Any other SQLite file.
    case sqlite
  }

  /// The file.
  public let database: SQLiteDatabase
  /// What kind of file it is.
  public let kind: Kind
  /// What the store says of itself; nil when there is no readable row of Z_METADATA.
  public let metadata: StoreMetadata?
  /// The numbers of the entities, those of the persistent history included, by number.
  public let entities: [EntityRecord]
  /// The model that the store carries; nil when it has none that can be read.
  public let cachedModel: ManagedObjectModel?
  /// Why the cached model cannot be read; nil when it can, or when there is none.
  public let cachedModelProblem: String?
  /// The model by which rows are read: the one given when opening, else the cached one.
  public let model: ManagedObjectModel?
  /// What was found by reading the file and its meaning.
  public var findings: FindingList {
    var all = database.findings
    all.add(meaningFindings)
    return all
  }

  private var meaningFindings = FindingList()

  /// Opens the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the main file; its log and journal are found beside it.
  ///   - model: the model to read rows by; nil for the one that the store carries.
  ///   - logView: which part of the write-ahead log counts.
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or is no database.
  public init(
    path: String, model: ManagedObjectModel? = nil,
    logView: SQLiteDatabase.LogView = .committed
  ) throws(SQLiteFileError) {
    let database = try SQLiteDatabase(path: path, logView: logView)
    self.database = database
    let schema = database.schema
    let metadataTable = schema.table(named: "Z_METADATA")
    let keyTable = schema.table(named: "Z_PRIMARYKEY")
    kind =
      metadataTable != nil && keyTable != nil
      ? .coreData
      : metadataTable != nil || keyTable != nil || schema.tables.contains(where: Self.hasShape)
        ? .coreDataShaped : .sqlite

    var metadata: StoreMetadata?
    if let metadataTable {
      try database.forEachRow(of: metadataTable) { row in
        metadata = StoreMetadata(row: row)
        return false
      }
    }
    self.metadata = metadata

    var entities: [EntityRecord] = []
    if let keyTable {
      try database.forEachRow(of: keyTable) { row in
        if let record = EntityRecord(row: row) { entities.append(record) }
        return entities.count < Self.entityLimit
      }
    }
    self.entities = entities

    var cachedModel: ManagedObjectModel?
    var problem: String?
    if let table = schema.table(named: "Z_MODELCACHE") {
      var content: [UInt8]?
      try database.forEachRow(of: table) { row in
        if case .blob(let bytes)? = row.values.first { content = bytes }
        return false
      }
      if let content {
        do throws(ModelCache.Failure) {
          cachedModel = try ModelCache.model(from: content)
        } catch {
          problem = error.message
        }
      }
    }
    self.cachedModel = cachedModel
    cachedModelProblem = problem
    self.model = model ?? cachedModel

    if let problem {
      meaningFindings.add(
        Finding(
          "coredata.modelCacheUnreadable", "the cached model is not readable: \(problem)",
          table: "Z_MODELCACHE"))
    }
    if let metadata, case .unreadable(let reason) = metadata.plistState {
      meaningFindings.add(
        Finding(
          "coredata.metadataUnreadable", "the metadata is not readable: \(reason)",
          table: "Z_METADATA"))
    }
    if kind == .coreData, metadata == nil {
      meaningFindings.add(
        Finding("coredata.metadataMissing", "Z_METADATA has no readable row", table: "Z_METADATA"))
    }
  }

  /// More entities than any model has; a bound for hostile files.
  private static let entityLimit = 100_000

  private static func hasShape(_ table: Table) -> Bool {
    let names = table.columnNames.prefix(3).map { $0.uppercased() }
    return names == ["Z_PK", "Z_ENT", "Z_OPT"]
  }

  // MARK: - Entities

  /// The name of the entity with this number. The model's name wins over Z_PRIMARYKEY's, which a migration
  /// leaves stale when it renames an entity.
  public func entityName(ofNumber number: Int64) -> String? {
    if let name = numberedNames[number] { return name }
    return entities.first { $0.number == number }?.name
  }

  private lazy var numberedNames: [Int64: String] = {
    guard let model else { return [:] }
    let numbering = EntityNumbering(model)
    let own = entities.filter { !$0.isHistory }
    // Numbers can be told from the model only when it numbers as many entities as the store has.
    guard own.count == numbering.names.count,
      own.map(\.number).sorted() == Array(1...Int64(max(1, own.count)))
    else { return [:] }
    return Dictionary(uniqueKeysWithValues: zip(1..., numbering.names))
  }()

  /// The tables that hold rows of entities, those of the persistent history left out.
  public var entityTables: [Table] {
    let roots = entities.filter { $0.superNumber == 0 && !$0.isHistory }
    guard !roots.isEmpty else { return database.schema.tables.filter(Self.hasShape) }
    var met: Set<String> = []
    return roots.compactMap { record in
      let names = [record.name, entityName(ofNumber: record.number)].compactMap { $0 }
      return names.lazy.compactMap { self.database.schema.table(named: "Z" + $0.uppercased()) }
        .first { met.insert($0.name).inserted }
    }
  }

  /// The entities whose rows are in a table, with the names of their properties in the order in which rows
  /// give them.
  public func describedEntities(of table: Table) throws(SQLiteFileError) -> [DescribedEntity] {
    guard let plan = try plan(for: table) else { return [] }
    return plan.entities.sorted { $0.key < $1.key }.map { number, entity in
      DescribedEntity(
        name: entity.name, number: number,
        properties: entity.fields.map(\.described) + entity.links.map {
          .init(name: $0.name, kind: .toMany, typeName: $0.destinationName)
        })
    }
  }

  // MARK: - Rows

  /// Hands each row of the entities named to `receive` until it returns false.
  ///
  /// - Parameters:
  ///   - entityNames: the entities wanted, their descendants included; nil for all.
  ///   - tables: the tables to look in, of ``entityTables``; nil for all.
  public func forEachRow(
    of entityNames: Set<String>? = nil, in tables: [Table]? = nil, _ receive: (ManagedRow) -> Bool
  ) throws(SQLiteFileError) {
    let wanted = entityNames.map(withDescendants)
    var goesOn = true
    for table in tables ?? entityTables where goesOn {
      guard let plan = try plan(for: table) else { continue }
      if let wanted, !plan.entities.values.contains(where: { wanted.contains($0.name) }) {
        continue
      }
      var unknownNumbers: [Int64: Int] = [:]
      try database.forEachRow(of: table) { row in
        let managed = managedRow(row, plan)
        if managed.entityName == nil { unknownNumbers[managed.entityNumber ?? -1, default: 0] += 1 }
        if let wanted, !wanted.contains(managed.entityName ?? "") { return true }
        goesOn = receive(managed)
        return goesOn
      }
      for (number, count) in unknownNumbers.sorted(by: { $0.key < $1.key }).prefix(100) {
        meaningFindings.add(
          Finding(
            "coredata.unknownEntity",
            "\(count) rows have the entity number \(number), which is none of this table's",
            table: table.name))
      }
    }
  }

  private func withDescendants(_ names: Set<String>) -> Set<String> {
    var all = names
    var grows = true
    while grows {
      grows = false
      for record in entities where record.superNumber != 0 {
        guard let name = entityName(ofNumber: record.number), !all.contains(name),
          let parent = entityName(ofNumber: record.superNumber), all.contains(parent)
        else { continue }
        all.insert(name)
        grows = true
      }
    }
    return all
  }

  private func plan(for table: Table) throws(SQLiteFileError) -> RowPlan? {
    guard let definition = table.definition else { return nil }
    let columns = Dictionary(
      definition.columns.enumerated().map { ($1.name.uppercased(), $0) },
      uniquingKeysWith: { first, _ in first })
    guard let keyColumn = columns["Z_PK"] else { return nil }
    let declared = RowPlan.declaredFields(of: definition)
    var plans: [Int64: RowPlan.EntityPlan] = [:]
    let layout = model.map(TableLayout.init)
    for record in records(in: table) {
      guard let name = entityName(ofNumber: record.number) else { continue }
      guard let layout, let place = layout.table(of: name), place.name == table.name.uppercased()
      else {
        plans[record.number] = RowPlan.EntityPlan(name: name, fields: declared, links: [])
        continue
      }
      let lineage = Set([name] + layout.model.ancestors(of: name).map(\.name))
      let own = place.columns.filter { lineage.contains($0.entityName) }
      var fields: [RowPlan.Field] = []
      for column in own {
        guard let index = columns[column.name.uppercased()] else { continue }
        switch column.role {
        case .attribute(let attribute):
          fields.append(.init(name: attribute.name, kind: .attribute(attribute), column: index))
        case .toOne(let relationship):
          let companion = own.first { $0.role == .destinationEntity(relationship) }
          fields.append(
            .init(
              name: relationship.name,
              kind: .toOne(
                destination: relationship.destinationEntityName,
                entityColumn: companion.flatMap { columns[$0.name.uppercased()] }),
              column: index))
        default: break
        }
      }
      fields.sort { $0.name < $1.name }
      plans[record.number] = RowPlan.EntityPlan(
        name: name, fields: fields, links: try links(of: lineage, layout))
    }
    return RowPlan(
      table: table, keyColumn: keyColumn, entityColumn: columns["Z_ENT"],
      saveCountColumn: columns["Z_OPT"], entities: plans, fallback: declared)
  }

  /// The entities whose rows are in a table.
  private func records(in table: Table) -> [EntityRecord] {
    let byNumber = Dictionary(
      entities.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    return entities.filter { record in
      var root = record
      var steps = 0
      while root.superNumber != 0, let parent = byNumber[root.superNumber],
        steps < ManagedObjectModel.maximumInheritanceDepth
      {
        root = parent
        steps += 1
      }
      let names = [root.name, entityName(ofNumber: root.number) ?? root.name]
      return names.contains { "Z" + $0.uppercased() == table.name.uppercased() }
    }
  }

  private var linkCache: [String: LinkTable] = [:]

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

  /// The links of a join table, from the owner or, inverted, from the destination.
  private func linkTable(_ join: TableLayout.JoinTable, isInverse: Bool, _ layout: TableLayout)
    throws(SQLiteFileError) -> LinkTable?
  {
    let key = join.name + (isInverse ? "<" : ">")
    if let known = linkCache[key] { return known }
    guard let (table, columns) = joinTable(join, layout) else { return nil }
    var pairs: [(owner: Int64, destination: Int64, order: Int64)] = []
    try database.forEachRow(of: table) { row in
      guard case .integer(let owner) = row.values[columns.owner],
        case .integer(let destination) = row.values[columns.destination]
      else { return true }
      let orderColumn = isInverse ? columns.ownerOrder : columns.destinationOrder
      var order: Int64 = 0
      if let orderColumn, case .integer(let stored) = row.values[orderColumn] { order = stored }
      pairs.append(isInverse ? (destination, owner, order) : (owner, destination, order))
      return true
    }
    let links = LinkTable(pairs)
    linkCache[key] = links
    return links
  }

  private typealias JoinColumns = (
    owner: Int, destination: Int, ownerOrder: Int?, destinationOrder: Int?
  )

  /// The table of a many-to-many relationship. Of a relationship between an entity and itself either side may
  /// have given the name.
  private func joinTable(_ join: TableLayout.JoinTable, _ layout: TableLayout)
    -> (Table, JoinColumns)?
  {
    var names = [join.name]
    if let inverse = join.relationship.inverseName,
      let number = layout.numbering.number(of: join.ownerName)
    {
      names.append("Z_\(number)" + inverse.uppercased())
    }
    for name in names {
      guard let table = database.schema.table(named: name), let definition = table.definition
      else { continue }
      let columns = definition.columns.map { $0.name.uppercased() }
      let keys = columns.indices.filter { !columns[$0].hasPrefix("Z_FOK_") }
      guard keys.count >= 2 else { continue }
      // By name where the names are as expected, else by place: the owner comes first.
      let destination = columns.firstIndex(of: join.destinationColumn)
      let owner = columns.firstIndex(of: join.ownerColumn)
      let columnsFound: JoinColumns = (
        owner ?? keys.first { $0 != destination } ?? keys[0],
        destination ?? keys.first { $0 != (owner ?? keys[0]) } ?? keys[1],
        join.ownerOrderColumn.flatMap { columns.firstIndex(of: $0) },
        join.destinationOrderColumn.flatMap { columns.firstIndex(of: $0) }
      )
      return (table, columnsFound)
    }
    return nil
  }

  private func managedRow(_ row: StoredRow, _ plan: RowPlan) -> ManagedRow {
    func integer(_ column: Int?) -> Int64? {
      guard let column, column < row.values.count, case .integer(let value) = row.values[column]
      else { return nil }
      return value
    }
    let number = integer(plan.entityColumn)
    let key = integer(plan.keyColumn) ?? row.rowID ?? 0
    let entity = number.flatMap { plan.entities[$0] }
    var properties: [ManagedRow.Property] = []
    for field in entity?.fields ?? plan.fallback where field.column < row.values.count {
      let stored = row.values[field.column]
      let value: PropertyValue
      switch field.kind {
      case .attribute(let attribute):
        value = PropertyValue(stored, attribute, storePath: database.path)
      case .declared(let isDate):
        value = PropertyValue(stored, isDate: isDate)
      case .toOne(let destination, let entityColumn):
        if case .integer(let key) = stored {
          let name = entityColumn.flatMap { integer($0) }.flatMap { entityName(ofNumber: $0) }
          value = .toOne(ObjectReference(entityName: name ?? destination, primaryKey: key))
        } else {
          value = PropertyValue(stored, isDate: false)
        }
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
      saveCount: integer(plan.saveCountColumn), properties: properties)
  }
}
