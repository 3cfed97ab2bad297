/// The result of comparing the entity hashes that a store recorded with the entity hashes of a model.
package struct HashComparison: Sendable, Hashable, Codable {
  /// The names of the entities that only the store has, sorted.
  package let onlyInStore: [String]
  /// The names of the entities that only the model has, sorted.
  package let onlyInModel: [String]
  /// The names of the entities that store and model have with different hashes, sorted.
  package let differing: [String]
  /// The names of the entities that store and model have with the same hash, sorted.
  package let agreeing: [String]

  /// Compares the hashes that a store recorded with the hashes of a model. Both dictionaries are keyed by entity name.
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

  /// Whether store and model have the same entities with the same hashes, as opening without migration requires.
  package var isEqual: Bool {
    onlyInStore.isEmpty && onlyInModel.isEmpty && differing.isEmpty
  }
}
