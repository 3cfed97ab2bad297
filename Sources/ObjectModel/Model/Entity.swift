/// An entity of a managed object model, with the properties that it declares itself, without inherited properties.
public struct Entity: Sendable, Hashable {
  /// The entity's name.
  public var name: String
  /// The name of the entity's class, spelled as in the model; nil for `NSManagedObject`.
  public var className: String?
  /// Whether the entity is abstract, so that only its subentities have objects.
  public var isAbstract: Bool
  /// The name of the parent entity; nil for a root entity.
  public var superentityName: String?
  /// The attributes that the entity itself declares, sorted by name.
  public var attributes: [Attribute]
  /// The relationships that the entity itself declares, sorted by name.
  public var relationships: [Relationship]
  /// The fetched properties that the entity itself declares, sorted by name.
  package var fetchedProperties: [FetchedProperty]
  /// The uniqueness constraints of the entity, in the model's order. Each constraint is a list of property names.
  public var uniquenessConstraints: [[String]]
  /// The fetch indexes of the entity, in the model's order. Core Data executes their CREATE INDEX statements in this
  /// order.
  package var fetchIndexes: [FetchIndex]
  /// The old-style compound indexes of the entity, in the model's order. Each index is a list of property names.
  package var compoundIndexes: [[String]]
  /// A string that the developer sets to change the version hash (`versionHashModifier`); nil if not set.
  public var versionHashModifier: String?
  /// The entity's name in an earlier version of the model (`renamingIdentifier`); nil if the model gives none.
  public var renamingIdentifier: String?
  package var spotlightDisplayNameExpression: ModelExpression?
  /// What Xcode generates for the entity: `class` or `category`. Nil if Xcode generates nothing, and in compiled
  /// models.
  package var codeGenerationType: String?
  /// The user info dictionary; empty if not set.
  public var userInfo: [String: ArchivedValue]

  /// Makes an entity. The given lists of properties need not be sorted; this initialiser sorts them by name.
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

  /// The names of all declared properties: first attributes, then relationships, then fetched properties.
  package var propertyNames: [String] {
    attributes.map(\.name) + relationships.map(\.name) + fetchedProperties.map(\.name)
  }
}
