package import ObjectModel

/// What a step leaves behind.
package struct MappingLoss: Sendable, Hashable {
  /// The entity of the source.
  package let entityName: String
  /// The property whose values are not taken over; nil for all objects of the entity.
  package let propertyName: String?
}

extension MappingModel {
  /// What this mapping leaves behind of a source model: entities without a mapping, and persistent
  /// properties that no value expression reads. What a policy class does cannot be known, so its
  /// entities are left out.
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
  /// The first keys of all key paths of `$source`.
  fileprivate func collectSourceKeys(_ keys: inout Set<String>) {
    if case .keyPath(let path, of: .variable("source")) = self {
      keys.insert(String(Substring(path.utf8.prefix { $0 != UInt8(ascii: ".") })))
    }
    for part in children.expressions { part.collectSourceKeys(&keys) }
  }
}
