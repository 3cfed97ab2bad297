package import ObjectModel

extension ManagedObjectModel {
  /// Returns the old-style hashes of entities, by entity name. Core Data frameworks up to version 386 (about 2011)
  /// compare these hashes if the ordinary hashes do not fit.
  ///
  /// The two styles differ only for an entity that inherits a relationship that is its own inverse: only the old-style
  /// hash includes the inverse's name. Other entities are left out. No recorded hash confirms either style for such an
  /// entity. Its hash therefore counts as unknown: an equal hash proves agreement, but a different hash proves nothing.
  ///
  /// Nil if no entity inherits such a relationship.
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

  /// Computes the old-style hash of an entity with
  /// ``VersionHashing/entity(name:isAbstract:superentityHash:properties:modifier:uniquenessConstraints:)``. The
  /// ancestors are hashed first, from the root entity down. In the hash of each ancestor, a property that the ancestor
  /// does not declare itself counts as inherited.
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
