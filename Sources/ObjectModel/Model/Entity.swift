/// An entity of a managed object model, with only its own properties; its ancestors have the inherited ones.
public struct Entity: Sendable, Hashable {
  /// The entity's name.
  public var name: String
  /// The managed object class, as the model spells it; nil for `NSManagedObject`.
  public var className: String?
  /// Whether it has no objects of its own.
  public var isAbstract: Bool
  /// The parent entity's name; nil for a root entity.
  public var superentityName: String?
  /// The attributes it declares, sorted by name.
  public var attributes: [Attribute]
  /// The relationships it declares, sorted by name.
  public var relationships: [Relationship]
  /// The fetched properties it declares, sorted by name.
  package var fetchedProperties: [FetchedProperty]
  /// Its uniqueness constraints, each a list of property names in order.
  public var uniquenessConstraints: [[String]]
  /// Its fetch indexes, in the model's order, which is that of the statements that create them.
  package var fetchIndexes: [FetchIndex]
  /// Its old-style compound indexes, each a list of property names in order.
  package var compoundIndexes: [[String]]
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The name in an earlier version of the model, when the model gives one.
  public var renamingIdentifier: String?
  /// The expression that Spotlight takes the display name from; nil when there is none.
  package var spotlightDisplayNameExpression: ModelExpression?
  /// How Xcode generates the class (`class`, `category`); nil if it does not, and in compiled models.
  package var codeGenerationType: String?
  /// The user info.
  public var userInfo: [String: ArchivedValue]

  /// Makes an entity; the lists of properties are sorted by name.
  package init(
    name: String, className: String? = nil, isAbstract: Bool = false,
    superentityName: String? = nil, attributes: [Attribute] = [],
    relationships: [Relationship] = [], fetchedProperties: [FetchedProperty] = [],
    uniquenessConstraints: [[String]] = [], fetchIndexes: [FetchIndex] = [],
    compoundIndexes: [[String]] = [], versionHashModifier: String? = nil,
    renamingIdentifier: String? = nil, spotlightDisplayNameExpression: ModelExpression? = nil,
    codeGenerationType: String? = nil, userInfo: [String: ArchivedValue] = [:]
  ) {
    self.name = name
    self.className = className
    self.isAbstract = isAbstract
    self.superentityName = superentityName
    self.attributes = attributes.sorted { ByteOrder.precedes($0.name, $1.name) }
    self.relationships = relationships.sorted { ByteOrder.precedes($0.name, $1.name) }
    self.fetchedProperties = fetchedProperties.sorted { ByteOrder.precedes($0.name, $1.name) }
    self.uniquenessConstraints = uniquenessConstraints
    self.fetchIndexes = fetchIndexes
    self.compoundIndexes = compoundIndexes
    self.versionHashModifier = versionHashModifier
    self.renamingIdentifier = renamingIdentifier
    self.spotlightDisplayNameExpression = spotlightDisplayNameExpression
    self.codeGenerationType = codeGenerationType
    self.userInfo = userInfo
  }

  /// The names of all properties it declares, of every kind.
  package var propertyNames: [String] {
    attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
  }
}
