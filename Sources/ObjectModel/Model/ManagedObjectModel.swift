/// A managed object model, whatever form it was read from.
///
/// A model is not checked when it is read; ``validate()`` lists what Core Data would refuse.
public struct ManagedObjectModel: Sendable, Hashable {
  /// The entities, by name.
  public var entities: [String: Entity]
  /// The version identifiers, sorted. Free text that may repeat between versions: a hint only.
  public var versionIdentifiers: [String]
  /// The named configurations, each with its entity names sorted.
  public var configurations: [String: [String]]
  /// The configurations that CloudKit is used with, sorted; only an `.xcdatamodel` lists them.
  package var cloudKitConfigurations: [String]
  /// Whether the `.xcdatamodel` says that the model is used with CloudKit.
  package var isUsedWithCloudKit: Bool
  /// Whether the `.xcdatamodel` says that the model is used with SwiftData.
  package var isUsedWithSwiftData: Bool
  /// The fetch request templates, sorted by name. A store's cached model never has any.
  package var fetchRequestTemplates: [FetchRequestTemplate]

  /// The most entities, properties, templates, validation rules and parts of indexes that are read
  /// from one model. Real models have some thousand.
  package static let maximumPartCount = 150_000
  /// The maximum number of bytes of predicates and expressions, as text, that are read from one model: 2 MiB.
  package static let maximumPredicateLength = 2 << 20

  /// Makes a model; of entities with the same name the last one stays.
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

  /// The entity names in the order in which Core Data sorts them: by UTF-8 bytes.
  public var entityNames: [String] { ByteOrder.sorted(entities.keys) }
}
