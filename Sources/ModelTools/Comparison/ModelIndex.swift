import ObjectModel

/// The lookup tables of one model for comparisons. Each table is made on first use, so a model that is compared with
/// many others is read only once.
final class ModelIndex {
  let model: ManagedObjectModel
  /// The entities in name order.
  let entities: [Entity]
  private let known: ModelHashes?

  /// Makes an index. `hashes` are the hashes of the model, if they are already known.
  init(_ model: ManagedObjectModel, hashes: ModelHashes? = nil) {
    self.model = model
    entities = model.entityNames.compactMap { model.entities[$0] }
    known = hashes
  }

  private(set) lazy var hashes: ModelHashes = known ?? model.versionHashes()

  private lazy var positions = HierarchyPositions(model, children: model.subentityNames())

  /// The attributes by the names that the renaming rule compares. If the model is the old one, these are renaming
  /// identifiers and names. If it is the new one (``newAttributes``), these are canonical names.
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
