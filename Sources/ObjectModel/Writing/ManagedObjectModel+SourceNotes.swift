// What only a model's source says, and what it is compared without.

extension ManagedObjectModel {
  /// The model without what only a source says and no compiled form holds: how Xcode generates classes,
  /// which attributes have scalar types there, the names of composites and of requests of fetched
  /// properties, and use with CloudKit or SwiftData. None of it takes part in a version hash.
  public var withoutSourceNotes: ManagedObjectModel {
    var model = self
    model.cloudKitConfigurations = []
    model.isUsedWithCloudKit = false
    model.isUsedWithSwiftData = false
    for name in entities.keys {
      model.entities[name]?.codeGenerationType = nil
      model.entities[name]?.attributes.clearSourceNotes()
      for index in model.entities[name]?.fetchedProperties.indices ?? 0..<0 {
        model.entities[name]?.fetchedProperties[index].requestName = nil
      }
    }
    return model
  }
}

extension [Attribute] {
  fileprivate mutating func clearSourceNotes() {
    for index in indices {
      self[index].usesScalarValueType = nil
      self[index].compositeName = nil
      // Composites are nested a few levels; every reader bounds them.
      self[index].elements.clearSourceNotes()
    }
  }
}
