/// A row of an entity, with its properties under the names that the model gives them.
public struct ManagedRow: Sendable {
  /// A property and its value.
  public struct Property: Sendable, Hashable {
    /// The name in the model; without a model the name of the column.
    public let name: String
    /// The value, in the type that the model gives the property.
    public let value: PropertyValue

    package init(name: String, value: PropertyValue) {
      self.name = name
      self.value = value
    }
  }

  /// The name of the row's entity; nil when no entity has the row's number.
  public let entityName: String?
  /// The number in `Z_ENT`; nil when the row has no integer there.
  public let entityNumber: Int64?
  /// The key in `Z_PK`. For a row that has lost its key, this is the row id, or 0 if the row id is lost, too.
  public let primaryKey: Int64
  /// The number in `Z_OPT`, which counts the saves of the row; nil when the row has no integer there.
  public let saveCount: Int64?
  /// The attributes and to-one relationships by name, then the many-to-many relationships by name. Without a model, the
  /// columns in the order of the table.
  public let properties: [Property]
  /// Whether the row has lost its own key, and ``primaryKey`` was inferred from the rows that point to it.
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

  /// Returns a copy of the row with a key that was inferred from the rows that point to it.
  package func with(inferredKey key: Int64) -> ManagedRow {
    var row = ManagedRow(
      entityName: entityName, entityNumber: entityNumber, primaryKey: key, saveCount: saveCount,
      properties: properties)
    row.isKeyInferred = true
    return row
  }
}

/// An entity of a store, with the properties that its rows are read with.
package struct DescribedEntity: Sendable, Hashable {
  /// A property that each row of the entity has.
  package struct Property: Sendable, Hashable {
    /// What a property is in the model.
    package enum Kind: String, Sendable, Hashable, Codable {
      /// An attribute of the model.
      case attribute
      /// A to-one relationship.
      case toOne
      /// A many-to-many relationship.
      case toMany
      /// A column that the model does not describe.
      case column
    }

    /// The name in the model; without a model the name of the column.
    package let name: String
    /// Whether the property is an attribute, a relationship or a column without a model.
    package let kind: Kind
    /// The attribute's type, or the entity that the relationship leads to. For a column that the model does not
    /// describe, `TIMESTAMP` if it holds dates, else an empty text.
    package let typeName: String

    package init(name: String, kind: Kind, typeName: String) {
      self.name = name
      self.kind = kind
      self.typeName = typeName
    }
  }

  /// The entity's name.
  package let name: String
  /// The entity's number, which its rows have in `Z_ENT`.
  package let number: Int64
  /// The properties in the order in which rows list them.
  package let properties: [Property]
}
