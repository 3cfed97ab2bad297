extension ManagedObjectModel {
  /// The names of the model's entities, and the earlier names that their renaming identifiers state.
  package var entityNameHistory: Set<String> {
    Set(entities.keys).union(entities.values.compactMap(\.renamingIdentifier))
  }
}

extension ModelCollection {
  /// The current and earlier names of the entities in all versions. Nil if a version has neither a readable model nor
  /// recorded hashes, because the names of that version's entities are not known.
  package var entityNameHistory: Set<String>? {
    var names: Set<String> = []
    for version in versions {
      guard version.entityNames != nil else { return nil }
      names.formUnion(version.entityNames ?? [])
      names.formUnion(version.model?.entityNameHistory ?? [])
    }
    return names
  }
}

extension ModelCollection.Version {
  /// The entity names of the version; nil if it has neither a model nor recorded hashes.
  package var entityNames: Set<String>? {
    guard model != nil || recorded != nil else { return nil }
    var names = Set<String>()
    names.formUnion((model?.entities ?? [:]).keys)
    names.formUnion((recorded?.hashes ?? [:]).keys)
    return names
  }
}
