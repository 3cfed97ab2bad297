/// A fetch request template: a fetch request that the model stores under a name.
package struct FetchRequestTemplate: Sendable, Hashable {
  package var name: String
  package var request: FetchRequest

  package init(name: String, request: FetchRequest) {
    self.name = name
    self.request = request
  }

  /// The name of the entity whose objects the template fetches; empty if the model gives none.
  package var entityName: String { request.entityName ?? "" }
  package var predicate: ModelPredicate? { request.predicate }
}

/// A fetched property of an entity. It has no column in the store and is not part of the version hash.
package struct FetchedProperty: Sendable, Hashable {
  /// The name that Xcode gives to the fetch request of every fetched property.
  package static let standardRequestName = "fetchedPropertyFetchRequest"

  package var name: String
  package var request: FetchRequest
  /// The name of the request in an `.xcdatamodel`; nil for ``standardRequestName``, and always nil in compiled models.
  package var requestName: String?
  package var isOptional: Bool
  package var isIndexedBySpotlight: Bool
  /// The version hash modifier; nil if not set. It has no effect, because fetched properties are not part of the
  /// version hash.
  package var versionHashModifier: String?
  /// The property's name in an earlier version of the model (`renamingIdentifier`); nil if the model gives none.
  package var renamingIdentifier: String?
  package var userInfo: [String: ArchivedValue]

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

  package var destinationEntityName: String? { request.entityName }
  package var predicate: ModelPredicate? { request.predicate }
}
