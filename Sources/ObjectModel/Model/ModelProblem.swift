/// A problem of a model: either something that Core Data would refuse, or a sign of damage.
package struct ModelProblem: Sendable, Hashable {
  /// The kind of problem, as a stable string such as `missingParent`. Later versions of this library may add kinds.
  package struct Kind: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    package static let missingParent = Kind(rawValue: "missingParent")
    package static let cyclicInheritance = Kind(rawValue: "cyclicInheritance")
    package static let deepInheritance = Kind(rawValue: "deepInheritance")
    /// The destination of a relationship is not in the model, or the relationship has no destination.
    package static let missingDestination = Kind(rawValue: "missingDestination")
    package static let missingInverse = Kind(rawValue: "missingInverse")
    /// A property has the same name as another property of its entity, which may be an inherited one.
    package static let duplicateProperty = Kind(rawValue: "duplicateProperty")
    /// A persistent attribute has no type.
    package static let missingType = Kind(rawValue: "missingType")
    /// A uniqueness constraint or an index names a property that the entity does not have.
    package static let missingProperty = Kind(rawValue: "missingProperty")
    /// A configuration names an entity that is not in the model.
    package static let missingMember = Kind(rawValue: "missingMember")
    /// A value in the model file cannot be read, and is treated as absent. No version hash and no table depends on the
    /// value.
    package static let unreadValue = Kind(rawValue: "unreadValue")
  }

  package let kind: Kind
  /// The name of the entity with the problem; nil for a problem of a configuration.
  package let entityName: String?
  /// The name of the property with the problem; nil if the problem does not concern a property.
  package let propertyName: String?
  package let sentence: String

  package init(kind: Kind, entityName: String?, propertyName: String?, sentence: String) {
    self.kind = kind
    self.entityName = entityName
    self.propertyName = propertyName
    self.sentence = sentence
  }
}

extension ModelProblem: CustomStringConvertible {
  package var description: String { sentence }
}
