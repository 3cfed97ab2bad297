import CoreDataStore
import ObjectModel

// Finds the columns and tables that store an object's properties.
extension ObjectContext {
  /// The column name of a stored attribute, and the attribute. Throws `object.noSuchProperty` when the entity has none
  /// of that name.
  func attribute(_ name: String, of entity: String) throws(ObjectError) -> (String, Attribute) {
    guard let column = layout.column(of: name, in: entity),
      case .attribute(let attribute) = column.role
    else { throw ObjectError(.noSuchProperty, "\(entity) has no stored attribute \(name)") }
    return (column.name, attribute)
  }

  /// The column of a to-one relationship, and the relationship. Throws `object.noSuchProperty` when the entity has none
  /// of that name.
  func toOne(_ name: String, of entity: String) throws(ObjectError)
    -> (TableLayout.Column, Relationship)
  {
    guard let column = layout.column(of: name, in: entity),
      case .toOne(let relationship) = column.role
    else {
      throw ObjectError(.noSuchProperty, "\(entity) has no relationship \(name) to one object")
    }
    return (column, relationship)
  }

  /// The to-many relationship of a name. Throws `object.noSuchProperty` when the entity has none that is stored.
  func toMany(_ name: String, of entity: String) throws(ObjectError) -> Relationship {
    guard
      let relationship = layout.model.allRelationships(of: entity).first(where: {
        $0.name == name && $0.isToMany && !$0.isTransient
      })
    else {
      throw ObjectError(.noSuchProperty, "\(entity) has no relationship \(name) to many objects")
    }
    return relationship
  }

  /// Throws when a relationship cannot lead to an object: the object is of another context or of another entity.
  func check(_ object: ManagedObject?, for relationship: Relationship, of entity: String)
    throws(ObjectError)
  {
    guard let object else { return }
    guard object.context === self,
      lineage(of: object.entityName).contains(relationship.destinationEntityName)
    else {
      throw ObjectError(
        .wrongType,
        "\(entity).\(relationship.name) leads to \(relationship.destinationEntityName) of its own store, and not to this \(object.entityName)"
      )
    }
  }

  /// The names of an entity and of all entities that it inherits from.
  func lineage(of entity: String) -> Set<String> {
    Set([entity] + layout.model.ancestors(of: entity).map(\.name))
  }

  /// The column of the destination's table that holds the key of the object with the to-many relationship, and the
  /// column that holds the position. `order` is nil for an unordered relationship.
  func keyColumn(
    of relationship: Relationship, of entity: String, in table: TableLayout.Table
  )
    throws(ObjectError) -> (column: String, order: String?)
  {
    let inverse = TableLayout.inverse(of: relationship, in: layout.model)
    let role: TableLayout.Role = inverse.map { .toOne($0) } ?? .owner(relationship)
    let orderRole: TableLayout.Role = inverse.map { .order($0) } ?? .ownerOrder(relationship)
    guard let column = table.columns.first(where: { $0.role == role }) else {
      throw ObjectError(
        .noSuchProperty, "the store has no column for \(entity).\(relationship.name)")
    }
    return (column.name, table.columns.first { $0.role == orderRole }?.name)
  }

  /// The join table of a many-to-many relationship, seen from one side: `near` is the column of this side's keys, `far`
  /// that of the other side's. The order columns are nil where a side is unordered. Nil for a relationship without a
  /// join table.
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
