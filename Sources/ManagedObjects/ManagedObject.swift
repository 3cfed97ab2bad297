public import CoreDataStore
import ObjectModel
import SQLiteFile
import SQLiteWriter

/// An object of a store: the values of its attributes by name, and the objects that its relationships lead to.
///
/// While an instance is in use, its ``ObjectContext`` returns the same instance each time it reads the object. A change
/// reaches the store when the context writes. An instance is not `Sendable`: only the task that uses its context may
/// use it.
public final class ManagedObject {
  /// The name of the object's entity.
  public let entityName: String
  /// The entity and the primary key of the object; nil for a new object that is not written yet.
  public internal(set) var reference: ObjectReference?
  /// Whether ``ObjectContext/delete(_:)`` has deleted the object.
  public internal(set) var isDeleted = false
  let context: ObjectContext
  /// The changed attributes that are not written yet, keyed by column name.
  var values: [String: SQLiteValue] = [:]
  /// The changed to-one relationships that are not written yet, keyed by column name. A nil value leads to no object.
  var leads: [String: ManagedObject?] = [:]

  init(_ entityName: String, _ reference: ObjectReference?, in context: ObjectContext) {
    self.entityName = entityName
    self.reference = reference
    self.context = context
  }

  // MARK: - Attributes

  /// The value of an attribute; ``PropertyValue/null`` when the attribute has no value.
  ///
  /// - Throws: ``ObjectError``, or what SQLite reports.
  public func value(forKey name: String) throws -> PropertyValue {
    let (column, attribute) = try context.attribute(name, of: entityName)
    let stored = try values[column] ?? context.stored(column, of: self)
    return PropertyValue(StoredValue(stored), attribute, storePath: context.storePath)
  }

  /// Sets the value of an attribute. The value reaches the store when the context writes.
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

  /// The object that a to-one relationship leads to; nil when it leads to none.
  ///
  /// - Throws: ``ObjectError``, or what SQLite reports.
  public func object(forKey name: String) throws -> ManagedObject? {
    let (column, relationship) = try context.toOne(name, of: entityName)
    if let changed = leads[column.name] { return changed }
    guard case .integer(let key) = try context.stored(column.name, of: self) else { return nil }
    return try context.object(withKey: key, inTableOf: relationship.destinationEntityName)
  }

  /// Sets the object that a to-one relationship leads to; nil for no object. A to-one inverse is set as well.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such relationship, when the object is of another entity or
  ///   context, or when the store is only read.
  public func setObject(_ object: ManagedObject?, forKey name: String) throws {
    let (column, relationship) = try context.toOne(name, of: entityName)
    try context.check(object, for: relationship, of: entityName)
    try context.willChange(self)
    let inverse = TableLayout.inverse(of: relationship, in: context.layout.model)
    if let inverse, !inverse.isToMany, inverse.name != name || object !== self {
      // Both sides of a one-to-one relationship must agree.
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

  /// The objects that a to-many relationship leads to: in their order if the relationship is ordered, else by primary
  /// key.
  ///
  /// - Throws: ``ObjectError``, or what SQLite reports.
  public func objects(forKey name: String) throws -> [ManagedObject] {
    try context.destinations(of: self, by: context.toMany(name, of: entityName))
  }

  /// Adds an object to a to-many relationship. In an ordered relationship, it becomes the last.
  ///
  /// - Throws: ``ObjectError`` when the entity has no such relationship, when the object is of another entity or
  ///   context, or when the store is only read.
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

  /// Removes an object from a to-many relationship. Nothing changes if the object is not in it.
  ///
  /// - Throws: ``ObjectError``, or what SQLite reports.
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
