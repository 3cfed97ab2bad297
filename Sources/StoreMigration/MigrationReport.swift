package import SQLiteFile
package import StoreExtraction

/// What a migration did, or what it would do.
public struct MigrationReport: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.migration"
  /// The version of the JSON form; it only grows.
  package var version = 1
  /// The path of the old store.
  package var source: String
  /// The path of the new store; nil for a trial.
  public var output: String?
  /// The steps of the migration, in order.
  package internal(set) var steps: [Step] = []
  /// How the rows were merged with those of the present store, which the app has used since; nil without a merge.
  package internal(set) var merge: Merge?
  /// The path of the file of rejects: the rows that are not in the new store, or only in part. Nil when there are none.
  public internal(set) var rejects: String?
  /// The external files that were copied for the new store; nil when no row refers to any.
  package var externalFiles: RebuildResult.ExternalFiles?
  /// What was wrong with the old store as far as it was read, and with its external files.
  package var findings: [Finding] = []
  /// How many findings about the stores and their external files are damage.
  public internal(set) var damageCount = 0

  /// A step from one model to the next.
  package struct Step: Sendable, Codable {
    /// The name of the model before.
    package let from: String
    /// The name of the model after.
    package let to: String
    /// `inferred` or `mapped`.
    package let way: String
    /// The entities of the old model, by name.
    package internal(set) var entities: [Entity] = []
    /// References that led to no row and were cut, by entity and relationship.
    package internal(set) var cut: [Cut] = []
    /// Values that are not in the new store although both models have the property, one sentence each.
    package internal(set) var leftOut: [String] = []
    /// Notes on how the step was done, one sentence each.
    package internal(set) var notes: [String] = []
  }

  /// What became of the rows of one old entity.
  package struct Entity: Sendable, Codable {
    /// The name of the old entity; nil for rows whose entity number belongs to no entity.
    package let name: String?
    /// The new entities that the rows became; empty when the rows were left behind.
    package internal(set) var became: [String]
    /// How many rows were read.
    package internal(set) var readCount = 0
    /// How many rows were written.
    package internal(set) var writtenCount = 0
    /// How many rows were written without some values, which are damaged. The file of rejects has these rows as the old
    /// store has them.
    package internal(set) var incompleteCount = 0
    /// How many rows break a rule of the new model and are in the file of rejects.
    package internal(set) var rejectedCount = 0
    /// How often a mapping that takes only some objects did not take a row.
    package internal(set) var passedOverCount = 0
    /// How many rows were left behind because no mapping takes their entity.
    package internal(set) var leftBehindCount = 0
  }

  /// References of one relationship that led to no row and were cut.
  package struct Cut: Sendable, Codable {
    /// The name of the entity that has the relationship.
    package let entity: String
    /// The name of the relationship.
    package let property: String
    /// How many references were cut.
    package let count: Int
    /// The primary keys of the first rows concerned, at most 20.
    package let keys: [Int64]
  }

  /// How the rows of the last step were merged with those of the present store.
  package struct Merge: Sendable, Codable {
    /// The path of the present store.
    package let into: String
    /// What the policy did with objects that both stores have.
    package let duplicates: MergePolicy.Duplicates
    /// What became of the present store's own rows; nil before they are read.
    package internal(set) var present: Step?
    /// The objects in the new store, by entity.
    package internal(set) var entities: [Entity] = []
    /// How many old rows have the unique values of a present row, and a value that the present row does not have. They
    /// are in the file of rejects.
    package internal(set) var differingCount = 0
    /// How many present rows had values that old ones replaced. The file of rejects has the rows as they were.
    package internal(set) var replacedCount = 0
    /// How many old rows were not added, because another object has their unique values. They are in the file of
    /// rejects.
    package internal(set) var rejectedCount = 0
    /// Notes on how the rows were merged, one sentence each.
    package internal(set) var notes: [String] = []
    /// References of old rows that were cut, because they lead to no row of the new store.
    package internal(set) var cut: [Cut] = []

    /// How many objects of an entity came from each of the two stores, were found in both, or were rejected.
    package struct Entity: Sendable, Codable {
      /// The name of the entity.
      package let name: String
      /// How many objects of the present store there are.
      package let presentCount: Int
      /// How many old objects were added.
      package let addedCount: Int
      /// How many old objects have the unique values of a present one.
      package let sameValuesCount: Int
      /// How many old objects have the same content as a present one.
      package let sameContentCount: Int
      /// How many old objects were not added, because another object has their unique values.
      package let rejectedCount: Int
    }

    /// Whether the merge lost no value of either store.
    var isLossless: Bool { differingCount == 0 && replacedCount == 0 }

    init(into path: String, duplicates: MergePolicy.Duplicates) {
      into = path
      self.duplicates = duplicates
    }
  }

  /// How many rows of the old store the last step wrote.
  public var writtenCount: Int { (steps.last?.entities ?? []).reduce(0) { $0 + $1.writtenCount } }
  /// The steps of the old store and, with a merge, the step that copied the present store.
  package var allSteps: [Step] { steps + (merge?.present.map { [$0] } ?? []) }
  /// How many rows are not in the new store, because they break a rule of a new model. They are in the file of rejects.
  public var rejectedCount: Int {
    allSteps.reduce(merge?.rejectedCount ?? 0) { sum, step in
      step.entities.reduce(sum) { $0 + $1.rejectedCount }
    }
  }
  /// How many rows were written without some of their values.
  public var incompleteCount: Int {
    allSteps.reduce(0) { $0 + $1.entities.reduce(0) { $0 + $1.incompleteCount } }
  }
  /// All references that were cut, by entity and relationship.
  package var allCut: [Cut] { allSteps.flatMap(\.cut) + (merge?.cut ?? []) }
  /// How many references led to no row and were cut.
  public var cutCount: Int { allCut.reduce(0) { $0 + $1.count } }

  /// Whether every row and every reference is in the new store, except what the new model does not have, and nothing
  /// was wrong with the old store.
  public var isLossless: Bool {
    rejectedCount == 0 && incompleteCount == 0 && cutCount == 0 && damageCount == 0
      && allSteps.allSatisfy(\.leftOut.isEmpty) && merge?.isLossless ?? true
  }

  /// Creates the report of a trial: the steps that a run would take, without any rows.
  package init(announcing steps: [MigrationStep], of store: String) {
    source = store
    output = nil
    self.steps = steps.map(Step.init)
  }
}

extension MigrationReport.Step {
  /// Creates the report of a step before any row is read.
  init(_ step: MigrationStep) {
    self.init(
      from: step.fromName, to: step.toName, way: step.isInferred ? "inferred" : "mapped")
  }
}
