package import ObjectModel

/// The steps that would migrate a store to a version of its model.
package struct MigrationPlan: Sendable {
  /// A model on the way. Versions with equal hashes count as one.
  package struct Place: Sendable {
    /// The names of the versions; empty for a model that only the store has.
    package let versionNames: [String]
    /// The path of the first version; nil for a model that only the store has.
    package let path: String?
    /// The model; nil when only hashes are known.
    package internal(set) var model: ManagedObjectModel?
    let hashed: HashedModel
    /// The hashes computed from the model, if they are known already.
    let computed: ModelHashes?
    /// The position in the order of versions; for a model that only the store has, the position of the nearest version.
    let position: Int

    /// The name for a reader.
    package var name: String { versionNames.first ?? "the store's own model" }
  }

  /// How a step is done.
  package enum Way: Sendable {
    /// By the developer's mapping models: one, or several that divide the entities among them, each to be run over the
    /// whole store. No file says in which order the app runs several. Mapping models that need no class of the app come
    /// first here, so that the others find the objects they make.
    case mappings([MappingModelSet.Item])
    /// By inference; the reasons each complete "unless …".
    case inferred(MappingModel?, unless: [String])
    /// By inference, but it is not documented whether inference can do the step. The reasons say what is missing.
    case uncertain(MappingModel?, [String])
  }

  /// One migration.
  package struct Step: Sendable {
    /// The model before.
    package let from: Place
    /// The model after.
    package let to: Place
    /// How the step is done.
    package let way: Way
    /// What is left behind, on purpose or by mistake; see ``MappingModel/losses(of:)``.
    package let losses: [MappingLoss]
  }

  /// The outcome of trying one step between two models.
  package struct Attempt: Sendable {
    /// The model before.
    package let from: Place
    /// The model after.
    package let to: Place
    /// The step; nil if it is impossible.
    package let step: Step?
    /// Why the step cannot be inferred; empty if it can, or if a mapping model does it.
    package let refusals: [String]
  }

  /// How a mapping model of the set relates to the versions.
  package struct Standing: Sendable {
    /// The mapping model.
    package let item: MappingModelSet.Item
    /// The steps that the mapping model fits, by version name; several if versions have equal hashes.
    package let fits: [(from: String, to: String)]
    /// The version nearest to its source; nil if no version agrees in any entity.
    package let nearestSource: Nearest?
    /// The version nearest to its destination; nil if no version agrees in any entity.
    package let nearestDestination: Nearest?

    /// Whether the mapping model fits no step between the versions, as happens when a hash changes after it was made.
    /// False if it could not be read.
    package var isOrphaned: Bool { item.compiled != nil && fits.isEmpty }
  }

  /// The version nearest to some hashes.
  package struct Nearest: Sendable {
    /// The version's name.
    package let versionName: String
    /// How many entities agree.
    package let agreeing: Int
    /// How many entities were compared.
    package let of: Int
    /// The entities that do not agree, sorted by name.
    package let differing: [String]
  }

  /// The store's model.
  package let start: Place
  /// If no version fits the store, the nearest one; nil if no version agrees in any entity.
  package let nearest: Nearest?
  /// The versions that could not be read, so that nothing is known of them. If no version fits the store, any of them
  /// may have written it.
  package let unread: [ModelCollection.Version]
  /// The model to migrate to.
  package let target: Place
  /// The steps; empty when the store opens as it is, nil when there is no way.
  package let steps: [Step]?
  /// The outcome of one step straight to the target, which is what Core Data does by itself.
  package let direct: Attempt
  /// If there is no way: the step nearest to the target among those that fail.
  package let obstacle: Attempt?
  /// How each mapping model of the set relates to the versions.
  package let standings: [Standing]
  /// Whether the target is certainly an older version than the store's.
  package let goesBack: Bool
  /// Why it is uncertain that the target is older although the version names say so, as a clause; nil if it is certain,
  /// and if the names say that the target is newer.
  package let orderDoubt: String?
  /// How many pairs of models were compared to find the steps.
  let comparisonCount: Int
}
