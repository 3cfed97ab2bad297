package import ObjectModel

extension ManagedObjectModel {
  /// Returns the entities' hashes in the old style, by entity name. Core Data frameworks up to version 386 (about 2011)
  /// try these hashes if the ordinary ones do not fit.
  ///
  /// The styles differ for an entity that inherits a relationship that is its own inverse: only the old-style hash
  /// includes the inverse's name. No recorded hash confirms either style for such an entity. Its hash therefore counts
  /// as unknown: an equal hash proves agreement, but a different one proves nothing.
  ///
  /// Nil if no entity inherits such a relationship, because the two styles then give equal hashes.
  package func oldStyleHashes() -> [String: VersionHash]? {
    var found: [String: VersionHash] = [:]
    for (name, entity) in entities {
      let lineage = ancestors(of: name)
      let isConcerned = lineage.contains { holder in
        holder.relationships.contains { !$0.isTransient && holder.isSelfInverse($0) }
      }
      guard isConcerned else { continue }
      found[name] = oldStyleHash(of: entity, lineage)
    }
    return found.isEmpty ? nil : found
  }

  /// Computes the hash of an entity by the recipe of
  /// ``VersionHashing/entity(name:isAbstract:superentityHash:properties:modifier:uniquenessConstraints:)``, applied to
  /// each ancestor from the root entity down. At each level, the properties that ancestors declare count as inherited.
  private func oldStyleHash(of entity: Entity, _ lineage: [Entity]) -> VersionHash? {
    var above: VersionHash?
    let levels = Array((lineage.reversed() + [entity]).enumerated())
    for (depth, level) in levels {
      var hashes: [String: [UInt8]] = [:]
      for (declared, holder) in levels.prefix(depth + 1) {
        for attribute in holder.attributes where !attribute.isTransient {
          hashes[attribute.name] = VersionHashing.attribute(attribute)
        }
        for relationship in holder.relationships where !relationship.isTransient {
          hashes[relationship.name] = VersionHashing.relationship(
            relationship,
            isSelfInverse: declared == depth && holder.isSelfInverse(relationship))
        }
      }
      above = VersionHashing.entity(
        name: level.name, isAbstract: level.isAbstract, superentityHash: above,
        properties: ByteOrder.sorted(hashes.keys).map {
          VersionHashing.PropertyHash(name: $0, bytes: hashes[$0] ?? [])
        }, modifier: level.versionHashModifier, uniquenessConstraints: level.uniquenessConstraints)
    }
    return above
  }
}
