/// A named fetch request of a model.
package struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  package var name: String
  /// What it fetches.
  package var request: FetchRequest

  /// Makes a template.
  package init(name: String, request: FetchRequest) {
    self.name = name
    self.request = request
  }

  /// Makes a template that fetches objects of one entity.
  package init(name: String, entityName: String, predicate: ModelPredicate? = nil) {
    self.init(
      name: name,
      request: FetchRequest(
        entityName: entityName.isEmpty ? nil : entityName, predicate: predicate))
  }

  /// The entity it fetches; empty when the model names none.
  package var entityName: String { request.entityName ?? "" }
  /// Which objects it fetches; nil for all.
  package var predicate: ModelPredicate? { request.predicate }
}

/// A fetched property of an entity. It has no column and no part in the version hash.
package struct FetchedProperty: Sendable, Hashable {
  /// The name that Xcode gives the request of every fetched property.
  package static let standardRequestName = "fetchedPropertyFetchRequest"

  /// The property's name.
  package var name: String
  /// What it fetches.
  package var request: FetchRequest
  /// The request's name in an `.xcdatamodel`, if it is not ``standardRequestName``; nil in compiled
  /// models.
  package var requestName: String?
  /// Whether it may be empty.
  package var isOptional: Bool
  /// Whether Spotlight indexes it.
  package var isIndexedBySpotlight: Bool
  /// The version hash modifier, which is part of no hash.
  package var versionHashModifier: String?
  /// The name in an earlier version of the model, when the model gives one.
  package var renamingIdentifier: String?
  /// The user info.
  package var userInfo: [String: ArchivedValue]

  /// Makes a fetched property.
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

  /// Makes a fetched property that fetches objects of one entity.
  package init(
    name: String, destinationEntityName: String?, predicate: ModelPredicate? = nil,
    isOptional: Bool = true, userInfo: [String: ArchivedValue] = [:]
  ) {
    self.init(
      name: name,
      request: FetchRequest(entityName: destinationEntityName, predicate: predicate),
      isOptional: isOptional, userInfo: userInfo)
  }

  /// The entity it fetches; nil when the model names none.
  package var destinationEntityName: String? { request.entityName }
  /// Which objects it fetches; nil for all.
  package var predicate: ModelPredicate? { request.predicate }
}
