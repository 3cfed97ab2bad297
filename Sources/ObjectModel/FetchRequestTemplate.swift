/// A fetch request that the model names.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name.
  public var name: String
  /// The entity it fetches; empty when the model names none.
  public var entityName: String
  /// The predicate as text; nil when there is none.
  public var predicate: String?

  /// Makes a template.
  public init(name: String, entityName: String, predicate: String? = nil) {
    self.name = name
    self.entityName = entityName
    self.predicate = predicate
  }
}

/// A fetched property of an entity. It has no column and no part in the version hash.
public struct FetchedProperty: Sendable, Hashable {
  /// The property's name.
  public var name: String
  /// The entity it fetches; nil when the model names none.
  public var destinationEntityName: String?
  /// The predicate as text; nil when there is none.
  public var predicate: String?
  /// Whether it may be empty.
  public var isOptional: Bool
  /// The user info entries that are text.
  public var userInfo: [String: String]

  /// Makes a fetched property.
  public init(
    name: String, destinationEntityName: String? = nil, predicate: String? = nil,
    isOptional: Bool = true, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.predicate = predicate
    self.isOptional = isOptional
    self.userInfo = userInfo
  }
}
