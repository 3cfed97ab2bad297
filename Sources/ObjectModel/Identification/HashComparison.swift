/// A comparison of two sets of entity hashes: those a store recorded, and those of a model.
package struct HashComparison: Sendable, Hashable, Codable {
  /// The entities only the store knows, sorted by name.
  package let onlyInStore: [String]
  /// The entities only the model has, sorted by name.
  package let onlyInModel: [String]
  /// The entities both have with different hashes, sorted by name.
  package let differing: [String]
  /// The entities both have with the same hash, sorted by name.
  package let agreeing: [String]

  /// Compares recorded hashes with those of a model.
  package init(store: [String: VersionHash], model: [String: VersionHash]) {
    var onlyInStore: [String] = []
    var differing: [String] = []
    var agreeing: [String] = []
    for (name, hash) in store {
      switch model[name] {
      case nil: onlyInStore.append(name)
      case hash: agreeing.append(name)
      default: differing.append(name)
      }
    }
    self.onlyInStore = ByteOrder.sorted(onlyInStore)
    onlyInModel = ByteOrder.sorted(model.keys.filter { store[$0] == nil })
    self.differing = ByteOrder.sorted(differing)
    self.agreeing = ByteOrder.sorted(agreeing)
  }

  /// Whether the sets are the same, which Core Data requires to open a store without migration.
  package var isEqual: Bool {
    onlyInStore.isEmpty && onlyInModel.isEmpty && differing.isEmpty
  }
}
