package import ObjectModel

extension ManagedObjectModel {
  /// Returns the old-style version hashes of entities, by entity name. Core Data frameworks up to version 386 (about
  /// 2011) compare these hashes if the ordinary hashes do not fit.
  ///
  /// Only entities that inherit a relationship that is its own inverse have an old-style hash that differs from the
  /// ordinary hash: it includes the name of the inverse. All other entities are left out. Nil if no entity is left.
  ///
  /// No known store records a hash of such an entity. So an equal hash proves that the entities are equal, but a
  /// different hash proves nothing.
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

  /// Computes the old-style hash of an entity (see ``oldStyleHashes()``). The hashes of the ancestors are computed
  /// first, from the root entity down, because each hash contains the parent's hash. A relationship counts as its own
  /// inverse only in the hash of the entity that declares it.
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
