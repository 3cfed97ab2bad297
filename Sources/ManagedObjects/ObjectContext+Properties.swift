package import CoreDataStore
import ObjectModel

// Finds the columns and tables that store an object's properties.
extension ObjectContext {
  /// Returns the name of the column that stores an attribute, and the attribute. Throws `object.noSuchProperty` when
  /// the entity has no stored attribute with this name.
  func attribute(_ name: String, of entity: String) throws(ObjectError) -> (String, Attribute) {
    guard let column = layout.column(of: name, in: entity),
      case .attribute(let attribute) = column.role
    else { throw ObjectError(.noSuchProperty, "\(entity) has no stored attribute \(name)") }
    return (column.name, attribute)
  }

  /// Returns the column that stores a to-one relationship, and the relationship. Throws `object.noSuchProperty` when
  /// the entity has no to-one relationship with this name.
  func toOne(_ name: String, of entity: String) throws(ObjectError)
    -> (TableLayout.Column, Relationship)
  {
    guard let column = layout.column(of: name, in: entity),
      case .toOne(let relationship) = column.role
    else {
      throw ObjectError(.noSuchProperty, "\(entity) has no to-one relationship \(name)")
    }
    return (column, relationship)
  }

  /// Returns the to-many relationship with this name. Throws `object.noSuchProperty` when the entity has no stored
  /// to-many relationship with this name.
  func toMany(_ name: String, of entity: String) throws(ObjectError) -> Relationship {
    guard
      let relationship = layout.model.allRelationships(of: entity).first(where: {
        $0.name == name && $0.isToMany && !$0.isTransient
      })
    else {
      throw ObjectError(.noSuchProperty, "\(entity) has no to-many relationship \(name)")
    }
    return relationship
  }

  /// Throws `object.wrongType` if `object` cannot be a destination of `relationship`. The object must belong to this
  /// context. The entity of the object must be the relationship's destination entity or one of its subentities.
  func check(_ object: ManagedObject?, for relationship: Relationship, of entity: String)
    throws(ObjectError)
  {
    guard let object else { return }
    guard object.context === self,
      lineage(of: object.entityName).contains(relationship.destinationEntityName)
    else {
      throw ObjectError(
        .wrongType,
        """
        \(entity).\(relationship.name) can only lead to \(relationship.destinationEntityName) in its own store, \
        not to this \(object.entityName)
        """
      )
    }
  }

  func lineage(of entity: String) -> Set<String> {
    Set([entity] + layout.model.ancestors(of: entity).map(\.name))
  }

  /// Returns the columns of `table` that store `relationship`, a to-many relationship of `entity` to the rows of
  /// `table`. `column` stores the primary key of the object that has the relationship. `order` stores the row's
  /// position in the relationship; nil for an unordered relationship.
  func keyColumn(
    of relationship: Relationship, of entity: String, in table: TableLayout.Table
  )
    throws(ObjectError) -> (column: String, order: String?)
  {
    let inverse = TableLayout.inverse(of: relationship, in: layout.model)
    let role: TableLayout.Role = inverse.map { .toOne($0) } ?? .owner(relationship)
    let orderRole: TableLayout.Role = inverse.map { .order($0) } ?? .ownerOrder(relationship)
    let lineage = lineage(of: entity)
    guard
      let column = table.columns.first(where: {
        $0.role == role && (inverse != nil || lineage.contains($0.ownerName(in: layout)))
      })
    else {
      throw ObjectError(
        .noSuchProperty, "the store has no column for \(entity).\(relationship.name)")
    }
    return (column.name, layout.companion(of: column, orderRole, in: table))
  }

  /// The join table of a many-to-many relationship. `near` is the column with the primary keys of the source objects,
  /// and `far` is the column with the primary keys of the destinations. `order` is the column with the positions in
  /// `relationship`; nil if `relationship` is unordered. `backOrder` is the column with the positions in the inverse;
  /// nil if the inverse is unordered. Returns nil for a relationship without a join table.
  func join(of relationship: Relationship, of entity: String) throws -> (
    table: String, near: String, far: String, order: String?, backOrder: String?
  )? {
    let lineage = lineage(of: entity)
    for join in layout.joinTables {
      if join.relationship == relationship, lineage.contains(join.ownerName) {
        return (
          join.name, join.ownerColumn, join.destinationColumn, join.destinationOrderColumn,
          join.ownerOrderColumn
        )
      }
      if TableLayout.inverse(of: join.relationship, in: layout.model) == relationship {
        return (
          join.name, join.destinationColumn, join.ownerColumn, join.ownerOrderColumn,
          join.destinationOrderColumn
        )
      }
    }
    return nil
  }
}

extension TableLayout {
  /// Returns the name of the column of `table` that has the role `role` and belongs to the same entity as `column`; nil
  /// when the table has no such column. The role alone does not identify the column, because several entities in one
  /// table may have equal relationships.
  package func companion(of column: Column, _ role: Role, in table: Table) -> String? {
    let owner = column.ownerName(in: self)
    return table.columns.first { $0.role == role && $0.ownerName(in: self) == owner }?.name
  }
}

extension TableLayout.Column {
  /// The name of the entity that has the property stored in this column. For the columns `owner` and `ownerOrder` of a
  /// to-many relationship, this is the entity that has the relationship, not the entity whose rows have the column. For
  /// all other columns, it is ``entityName``.
  package func ownerName(in layout: TableLayout) -> String {
    let relationship: Relationship
    let start: String
    switch role {
    case .owner(let found): (relationship, start) = (found, "Z")
    case .ownerOrder(let found): (relationship, start) = (found, "Z_FOK_")
    case .attribute, .toOne, .destinationEntity, .order: return entityName
    }
    let owners = layout.numbering.names.filter {
      layout.model.entities[$0]?.relationships.contains(relationship) == true
    }
    // Several entities may have equal relationships. The column's name then contains the number of the source entity.
    let named = owners.first { owner in
      layout.numbering.number(of: owner).map {
        name.utf8.starts(with: "\(start)\($0)\(relationship.name.uppercased())".utf8)
      } ?? false
    }
    return named ?? owners.first ?? entityName
  }
}
