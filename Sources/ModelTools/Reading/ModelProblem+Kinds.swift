package import ObjectModel

/// The kinds of problem that are known.
extension ModelProblem.Kind {
  package static let missingParent = Self(rawValue: "missingParent")
  package static let cyclicInheritance = Self(rawValue: "cyclicInheritance")
  package static let deepInheritance = Self(rawValue: "deepInheritance")
  /// The destination of a relationship is not in the model, or the relationship has no destination.
  package static let missingDestination = Self(rawValue: "missingDestination")
  package static let missingInverse = Self(rawValue: "missingInverse")
  /// A property has the same name as another property of its entity, which may be an inherited one.
  package static let duplicateProperty = Self(rawValue: "duplicateProperty")
  /// A persistent attribute has no type.
  package static let missingType = Self(rawValue: "missingType")
  /// A uniqueness constraint or an index names a property that the entity does not have.
  package static let missingProperty = Self(rawValue: "missingProperty")
  /// A configuration names an entity that is not in the model.
  package static let missingMember = Self(rawValue: "missingMember")
  /// A value in the model file cannot be read, and is treated as absent. No version hash and no table depends on the
  /// value.
  package static let unreadValue = Self(rawValue: "unreadValue")
}
