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
/// Each entity mapping has one policy object for the whole migration. Before the first hook runs, the objects of
/// mappings without a policy exist already. Mappings with a policy are carried out in the order of the mapping model,
/// in three passes: instances, relationships, validation. Relationships that the mappings' expressions describe are set
/// before the second pass. An error that a hook throws ends the migration, and what was written is removed.
public protocol MigrationPolicy: AnyObject {
  /// Called before the first old object of the mapping.
  func begin(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Makes the new objects for an old object. The default makes the one object that the mapping's expressions describe
  /// (``MigrationManager/createDestinationInstance(for:in:)``). A policy that makes other objects must associate them
  /// with the old one (``MigrationManager/associate(_:withDestination:in:)``).
  func createDestinationInstances(
    for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Called after the last old object of the mapping.
  func endInstanceCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Sets, for a new object, the relationships that the mapping's expressions do not describe.
  func createRelationships(
    for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager)
    throws
  /// Called after the last new object of the mapping has its relationships.
  func endRelationshipCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Checks the new objects of the mapping; throws when something is wrong with them.
  func performCustomValidation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Called after the validation of all mappings.
  func end(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// The value of an expression `FUNCTION($entityPolicy, "selector:", …)`, for an object that was just made.
  /// `arguments` has those arguments that are values; `$source` and other objects come as the parameters of their own.
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
  /// Throws ``MigrationError``, because the policy has no such function.
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
    // With two classes of that name, either would be a guess.
    return found.count == 1 && (bare == name || found.keys.first == bare)
      ? found.values.first?() : nil
  }

  private static func withoutModule(_ name: String) -> String {
    name.utf8.lastIndex(of: UInt8(ascii: ".")).map {
      String(decoding: name.utf8[name.utf8.index(after: $0)...], as: UTF8.self)
    } ?? name
  }
}
