extension ManagedObjectModel {
  /// Ancestors beyond this number are not followed. Real models have fewer than ten; damaged ones may have cycles.
  package static let maximumInheritanceDepth = 128

  /// The ancestors of an entity, from the parent to the root; the given entity is not among them.
  ///
  /// The list ends without an error at a parent that is missing or already in the list, or at
  /// ``maximumInheritanceDepth``. It is empty for an entity that the model does not have.
  package func ancestors(of entityName: String) -> [Entity] {
    guard let entity = entities[entityName] else { return [] }
    var found: [Entity] = []
    var met: Set<String> = [entityName]
    var next = entity.superentityName
    while let name = next, found.count < Self.maximumInheritanceDepth,
      met.insert(name).inserted, let parent = entities[name]
    {
      found.append(parent)
      next = parent.superentityName
    }
    return found
  }

  /// The direct subentities of an entity, sorted by name. For many entities use ``subentityNames()``, which goes
  /// through the model only once.
  package func subentities(of entityName: String) -> [Entity] {
    entities.values.filter { $0.superentityName == entityName }
      .sorted { ByteOrder.precedes($0.name, $1.name) }
  }

  /// The sorted names of the direct subentities, by the name of the parent. Entities without subentities are left out.
  package func subentityNames() -> [String: [String]] {
    var children: [String: [String]] = [:]
    for entity in entities.values {
      if let parent = entity.superentityName { children[parent, default: []].append(entity.name) }
    }
    return children.mapValues { ByteOrder.sorted($0) }
  }

  /// The attributes of an entity, inherited ones included, sorted by name. If several declare the same name, the
  /// declaration nearest to the entity counts.
  package func allAttributes(of entityName: String) -> [Attribute] {
    flattened(entityName, \.attributes, name: \.name)
  }

  /// The relationships of an entity, inherited ones included, sorted by name. If several declare the same name, the
  /// declaration nearest to the entity counts.
  package func allRelationships(of entityName: String) -> [Relationship] {
    flattened(entityName, \.relationships, name: \.name)
  }

  private func flattened<Property>(
    _ entityName: String, _ list: KeyPath<Entity, [Property]>, name: KeyPath<Property, String>
  ) -> [Property] {
    guard let entity = entities[entityName] else { return [] }
    let lineage = ancestors(of: entityName)
    if lineage.isEmpty { return entity[keyPath: list] }
    var met: Set<String> = []
    var all: [Property] = []
    for holder in [entity] + lineage {
      for property in holder[keyPath: list] where met.insert(property[keyPath: name]).inserted {
        all.append(property)
      }
    }
    return all.sorted { ByteOrder.precedes($0[keyPath: name], $1[keyPath: name]) }
  }
}
