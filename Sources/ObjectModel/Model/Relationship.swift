/// What deleting an object does to the objects a relationship leads to (`NSDeleteRule`).
public struct DeleteRule: RawRepresentable, Sendable, Hashable, Codable {
  /// The number in the archived model.
  public let rawValue: Int32

  /// Wraps a number, known or not.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// Nothing happens to the related objects.
  public static let noAction = DeleteRule(rawValue: 0)
  /// The inverse of the related objects is set to null.
  public static let nullify = DeleteRule(rawValue: 1)
  /// The related objects are deleted too.
  public static let cascade = DeleteRule(rawValue: 2)
  /// The deletion is refused while there are related objects.
  public static let deny = DeleteRule(rawValue: 3)

  /// The rule in Apple's words; "Rule 9" for a number without a name.
  public var name: String {
    switch self {
    case .noAction: "No Action"
    case .nullify: "Nullify"
    case .cascade: "Cascade"
    case .deny: "Deny"
    default: "Rule \(rawValue)"
    }
  }

  /// Reads a name from `deletionRule` of an `.xcdatamodel`; nil for an unknown name.
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
  /// The name of the entity it leads to; empty when the model names none, which is damage.
  public var destinationEntityName: String
  /// The name of the inverse; nil when there is none.
  public var inverseName: String?
  /// The entity that declares the inverse; nil when there is none.
  package var inverseEntityName: String?
  /// The minimum number of objects, as stored.
  public var minCount: Int32
  /// The maximum number of objects, as stored: 1 for to-one; 0 from Xcode's compiler or -1 from
  /// code for an unbounded to-many. The difference affects the version hash.
  public var maxCount: Int32
  /// Whether a to-many relationship keeps an order.
  public var isOrdered: Bool
  /// Whether it may be empty.
  public var isOptional: Bool
  /// Whether it is never stored.
  public var isTransient: Bool
  /// Whether the old `indexed` flag is set.
  package var isIndexed: Bool
  /// Whether Spotlight indexes it.
  package var isIndexedBySpotlight: Bool
  /// Whether it is kept in external record files for Spotlight ("truth files", macOS).
  package var isStoredInTruthFile: Bool
  /// The delete rule.
  public var deleteRule: DeleteRule
  /// The version hash modifier.
  public var versionHashModifier: String?
  /// The name in an earlier version of the model, when the model gives one.
  public var renamingIdentifier: String?
  /// The user info.
  public var userInfo: [String: ArchivedValue]

  /// Makes a relationship, by default to-one, mandatory and without an inverse.
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

  /// Whether more than one object is allowed.
  public var isToMany: Bool { maxCount != 1 }
}
