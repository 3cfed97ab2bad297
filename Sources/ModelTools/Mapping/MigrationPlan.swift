package import ObjectModel

/// The steps that migrate a store to a version of its model, or the reasons why there is no such sequence of steps.
package struct MigrationPlan: Sendable {
  /// A model at the start, in the middle or at the end of a migration. Several versions with equal hashes form one
  /// place.
  package struct Place: Sendable {
    /// The names of the versions that have this model. Empty for a model that only the store has.
    package let versionNames: [String]
    /// The path of the first version with this model; nil for a model that only the store has.
    package let path: String?
    /// The model at this place; nil if only its hashes are known.
    package internal(set) var model: ManagedObjectModel?
    let hashed: HashedModel
    /// The hashes computed from the model; nil if they are not known yet.
    let computed: ModelHashes?
    /// The position of the model in the order of versions. A model that only the store has gets the position of the
    /// nearest version.
    let position: Int

    /// The name of the place for people: the name of its first version, or "the store's own model".
    package var name: String { versionNames.first ?? "the store's own model" }
  }

  /// How a step is done: by mapping models of the developer, or by an inferred mapping.
  package enum Way: Sendable {
    /// One or more mapping models of the developer do the step. Several mapping models map different entities, and each
    /// is run over the whole store. No file records the order in which the app runs them.
    ///
    /// Mapping models without a migration policy class come first in the list, because policy classes may look for
    /// objects that these mapping models make.
    case mappings([MappingModelSet.Item])
    /// An inferred mapping does the step. It fails if the data meets a condition in `unless`. Each condition is a
    /// clause that can follow the word "unless".
    case inferred(unless: [String])
    /// An inferred mapping may do the step, but Apple's documentation does not say so. The reasons say what is not
    /// documented.
    case uncertain([String])
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

  /// How one mapping model relates to the versions of the model: which migration steps it fits, which version is
  /// nearest to its source model, and which is nearest to its destination model.
  package struct Standing: Sendable {
    package let item: MappingModelSet.Item
    /// The pairs of version names between which the mapping model migrates. There are several pairs if several versions
    /// have equal hashes.
    package let fits: [(from: String, to: String)]
    /// The version with the most hashes that equal source hashes of the mapping model; nil if no version has an equal
    /// hash.
    package let nearestSource: Nearest?
    /// The version nearest to the destination of the mapping model: it has the most hashes that equal destination
    /// hashes of the mapping model. Nil if no version has an equal hash.
    package let nearestDestination: Nearest?

    /// Whether the mapping model fits no step between versions of the model, for example because a model was changed
    /// after the mapping model was made. False if the mapping model could not be read.
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
  /// The version nearest to the store. Nil if a version fits the store, or if no version has an entity with the store's
  /// hash.
  package let nearest: Nearest?
  /// The versions of which nothing is known, because they could not be read. If no other version fits the store, then
  /// any of them may have written the store.
  package let unread: [ModelCollection.Version]
  package let target: Place
  /// The steps in order; empty if the store needs no migration, nil if no sequence of steps leads to the target.
  package let steps: [Step]?
  /// The result of looking for a single step from the start to the target. Core Data itself tries only this step.
  package let direct: Attempt
  /// If no sequence of steps leads to the target: the failed step to the target from the nearest model that can be
  /// reached. Otherwise nil.
  package let obstacle: Attempt?
  /// For each mapping model of the set, how it relates to the versions of the model.
  package let standings: [Standing]
  /// Whether the migration goes back to an older version. False if it is uncertain that the target is older than the
  /// store's version.
  package let goesBack: Bool
  /// The reason, as a clause, to doubt the version names, when they say that the target is older than the store's
  /// version. Otherwise nil.
  package let orderDoubt: String?
  /// The number of pairs of models that were compared to find the steps.
  let comparisonCount: Int
}
