package import ObjectModel

/// A part of the source model that a migration step leaves behind.
package struct MappingLoss: Sendable, Hashable {
  /// The name of the source entity.
  package let entityName: String
  /// The name of the property whose values are not taken over; nil if all objects of the entity are left behind.
  package let propertyName: String?
}

extension MappingModel {
  /// The parts of a source model that this mapping leaves behind: entities without a mapping, and persistent properties
  /// that no value expression reads. Entities with a policy class are left out, because what the class does is not
  /// known.
  package func losses(of source: ManagedObjectModel) -> [MappingLoss] {
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
      let isOpen = taking.contains { mapping in
        mapping.migrationPolicyClassName != nil
          || (mapping.kind == .copy && mapping.attributeMappings.isEmpty)
      }
      if isOpen { continue }
      var used: Set<String> = []
      for mapping in taking {
        for property in mapping.attributeMappings + mapping.relationshipMappings {
          property.valueExpression?.collectSourceKeys(&used)
        }
      }
      let attributes = source.allAttributes(of: name).filter { !$0.isTransient && !$0.isDerived }
      let relationships = source.allRelationships(of: name).filter { !$0.isTransient }
      for property in attributes.map(\.name) + relationships.map(\.name)
      where !used.contains(property) {
        losses.append(MappingLoss(entityName: name, propertyName: property))
      }
    }
    return losses
  }
}

extension ModelExpression {
  /// Adds the first keys of all key paths of `$source` to `keys`.
  fileprivate func collectSourceKeys(_ keys: inout Set<String>) {
    if case .keyPath(let path, of: .variable("source")) = self {
      keys.insert(String(Substring(path.utf8.prefix { $0 != UInt8(ascii: ".") })))
    }
    for part in children.expressions { part.collectSourceKeys(&keys) }
  }
}
