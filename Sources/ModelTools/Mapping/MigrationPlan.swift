package import ObjectModel

/// What would bring a store to a version of its model, step by step.
package struct MigrationPlan: Sendable {
  /// A model on the way: versions with equal hashes are one.
  package struct Place: Sendable {
    /// The names of the versions; empty for a model that only the store has.
    package let versionNames: [String]
    /// Where the first of them is; nil for a model that only the store has.
    package let path: String?
    /// The model; nil when only hashes are known.
    package internal(set) var model: ManagedObjectModel?
    let hashed: HashedModel
    /// The hashes computed from the model, if they are known already.
    let computed: ModelHashes?
    /// The place in the order of versions; for a model that only the store has, that of the nearest.
    let position: Int

    /// The name for a reader.
    package var name: String { versionNames.first ?? "the store's own model" }
  }

  /// How a step is done.
  package enum Way: Sendable {
    /// By mapping models that someone made: one, or several that share the entities between them, each
    /// to be run over the whole store. No file says in which order the app runs several. Those that need
    /// no class of the app come first here, so that the others find what they make.
    case mappings([MappingModelSet.Item])
    /// By inference; the reasons each complete "unless …".
    case inferred(MappingModel?, unless: [String])
    /// By inference, if that can do it: nothing documented decides it. The reasons say what is missing.
    case uncertain(MappingModel?, [String])
  }

  /// One migration.
  package struct Step: Sendable {
    /// The model before.
    package let from: Place
    /// The model after.
    package let to: Place
    /// How.
    package let way: Way
    /// What is left behind, on purpose or by mistake; see ``MappingModel/losses(of:)``.
    package let losses: [MappingLoss]
  }

  /// The outcome of one step from a place to another.
  package struct Attempt: Sendable {
    /// The model before.
    package let from: Place
    /// The model after.
    package let to: Place
    /// The step; nil when there is no way.
    package let step: Step?
    /// Why it cannot be inferred; empty when it can, or when a mapping model does it.
    package let refusals: [String]
  }

  /// What a mapping model of the set has to do with the versions.
  package struct Standing: Sendable {
    /// The mapping model.
    package let item: MappingModelSet.Item
    /// The steps it is for, by the names of the versions; several where versions have equal hashes.
    package let fits: [(from: String, to: String)]
    /// The version nearest to its source; nil when none agrees in any entity.
    package let nearestSource: Nearest?
    /// The version nearest to its destination; nil when none agrees in any entity.
    package let nearestDestination: Nearest?

    /// Whether it is for no step between the versions, as happens when a hash changed after it
    /// was made. False for one that could not be read.
    package var isOrphaned: Bool { item.compiled != nil && fits.isEmpty }
  }

  /// The version nearest to some hashes.
  package struct Nearest: Sendable {
    /// The version's name.
    package let versionName: String
    /// How many entities agree.
    package let agreeing: Int
    /// Of how many.
    package let of: Int
    /// The entities that do not, sorted by name.
    package let differing: [String]
  }

  /// Where the store is.
  package let start: Place
  /// When no version fits the store, the nearest one; nil when none agrees in any entity.
  package let nearest: Nearest?
  /// The versions of which nothing is known, as they could not be read. When no version fits the
  /// store, each may be the one that wrote it.
  package let unread: [ModelCollection.Version]
  /// Where it should go.
  package let target: Place
  /// The steps; empty when the store opens as it is, nil when there is no way.
  package let steps: [Step]?
  /// The outcome of one step straight to the target, which is what Core Data does by itself.
  package let direct: Attempt
  /// If there is no way: the step nearest to the target among those that fail.
  package let obstacle: Attempt?
  /// All mapping models of the set.
  package let standings: [Standing]
  /// Whether the target is certainly an older version than the store's.
  package let goesBack: Bool
  /// Why it is not known whether the target is older, as a clause, where the names of the versions say
  /// that it is; nil where it is known, and where the names say that it is newer.
  package let orderDoubt: String?
  /// How many pairs of models were compared to find the steps.
  let comparisonCount: Int
}
