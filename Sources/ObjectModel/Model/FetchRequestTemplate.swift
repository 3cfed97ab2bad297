/// A fetch request template: a fetch request that the model stores under a name.
package struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  package var name: String
  /// The fetch request of the template.
  package var request: FetchRequest

  /// Makes a template from its name and request.
  package init(name: String, request: FetchRequest) {
    self.name = name
    self.request = request
  }

  /// The name of the entity whose objects the template fetches; empty if the model gives none.
  package var entityName: String { request.entityName ?? "" }
  /// The condition that an object must meet to be fetched; nil to fetch all objects.
  package var predicate: ModelPredicate? { request.predicate }
}

/// A fetched property of an entity. It has no column in the store and is not part of the version hash.
package struct FetchedProperty: Sendable, Hashable {
  /// The name that Xcode gives to the fetch request of every fetched property.
  package static let standardRequestName = "fetchedPropertyFetchRequest"

  /// The property's name.
  package var name: String
  /// The fetch request that gives the property's objects.
  package var request: FetchRequest
  /// The name of the request in an `.xcdatamodel`; nil for ``standardRequestName``, and always nil in compiled models.
  package var requestName: String?
  /// Whether the property may be empty.
  package var isOptional: Bool
  /// Whether Spotlight indexes the property.
  package var isIndexedBySpotlight: Bool
  /// The version hash modifier; nil if not set. No version hash includes it.
  package var versionHashModifier: String?
  /// The property's name in an earlier version of the model (`renamingIdentifier`); nil if the model gives none.
  package var renamingIdentifier: String?
  /// The user info dictionary; empty if not set.
  package var userInfo: [String: ArchivedValue]

  /// Makes a fetched property. By default it is optional and its request names no entity.
  package init(
    name: String, request: FetchRequest = FetchRequest(), requestName: String? = nil,
    isOptional: Bool = true, isIndexedBySpotlight: Bool = false,
    versionHashModifier: String? = nil, renamingIdentifier: String? = nil,
    userInfo: [String: ArchivedValue] = [:]
  ) {
    self.name = name
    self.request = request
    self.requestName = requestName
    self.isOptional = isOptional
    self.isIndexedBySpotlight = isIndexedBySpotlight
    self.versionHashModifier = versionHashModifier
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
  }

  /// The name of the entity whose objects the property fetches; nil if the model gives none.
  package var destinationEntityName: String? { request.entityName }
  /// The condition that an object must meet to be fetched; nil to fetch all objects.
  package var predicate: ModelPredicate? { request.predicate }
}
