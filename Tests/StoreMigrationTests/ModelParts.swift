import ObjectModel

/// An attribute that may be nil; binary data may be in a file of its own.
func attribute(_ name: String, _ type: AttributeType = .string) -> Attribute {
  Attribute(
    name: name, type: type, isOptional: true, allowsExternalBinaryDataStorage: type == .binary)
}

/// A relationship that may be nil, with its inverse in the entity to which it leads.
func relationship(
  _ name: String, to entity: String, _ inverse: String, isToMany: Bool = false,
  isOrdered: Bool = false
) -> Relationship {
  Relationship(
    name: name, destinationEntityName: entity, inverseName: inverse, inverseEntityName: entity,
    maxCount: isToMany ? 0 : 1, isOrdered: isOrdered, isOptional: true)
}
