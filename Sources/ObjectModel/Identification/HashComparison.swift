/// The result of comparing the entity hashes that a store recorded with those of a model.
package struct HashComparison: Sendable, Hashable, Codable {
  /// The entities that only the store has, sorted by name.
  package let onlyInStore: [String]
  /// The entities that only the model has, sorted by name.
  package let onlyInModel: [String]
  /// The entities that both have, but with different hashes, sorted by name.
  package let differing: [String]
  /// The entities that both have with the same hash, sorted by name.
  package let agreeing: [String]

  /// Compares the hashes that a store recorded with those of a model, both by entity name.
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

  /// Whether both have the same entities and hashes, which Core Data requires to open a store without migration.
  package var isEqual: Bool {
    onlyInStore.isEmpty && onlyInModel.isEmpty && differing.isEmpty
  }
}
