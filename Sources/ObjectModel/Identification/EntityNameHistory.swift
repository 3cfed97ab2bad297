extension ManagedObjectModel {
  /// The names of the model's entities, and the earlier names that their renaming identifiers record.
  package var entityNameHistory: Set<String> {
    Set(entities.keys).union(entities.values.compactMap(\.renamingIdentifier))
  }
}

extension ModelCollection {
  /// The current and earlier names of the entities of all versions; nil if a version could not be read or is known only
  /// from an optimised model, because its entities may have other names.
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
  /// The names of the version's entities; nil if neither its model nor its hashes are known.
  package var entityNames: Set<String>? {
    guard model != nil || recorded != nil else { return nil }
    var names = Set<String>()
    names.formUnion((model?.entities ?? [:]).keys)
    names.formUnion((recorded?.hashes ?? [:]).keys)
    return names
  }
}
