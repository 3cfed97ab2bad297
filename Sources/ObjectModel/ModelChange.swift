/// One difference between two versions of a model.
public struct ModelChange: Sendable, Hashable {
  /// What happened, as a stable string; more may be added.
  public struct Kind: RawRepresentable, Sendable, Hashable {
    /// The stable text of the kind.
    public let rawValue: String

    /// Makes a kind from its stable text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A new entity.
    public static let entityAdded = Kind(rawValue: "entityAdded")
    /// An entity that is gone.
    public static let entityRemoved = Kind(rawValue: "entityRemoved")
    /// An entity under a new name, as its renaming identifier says.
    public static let entityRenamed = Kind(rawValue: "entityRenamed")
    /// A trait of an entity, see ``ModelChange/field``.
    public static let entityChanged = Kind(rawValue: "entityChanged")
    /// A new attribute.
    public static let attributeAdded = Kind(rawValue: "attributeAdded")
    /// An attribute that is gone.
    public static let attributeRemoved = Kind(rawValue: "attributeRemoved")
    /// An attribute under a new name, as its renaming identifier says.
    public static let attributeRenamed = Kind(rawValue: "attributeRenamed")
    /// A trait of an attribute, see ``ModelChange/field``.
    public static let attributeChanged = Kind(rawValue: "attributeChanged")
    /// A new relationship.
    public static let relationshipAdded = Kind(rawValue: "relationshipAdded")
    /// A relationship that is gone.
    public static let relationshipRemoved = Kind(rawValue: "relationshipRemoved")
    /// A relationship under a new name, as its renaming identifier says.
    public static let relationshipRenamed = Kind(rawValue: "relationshipRenamed")
    /// A trait of a relationship, see ``ModelChange/field``.
    public static let relationshipChanged = Kind(rawValue: "relationshipChanged")
  }

  /// What happened.
  public let kind: Kind
  /// The entity, by its new name; by its old one when it is gone.
  public let entityName: String
  /// The property, by its new name; by its old one when it is gone. Nil for the entity itself.
  public let propertyName: String?
  /// Which trait changed, in a word or two such as `type`; nil when something was added, removed
  /// or renamed.
  public let field: String?
  /// What it was, as text: the trait, the old name, or a description of what is gone.
  public let oldValue: String?
  /// What it is, as text: the trait, the new name, or a description of what is new.
  public let newValue: String?
  /// Whether the change alters the entity's version hash, so that old stores do not open without
  /// migration.
  public let affectsVersionHash: Bool

  /// The change as one sentence for a person who knows the app but not its source.
  public var sentence: String {
    let subject = propertyName.map { "`\(entityName).\($0)`" } ?? "`\(entityName)`"
    switch kind {
    case .entityAdded, .attributeAdded, .relationshipAdded:
      return "\(subject) was added\(newValue.map { ": \($0)" } ?? "")."
    case .entityRemoved, .attributeRemoved, .relationshipRemoved:
      return "\(subject) was removed\(oldValue.map { ": \($0)" } ?? "")."
    case .entityRenamed, .attributeRenamed, .relationshipRenamed:
      return "\(subject) is the new name of `\(oldValue ?? "")`."
    default:
      let old = oldValue ?? "none"
      return "\(subject): \(field ?? "something") was \(old), is \(newValue ?? "none")."
    }
  }
}

extension ModelChange: CustomStringConvertible {
  /// ``sentence``.
  public var description: String { sentence }
}
