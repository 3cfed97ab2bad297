import CoreDataStore
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile

// Compiles the copying of many-to-many relationships.
extension CopyCompiler {
  mutating func addJoins() throws {
    for join in layout.joinTables {
      let inverse = TableLayout.inverse(of: join.relationship, in: model)
      var done: Set<String> = []
      for mapping in mappings {
        guard let to = mapping.destinationEntityName, let from = mapping.sourceEntityName else {
          continue
        }
        let isOwner = descendants(of: join.ownerName).contains(to)
        let isOther = descendants(of: join.relationship.destinationEntityName).contains(to)
        if isOwner,
          case .related(let name, let maker) = relationshipSource(join.relationship.name, mapping),
          let old = source.relationship(name, of: from), done.insert(key(old, from)).inserted
        {
          try addLinks(old, of: from, maker, join, isForward: true)
        } else if isOther, !isOwner || join.relationship != inverse, let inverse,
          case .related(let name, let maker) = relationshipSource(inverse.name, mapping),
          let old = source.relationship(name, of: from),
          !done.contains(keyOfInverse(old) ?? key(old, from)),
          !isMapped(join.relationship, of: join.ownerName), done.insert(key(old, from)).inserted
        {
          try addLinks(old, of: from, maker, join, isForward: false)
        }
      }
    }
  }

  /// Whether any mapping sets the relationship `relationship` of the new entity `entity`, or of an entity that inherits
  /// from it.
  func isMapped(_ relationship: Relationship, of entity: String) -> Bool {
    let lineage = descendants(of: entity)
    return mappings.contains { mapping in
      guard lineage.contains(mapping.destinationEntityName ?? "") else { return false }
      if case .related = relationshipSource(relationship.name, mapping) { return true }
      return false
    }
  }

  /// The mappings that make new rows from the old objects that have `relationship`. Only mappings that make rows in the
  /// table of the new entity `root` are included.
  func nearMakers(_ relationship: Relationship, of entity: String, in root: String)
    -> [EntityMapping]
  {
    let declaring = declaringEntity(of: relationship, entity)
    return mappings.filter { mapping in
      (mapping.sourceEntityName == declaring
        || isDescendant(mapping.sourceEntityName, of: declaring))
        && mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name }
          == layout.table(of: root)?.name
    }
  }

  /// The topmost of an old entity and its ancestors that declares a relationship of the entity.
  private func declaringEntity(of relationship: Relationship, _ entity: String) -> String {
    TableLayout.declaringEntity(of: relationship.name, from: entity, in: source.model) ?? entity
  }

  /// A text that tells apart the old relationships, of which several entities may have equal ones.
  private func key(_ relationship: Relationship, _ entity: String) -> String {
    "\(declaringEntity(of: relationship, entity)).\(relationship.name)"
  }

  private func keyOfInverse(_ relationship: Relationship) -> String? {
    TableLayout.inverse(of: relationship, in: source.model).map {
      key($0, relationship.destinationEntityName)
    }
  }

  mutating func addLinks(
    _ old: Relationship, of from: String, _ maker: String?, _ join: TableLayout.JoinTable,
    isForward: Bool
  ) throws {
    let nearRoot = isForward ? join.ownerName : join.relationship.destinationEntityName
    let farRoot = isForward ? join.relationship.destinationEntityName : join.ownerName
    let nearName = isForward ? join.relationship.name : join.relationship.inverseName ?? ""
    func sets(_ mapping: EntityMapping) -> Bool {
      guard case .related(let name, _) = relationshipSource(nearName, mapping) else { return false }
      return name == old.name
    }
    // Of several mappings of one entity, only those that set the relationship make objects that have it.
    let all = nearMakers(old, of: from, in: nearRoot)
    let near = all.filter { mapping in
      sets(mapping)
        || !all.contains { $0.sourceEntityName == mapping.sourceEntityName && sets($0) }
    }
    let far = makers(of: old, maker, in: farRoot)
    guard !near.isEmpty, !far.isEmpty else { return }
    func insert(
      _ row: inout RowSQL, _ nearColumn: Int, _ farColumn: Int, _ nearOrder: Int?, _ farOrder: Int?
    )
      throws -> (RowStatement, isLate: Bool)
    {
      let parameters = (near: row.parameter(nearColumn), far: row.parameter(farColumn))
      var nearKey = direct(parameters.near, near)
      var origin = ""
      if !isDirect(near), let made = try rows(parameters.near, near, nearRoot) {
        // Each of the objects that the mappings have made from the row gets the link.
        nearKey = "near.pk"
        origin =
          " FROM (SELECT Z_PK AS pk \(made) UNION ALL SELECT \(KeyShift.nowhere(parameters.near)) WHERE NOT EXISTS (SELECT 1 \(made))) AS near"
      }
      let farKey =
        try isDirect(far)
        ? direct(parameters.far, far) : resolvedOrCut(parameters.far, far, farRoot)
      var columns =
        isForward
        ? [(join.ownerColumn, nearKey), (join.destinationColumn, farKey)]
        : [(join.ownerColumn, farKey), (join.destinationColumn, nearKey)]
      let (owner, destination) = isForward ? (nearOrder, farOrder) : (farOrder, nearOrder)
      // A link that has no position in the old store gets a position that is computed from its keys.
      let (ownerKey, destinationKey) = (columns[0].1, columns[1].1)
      if let name = join.ownerOrderColumn {
        columns.append((name, owner.map { row.parameter($0) } ?? "1024 * \(ownerKey)"))
      }
      if let name = join.destinationOrderColumn {
        columns.append((name, destination.map { row.parameter($0) } ?? "1024 * \(destinationKey)"))
      }
      let names = try columns.map { try SQLText.quoted($0.0) }.joined(separator: ", ")
      let values = columns.map(\.1).joined(separator: ", ")
      return (
        try row.statement(
          "INSERT OR IGNORE INTO \(SQLText.quoted(join.name)) (\(names)) SELECT \(values)\(origin) WHERE \(columns[0].1) IS NOT NULL AND \(columns[1].1) IS NOT NULL"
        ), !isDirect(near) || !isDirect(far)
      )
    }
    if let table = source.joinTable(of: old, of: from) {
      var row = RowSQL(keyColumn: table.near)
      let (statement, isLate) = try insert(
        &row, table.near, table.far, table.nearOrder, table.farOrder)
      plan.joins.append(
        JoinCopy(
          table: table.table,
          relationship: .init(entity: join.ownerName, name: join.relationship.name),
          keys: [table.near, table.far],
          orders: [table.nearOrder, table.farOrder].compactMap { $0 }, statement: statement,
          isLate: isLate))
      return
    }
    // The old store has no join table for the relationship, because one of its two ends was to-one. The links are in
    // the rows at that end.
    var isFound = false
    let inverse = TableLayout.inverse(of: old, in: source.model)
    var orderRoles: [TableLayout.Role] = [.ownerOrder(old), .order(old)]
    if let inverse { orderRoles.append(.order(inverse)) }
    for table in plan.tables {
      guard let place = source.layout.tables.first(where: { SQLName.isSame($0.name, table.table) })
      else { continue }
      for column in place.columns {
        let isNear = column.role == .toOne(old) && isColumn(column, of: from)
        let isFar =
          inverse.map { column.role == .toOne($0) } ?? false
          || column.role == .owner(old) && isColumn(column, of: from)
        guard isNear || isFar,
          let link = table.definition.columns.firstIndex(where: {
            SQLName.isSame($0.name, column.name)
          })
        else { continue }
        for (number, copies) in table.entities {
          guard let entity = source.entityNames[number],
            column.entityName == entity || isDescendant(entity, of: column.entityName)
          else { continue }
          isFound = true
          // Of several mappings of the entity, the one that makes the end of the link from this row writes the link.
          let makers = isNear ? near : far
          guard
            let made = copies.first(where: { copy in
              makers.contains { $0.name == copy.mappingName }
            })
          else { continue }
          var row = RowSQL(keyColumn: table.keyColumn)
          // The column with the position of a row among all rows that have the same owner.
          let order = orderRoles.compactMap {
            source.layout.companion(of: column, $0, in: place)
          }.first.flatMap { name in
            table.definition.columns.firstIndex { SQLName.isSame($0.name, name) }
          }
          let (statement, isLate) =
            try isNear
            ? insert(&row, table.keyColumn, link, order, nil)
            : insert(&row, link, table.keyColumn, nil, order)
          if isLate { made.updates.append(statement) } else { made.links.append(statement) }
        }
      }
    }
    if !isFound {
      plan.leftOut.append(
        "the old store has no table or column for the relationship \(from).\(old.name)")
    }
  }
}
