/// Something in a model that Core Data would refuse, or that is a sign of damage.
package struct ModelProblem: Sendable, Hashable {
  /// The kind of problem, as a stable string such as `missingParent`; more may be added.
  package struct Kind: RawRepresentable, Sendable, Hashable {
    /// The stable text of the kind.
    package let rawValue: String

    /// Makes a kind from its stable text.
    package init(rawValue: String) { self.rawValue = rawValue }

    /// The parent entity is not in the model.
    package static let missingParent = Kind(rawValue: "missingParent")
    /// The ancestors form a cycle.
    package static let cyclicInheritance = Kind(rawValue: "cyclicInheritance")
    /// More ancestors than ``ManagedObjectModel/maximumInheritanceDepth``.
    package static let deepInheritance = Kind(rawValue: "deepInheritance")
    /// A relationship leads to an entity that is not in the model, or to none.
    package static let missingDestination = Kind(rawValue: "missingDestination")
    /// The inverse that a relationship names does not exist.
    package static let missingInverse = Kind(rawValue: "missingInverse")
    /// A property repeats the name of another one, own or inherited.
    package static let duplicateProperty = Kind(rawValue: "duplicateProperty")
    /// A persistent attribute has no type.
    package static let missingType = Kind(rawValue: "missingType")
    /// A uniqueness constraint or an index names a property that the entity does not have.
    package static let missingProperty = Kind(rawValue: "missingProperty")
    /// A configuration names an entity that is not in the model.
    package static let missingMember = Kind(rawValue: "missingMember")
    /// A value in the file is not understood and is treated as absent. No version hash and no table
    /// depends on it.
    package static let unreadValue = Kind(rawValue: "unreadValue")
  }

  /// The kind of problem.
  package let kind: Kind
  /// The entity concerned; nil for a configuration.
  package let entityName: String?
  /// The property concerned, if the problem concerns one.
  package let propertyName: String?
  /// One sentence for a reader.
  package let sentence: String

  /// Creates a problem from its parts.
  package init(kind: Kind, entityName: String?, propertyName: String?, sentence: String) {
    self.kind = kind
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }
}

extension ModelProblem: CustomStringConvertible {
  /// ``sentence``.
  package var description: String { sentence }
}
