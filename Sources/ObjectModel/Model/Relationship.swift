/// What happens to the related objects when an object is deleted (`NSDeleteRule`).
public struct DeleteRule: RawRepresentable, Sendable, Hashable, Codable {
  /// The number that stands for the rule in an archived model.
  public let rawValue: Int32

  /// Makes a rule from its number, which may be unknown.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// Nothing happens to the related objects.
  public static let noAction = DeleteRule(rawValue: 0)
  /// The inverse relationship of each related object is set to null.
  public static let nullify = DeleteRule(rawValue: 1)
  /// The related objects are deleted too.
  public static let cascade = DeleteRule(rawValue: 2)
  /// The object cannot be deleted as long as there are related objects.
  public static let deny = DeleteRule(rawValue: 3)

  /// Apple's name for the rule, for example "No Action". An unknown number gives text such as "Rule 9".
  public var name: String {
    switch self {
    case .noAction: "No Action"
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    default: "Rule \(rawValue)"
    }
  }

  /// Makes a rule from its name in an `.xcdatamodel` (`deletionRule`); nil for an unknown name.
  public init?(name: String) {
    let known: [DeleteRule] = [.noAction, .nullify, .cascade, .deny]
    guard let rule = known.first(where: { $0.name == name }) else { return nil }
    self = rule
  }
}

/// A relationship of an entity.
public struct Relationship: Sendable, Hashable {
  /// The relationship's name.
  public var name: String
  /// The name of the destination entity. Empty if the model gives none, which is a sign of damage.
  public var destinationEntityName: String
  /// The name of the inverse relationship; nil for a relationship without an inverse.
  public var inverseName: String?
  /// The name of the entity that declares the inverse relationship; nil if there is no inverse.
  package var inverseEntityName: String?
  /// The minimum number of related objects, as the model file gives it.
  public var minCount: Int32
  /// The maximum number of related objects, as the model file gives it. For a to-one relationship, the number is 1.
  /// For an unbounded to-many relationship, Xcode's compiler stores 0, but a model made in code has -1. These two
  /// numbers give different version hashes.
  public var maxCount: Int32
  /// Whether a to-many relationship keeps its objects in an order.
  public var isOrdered: Bool
  /// Whether the relationship may be empty.
  public var isOptional: Bool
  /// Whether the relationship is transient, so that it is never stored.
  public var isTransient: Bool
  /// Whether the old-style `indexed` flag of the relationship is set.
  package var isIndexed: Bool
  package var isIndexedBySpotlight: Bool
  /// Whether the relationship is kept in external record files for Spotlight on macOS (`storedInTruthFile`).
  package var isStoredInTruthFile: Bool
  /// What happens to the related objects when an object is deleted.
  public var deleteRule: DeleteRule
  /// A string that the developer sets to change the version hash (`versionHashModifier`); nil if not set.
  public var versionHashModifier: String?
  /// The relationship's name in an earlier version of the model (`renamingIdentifier`); nil if the model gives none.
  public var renamingIdentifier: String?
  /// The user info dictionary of the relationship; empty if not set.
  public var userInfo: [String: ArchivedValue]

  package init(
    name: String, destinationEntityName: String, inverseName: String? = nil,
    inverseEntityName: String? = nil, minCount: Int32 = 0, maxCount: Int32 = 1,
    isOrdered: Bool = false, isOptional: Bool = false, isTransient: Bool = false,
    isIndexed: Bool = false, isIndexedBySpotlight: Bool = false,
    isStoredInTruthFile: Bool = false, deleteRule: DeleteRule = .nullify,
    versionHashModifier: String? = nil, renamingIdentifier: String? = nil,
    userInfo: [String: ArchivedValue] = [:]
  ) {
    self.name = name
    self.destinationEntityName = destinationEntityName
    self.inverseName = inverseName
    self.inverseEntityName = inverseEntityName
    self.minCount = minCount
    self.maxCount = maxCount
    self.isOrdered = isOrdered
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.isIndexed = isIndexed
    self.isIndexedBySpotlight = isIndexedBySpotlight
    self.isStoredInTruthFile = isStoredInTruthFile
    self.deleteRule = deleteRule
    self.versionHashModifier = versionHashModifier
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
  }

  /// Whether the relationship can have more than one related object.
  public var isToMany: Bool { maxCount != 1 }
}
