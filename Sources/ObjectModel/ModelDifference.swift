/// What changed from one version of a model to another.
///
/// Renames are recognised as Core Data does: by equal renaming identifiers, where an entity or
/// property without one goes by its name.
public struct ModelDifference: Sendable, Hashable {
  /// All changes, entity by entity in the order of their names.
  public let changes: [ModelChange]

  /// Whether nothing changed that the model values describe.
  public var isEmpty: Bool { changes.isEmpty }

  /// Whether any change alters a version hash, so that a store of the old version needs migration.
  public var affectsVersionHashes: Bool { changes.contains(where: \.affectsVersionHash) }

  /// Compares two versions.
  public init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    var collected: [ModelChange] = []
    let oldEntities = old.entityNames.compactMap { old.entities[$0] }
    let newEntities = new.entityNames.compactMap { new.entities[$0] }
    let pairing = Pairing(
      old: oldEntities, new: newEntities, name: \.name, identifier: \.renamingIdentifier)
    for entity in pairing.removed {
      collected.append(Self.entity(.entityRemoved, entity, old: Self.summary(entity)))
    }
    for entity in pairing.added {
      collected.append(Self.entity(.entityAdded, entity, new: Self.summary(entity)))
    }
    for (oldEntity, newEntity) in pairing.pairs {
      collected += Self.changes(from: oldEntity, to: newEntity)
    }
    changes = collected.enumerated().sorted { left, right in
      left.element.entityName == right.element.entityName
        ? left.offset < right.offset
        : ByteOrder.precedes(left.element.entityName, right.element.entityName)
    }.map(\.element)
  }

  /// The changes of one entity, by its new name, or by its old one when it is gone.
  public func changes(of entityName: String) -> [ModelChange] {
    changes.filter { $0.entityName == entityName }
  }
}

// MARK: - Entities

extension ModelDifference {
  private static func entity(
    _ kind: ModelChange.Kind, _ entity: Entity, old: String? = nil, new: String? = nil
  ) -> ModelChange {
    ModelChange(
      kind: kind, entityName: entity.name, propertyName: nil, field: nil, oldValue: old,
      newValue: new, affectsVersionHash: true)
  }

  private static func summary(_ entity: Entity) -> String {
    var parts = [
      count(entity.attributes.count, "attribute"),
      count(entity.relationships.count, "relationship"),
    ]
    if entity.isAbstract { parts.append("abstract") }
    if let parent = entity.superentityName { parts.append("a kind of `\(parent)`") }
    return parts.joined(separator: ", ")
  }

  private static func count(_ count: Int, _ noun: String) -> String {
    "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  private static func changes(
    from old: Entity, to new: Entity
  ) -> [ModelChange] {
    var changes: [ModelChange] = []
    if old.name != new.name {
      changes.append(entity(.entityRenamed, new, old: old.name, new: new.name))
    }
    changes += traits(
      .entityChanged, new.name, nil, from: ModelTrait.traits(of: old),
      to: ModelTrait.traits(of: new))

    let attributes = Pairing(
      old: old.attributes, new: new.attributes, name: \.name, identifier: \.renamingIdentifier)
    for attribute in attributes.removed {
      changes.append(
        property(
          .attributeRemoved, new.name, attribute.name, old: attribute.summary,
          affects: !attribute.isTransient))
    }
    for attribute in attributes.added {
      changes.append(
        property(
          .attributeAdded, new.name, attribute.name, new: attribute.summary,
          affects: !attribute.isTransient))
    }
    for (oldOne, newOne) in attributes.pairs {
      if oldOne.name != newOne.name {
        // The hash of a derived attribute leaves its name out.
        let isSeen = !(newOne.isTransient && oldOne.isTransient) && !newOne.isDerived
        changes.append(
          property(
            .attributeRenamed, new.name, newOne.name, old: oldOne.name, new: newOne.name,
            affects: isSeen))
      }
      changes += traits(
        .attributeChanged, new.name, newOne.name, from: ModelTrait.traits(of: oldOne),
        to: ModelTrait.traits(of: newOne))
    }

    let relationships = Pairing(
      old: old.relationships, new: new.relationships, name: \.name,
      identifier: \.renamingIdentifier)
    for relationship in relationships.removed {
      changes.append(
        property(
          .relationshipRemoved, new.name, relationship.name, old: relationship.summary,
          affects: !relationship.isTransient))
    }
    for relationship in relationships.added {
      changes.append(
        property(
          .relationshipAdded, new.name, relationship.name, new: relationship.summary,
          affects: !relationship.isTransient))
    }
    for (oldOne, newOne) in relationships.pairs {
      if oldOne.name != newOne.name {
        changes.append(
          property(
            .relationshipRenamed, new.name, newOne.name, old: oldOne.name, new: newOne.name,
            affects: !(newOne.isTransient && oldOne.isTransient)))
      }
      changes += traits(
        .relationshipChanged, new.name, newOne.name, from: ModelTrait.traits(of: oldOne),
        to: ModelTrait.traits(of: newOne))
    }
    return changes
  }

  private static func property(
    _ kind: ModelChange.Kind, _ entity: String, _ name: String, old: String? = nil,
    new: String? = nil, affects: Bool
  ) -> ModelChange {
    ModelChange(
      kind: kind, entityName: entity, propertyName: name, field: nil, oldValue: old,
      newValue: new, affectsVersionHash: affects)
  }

  /// Compares two lists of traits, which stand in the same order.
  private static func traits(
    _ kind: ModelChange.Kind, _ entity: String, _ property: String?, from old: [ModelTrait],
    to new: [ModelTrait]
  ) -> [ModelChange] {
    zip(old, new).compactMap { before, after in
      guard before.value != after.value else { return nil }
      return ModelChange(
        kind: kind, entityName: entity, propertyName: property, field: after.field,
        oldValue: before.value, newValue: after.value,
        affectsVersionHash: before.isHashed || after.isHashed)
    }
  }
}

// MARK: - Which old one is which new one

/// Pairs what has the same renaming identifier, then what has the same name.
private struct Pairing<Element> {
  private(set) var pairs: [(old: Element, new: Element)] = []
  private(set) var added: [Element] = []
  private(set) var removed: [Element] = []

  init(
    old: [Element], new: [Element], name: (Element) -> String,
    identifier: (Element) -> String?
  ) {
    var byIdentifier: [String: Int] = [:]
    var byName: [String: Int] = [:]
    for (index, element) in old.enumerated() {
      let key = identifier(element) ?? name(element)
      // Where an identifier is claimed twice, the one of that very name has it.
      if byIdentifier[key] == nil || name(element) == key { byIdentifier[key] = index }
      byName[name(element)] = index
    }
    var partners: [Int?] = Array(repeating: nil, count: new.count)
    var taken: Set<Int> = []
    for (index, element) in new.enumerated() {
      let key = identifier(element) ?? name(element)
      if let partner = byIdentifier[key], taken.insert(partner).inserted {
        partners[index] = partner
      }
    }
    for (index, element) in new.enumerated() where partners[index] == nil {
      if let partner = byName[name(element)], taken.insert(partner).inserted {
        partners[index] = partner
      }
    }
    for (index, element) in new.enumerated() {
      if let partner = partners[index] {
        pairs.append((old[partner], element))
      } else {
        added.append(element)
      }
    }
    removed = old.indices.filter { !taken.contains($0) }.map { old[$0] }
  }
}
