/// The result of comparing the entity hashes that a store recorded with the entity hashes of a model. The lists contain
/// entity names, sorted.
package struct HashComparison: Sendable, Hashable, Codable {
  package let onlyInStore: [String]
  package let onlyInModel: [String]
  package let differing: [String]
  package let agreeing: [String]

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
