import ObjectModel

/// Tables for looking up parts of one model in comparisons. Each table is made on first use and kept, so a model that
/// is compared with many others is scanned only once.
final class ModelIndex {
  let model: ManagedObjectModel
  /// The entities in name order.
  let entities: [Entity]
  private let known: ModelHashes?

  /// Makes the tables of a model. `hashes` are the version hashes of the model, if they are already known.
  init(_ model: ManagedObjectModel, hashes: ModelHashes? = nil) {
    self.model = model
    entities = model.entityNames.compactMap { model.entities[$0] }
    known = hashes
  }

  private(set) lazy var hashes: ModelHashes = known ?? model.versionHashes()

  private lazy var positions = HierarchyPositions(model, children: model.subentityNames())

  /// The attributes of this model, for a comparison in which this model is the old one. Each attribute has two keys:
  /// its canonical name (see ``Pairing``) and its name.
  private(set) lazy var oldAttributes = PropertyDeclarations(model, positions, \.attributes) {
    [$0.renamingIdentifier ?? $0.name, $0.name]
  }
  private(set) lazy var newAttributes = PropertyDeclarations(model, positions, \.attributes) {
    [$0.renamingIdentifier ?? $0.name]
  }
  private(set) lazy var oldRelationships = PropertyDeclarations(model, positions, \.relationships) {
    [$0.renamingIdentifier ?? $0.name, $0.name]
  }
  private(set) lazy var newRelationships = PropertyDeclarations(model, positions, \.relationships) {
    [$0.renamingIdentifier ?? $0.name]
  }
}
