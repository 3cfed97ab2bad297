import ObjectModel

/// What comparisons look up in one model. Each part is made when it is first asked for, so that a model that is
/// compared with many others is looked at once.
final class ModelIndex {
  let model: ManagedObjectModel
  /// In the order of the names.
  let entities: [Entity]
  private let known: ModelHashes?

  /// The hashes, where they are known already, must be those of the model.
  init(_ model: ManagedObjectModel, hashes: ModelHashes? = nil) {
    self.model = model
    entities = model.entityNames.compactMap { model.entities[$0] }
    known = hashes
  }

  private(set) lazy var hashes: ModelHashes = known ?? model.versionHashes()

  private lazy var positions = HierarchyPositions(model, children: model.subentityNames())

  /// Where the properties are declared, by the names that the rule of renaming compares: renaming identifiers and names
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
