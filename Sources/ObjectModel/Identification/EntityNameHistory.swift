extension ManagedObjectModel {
  /// What its entities are called, and what an earlier version called those that have a renaming identifier.
  package var entityNameHistory: Set<String> {
    Set(entities.keys).union(entities.values.compactMap(\.renamingIdentifier))
  }
}

extension ModelCollection {
  /// What the entities of all versions are and were called; nil when a version could not be read or is known by an
  /// optimised model alone, as its entities may have other names.
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
  /// The names of its entities; nil when neither its model nor its hashes are known.
  package var entityNames: Set<String>? {
    guard model != nil || recorded != nil else { return nil }
    var names = Set<String>()
    names.formUnion((model?.entities ?? [:]).keys)
    names.formUnion((recorded?.hashes ?? [:]).keys)
    return names
  }
}
