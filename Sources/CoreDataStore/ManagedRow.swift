/// A row of an entity, with its properties named as in the model.
public struct ManagedRow: Sendable {
  /// A property and its value.
  public struct Property: Sendable, Hashable {
    /// The property's name in the model; without a model, the column's name.
    public let name: String
    /// The value, in the type that the model gives the property.
    public let value: PropertyValue

    package init(name: String, value: PropertyValue) {
      self.name = name
      self.value = value
    }
  }

  /// The name of the row's entity; nil when no entity of the row's table has the number in `Z_ENT`.
  public let entityName: String?
  /// The integer in `Z_ENT`; nil when the column holds no integer.
  public let entityNumber: Int64?
  /// The key in `Z_PK`. For a row that has lost its key, this is the row id, or 0 if the row id is lost, too.
  public private(set) var primaryKey: Int64
  /// The integer in `Z_OPT`, which counts how often the row was saved; nil when the column holds no integer.
  public let saveCount: Int64?
  /// The properties: first the attributes and to-one relationships, sorted by name, then the many-to-many
  /// relationships, sorted by name. Without a model, these are the columns in the order of the table's definition.
  public let properties: [Property]
  /// Whether ``primaryKey`` was inferred from the rows that point to this row, because the row has lost its own key.
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

  /// Returns a copy of the row whose primary key is `key`, inferred from the rows that point to this row.
  package func with(inferredKey key: Int64) -> ManagedRow {
    var row = self
    row.primaryKey = key
    row.isKeyInferred = true
    return row
  }
}

/// An entity, and the properties that each of its rows has.
package struct DescribedEntity: Sendable, Hashable {
  package struct Property: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable, Codable {
      case attribute
      case toOne
      case toMany
      /// A column that the model does not describe.
      case column
    }

    /// The property's name in the model; without a model, the column's name.
    package let name: String
    package let kind: Kind
    /// The attribute's type, or the name of the entity that the relationship leads to. For a column of dates that the
    /// model does not describe, this is `TIMESTAMP`. For any other column that the model does not describe, it is
    /// empty.
    package let typeName: String

    package init(name: String, kind: Kind, typeName: String) {
      self.name = name
      self.kind = kind
      self.typeName = typeName
    }
  }

  package let name: String
  /// The entity's number, which `Z_ENT` holds in each of the entity's rows.
  package let number: Int64
  /// The properties in the order in which rows list them.
  package let properties: [Property]
}
