package import ObjectModel

/// The tables and columns in which Core Data stores the properties of a model.
package struct TableLayout: Sendable, Equatable {
  package enum Role: Sendable, Hashable {
    case attribute(Attribute)
    /// The primary key of the object that a to-one relationship leads to.
    case toOne(Relationship)
    /// The entity number of the object that a to-one relationship leads to. The column exists only if that object can
    /// belong to several entities.
    case destinationEntity(Relationship)
    /// The row's position in an ordered to-many relationship that leads to the row. The associated value is the inverse
    /// of this relationship.
    case order(Relationship)
    /// The primary key of the object whose to-many relationship leads to this row. Used only for a relationship without
    /// an inverse.
    case owner(Relationship)
    /// The row's position in an ordered to-many relationship that leads to the row and has no inverse.
    case ownerOrder(Relationship)
  }

  /// A column other than `Z_PK`, `Z_ENT` and `Z_OPT`.
  package struct Column: Sendable, Hashable {
    /// The name: `Z` and the property's name in capitals. If the table has such a column already, a digit is appended.
    package let name: String
    /// The entity that declares the property. The entity's descendants use the column too.
    package let entityName: String
    package let role: Role
  }

  /// The table of a root entity and all its descendants.
  package struct Table: Sendable, Hashable {
    /// The name: `Z` and the root entity's name in capitals.
    package let name: String
    package let rootEntityName: String
    /// The names of all entities whose rows are in the table, ascending by entity number. The root entity comes first.
    package let entityNames: [String]
    /// The columns of the properties, grouped by entity. In each group, attributes come before relationships.
    package let columns: [Column]
    /// The names of all columns: the three that every table has, and those of the properties.
    package var columnNames: [String] { ["Z_PK", "Z_ENT", "Z_OPT"] + columns.map(\.name) }
  }

  /// The table of a many-to-many relationship.
  package struct JoinTable: Sendable, Hashable {
    /// The name: `Z_`, the number of the owning entity and the relationship's name in capitals.
    package let name: String
    /// The name of the join table if it is named after the inverse relationship. A store may use this name only for a
    /// relationship from an entity to itself. Nil for any other relationship, because another join table may have this
    /// name.
    package let otherName: String?
    /// The entity that declares ``relationship``.
    package let ownerName: String
    /// The relationship after which the table is named.
    package let relationship: Relationship
    /// The name of the column that holds the owner's key.
    package let ownerColumn: String
    /// The name of the column that holds the destination's key.
    package let destinationColumn: String
    /// The name of the column that holds the position of the owner among all owners of the same destination. Nil when
    /// the inverse relationship is not ordered.
    package let ownerOrderColumn: String?
    /// The name of the column that holds the destination's position in the relationship of the owner; nil when the
    /// relationship is not ordered.
    package let destinationOrderColumn: String?
  }

  package let model: ManagedObjectModel
  package let numbering: EntityNumbering
  /// A table for each root entity, sorted by the number of the root entity.
  package let tables: [Table]
  /// A table for each many-to-many relationship.
  package let joinTables: [JoinTable]

  /// Computes the tables and columns in which Core Data stores the objects of a model.
  ///
  /// - Parameters:
  ///   - model: the model.
  ///   - sides: the relationships that give join tables their names, each written as `Entity.relationship`. They matter
  ///     only for a many-to-many relationship from an entity to the same entity: Core Data names its join table after
  ///     the relationship or after the inverse. Without such an element, the join table is named after the relationship
  ///     whose name sorts first.
  package init(_ model: ManagedObjectModel, namedAfter sides: Set<String> = []) {
    let numbering = EntityNumbering(model)
    self.model = model
    self.numbering = numbering
    var members: [String: [String]] = [:]
    var roots: [String] = []
    for name in numbering.names {
      let root = model.rootEntity(of: name)?.name ?? name
      if root == name { roots.append(name) }
      members[root, default: []].append(name)
    }
    let hasSubentities = Set(model.entities.values.compactMap(\.superentityName))
    var tables: [Table] = []
    for root in roots {
      let names = members[root] ?? [root]
      var namer = Namer()
      var columns: [Column] = []
      for name in names {
        guard let entity = model.entities[name] else { continue }
        func add(_ columnName: String, _ role: Role) {
          columns.append(
            Column(name: namer.unique(columnName), entityName: name, role: role))
        }
        let inherited = Set(model.ancestors(of: name).flatMap(\.propertyNames))
        for attribute in entity.attributes
        where !attribute.isTransient && !inherited.contains(attribute.name) {
          for kept in Self.kept(attribute) {
            add("Z" + kept.name.uppercased(), .attribute(kept.attribute))
          }
        }
        for relationship in entity.relationships
        where !relationship.isTransient && !relationship.isToMany
          && !inherited.contains(relationship.name)
        {
          let capitals = relationship.name.uppercased()
          add("Z" + capitals, .toOne(relationship))
          if hasSubentities.contains(relationship.destinationEntityName),
            let number = numbering.number(of: relationship.destinationEntityName)
          {
            add("Z\(number)_" + capitals, .destinationEntity(relationship))
          }
          if let inverse = Self.inverse(of: relationship, in: model), inverse.isToMany,
            inverse.isOrdered
          {
            add("Z_FOK_" + capitals, .order(relationship))
          }
        }
      }
      columns += Self.ownerColumns(of: names, in: model, numbering, &namer)
      tables.append(
        Table(
          name: "Z" + root.uppercased(), rootEntityName: root, entityNames: names,
          columns: columns))
    }
    self.tables = tables
    joinTables = Self.joinTables(of: model, numbering, sides)
  }

  /// Returns the table that holds an entity's rows; nil when the model has no such entity.
  package func table(of entityName: String) -> Table? {
    tables.first { $0.entityNames.contains(entityName) }
  }

  /// Returns the numbers of an entity and of all entities that inherit from this entity, ascending.
  package func numbers(of entityName: String) -> [Int64] {
    numbering.names.filter { name in
      name == entityName || model.ancestors(of: name).contains { $0.name == entityName }
    }.compactMap { numbering.number(of: $0) }.sorted()
  }

  /// Returns the numbers of the entity and its descendants as an SQL list: ascending, joined by `, `.
  package func numberList(of entityName: String) -> String {
    numbers(of: entityName).map(String.init).joined(separator: ", ")
  }

  /// Returns the column of an attribute or to-one relationship that an entity declares or inherits. Nil for any other
  /// property.
  package func column(of property: String, in entityName: String) -> Column? {
    let lineage = Set([entityName] + model.ancestors(of: entityName).map(\.name))
    return table(of: entityName)?.columns.first { column in
      guard lineage.contains(column.entityName) else { return false }
      switch column.role {
      case .attribute(let attribute): return attribute.name == property
      case .toOne(let relationship): return relationship.name == property
      default: return false
      }
    }
  }

  /// Returns the columns of an attribute: one for each leaf of a composite attribute, or the only column of any other
  /// attribute. For each column, gives the name from which the column's name is made, and the attribute that the column
  /// stores.
  ///
  /// The stored attribute of a leaf is named by its key path, for example `address.city`. The column's name is made
  /// from the leaf's own name, here `city`, as in all 14 composites of two real stores.
  private static func kept(_ attribute: Attribute) -> [(name: String, attribute: Attribute)] {
    guard attribute.type == .composite, !attribute.elements.isEmpty else {
      return [(attribute.name, attribute)]
    }
    var leaves: [(name: String, attribute: Attribute)] = []
    var pending = [(name: attribute.name, attribute: attribute)]
    while let next = pending.popLast() {
      guard next.attribute.type == .composite else {
        leaves.append(next)
        continue
      }
      for element in next.attribute.elements.reversed() where !element.isTransient {
        var leaf = element
        leaf.name = next.attribute.name + "." + element.name
        leaf.isOptional = element.isOptional || next.attribute.isOptional
        pending.append((element.name, leaf))
      }
    }
    return leaves
  }

  /// Returns the columns that a table needs for to-many relationships without an inverse. Core Data stores such a
  /// relationship in the table of its destination entity. `names`: the entities of this table.
  private static func ownerColumns(
    of names: [String], in model: ManagedObjectModel, _ numbering: EntityNumbering,
    _ namer: inout Namer
  ) -> [Column] {
    var columns: [Column] = []
    for owner in numbering.names {
      guard let entity = model.entities[owner], let number = numbering.number(of: owner) else {
        continue
      }
      for relationship in entity.relationships
      where relationship.isToMany && !relationship.isTransient && relationship.inverseName == nil
        && names.contains(relationship.destinationEntityName)
      {
        let capitals = "\(number)" + relationship.name.uppercased()
        columns.append(
          Column(
            name: namer.unique("Z" + capitals), entityName: relationship.destinationEntityName,
            role: .owner(relationship)))
        if relationship.isOrdered {
          columns.append(
            Column(
              name: namer.unique("Z_FOK_" + capitals),
              entityName: relationship.destinationEntityName, role: .ownerOrder(relationship)))
        }
      }
    }
    return columns
  }

  private static func joinTables(
    of model: ManagedObjectModel, _ numbering: EntityNumbering, _ sides: Set<String>
  ) -> [JoinTable] {
    typealias Join = (
      owner: String, number: Int64, relationship: Relationship, inverse: Relationship,
      inverseOwner: String, inverseNumber: Int64
    )
    var joins: [Join] = []
    var done: Set<String> = []
    for name in numbering.names {
      guard let entity = model.entities[name], let number = numbering.number(of: name) else {
        continue
      }
      let inherited = Set(model.ancestors(of: name).flatMap(\.propertyNames))
      for relationship in entity.relationships
      where relationship.isToMany && !relationship.isTransient
        && !inherited.contains(relationship.name)
      {
        guard let inverse = inverse(of: relationship, in: model), inverse.isToMany,
          let inverseOwner = declaringEntity(
            of: inverse.name, from: relationship.destinationEntityName, in: model),
          let inverseNumber = numbering.number(of: inverseOwner),
          done.insert("\(name).\(relationship.name)").inserted
        else { continue }
        done.insert("\(inverseOwner).\(inverse.name)")
        let isTurned = name == inverseOwner && sides.contains("\(name).\(inverse.name)")
        joins.append(
          isTurned
            ? (name, number, inverse, relationship, name, number)
            : (name, number, relationship, inverse, inverseOwner, inverseNumber))
      }
    }
    // If columns of several join tables would have the same name, the column of the last table keeps the name, and the
    // others get a digit. This holds in all stores seen, whether the join tables belong to different entities (wire:
    // Z_23USERS1 in the table of entity 15, Z_23USERS in that of entity 19) or to the same entity.
    var namer = Namer()
    return joins.sorted { one, two in
      one.number == two.number
        ? one.relationship.name > two.relationship.name : one.number > two.number
    }.map { join in
      let capitals = join.relationship.name.uppercased()
      let inverseCapitals = join.inverse.name.uppercased()
      let ownerColumn = namer.unique("Z_\(join.number)" + inverseCapitals)
      let isOwnInverse =
        join.owner == join.inverseOwner && join.relationship.name == join.inverse.name
      return JoinTable(
        name: "Z_\(join.number)" + capitals,
        otherName: join.owner == join.inverseOwner ? "Z_\(join.number)" + inverseCapitals : nil,
        ownerName: join.owner,
        relationship: join.relationship, ownerColumn: ownerColumn,
        destinationColumn: isOwnInverse
          ? "REFLEXIVE" : namer.unique("Z_\(join.inverseNumber)" + capitals),
        ownerOrderColumn: join.inverse.isOrdered ? "Z_FOK_\(join.number)" + inverseCapitals : nil,
        destinationOrderColumn: join.relationship.isOrdered
          ? "Z_FOK_\(join.inverseNumber)" + capitals : nil)
    }.reversed()
  }

  /// Returns the inverse of a relationship, looked up among the relationships that the destination entity declares or
  /// inherits. Nil when the relationship has no inverse, or when the lookup finds no such relationship.
  package static func inverse(
    of relationship: Relationship, in model: ManagedObjectModel
  ) -> Relationship? {
    guard let name = relationship.inverseName else { return nil }
    return model.allRelationships(of: relationship.destinationEntityName)
      .first { $0.name == name }
  }

  /// Returns the topmost entity, among `entityName` and its ancestors, that declares the relationship `property`; nil
  /// if neither `entityName` nor an ancestor declares it.
  package static func declaringEntity(
    of property: String, from entityName: String, in model: ManagedObjectModel
  ) -> String? {
    let lineage = [entityName] + model.ancestors(of: entityName).map(\.name)
    return lineage.last {
      model.entities[$0]?.relationships.contains { $0.name == property } ?? false
    }
  }

  /// Makes names unique: a name stays unchanged at its first use, gets a 1 at its second use, and a 2 at its third.
  private struct Namer {
    private var uses: [String: Int] = [:]

    mutating func unique(_ name: String) -> String {
      let count = uses[name, default: 0]
      uses[name] = count + 1
      return count == 0 ? name : name + "\(count)"
    }
  }
}

extension ManagedObjectModel {
  /// Returns the root of the entity's inheritance tree; the table is named after this root. The root is the topmost
  /// ancestor that the model has, or the entity itself when it has no parent. Nil when the model does not have the
  /// entity, or when the entity's ancestors form a cycle.
  package func rootEntity(of entityName: String) -> Entity? {
    guard let entity = entities[entityName] else { return nil }
    let root = ancestors(of: entityName).last ?? entity
    if let beyond = root.superentityName, entities[beyond] != nil { return nil }
    return root
  }
}
