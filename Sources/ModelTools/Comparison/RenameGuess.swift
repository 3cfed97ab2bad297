import ObjectModel

/// A possible rename that the model does not record: one entity, attribute or relationship disappeared, and another of
/// the same shape appeared. No inferred mapping uses a guess.
package struct RenameGuess: Sendable, Hashable {
  package let part: ModelChange.Part
  /// The name, in the new model, of the entity that declares the renamed property; nil if the guess is about an entity.
  package let entityName: String?
  package let oldName: String
  package let newName: String

  package var sentence: String {
    let prefix = entityName.map { "\($0)." } ?? ""
    return "`\(prefix)\(oldName)` may have been renamed to `\(prefix)\(newName)`: this is a guess "
      + "from their equal shape. No renaming identifier says so, so a lightweight "
      + "migration drops `\(prefix)\(oldName)`."
  }

  static func guesses(_ entities: EntityPairing) -> [RenameGuess] {
    var found = pairs(entities.removed, entities.added) { EntityShape($0) }.map {
      RenameGuess(part: .entity, entityName: nil, oldName: $0.old.name, newName: $0.new.name)
    }
    for (old, new) in entities.pairs {
      let attributes = Pairing(
        old: old.attributes, new: new.attributes, name: \.name, identifier: \.renamingIdentifier)
      found += pairs(attributes.removed, attributes.added) { AttributeShape($0) }.map {
        RenameGuess(
          part: .attribute, entityName: new.name, oldName: $0.old.name, newName: $0.new.name)
      }
      let relationships = Pairing(
        old: old.relationships, new: new.relationships, name: \.name,
        identifier: \.renamingIdentifier)
      let removed = relationships.removed.map { relationship in
        var copy = relationship
        copy.destinationEntityName =
          entities.newName(ofOld: relationship.destinationEntityName) ?? ""
        return copy
      }
      found += pairs(removed, relationships.added) { RelationshipShape($0) }.map {
        RenameGuess(
          part: .relationship, entityName: new.name, oldName: $0.old.name, newName: $0.new.name)
      }
    }
    return found
  }

  /// Pairs an element of `old` with an element of `new` if both have the same shape and no other element of `old` or
  /// `new` has this shape.
  private static func pairs<Element, Shape: Hashable>(
    _ old: [Element], _ new: [Element], shape: (Element) -> Shape?
  ) -> [(old: Element, new: Element)] {
    var before: [Shape: [Element]] = [:]
    for element in old { if let key = shape(element) { before[key, default: []].append(element) } }
    var after: [Shape: [Element]] = [:]
    for element in new { if let key = shape(element) { after[key, default: []].append(element) } }
    return new.compactMap { element in
      guard let key = shape(element), after[key]?.count == 1, let partners = before[key],
        partners.count == 1, let partner = partners.first
      else { return nil }
      return (partner, element)
    }
  }
}

extension RenameGuess: CustomStringConvertible {
  package var description: String { sentence }
}

private struct AttributeShape: Hashable {
  let type: AttributeType
  let flags: [Bool]
  let derivation: Derivation?
  let defaultValue: DefaultValue?

  init(_ attribute: Attribute) {
    type = attribute.type
    flags = [
      attribute.isOptional, attribute.isTransient, attribute.allowsExternalBinaryDataStorage,
    ]
    derivation = attribute.derivation
    defaultValue = attribute.defaultValue
  }
}

private struct RelationshipShape: Hashable {
  let destination: String
  let counts: [Int32]
  let flags: [Bool]

  init?(_ relationship: Relationship) {
    guard !relationship.destinationEntityName.isEmpty else { return nil }
    destination = relationship.destinationEntityName
    counts = [relationship.minCount, relationship.maxCount]
    flags = [relationship.isOptional, relationship.isOrdered, relationship.isTransient]
  }
}

private struct EntityShape: Hashable {
  let isAbstract: Bool
  let parent: String?
  let attributes: [String: AttributeType]
  let relationships: Set<String>

  /// Creates the shape of an entity from its parent, its attributes with their types, and the names of its
  /// relationships. Nil for an entity without properties, because all such entities have the same shape.
  init?(_ entity: Entity) {
    guard !entity.attributes.isEmpty || !entity.relationships.isEmpty else { return nil }
    isAbstract = entity.isAbstract
    parent = entity.superentityName
    attributes = Dictionary(entity.attributes.map { ($0.name, $0.type) }) { first, _ in first }
    relationships = Set(entity.relationships.map(\.name))
  }
}
