/// A fetch request that the model names.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  public var name: String
  /// What it fetches.
  public var request: FetchRequest

  /// Makes a template.
  public init(name: String, request: FetchRequest) {
    self.name = name
    self.request = request
  }

  /// Makes a template that fetches objects of one entity.
  public init(name: String, entityName: String, predicate: ModelPredicate? = nil) {
    self.init(
      name: name,
      request: FetchRequest(
        entityName: entityName.isEmpty ? nil : entityName, predicate: predicate))
  }

  /// The entity it fetches; empty when the model names none.
  public var entityName: String { request.entityName ?? "" }
  /// Which objects it fetches; nil for all.
  public var predicate: ModelPredicate? { request.predicate }
}

/// A fetched property of an entity. It has no column and no part in the version hash.
public struct FetchedProperty: Sendable, Hashable {
  /// The name that Xcode gives the request of every fetched property.
  package static let standardRequestName = "fetchedPropertyFetchRequest"

  /// The property's name.
  public var name: String
  /// What it fetches.
  public var request: FetchRequest
  /// The name that a model's source gives the request, if it is not the one that Xcode gives by
  /// itself; nil in compiled models.
  public var requestName: String?
  /// Whether it may be empty.
  public var isOptional: Bool
  /// Whether Spotlight indexes it.
  public var isIndexedBySpotlight: Bool
  /// The version hash modifier, which no hash takes in.
  public var versionHashModifier: String?
  /// The name in an earlier version of the model, when the model gives one.
  public var renamingIdentifier: String?
  /// The user info.
  public var userInfo: [String: ArchivedValue]

  /// Makes a fetched property.
  public init(
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
  public init(
    name: String, destinationEntityName: String?, predicate: ModelPredicate? = nil,
    isOptional: Bool = true, userInfo: [String: ArchivedValue] = [:]
  ) {
    self.init(
      name: name,
      request: FetchRequest(entityName: destinationEntityName, predicate: predicate),
      isOptional: isOptional, userInfo: userInfo)
  }

  /// The entity it fetches; nil when the model names none.
  public var destinationEntityName: String? { request.entityName }
  /// Which objects it fetches; nil for all.
  public var predicate: ModelPredicate? { request.predicate }
}
