package import ObjectModel

/// The steps that migrate a store to a version of its model, or the reasons why there is no such sequence of steps.
package struct MigrationPlan: Sendable {
  /// A model at the start, in the middle or at the end of a migration. Several versions with equal hashes form one
  /// place.
  package struct Place: Sendable {
    /// The names of the versions at this place; empty for a model that only the store has.
    package let versionNames: [String]
    /// The path of the first version at this place; nil for a model that only the store has.
    package let path: String?
    /// The model at this place; nil if only its hashes are known.
    package internal(set) var model: ManagedObjectModel?
    let hashed: HashedModel
    /// The hashes computed from the model; nil if they are not known yet.
    let computed: ModelHashes?
    /// The position of the model in the order of versions. If only the store has the model, this is the position of the
    /// nearest version.
    let position: Int

    /// The name of the place for people: the name of its first version, or "the store's own model".
    package var name: String { versionNames.first ?? "the store's own model" }
  }

  /// How a step is done: by mapping models of the developer, or by an inferred mapping.
  package enum Way: Sendable {
    /// One or more mapping models of the developer do the step. If there are several, then each maps other entities,
    /// and each is run over the whole store. No file records the order in which the app runs them. The list starts with
    /// the mapping models without a migration policy class, because the policy classes of the others may look for
    /// objects made by these.
    case mappings([MappingModelSet.Item])
    /// An inferred mapping does the step. The reasons say what in the data may prevent the step; each completes
    /// "unless …".
    case inferred(MappingModel?, unless: [String])
    /// An inferred mapping may do the step, but Apple's documentation does not say so. The reasons say what is not
    /// documented.
    case uncertain(MappingModel?, [String])
  }

  package struct Step: Sendable {
    package let from: Place
    package let to: Place
    package let way: Way
    /// The entities and properties that the step does not carry over, whether this is intended or not. See
    /// ``MappingModel/losses(of:to:)``.
    package let losses: [MappingLoss]
  }

  /// The result of trying to find one step between two models.
  package struct Attempt: Sendable {
    package let from: Place
    package let to: Place
    package let step: Step?
    /// Why the step cannot be inferred, as clauses; empty if the step can be inferred, or if a mapping model does it.
    package let refusals: [String]
  }

  /// Which steps a mapping model of the set fits, and which versions are nearest to its source and destination.
  package struct Standing: Sendable {
    package let item: MappingModelSet.Item
    /// The steps that the mapping model fits, as names of versions. There are several steps if several versions have
    /// equal hashes.
    package let fits: [(from: String, to: String)]
    /// The version nearest to the source of the mapping model; nil if no version has an entity with the right hash.
    package let nearestSource: Nearest?
    /// The version nearest to the destination of the mapping model; nil if no version has an entity with the right
    /// hash.
    package let nearestDestination: Nearest?

    /// Whether the mapping model fits no step between the versions, for example because a model changed after the
    /// mapping model was made. False if the mapping model could not be read.
    package var isOrphaned: Bool { item.compiled != nil && fits.isEmpty }
  }

  /// The version that agrees with a store or a mapping model in the largest number of hashes.
  package struct Nearest: Sendable {
    package let versionName: String
    package let agreeing: Int
    /// The number of entities that were compared.
    package let of: Int
    /// The names of the entities whose hashes do not agree, sorted.
    package let differing: [String]
  }

  /// The place of the store's present model.
  package let start: Place
  /// The version nearest to the store, if no version fits the store. Nil if a version fits, or if no version has an
  /// entity with the store's hash.
  package let nearest: Nearest?
  /// The versions of which nothing is known, because they could not be read. If no other version fits the store, then
  /// any of them may have written the store.
  package let unread: [ModelCollection.Version]
  package let target: Place
  /// The steps in order; empty if the store needs no migration, nil if no sequence of steps leads to the target.
  package let steps: [Step]?
  /// The result of looking for a single step from the start to the target. Core Data itself tries only this step.
  package let direct: Attempt
  /// The failed attempt at a step to the target from the nearest place that can be reached; nil if a sequence of steps
  /// leads to the target.
  package let obstacle: Attempt?
  /// The steps that each mapping model of the set fits, and the versions nearest to it, in the order of the set.
  package let standings: [Standing]
  /// Whether the target is certainly older than the version of the store.
  package let goesBack: Bool
  /// Why it is uncertain that the target is older than the store's version, as a clause. Nil if the version names do
  /// not say that the target is older, or if nothing contradicts the names.
  package let orderDoubt: String?
  /// The number of pairs of models that were compared to find the steps.
  let comparisonCount: Int
}
