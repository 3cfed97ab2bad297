import ObjectModel

/// Lookup tables of one model for comparisons. Each is made on first use, so a model that is compared with many others
/// is read only once.
final class ModelIndex {
  let model: ManagedObjectModel
  /// The entities in name order.
  let entities: [Entity]
  private let known: ModelHashes?

  /// `hashes`, if already known, must be those of the model.
  init(_ model: ManagedObjectModel, hashes: ModelHashes? = nil) {
    self.model = model
    entities = model.entityNames.compactMap { model.entities[$0] }
    known = hashes
  }

  private(set) lazy var hashes: ModelHashes = known ?? model.versionHashes()

  private lazy var positions = HierarchyPositions(model, children: model.subentityNames())

  /// The declarations of the properties, by the names that the renaming rule compares: renaming identifiers and names
  /// in an old model, canonical names in a new one.
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
