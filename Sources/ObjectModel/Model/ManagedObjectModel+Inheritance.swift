extension ManagedObjectModel {
  /// The maximum number of ancestors that are followed. In real models an entity has fewer than ten ancestors; in
  /// damaged models the ancestors may form a cycle.
  package static let maximumInheritanceDepth = 128

  /// Returns the ancestors of an entity, from the parent to the root, without the entity itself.
  ///
  /// If a parent is missing or already in the list, or if ``maximumInheritanceDepth`` is reached, then the list ends
  /// there, without an error. The list is empty if the model does not have the entity.
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

  /// Returns the attributes of an entity, including inherited ones, sorted by name. If several of these attributes have
  /// the same name, then only the one declared nearest to the entity is listed.
  package func allAttributes(of entityName: String) -> [Attribute] {
    flattened(entityName, \.attributes, name: \.name)
  }

  /// Returns the relationships of an entity, including inherited ones, sorted by name. If several of these
  /// relationships have the same name, then only the one declared nearest to the entity is listed.
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
