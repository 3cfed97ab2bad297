/// A row of an entity, its properties by their names in the model.
public struct ManagedRow: Sendable {
  /// A property and its value.
  public struct Property: Sendable, Hashable {
    /// The name in the model; without a model the name of the column.
    public let name: String
    /// The value.
    public let value: PropertyValue
  }

  /// The entity; nil when the row's number is that of no entity.
  public let entityName: String?
  /// `Z_ENT`; nil when it is NULL.
  public let entityNumber: Int64?
  /// `Z_PK`.
  public let primaryKey: Int64
  /// `Z_OPT`, which counts the saves of the row; nil when it is NULL.
  public let saveCount: Int64?
  /// The properties: attributes and to-one relationships, then many-to-many relationships, by name.
  public let properties: [Property]
}
