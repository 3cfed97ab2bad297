public import CoreDataStore
public import ManagedObjects

/// An entity mapping, as a policy sees it.
public struct PolicyMapping: Sendable, Hashable {
  /// The mapping's name, by which other mappings refer to it.
  public let name: String
  /// The entity of the old model.
  public let sourceEntityName: String
  /// The entity of the new model.
  public let destinationEntityName: String
}

/// The app's code for an entity mapping that names a class: `NSEntityMigrationPolicy`, with the same hooks in the same
/// order.
///
/// There is one instance for each entity mapping throughout. The objects of mappings without a policy are there before
/// the first hook runs, and so is what the mapping model's own expressions relate. Mappings with a policy are worked
/// through in the order of the mapping model, in three passes: instances, relationships, validation. An error that a
/// hook throws ends the migration, and nothing is left of it.
public protocol MigrationPolicy: AnyObject {
  /// Before the first object.
  func begin(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Makes what becomes of an old object. What comes without being asked for is the object that the mapping's
  /// expressions describe (``MigrationManager/createDestinationInstance(for:in:)``). Who makes others associates them.
  func createDestinationInstances(
    for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager) throws
  /// After the last object.
  func endInstanceCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Relates a new object. What the mapping's expressions relate is related already.
  func createRelationships(
    for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager)
    throws
  /// After the last object was related.
  func endRelationshipCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Throws when something is wrong with the new objects.
  func performCustomValidation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// After everything.
  func end(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// The value of an expression `FUNCTION($entityPolicy, "selector:", …)`, for an object that was just made. `arguments`
  /// are those that are values; `$source` and its like come by their own names.
  func value(
    ofFunction selector: String, _ arguments: [PropertyValue], from source: ManagedObject,
    to destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
  ) throws -> PropertyValue
}

extension MigrationPolicy {
  /// Does nothing.
  public func begin(_ mapping: PolicyMapping, with manager: MigrationManager) throws {}
  /// Makes the object that the mapping's expressions describe.
  public func createDestinationInstances(
    for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
  ) throws {
    try manager.createDestinationInstance(for: source, in: mapping)
  }
  /// Does nothing.
  public func endInstanceCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws {
  }
  /// Does nothing.
  public func createRelationships(
    for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
  ) throws {}
  /// Does nothing.
  public func endRelationshipCreation(_ mapping: PolicyMapping, with manager: MigrationManager)
    throws
  {}
  /// Does nothing.
  public func performCustomValidation(_ mapping: PolicyMapping, with manager: MigrationManager)
    throws
  {}
  /// Does nothing.
  public func end(_ mapping: PolicyMapping, with manager: MigrationManager) throws {}
  /// Refuses the function.
  public func value(
    ofFunction selector: String, _ arguments: [PropertyValue], from source: ManagedObject,
    to destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
  ) throws -> PropertyValue {
    throw MigrationError(
      .missingPolicy, ["the policy of \(mapping.name) has no function \(selector)"])
  }
}

/// The policies of an app, by the class names that its mapping models use.
struct PolicyRegister: Sendable {
  private var makers: [String: @Sendable () -> any MigrationPolicy] = [:]

  mutating func add(_ name: String, _ make: @escaping @Sendable () -> any MigrationPolicy) {
    makers[name] = make
  }

  /// Makes the policy with a class name, with or without the name of its module; nil when none is registered.
  func policy(named name: String) -> (any MigrationPolicy)? {
    if let make = makers[name] { return make() }
    let bare = Self.withoutModule(name)
    let found = makers.filter { Self.withoutModule($0.key) == bare }
    // One of two classes of that name would be a guess.
    return found.count == 1 && (bare == name || found.keys.first == bare)
      ? found.values.first?() : nil
  }

  private static func withoutModule(_ name: String) -> String {
    name.utf8.lastIndex(of: UInt8(ascii: ".")).map {
      String(decoding: name.utf8[name.utf8.index(after: $0)...], as: UTF8.self)
    } ?? name
  }
}
