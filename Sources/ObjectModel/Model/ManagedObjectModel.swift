/// A managed object model. Two models with the same content are equal, whatever kind of file each was read from.
///
/// Reading a model does not check whether Core Data would accept the model.
public struct ManagedObjectModel: Sendable, Hashable {
  /// The entities of the model, by entity name.
  public var entities: [String: Entity]
  /// The version identifiers, sorted. They are free text. Several versions may have the same identifiers, so an
  /// identifier only hints at a version.
  public var versionIdentifiers: [String]
  /// The sorted entity names of each configuration, by the configuration's name.
  public var configurations: [String: [String]]
  /// The names of the configurations used with CloudKit, sorted. Only an `.xcdatamodel` lists such configurations.
  package var cloudKitConfigurations: [String]
  /// Whether the `.xcdatamodel` says that the model is used with CloudKit.
  package var isUsedWithCloudKit: Bool
  /// Whether the `.xcdatamodel` says that the model is used with SwiftData.
  package var isUsedWithSwiftData: Bool
  /// The fetch request templates, sorted by name. A store's cached model never contains templates.
  package var fetchRequestTemplates: [FetchRequestTemplate]

  /// The maximum number of parts that are read from one model: entities, properties, templates, validation rules and
  /// parts of indexes. Real models have a few thousand.
  package static let maximumPartCount = 150_000
  /// The maximum total length in bytes of all predicates and expressions, as text, in one model: 2 MiB.
  package static let maximumPredicateLength = 2 << 20

  /// Makes a model. If several of the given entities have the same name, then the model has the last one.
  package init(
    entities: [Entity] = [], versionIdentifiers: [String] = [],
    configurations: [String: [String]] = [:], cloudKitConfigurations: [String] = [],
    isUsedWithCloudKit: Bool = false, isUsedWithSwiftData: Bool = false,
    fetchRequestTemplates: [FetchRequestTemplate] = []
  ) {
    self.entities = Dictionary(entities.map { ($0.name, $0) }) { _, last in last }
    self.versionIdentifiers = ByteOrder.sorted(versionIdentifiers)
    self.configurations = configurations.mapValues { ByteOrder.sorted($0) }
    self.cloudKitConfigurations = ByteOrder.sorted(cloudKitConfigurations)
    self.isUsedWithCloudKit = isUsedWithCloudKit
    self.isUsedWithSwiftData = isUsedWithSwiftData
    self.fetchRequestTemplates = fetchRequestTemplates.sorted {
      ByteOrder.precedes($0.name, $1.name)
    }
  }

  /// The names of all entities, sorted by UTF-8 bytes as in Core Data.
  public var entityNames: [String] { ByteOrder.sorted(entities.keys) }
}
