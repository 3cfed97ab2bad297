public import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteWriter

/// An object of a store. Gives access to the values of its attributes and to the destinations of its relationships.
///
/// As long as the app holds an instance, the ``ObjectContext`` returns that instance each time it reads the object. A
/// change stays pending until the context writes it to the store together with other changes. An instance is not
/// `Sendable`: use it only in the task that uses its context.
public final class ManagedObject {
  /// The name of the object's entity.
  public let entityName: String
  /// The object's entity and primary key; nil for a new object whose row is not inserted yet.
  public internal(set) var reference: ObjectReference?
  /// Whether ``ObjectContext/delete(_:)`` has deleted the object.
  public internal(set) var isDeleted = false
  let context: ObjectContext
  /// The pending values of attributes, keyed by column name. The next write moves them to the store.
  var values: [String: SQLiteValue] = [:]
  /// The pending destinations of to-one relationships, keyed by column name. A nil destination clears the relationship.
  var leads: [String: ManagedObject?] = [:]

  init(_ entityName: String, _ reference: ObjectReference?, in context: ObjectContext) {
    self.entityName = entityName
    self.reference = reference
    self.context = context
  }

  // MARK: - Attributes

  /// The value of an attribute; ``PropertyValue/null`` when the attribute has no value.
  ///
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func value(forKey name: String) throws -> PropertyValue {
    let (column, attribute) = try context.attribute(name, of: entityName)
    let stored = try values[column] ?? context.stored(column, of: self)
    return PropertyValue(StoredValue(stored), attribute, storePath: context.storePath)
  }

  /// Sets the value of an attribute. The context writes the value to the store with its other pending changes.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such attribute, when the value has another type or is out of
  ///   range, or when the context is read-only.
  public func setValue(_ value: PropertyValue, forKey name: String) throws {
    let (column, attribute) = try context.attribute(name, of: entityName)
    guard let stored = AttributeValue.stored(value, of: attribute) else {
      throw ObjectError(
        .wrongType,
        "\(entityName).\(name) has the type \(attribute.type.name), and cannot be \(value)")
    }
    try context.willChange(self)
    values[column] = stored
  }

  // MARK: - Relationships

  /// Returns the destination of a to-one relationship; nil when the relationship has no destination.
  ///
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func object(forKey name: String) throws -> ManagedObject? {
    let (column, relationship) = try context.toOne(name, of: entityName)
    if let changed = leads[column.name] { return changed }
    guard case .integer(let key) = try context.stored(column.name, of: self) else { return nil }
    return try context.object(withKey: key, inTableOf: relationship.destinationEntityName)
  }

  /// Sets the destination of a to-one relationship; nil clears the relationship. If the inverse relationship is also
  /// to-one, sets the inverse, too.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such relationship, when `object` is of another entity or context,
  ///   or when the context is read-only.
  public func setObject(_ object: ManagedObject?, forKey name: String) throws {
    let (column, relationship) = try context.toOne(name, of: entityName)
    try context.check(object, for: relationship, of: entityName)
    try context.willChange(self)
    let inverse = TableLayout.inverse(of: relationship, in: context.layout.model)
    // If `object` is the destination already, nothing changes, so that `self` keeps its position in the ordered inverse
    // relationship.
    if object != nil, let inverse, inverse.isToMany, inverse.isOrdered,
      try self.object(forKey: name) === object
    {
      return
    }
    if let inverse, !inverse.isToMany, inverse.name != name || object !== self {
      // The two relationships of a one-to-one pair must agree.
      let former = try self.object(forKey: name)
      if let former, former !== object { try former.lead(nil, by: inverse) }
      if let object, let other = try object.object(forKey: inverse.name), other !== self {
        try other.lead(nil, by: relationship)
      }
      try object?.lead(self, by: inverse)
    }
    try context.lead(self, to: object, column)
  }

  private func lead(_ object: ManagedObject?, by relationship: Relationship) throws {
    let (column, _) = try context.toOne(relationship.name, of: entityName)
    try context.lead(self, to: object, column)
  }

  /// Returns the destinations of a to-many relationship. They are in the relationship's order if the relationship is
  /// ordered, else sorted by primary key.
  ///
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func objects(forKey name: String) throws -> [ManagedObject] {
    try context.destinations(of: self, by: context.toMany(name, of: entityName))
  }

  /// Adds an object to a to-many relationship. In an ordered relationship, the object is appended at the end.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such relationship, when `object` is of another entity or context,
  ///   or when the context is read-only.
  public func addObject(_ object: ManagedObject, forKey name: String) throws {
    let relationship = try context.toMany(name, of: entityName)
    try context.check(object, for: relationship, of: entityName)
    if let inverse = TableLayout.inverse(of: relationship, in: context.layout.model),
      !inverse.isToMany
    {
      try object.setObject(self, forKey: inverse.name)
    } else {
      try context.link(self, object, by: relationship, isAdded: true)
    }
  }

  /// Removes an object from a to-many relationship. Does nothing if the object is not a destination of the
  /// relationship.
  ///
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func removeObject(_ object: ManagedObject, forKey name: String) throws {
    let relationship = try context.toMany(name, of: entityName)
    try context.check(object, for: relationship, of: entityName)
    if let inverse = TableLayout.inverse(of: relationship, in: context.layout.model),
      !inverse.isToMany
    {
      if try object.object(forKey: inverse.name) === self {
        try object.setObject(nil, forKey: inverse.name)
      }
    } else {
      try context.link(self, object, by: relationship, isAdded: false)
    }
  }
}
