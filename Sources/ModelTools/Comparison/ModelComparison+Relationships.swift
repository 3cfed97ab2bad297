import ObjectModel

extension ModelComparison {
  mutating func compareRelationships(_ old: Entity, _ new: Entity) {
    let pairing = Pairing(
      old: old.relationships, new: new.relationships, name: \.name,
      identifier: \.renamingIdentifier)
    for relationship in pairing.removed {
      let names = [relationship.renamingIdentifier ?? relationship.name, relationship.name]
      let place = entities.newIndex.newRelationships.home(of: names, from: new.name)
      add(
        ModelChange(
          .relationship, .removed, entity: new.name, name: relationship.name,
          old: relationship.summary, affects: !relationship.isTransient,
          remark: place.map { "It is in `\($0)` now." }))
    }
    for relationship in pairing.added {
      let name = relationship.renamingIdentifier ?? relationship.name
      let origin = entities.oldIndex.oldRelationships.find(name, from: old.name)?.declaration.entity
      add(
        ModelChange(
          .relationship, .added, entity: new.name, name: relationship.name,
          new: relationship.summary, affects: !relationship.isTransient,
          verdict: rules.added(relationship, to: new),
          remark: origin.map { "It was in `\($0)` before." }))
    }
    for (before, after) in pairing.pairs {
      if before.name != after.name {
        add(
          ModelChange(
            .relationship, .renamed, entity: new.name, name: after.name, old: before.name,
            new: after.name, affects: !(before.isTransient && after.isTransient)))
      }
      compare(before, after, in: new, was: old)
    }
  }

  private mutating func compare(
    _ old: Relationship, _ new: Relationship, in entity: Entity, was oldEntity: Entity
  ) {
    let isStored = !(old.isTransient && new.isTransient)
    let isCarried = !old.isTransient && !new.isTransient
    var traits = TraitComparison(.relationship, entity: entity.name, name: new.name)
    let follows =
      entities.newName(ofOld: old.destinationEntityName) == new.destinationEntityName
    traits.compare(
      .destination, old.destinationEntityName, new.destinationEntityName, affects: isStored,
      verdict: isCarried ? rules.destinationChange(from: old, to: new) : .handled,
      remark: follows ? "The destination is the same entity under its new name." : nil)
    // If a relationship is its own inverse, then its hash does not include the inverse.
    let hashedInverses = (
      oldEntity.isSelfInverse(old) ? nil : old.inverseName,
      entity.isSelfInverse(new) ? nil : new.inverseName
    )
    traits.compare(
      .inverse, old.inverseName, new.inverseName,
      affects: isStored && hashedInverses.0 != hashedInverses.1,
      verdict: isCarried
        ? rules.inverseChange(from: old, to: new, renamedTo: newName(ofInverse: old)) : .handled)
    traits.compare(
      .minCount, String(old.minCount), String(new.minCount), affects: isStored,
      verdict: isCarried ? rules.minCountChange(from: old, to: new) : .handled)
    traits.compare(
      .maxCount, Self.limit(old.maxCount), Self.limit(new.maxCount), affects: isStored,
      verdict: isCarried ? rules.maxCountChange(from: old, to: new) : .handled)
    // Apple's migration guide allows both changes: from unordered to ordered, and from ordered to unordered.
    traits.compare(.isOrdered, old.isOrdered, new.isOrdered, affects: isStored)
    traits.compare(
      .isOptional, old.isOptional, new.isOptional, affects: isStored,
      verdict: isCarried ? rules.optionalChange(of: new, in: entity) : .handled)
    traits.compare(
      .isTransient, old.isTransient, new.isTransient, affects: true,
      verdict: new.isTransient ? .handled : rules.added(new, to: entity),
      remark: new.isTransient ? "A migration drops the stored links." : nil)
    traits.compare(
      .versionHashModifier, old.versionHashModifier, new.versionHashModifier, affects: isStored)
    traits.compare(.inverseEntity, old.inverseEntityName, new.inverseEntityName)
    traits.compare(.deleteRule, old.deleteRule.name, new.deleteRule.name)
    traits.compare(.isIndexed, old.isIndexed, new.isIndexed)
    traits.compare(.isIndexedBySpotlight, old.isIndexedBySpotlight, new.isIndexedBySpotlight)
    traits.compare(.isStoredInTruthFile, old.isStoredInTruthFile, new.isStoredInTruthFile)
    traits.compare(.renamingIdentifier, old.renamingIdentifier, new.renamingIdentifier)
    add(traits)
    compareUserInfo(old.userInfo, new.userInfo, entity: entity.name, owner: new.name)
  }

  /// Returns the new name of the relationship's inverse; nil if the inverse is gone or now belongs to another entity.
  private func newName(ofInverse relationship: Relationship) -> String? {
    let holder = relationship.inverseEntityName ?? relationship.destinationEntityName
    return relationship.inverseName.flatMap { entities.newName(ofRelationship: $0, of: holder) }
  }

  /// Returns a maximum count in words. The numbers 0 and -1 both mean that there is no limit, but they give different
  /// hashes.
  private static func limit(_ count: Int32) -> String {
    count <= 0 ? "unbounded (\(count))" : String(count)
  }
}
