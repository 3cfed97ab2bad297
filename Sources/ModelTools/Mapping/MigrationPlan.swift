package import ObjectModel

/// The steps that migrate a store to a version of its model, and the reasons if there are none.
package struct MigrationPlan: Sendable {
  /// A model on the way of a migration. Versions with equal hashes are one place.
  package struct Place: Sendable {
    /// The names of the versions at this place; empty for a model that only the store has.
    package let versionNames: [String]
    /// The path of the place's first version; nil for a model that only the store has.
    package let path: String?
    /// The model at this place; nil if only its hashes are known.
    package internal(set) var model: ManagedObjectModel?
    let hashed: HashedModel
    /// The hashes computed from the model; nil if they are not known yet.
    let computed: ModelHashes?
    /// The position in the order of versions. A model that only the store has gets the position of the nearest version.
    let position: Int

    /// The name of the place for people: that of its first version, or "the store's own model".
    package var name: String { versionNames.first ?? "the store's own model" }
  }

  /// How a step is done: by mapping models or by inference.
  package enum Way: Sendable {
    /// The developer's mapping models do the step: one, or several that divide the entities among them. Each is to be
    /// run over the whole store. No file says in which order the app runs several. Here, mapping models that need no
    /// class of the app come first, so that the others find the objects that these make.
    case mappings([MappingModelSet.Item])
    /// Inference does the step. The reasons say what in the data may prevent it; each completes "unless …".
    case inferred(MappingModel?, unless: [String])
    /// Inference may do the step, but this is not documented. The reasons say what is not documented.
    case uncertain(MappingModel?, [String])
  }

  /// A migration from one model to another.
  package struct Step: Sendable {
    /// The place of the model before the step.
    package let from: Place
    /// The place of the model after the step.
    package let to: Place
    /// The mapping models or the inference that do the step.
    package let way: Way
    /// The entities and properties that the step leaves behind, intended or not; see ``MappingModel/losses(of:)``.
    package let losses: [MappingLoss]
  }

  /// The result of looking for one step between two models.
  package struct Attempt: Sendable {
    /// The place of the model before the step.
    package let from: Place
    /// The place of the model after the step.
    package let to: Place
    /// The step; nil if no step is possible.
    package let step: Step?
    /// Why the step cannot be inferred, as clauses; empty if it can, or if a mapping model does it.
    package let refusals: [String]
  }

  /// How a mapping model of the set relates to the versions.
  package struct Standing: Sendable {
    /// The mapping model and its path.
    package let item: MappingModelSet.Item
    /// The steps that the mapping model fits, by version names. There are several if versions have equal hashes.
    package let fits: [(from: String, to: String)]
    /// The version nearest to the source of the mapping model; nil if no version agrees in any entity.
    package let nearestSource: Nearest?
    /// The version nearest to the destination of the mapping model; nil if no version agrees in any entity.
    package let nearestDestination: Nearest?

    /// Whether the mapping model fits no step between the versions. This happens if a hash changes after the mapping
    /// model was made. False if the mapping model could not be read.
    package var isOrphaned: Bool { item.compiled != nil && fits.isEmpty }
  }

  /// The version whose hashes agree best with those of a store or a mapping model.
  package struct Nearest: Sendable {
    /// The version's name.
    package let versionName: String
    /// The number of entities that agree.
    package let agreeing: Int
    /// The number of entities that were compared.
    package let of: Int
    /// The entities that do not agree, sorted by name.
    package let differing: [String]
  }

  /// The place of the store's model.
  package let start: Place
  /// The version nearest to the store if no version fits it; nil if one fits, or if none agrees in any entity.
  package let nearest: Nearest?
  /// The versions of which nothing is known, because they could not be read. If no other version fits the store, any of
  /// these may have written it.
  package let unread: [ModelCollection.Version]
  /// The place of the model to migrate to.
  package let target: Place
  /// The steps in order; empty if the store opens as it is, nil if there is no way.
  package let steps: [Step]?
  /// The result of looking for a single step to the target, which is what Core Data does by itself.
  package let direct: Attempt
  /// If there is no way: the failed step to the target from the nearest place that can be reached. Otherwise nil.
  package let obstacle: Attempt?
  /// How each mapping model of the set relates to the versions, in the order of the set.
  package let standings: [Standing]
  /// Whether the target is certainly an older version than the store's.
  package let goesBack: Bool
  /// Why it is uncertain that the target is older although the version names say so, as a clause. Nil if it is certain,
  /// and if the names say that the target is newer.
  package let orderDoubt: String?
  /// The number of pairs of models that were compared to find the steps.
  let comparisonCount: Int
}
