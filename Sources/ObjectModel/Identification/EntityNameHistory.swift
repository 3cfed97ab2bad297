extension ManagedObjectModel {
  /// The names of the model's entities, and the earlier names that their renaming identifiers give.
  package var entityNameHistory: Set<String> {
    Set(entities.keys).union(entities.values.compactMap(\.renamingIdentifier))
  }
}

extension ModelCollection {
  /// The current and earlier entity names of all versions; nil if a version has neither a readable model nor recorded
  /// hashes, because its entities may have further names.
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
