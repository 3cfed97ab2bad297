public import CoreDataStore
public import ManagedObjects
import ModelTools

/// A description of an entity mapping, which the hooks of a policy get.
public struct PolicyMapping: Sendable, Hashable {
  /// The name of the mapping, by which the expressions of other mappings refer to it.
  public let name: String
  /// The entity of the old model.
  public let sourceEntityName: String
  /// The entity of the new model.
  public let destinationEntityName: String
}

/// The app's code for an entity mapping that names a policy class. It is similar to `NSEntityMigrationPolicy`, with the
/// same hooks in the same order.
///
/// Each entity mapping has one policy object, which is kept for the whole migration. When the first hook runs, the
/// objects of mappings without a policy exist already. Mappings with a policy are carried out in the order of the
/// mapping model, in three passes: instances, relationships, validation. The relationships that the mappings'
/// expressions describe are set before the second pass. If a hook throws an error, the migration ends, and its files
/// are removed.
public protocol MigrationPolicy: AnyObject {
  /// Called before ``createDestinationInstances(for:in:with:)`` is called for the first old object of the mapping.
  func begin(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Makes the new objects for an old object. The default implementation makes the single object that the mapping's
  /// expressions describe (``MigrationManager/createDestinationInstance(for:in:)``). A policy that makes different
  /// objects must associate each of them with the old object (``MigrationManager/associate(_:withDestination:in:)``).
  func createDestinationInstances(
    for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Called after ``createDestinationInstances(for:in:with:)`` was called for the last old object of the mapping.
  func endInstanceCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Sets the relationships of a new object, except those that the mapping's expressions describe.
  func createRelationships(
    for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager)
    throws
  /// Called after ``createRelationships(for:in:with:)`` was called for the last new object of the mapping.
  func endRelationshipCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Checks the new objects of the mapping. Throws if one of these objects is not valid.
  func performCustomValidation(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Called after ``performCustomValidation(_:with:)`` was called for all mappings.
  func end(_ mapping: PolicyMapping, with manager: MigrationManager) throws
  /// Returns the value of an expression `FUNCTION($entityPolicy, "selector:", …)` for a new object. `arguments` has
  /// only those arguments of the expression that are values. Arguments that are objects, such as `$source`, are passed
  /// in the other parameters.
  func value(
    ofFunction selector: String, _ arguments: [PropertyValue], from source: ManagedObject,
    to destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
  ) throws -> PropertyValue
}

extension MigrationPolicy {
  /// Does nothing.
  public func begin(_ mapping: PolicyMapping, with manager: MigrationManager) throws {}
  /// Makes one new object from the expressions in the mapping, as Core Data does for a mapping without a policy.
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
  /// The default implementation for a policy class without functions. Always throws ``MigrationError``.
  public func value(
    ofFunction selector: String, _ arguments: [PropertyValue], from source: ManagedObject,
    to destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
  ) throws -> PropertyValue {
    throw MigrationError(
      .missingPolicy, ["the policy of \(mapping.name) has no function \(selector)"])
  }
}

/// The policies that an app has registered, keyed by the class name that mapping models use.
struct PolicyRegister: Sendable {
  private var makers: [String: @Sendable () -> any MigrationPolicy] = [:]

  mutating func add(_ name: String, _ make: @escaping @Sendable () -> any MigrationPolicy) {
    makers[name] = make
  }

  /// Makes the policy that is registered for a class name, which may or may not begin with a module name. Returns nil
  /// when the class is not registered.
  func policy(named name: String) -> (any MigrationPolicy)? {
    if let make = makers[name] { return make() }
    let bare = Self.withoutModule(name)
    let found = makers.filter { Self.withoutModule($0.key) == bare }
    // If several modules have a class with this name, none of these classes is chosen.
    return found.count == 1 && (bare == name || found.keys.first == bare)
      ? found.values.first?() : nil
  }

  /// Returns the name of the registered policy class of a mapping; nil when the mapping names no class, or names a
  /// class that is not registered.
  func className(of mapping: EntityMapping) -> String? {
    mapping.migrationPolicyClassName.flatMap { policy(named: $0) == nil ? nil : $0 }
  }

  /// Whether a mapping names a policy class that is not registered.
  func isMissing(for mapping: EntityMapping) -> Bool {
    mapping.migrationPolicyClassName?.isEmpty == false && className(of: mapping) == nil
  }

  private static func withoutModule(_ name: String) -> String {
    name.utf8.lastIndex(of: UInt8(ascii: ".")).map {
      String(decoding: name.utf8[name.utf8.index(after: $0)...], as: UTF8.self)
    } ?? name
  }
}
