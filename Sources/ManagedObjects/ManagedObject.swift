public import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteWriter

/// An object of a store, with the values of its attributes and the objects that its relationships lead to.
///
/// As long as an instance is in use, its ``ObjectContext`` returns this instance each time the object is read. A change
/// to the object is written to the store when the context writes. An instance is not `Sendable`: only the task that
/// uses its context may use it.
public final class ManagedObject {
  /// The name of the object's entity.
  public let entityName: String
  /// The object's entity and primary key; nil for a new object that is not yet written to the store.
  public internal(set) var reference: ObjectReference?
  /// Whether ``ObjectContext/delete(_:)`` has deleted the object.
  public internal(set) var isDeleted = false
  let context: ObjectContext
  /// The new values of changed attributes that are not yet written to the store, keyed by column name.
  var values: [String: SQLiteValue] = [:]
  /// The new destinations of changed to-one relationships that are not yet written to the store, keyed by column name.
  /// A nil destination means that the relationship leads to no object.
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

  /// Sets the value of an attribute. The value is written to the store when the context writes.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such attribute, when the value has another type or is out of
  ///   range, or when the store is only read.
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

  /// The object that a to-one relationship leads to; nil when the relationship leads to no object.
  ///
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func object(forKey name: String) throws -> ManagedObject? {
    let (column, relationship) = try context.toOne(name, of: entityName)
    if let changed = leads[column.name] { return changed }
    guard case .integer(let key) = try context.stored(column.name, of: self) else { return nil }
    return try context.object(withKey: key, inTableOf: relationship.destinationEntityName)
  }

  /// Sets the object that a to-one relationship leads to; nil for no object. If the inverse relationship is to-one, the
  /// inverse is set, too.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such relationship, when `object` is of another entity or context,
  ///   or when the store is only read.
  public func setObject(_ object: ManagedObject?, forKey name: String) throws {
    let (column, relationship) = try context.toOne(name, of: entityName)
    try context.check(object, for: relationship, of: entityName)
    try context.willChange(self)
    let inverse = TableLayout.inverse(of: relationship, in: context.layout.model)
    // An object that the relationship leads to already keeps its position in an ordered inverse.
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

  /// The objects that a to-many relationship leads to, in the relationship's order if it is ordered, else sorted by
  /// primary key.
  ///
  /// - Throws: ``ObjectError``, or errors of SQLite.
  public func objects(forKey name: String) throws -> [ManagedObject] {
    try context.destinations(of: self, by: context.toMany(name, of: entityName))
  }

  /// Adds an object to a to-many relationship. In an ordered relationship, the object is appended at the end.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such relationship, when `object` is of another entity or context,
  ///   or when the store is only read.
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

  /// Removes an object from a to-many relationship. Nothing changes if the relationship does not lead to the object.
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
