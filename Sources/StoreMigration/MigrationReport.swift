package import SQLiteFile
package import StoreExtraction

/// What a migration did.
public struct MigrationReport: Sendable, Codable {
  /// The name of the schema of the JSON form.
  package var schema = "lifeboat.migration"
  /// The version of that schema; it only grows.
  package var version = 1
  /// The old store.
  package var source: String
  /// The new store; nil for a trial.
  public var output: String?
  /// The steps, in order.
  package internal(set) var steps: [Step] = []
  /// How the rows were put among those of the store that the app has used since; nil when they were not.
  package internal(set) var merge: Merge?
  /// The file with the rows that are not in the new store; nil when there are none.
  public internal(set) var rejects: String?
  /// Files beside the store that hold values of its rows; nil when no row names any.
  package var externalFiles: RebuildResult.ExternalFiles?
  /// What was wrong with the old store as far as it was read, and with its external files.
  package var findings: [Finding] = []
  /// How many of the findings are damage.
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
    /// Relationships that led to no row and now lead nowhere, by entity and name.
    package internal(set) var cut: [Cut] = []
    /// Values that are not in the new store although both models have the property, one sentence each.
    package internal(set) var leftOut: [String] = []
    /// What a reader has to know of how the step was done.
    package internal(set) var notes: [String] = []
  }

  /// What became of the rows of an entity.
  package struct Entity: Sendable, Codable {
    /// The old entity; nil for rows whose number belongs to none.
    package let name: String?
    /// The entities that its rows became; empty when they were left behind on purpose.
    package internal(set) var became: [String]
    /// Rows read.
    package internal(set) var readCount = 0
    /// Rows written.
    package internal(set) var writtenCount = 0
    /// Rows that were written without values that are damaged; the file of rejects has what the old store has.
    package internal(set) var incompleteCount = 0
    /// Rows that break a rule of the new model and are in the file of rejects.
    package internal(set) var rejectedCount = 0
    /// Times that a mapping which takes only some objects did not take a row.
    package internal(set) var passedOverCount = 0
    /// Rows of an entity that the new model does not have.
    package internal(set) var leftBehindCount = 0
  }

  /// References that led to no row.
  package struct Cut: Sendable, Codable {
    /// The entity that has the relationship.
    package let entity: String
    /// The relationship.
    package let property: String
    /// How many references were cut.
    package let count: Int
    /// The keys of the first rows concerned, at most 20.
    package let keys: [Int64]
  }

  /// How the rows of the last step were put among those of another store.
  package struct Merge: Sendable, Codable {
    /// That store.
    package let into: String
    /// What became of objects that both stores have.
    package let duplicates: MergePolicy.Duplicates
    /// What became of that store's own rows; nil before they were read.
    package internal(set) var present: Step?
    /// The objects in the new store, by entity.
    package internal(set) var entities: [Entity] = []
    /// Old rows with the unique values of a present row, and a value that it does not have. They are in the file of
    /// rejects.
    package internal(set) var differingCount = 0
    /// Present rows with values that old ones replaced. They are in the file of rejects as they were.
    package internal(set) var replacedCount = 0
    /// Old rows that no rule let in. They are in the file of rejects.
    package internal(set) var rejectedCount = 0
    /// What a reader has to know of how the rows were merged.
    package internal(set) var notes: [String] = []
    /// References of old rows that lead nowhere now.
    package internal(set) var cut: [Cut] = []

    /// The objects of an entity.
    package struct Entity: Sendable, Codable {
      /// The entity.
      package let name: String
      /// Objects of the present store.
      package let presentCount: Int
      /// Old objects that were added.
      package let addedCount: Int
      /// Old objects whose unique values a present one has.
      package let sameValuesCount: Int
      /// Old objects that are equal to a present one.
      package let sameContentCount: Int
      /// Old objects that no rule let in.
      package let rejectedCount: Int
    }

    /// Whether every value of both stores is in the new one, as far as the merge is concerned.
    var isLossless: Bool { differingCount == 0 && replacedCount == 0 }

    init(into path: String, duplicates: MergePolicy.Duplicates) {
      into = path
      self.duplicates = duplicates
    }
  }

  /// Rows of the old store that were written.
  public var writtenCount: Int { (steps.last?.entities ?? []).reduce(0) { $0 + $1.writtenCount } }
  /// The steps, and the one of the store that the rows were merged into.
  package var allSteps: [Step] { steps + (merge?.present.map { [$0] } ?? []) }
  /// Rows that no rule let into the new store; they are in the file of rejects.
  public var rejectedCount: Int {
    allSteps.reduce(merge?.rejectedCount ?? 0) { sum, step in
      step.entities.reduce(sum) { $0 + $1.rejectedCount }
    }
  }
  /// Rows that were written without some of their values.
  public var incompleteCount: Int {
    allSteps.reduce(0) { $0 + $1.entities.reduce(0) { $0 + $1.incompleteCount } }
  }
  /// References that were cut.
  package var allCut: [Cut] { allSteps.flatMap(\.cut) + (merge?.cut ?? []) }
  /// How many references were cut.
  public var cutCount: Int { allCut.reduce(0) { $0 + $1.count } }

  /// Whether each row and each reference is in the new store, but for what the new model does not have, and nothing
  /// was wrong with the old one.
  public var isLossless: Bool {
    rejectedCount == 0 && incompleteCount == 0 && cutCount == 0 && damageCount == 0
      && allSteps.allSatisfy(\.leftOut.isEmpty) && merge?.isLossless ?? true
  }

  /// What a run would do, without rows.
  package init(announcing steps: [MigrationStep], of store: String) {
    source = store
    output = nil
    self.steps = steps.map(Step.init)
  }
}

extension MigrationReport.Step {
  /// A step before any row is read.
  init(_ step: MigrationStep) {
    self.init(
      from: step.fromName, to: step.toName, way: step.isInferred ? "inferred" : "mapped")
  }
}
