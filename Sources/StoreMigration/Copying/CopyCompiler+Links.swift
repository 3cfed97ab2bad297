import CoreDataStore
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile
import SafeText

// Compiles the copying of many-to-many relationships.
extension CopyCompiler {
  /// Entity mappings that set a many-to-many relationship from the same old relationship. In all of these mappings, the
  /// destinations are the objects that the mapping ``wanted`` makes.
  private struct LinkGroup {
    let old: Relationship
    /// The old entity whose objects the first mapping in ``mappings`` takes.
    let from: String
    /// The name of the mapping that makes the objects to which the relationship leads. Nil if the relationship leads to
    /// the objects of all mappings.
    let wanted: String?
    /// The string that identifies the old relationship uniquely (``CopyCompiler/key(_:_:)``).
    let key: String
    var mappings: [EntityMapping]
  }

  /// The two ends of the links that one statement writes into a join table. `near` and `far` are the entity mappings
  /// that make the objects at the two ends.
  private struct LinkEnds {
    let join: TableLayout.JoinTable
    /// Whether the relationship of ``join`` leads from the objects that the mappings ``near`` make to the objects that
    /// the mappings ``far`` make. If false, the relationship leads in the opposite direction.
    let isForward: Bool
    var near: [EntityMapping] = []
    var far: [EntityMapping] = []

    /// The name of the new relationship that leads from the objects of ``near`` to the objects of ``far``.
    var name: String {
      isForward ? join.relationship.name : join.relationship.inverseName ?? ""
    }
    var nearRoot: String {
      isForward ? join.ownerName : join.relationship.destinationEntityName
    }
    var farRoot: String {
      isForward ? join.relationship.destinationEntityName : join.ownerName
    }
  }

  /// Plans the statements that fill all join tables. The links of a relationship come from the mappings of the
  /// relationship and of its inverse, because Core Data keeps both sides consistent.
  mutating func addJoins() throws {
    for join in layout.joinTables {
      let forward = setters(of: join.relationship.name, in: join.ownerName)
      var met: Set<String> = []
      for group in groups(forward) {
        let isFirst = met.insert(group.key).inserted
        try addLinks(group, join, isForward: true, takesRest: isFirst)
      }
      if let inverse = TableLayout.inverse(of: join.relationship, in: model),
        inverse != join.relationship
      {
        let own = Dictionary(firstOf: forward.map { ($0.mapping.name, $0) })
        let backward = setters(of: inverse.name, in: join.relationship.destinationEntityName)
        met = []
        for group in groups(backward) where !isCovered(group, by: own, join) {
          let isFirst = met.insert(group.key).inserted
          try addLinks(group, join, isForward: false, takesRest: forward.isEmpty && isFirst)
        }
      }
      try addOwnLinks(join)
    }
  }

  private func groups(_ setters: [Setter]) -> [LinkGroup] {
    var groups: [LinkGroup] = []
    for setter in setters {
      let name = key(setter.old, setter.from)
      if let place = groups.firstIndex(where: { $0.key == name && $0.wanted == setter.wanted }) {
        groups[place].mappings.append(setter.mapping)
      } else {
        groups.append(
          LinkGroup(
            old: setter.old, from: setter.from, wanted: setter.wanted, key: name,
            mappings: [setter.mapping]))
      }
    }
    return groups
  }

  /// Whether the mappings `owners` already write all links that the mappings `group` would write into the join table.
  ///
  /// `owners`: the mappings that set the join table's relationship, by mapping name. `group`: mappings that set the
  /// inverse of this relationship.
  private func isCovered(
    _ group: LinkGroup, by owners: [String: Setter], _ join: TableLayout.JoinTable
  ) -> Bool {
    let lineage = descendants(of: join.ownerName)
    return makers(of: group.old, group.wanted, in: join.ownerName).allSatisfy { maker in
      guard lineage.contains(maker.destinationEntityName ?? "") else { return true }
      guard let setter = owners[maker.name], keyOfInverse(setter.old) == group.key else {
        return false
      }
      return setter.wanted == nil || group.mappings.allSatisfy { $0.name == setter.wanted }
    }
  }

  /// Plans the statements that write the links of `group` into the join table `join`. If `takesRest` is true, also
  /// includes the links of old entities whose mappings do not mention the relationship.
  private mutating func addLinks(
    _ group: LinkGroup, _ join: TableLayout.JoinTable, isForward: Bool, takesRest: Bool
  ) throws {
    let (old, from) = (group.old, group.from)
    var ends = LinkEnds(join: join, isForward: isForward, near: group.mappings)
    if takesRest {
      ends.near = setting(
        ends.name, from: old, nearMakers(old, of: from, in: ends.nearRoot),
        where: { $0 == group.wanted })
    }
    ends.far = makers(of: old, group.wanted, in: ends.farRoot)
    guard !ends.near.isEmpty, !ends.far.isEmpty else { return }
    if let table = source.joinTable(of: old, of: from) {
      var row = RowSQL(keyColumn: table.near)
      let (statement, isLate) = try insertion(
        of: ends, &row, table.near, table.far, table.nearOrder, table.farOrder)
      let relationship = JoinCopy.Relationship(
        entity: join.ownerName, name: join.relationship.name)
      plan.joins.append(
        JoinCopy(
          table: table.table, relationship: relationship, keys: [table.near, table.far],
          orders: [table.nearOrder, table.farOrder].compactMap { $0 }, statement: statement,
          isLate: isLate,
          countsBroken: !plan.joins.contains {
            SQLName.isSame($0.table, table.table) && $0.relationship == relationship
          }))
      return
    }
    // The old store has no join table for the relationship, because the relationship or its inverse was to-one. The
    // links are in a column of an entity's table.
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
          let link = table.definition.place(of: column.name)
        else { continue }
        for (number, copies) in table.entities {
          guard let entity = source.entityNames[number],
            isSame(entity, orDescendantOf: column.entityName)
          else { continue }
          isFound = true
          // The index of the column with the position of a row among all rows that have the same owner.
          let order = orderRoles.compactMap {
            source.layout.companion(of: column, $0, in: place)
          }.first.flatMap { table.definition.place(of: $0) }
          // A link has one end at this row. Each mapping that makes the object at this end gets its own statement,
          // because it may take other rows than the entity's other mappings.
          for made in copies {
            guard
              let maker = (isNear ? ends.near : ends.far).first(where: {
                $0.name == made.mappingName
              })
            else { continue }
            var own = ends
            if isNear { own.near = [maker] } else { own.far = [maker] }
            var row = RowSQL(keyColumn: table.keyColumn)
            let (statement, isLate) =
              try isNear
              ? insertion(of: own, &row, table.keyColumn, link, order, nil)
              : insertion(of: own, &row, link, table.keyColumn, nil, order)
            if isLate { made.updates.append(statement) } else { made.links.append(statement) }
          }
        }
      }
    }
    if !isFound {
      plan.leftOut.append(
        "the old store has no table or column for the relationship \(from).\(old.name)")
    }
  }

  /// Plans rows of a join table. Each of these rows links two objects that different mappings make from the same old
  /// object.
  private mutating func addOwnLinks(_ join: TableLayout.JoinTable) throws {
    for isForward in [true, false] {
      var ends = LinkEnds(join: join, isForward: isForward)
      let lineage = descendants(of: ends.nearRoot)
      for mapping in mappings where lineage.contains(mapping.destinationEntityName ?? "") {
        guard let from = mapping.sourceEntityName,
          case .same(let wanted) = relationshipSource(ends.name, mapping)
        else { continue }
        ends.near = [mapping]
        ends.far = makers(named: wanted, of: from, in: ends.farRoot)
        guard !ends.far.isEmpty else { continue }
        // It is not known here which objects a policy makes. If such an object is missing, its link must be deleted and
        // reported.
        let isCut = (ends.near + ends.far).contains { policies.className(of: $0) != nil }
        for table in plan.tables {
          for made in table.copies where made.mappingName == mapping.name {
            var row = RowSQL(keyColumn: table.keyColumn)
            let (statement, _) = try insertion(
              of: ends, &row, table.keyColumn, table.keyColumn, nil, nil, isCut: isCut)
            made.updates.append(statement)
          }
        }
      }
    }
  }

  /// Returns a statement that inserts a link into a join table of the new store. The link connects the new objects that
  /// were made from two old rows. If several new objects were made from an old row, each of them gets the link. The
  /// statement takes its parameters from a row of the old store.
  ///
  /// `nearColumn`, `farColumn`: the columns with the keys of the two old rows.
  /// `nearOrder`, `farOrder`: the columns with the positions of the link.
  /// `isCut`: what happens to a link to an object that was not made. If true, the link is written with a key that no
  /// row has, so that it is later deleted and reported. If false, the link is not written.
  ///
  /// - Returns: the statement, and whether it must run after all rows are inserted (`isLate`).
  private func insertion(
    of ends: LinkEnds, _ row: inout RowSQL, _ nearColumn: Int, _ farColumn: Int,
    _ nearOrder: Int?, _ farOrder: Int?, isCut: Bool = true
  ) throws -> (statement: RowStatement, isLate: Bool) {
    let join = ends.join
    let parameters = (near: row.parameter(nearColumn), far: row.parameter(farColumn))
    var origins: [String] = []
    func key(
      _ parameter: String, _ makers: [EntityMapping], _ root: String, _ name: String
    ) throws -> String {
      guard !isCut || !isDirect(makers), let made = try rows(parameter, makers, root) else {
        return direct(parameter, makers)
      }
      let rest =
        isCut
        ? " UNION ALL SELECT \(KeyShift.nowhere(parameter)) WHERE NOT EXISTS (SELECT 1 \(made))"
        : ""
      origins.append("(SELECT Z_PK AS pk \(made)\(rest)) AS \(name)")
      return "\(name).pk"
    }
    let near = try key(parameters.near, ends.near, ends.nearRoot, "near")
    let far = try key(parameters.far, ends.far, ends.farRoot, "far")
    let (owner, destination) = ends.isForward ? (near, far) : (far, near)
    let (ownerOrder, destinationOrder) =
      ends.isForward ? (nearOrder, farOrder) : (farOrder, nearOrder)
    var columns = [(join.ownerColumn, owner), (join.destinationColumn, destination)]
    // A link that has no position in the old store gets a position that is computed from its keys.
    if let name = join.ownerOrderColumn {
      columns.append((name, ownerOrder.map { row.parameter($0) } ?? "1024 * \(owner)"))
    }
    if let name = join.destinationOrderColumn {
      columns.append((name, destinationOrder.map { row.parameter($0) } ?? "1024 * \(destination)"))
    }
    let names = try columns.map { try SQLText.quoted($0.0) }.joined(separator: ", ")
    let values = columns.map(\.1).joined(separator: ", ")
    let from = origins.isEmpty ? "" : " FROM " + origins.joined(separator: ", ")
    return (
      try row.statement(
        "INSERT OR IGNORE INTO \(SQLText.quoted(join.name)) (\(names)) SELECT \(values)\(from) WHERE \(owner) IS NOT NULL AND \(destination) IS NOT NULL"
      ), !origins.isEmpty
    )
  }
}
