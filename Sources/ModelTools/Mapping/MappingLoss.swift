package import ObjectModel
import SafeText

/// An entity or a property of the source model whose objects or values a migration step does not carry over.
package struct MappingLoss: Sendable, Hashable {
  package let entityName: String
  /// The name of the property whose values are not carried over; nil if no object of the entity is carried over.
  package let propertyName: String?
}

extension MappingModel {
  /// Returns the entities and properties of the source model that this mapping model does not carry over: entities
  /// without a mapping, and persistent properties that no mapping reads or copies. Entities with a migration policy
  /// class are left out, because it is not known what the class does. Relationships that are carried over through
  /// their inverse are left out, too.
  ///
  /// An entity mapping that copies objects copies only the properties that the destination entity has too. If
  /// `destination` is nil or lacks this entity, all properties count as copied.
  package func losses(
    of source: ManagedObjectModel, to destination: ManagedObjectModel?
  ) -> [MappingLoss] {
    var losses: [MappingLoss] = []
    let bySource = Dictionary(grouping: entityMappings.filter { $0.kind != .remove }) {
      $0.sourceEntityName
    }
    for name in source.entityNames where source.entities[name]?.isAbstract == false {
      let taking = bySource[name] ?? []
      guard !taking.isEmpty else {
        losses.append(MappingLoss(entityName: name, propertyName: nil))
        continue
      }
      if taking.contains(where: { $0.migrationPolicyClassName != nil }) { continue }
      let attributes = source.allAttributes(of: name).filter { !$0.isTransient && !$0.isDerived }
        .map(\.name)
      let relationships = source.allRelationships(of: name).filter { !$0.isTransient }.map(\.name)
      var used: Set<String> = []
      for mapping in taking {
        for property in mapping.attributeMappings + mapping.relationshipMappings {
          property.valueExpression?.collectSourceKeys(&used)
        }
        let target = destination?.entities[mapping.destinationEntityName ?? ""]?.name
        if mapping.copiesAttributes {
          used.formUnion(
            target.flatMap { name in
              destination?.allAttributes(of: name).filter { !$0.isTransient }.map(\.name)
            } ?? attributes)
        }
        if mapping.copiesAll {
          used.formUnion(
            target.flatMap { name in
              destination?.allRelationships(of: name).filter { !$0.isTransient }.map(\.name)
            } ?? relationships)
        }
      }
      for property in attributes + relationships where !used.contains(property) {
        losses.append(MappingLoss(entityName: name, propertyName: property))
      }
    }
    return losses.withoutCarriedInverses(in: source)
  }
}

extension [MappingLoss] {
  /// Returns the losses without the relationships that are carried over through their inverse. Core Data keeps a
  /// relationship and its inverse consistent, so the objects are still related. The inverse counts as carried over if
  /// no object of the destination entity, subentities included, loses it.
  func withoutCarriedInverses(in source: ManagedObjectModel) -> [MappingLoss] {
    // A relationship to an ancestor of an entity may lead to the objects of this entity, too.
    var lost: Set<MappingLoss> = []
    for loss in self {
      lost.insert(loss)
      for ancestor in source.ancestors(of: loss.entityName) {
        lost.insert(MappingLoss(entityName: ancestor.name, propertyName: loss.propertyName))
      }
    }
    var known: [String: [String: Relationship]] = [:]
    func relationship(_ name: String, of entityName: String) -> Relationship? {
      if let all = known[entityName] { return all[name] }
      let all = Dictionary(
        firstOf: source.allRelationships(of: entityName).filter { !$0.isTransient }
          .map { ($0.name, $0) })
      known[entityName] = all
      return all[name]
    }
    return filter { loss in
      guard let name = loss.propertyName, let old = relationship(name, of: loss.entityName),
        let inverse = old.inverseName.flatMap({ relationship($0, of: old.destinationEntityName) })
      else { return true }
      return [inverse.name, nil].contains { name in
        lost.contains(MappingLoss(entityName: old.destinationEntityName, propertyName: name))
      }
    }
  }
}

extension ModelExpression {
  /// Adds to `keys` the first key of each key path that starts at the mapping's source object.
  fileprivate func collectSourceKeys(_ keys: inout Set<String>) {
    var path = pathFromSource
    if case .keyPath(let found, of: .evaluatedObject) = self { path = found }
    if let path { keys.insert(String(Substring(path.utf8.prefix { $0 != UInt8(ascii: ".") }))) }
    for part in children.expressions { part.collectSourceKeys(&keys) }
  }
}
