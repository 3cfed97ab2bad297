/// A row of an entity, with its properties by their names in the model.
public struct ManagedRow: Sendable {
  /// A property and its value.
  public struct Property: Sendable, Hashable {
    /// The name in the model; without a model the name of the column.
    public let name: String
    /// The value.
    public let value: PropertyValue

    package init(name: String, value: PropertyValue) {
      self.name = name
      self.value = value
    }
  }

  /// The entity; nil when no entity has the row's number.
  public let entityName: String?
  /// `Z_ENT`; nil when it is NULL.
  public let entityNumber: Int64?
  /// `Z_PK`.
  public let primaryKey: Int64
  /// `Z_OPT`, which counts the saves of the row; nil when it is NULL.
  public let saveCount: Int64?
  /// The properties: attributes and to-one relationships, then many-to-many relationships, by name.
  public let properties: [Property]
  /// Whether ``primaryKey`` is the one that rows point to, because the row itself has lost its key.
  package private(set) var isKeyInferred = false

  package init(
    entityName: String?, entityNumber: Int64?, primaryKey: Int64, saveCount: Int64?,
    properties: [Property]
  ) {
    self.entityName = entityName
    self.entityNumber = entityNumber
    self.primaryKey = primaryKey
    self.saveCount = saveCount
    self.properties = properties
  }

  /// The row with a key that other rows point to.
  package func with(inferredKey key: Int64) -> ManagedRow {
    var row = ManagedRow(
      entityName: entityName, entityNumber: entityNumber, primaryKey: key, saveCount: saveCount,
      properties: properties)
    row.isKeyInferred = true
    return row
  }
}

/// An entity in the form in which its rows are read from a store.
package struct DescribedEntity: Sendable, Hashable {
  /// A property that each row of the entity has.
  package struct Property: Sendable, Hashable {
    /// The kind of a property.
    package enum Kind: String, Sendable, Hashable, Codable {
      /// An attribute of the model.
      case attribute
      /// A to-one relationship.
      case toOne
      /// A many-to-many relationship.
      case toMany
      /// A column that is known only by its declaration.
      case column
    }

    /// The name in the model; without a model the name of the column.
    package let name: String
    /// The kind of property.
    package let kind: Kind
    /// The attribute's type, the relationship's destination, or the column's declared type.
    package let typeName: String

    package init(name: String, kind: Kind, typeName: String) {
      self.name = name
      self.kind = kind
      self.typeName = typeName
    }
  }

  /// The name.
  package let name: String
  /// `Z_ENT`.
  package let number: Int64
  /// The properties in the order in which rows list them.
  package let properties: [Property]
}
