/// Something in a model that Core Data would refuse, or that is a sign of damage.
public struct ModelProblem: Sendable, Hashable {
  /// The kind of problem, as a stable string such as `missingParent`; more may be added.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    /// The stable text of the kind.
    public let rawValue: String

    /// Makes a kind from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The parent entity is not in the model.
    public static let missingParent = Kind(rawValue: "missingParent")
    /// The ancestors form a cycle.
    public static let cyclicInheritance = Kind(rawValue: "cyclicInheritance")
    /// More ancestors than ``ManagedObjectModel/maximumInheritanceDepth``.
    public static let deepInheritance = Kind(rawValue: "deepInheritance")
    /// A relationship leads to an entity that is not in the model, or to none.
    public static let missingDestination = Kind(rawValue: "missingDestination")
    /// The inverse that a relationship names does not exist.
    public static let missingInverse = Kind(rawValue: "missingInverse")
    /// A property repeats the name of another one, own or inherited.
    public static let duplicateProperty = Kind(rawValue: "duplicateProperty")
    /// A persistent attribute has no type.
    public static let missingType = Kind(rawValue: "missingType")
    /// A uniqueness constraint or an index names a property that the entity does not have.
    public static let missingProperty = Kind(rawValue: "missingProperty")
    /// A configuration names an entity that is not in the model.
    public static let missingMember = Kind(rawValue: "missingMember")
    /// A value in the file is not understood and is treated as absent. No version hash and no table
    /// depends on it.
    public static let unreadValue = Kind(rawValue: "unreadValue")
  }

  /// The kind of problem.
  public let kind: Kind
  /// The entity concerned; nil for a configuration.
  public let entityName: String?
  /// The property concerned, if the problem concerns one.
  public let propertyName: String?
  /// One sentence for a reader.
  public let sentence: String
}

extension ModelProblem: CustomStringConvertible {
  /// ``sentence``.
  public var description: String { sentence }
}
