import CoreDataStore
import ObjectModel

// Where the properties of an object are stored.
extension ObjectContext {
  func attribute(_ name: String, of entity: String) throws(ObjectError) -> (String, Attribute) {
    guard let column = layout.column(of: name, in: entity),
      case .attribute(let attribute) = column.role
    else { throw ObjectError(.noSuchProperty, "\(entity) has no stored attribute \(name)") }
    return (column.name, attribute)
  }

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

  /// Refuses an object that a relationship cannot lead to.
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

  func lineage(of entity: String) -> Set<String> {
    Set([entity] + layout.model.ancestors(of: entity).map(\.name))
  }

  /// The column with the key of a to-many relationship whose destination has it, and the one with the position.
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

  /// The join table of a many-to-many relationship as one side sees it; nil for a relationship without one.
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
