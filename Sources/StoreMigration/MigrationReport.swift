package import SQLiteFile
package import StoreExtraction

/// What a migration did, or what it would do.
public struct MigrationReport: Sendable, Codable {
  /// The name of the report's JSON schema.
  package var schema = "lifeboat.migration"
  /// The version of the report's JSON schema. A later schema has a higher version.
  package var version = 1
  /// The path of the old store.
  package var source: String
  /// The path of the new store; nil when no store was made, because this is the report of a trial.
  public var output: String?
  package internal(set) var steps: [Step] = []
  /// How the old store's rows were merged with the rows of the present store, which the app has used since the old
  /// store was set aside; nil without a merge.
  package internal(set) var merge: Merge?
  /// The path of the file of rejects. This file has the rows that were not written into the new store, or were written
  /// without some of their values. After a merge, the file also has the old rows whose values were not used, and the
  /// present rows whose values were replaced. Nil when there are no such rows.
  public internal(set) var rejects: String?
  /// The external files that were copied for the new store; nil when no row of the new store refers to an external
  /// file.
  package var externalFiles: RebuildResult.ExternalFiles?
  /// What can be read of a damaged store, in a trial; nil for a sound store and for a migration.
  package private(set) var survey: RebuildResult?
  /// The findings about the stores and external files that the migration read. Parts of a store that the migration did
  /// not read are not covered.
  package var findings: [Finding] = []
  /// The number of findings that are damage, including findings that ``findings`` does not list.
  public internal(set) var damageCount = 0

  package struct Step: Sendable, Codable {
    package let from: String
    package let to: String
    /// The kind of the step's mapping: `inferred`, or `mapped` if the mapping comes from mapping models.
    package let way: String
    /// The entities of the old model, sorted by name.
    package internal(set) var entities: [Entity] = []
    /// The references that were cut, grouped by entity and relationship. To cut a reference means to set its column to
    /// NULL, or to delete its row from the join table.
    package internal(set) var cut: [Cut] = []
    /// Sentences about properties whose values were not copied, although the property is in both models.
    package internal(set) var leftOut: [String] = []
    /// Notes on how the step was done, one sentence each.
    package internal(set) var notes: [String] = []
  }

  /// What was done with the rows of one old entity.
  package struct Entity: Sendable, Codable {
    /// The name of the old entity; nil for rows whose entity number belongs to no entity.
    package let name: String?
    /// The names of the new entities to which the written rows belong; empty if no row was written.
    package internal(set) var became: [String]
    package internal(set) var readCount = 0
    package internal(set) var writtenCount = 0
    /// The number of rows that were written without some of their values. The file of rejects has these rows with the
    /// values that they have in the old store.
    package internal(set) var incompleteCount = 0
    /// The number of rows that could not be written, for example because they break a rule of the new model. These rows
    /// are in the file of rejects.
    package internal(set) var rejectedCount = 0
    /// The number of times that a mapping did not take a row, because its predicate was false or its policy made no
    /// object. A row is counted once for each such mapping.
    package internal(set) var passedOverCount = 0
    /// The number of rows that were left behind because no mapping takes their entity.
    package internal(set) var leftBehindCount = 0
  }

  /// The cut references of one relationship. A reference is usually cut because its destination row does not exist.
  package struct Cut: Sendable, Codable {
    package let entity: String
    package let property: String
    package let count: Int
    /// The primary keys of the first rows with a reference that was cut, at most 20 keys.
    package let keys: [Int64]
  }

  /// The part of the report about a merge. A merge combines the rows of the migrated old store with the rows of the
  /// present store.
  package struct Merge: Sendable, Codable {
    /// The path of the present store: the store that the app has used since the old store was set aside.
    package let into: String
    /// How objects that both stores have were treated, according to the policy.
    package let duplicates: MergePolicy.Duplicates
    /// The migration step that copied the rows of the present store into the new store; nil until this step has run.
    package internal(set) var present: Step?
    /// The counts of the objects that come from the present store and from the old store, for each entity.
    package internal(set) var entities: [Entity] = []
    /// The number of old rows that have the same values as a present row in a uniqueness constraint, but differ from
    /// the present row in another value. The file of rejects has these old rows.
    package internal(set) var differingCount = 0
    /// The number of present rows in which the value of an old row replaced a different value. The file of rejects has
    /// these present rows with their former values.
    package internal(set) var replacedCount = 0
    /// The number of old rows that were left out, because another object already has their values in a uniqueness
    /// constraint. The file of rejects has these rows.
    package internal(set) var rejectedCount = 0
    /// Notes on how the rows were merged, one sentence each.
    package internal(set) var notes: [String] = []
    /// The cut references of old rows. A reference is usually cut because its destination is not in the new store.
    package internal(set) var cut: [Cut] = []

    /// The counts of one entity's objects in a merge: present objects, added old objects, old objects that equal a
    /// present object, and rejected old objects.
    package struct Entity: Sendable, Codable {
      package let name: String
      package let presentCount: Int
      package let addedCount: Int
      /// The number of old objects that have the same values as a present object in a uniqueness constraint.
      package let sameValuesCount: Int
      /// The number of objects of the old store that have the same content as an object of the present store.
      package let sameContentCount: Int
      /// The number of old objects that were not added because another object has the same values in a uniqueness
      /// constraint.
      package let rejectedCount: Int
    }

    /// Whether no value was lost where an old row and a present row have the same values in a uniqueness constraint.
    /// Rejected rows do not count here (``rejectedCount``).
    var isLossless: Bool { differingCount == 0 && replacedCount == 0 }

    init(into path: String, duplicates: MergePolicy.Duplicates) {
      into = path
      self.duplicates = duplicates
    }
  }

  /// The number of rows of the old store that the last step wrote into its new store.
  public var writtenCount: Int { (steps.last?.entities ?? []).reduce(0) { $0 + $1.writtenCount } }
  /// The steps that start from the old store and, if there was a merge, the step that copied the present store.
  package var allSteps: [Step] { steps + (merge?.present.map { [$0] } ?? []) }
  /// The number of rows that are not in the new store because they break a rule of a new model. These rows are in the
  /// file of rejects.
  public var rejectedCount: Int {
    allSteps.reduce(merge?.rejectedCount ?? 0) { sum, step in
      step.entities.reduce(sum) { $0 + $1.rejectedCount }
    }
  }
  /// The number of rows that were written without some of their values.
  public var incompleteCount: Int {
    allSteps.reduce(0) { $0 + $1.entities.reduce(0) { $0 + $1.incompleteCount } }
  }
  package var allCut: [Cut] { allSteps.flatMap(\.cut) + (merge?.cut ?? []) }
  /// The number of references that were removed from rows, usually because they led to no row.
  public var cutCount: Int { allCut.reduce(0) { $0 + $1.count } }

  /// Whether nothing was lost. This means that the new store has every row, value and reference for which the new model
  /// has a place, and that no damage was found in the stores.
  public var isLossless: Bool {
    rejectedCount == 0 && incompleteCount == 0 && cutCount == 0 && damageCount == 0
      && allSteps.allSatisfy(\.leftOut.isEmpty) && merge?.isLossless ?? true
  }

  /// Creates a report that lists `steps` and counts no rows yet. A trial, which makes no new store, returns this report.
  /// `survey` is what a trial can read of a damaged store.
  package init(
    announcing steps: [MigrationStep], of store: String, survey: RebuildResult? = nil
  ) {
    source = store
    output = nil
    self.steps = steps.map(Step.init)
    self.survey = survey
  }
}

extension MigrationReport.Step {
  init(_ step: MigrationStep) {
    self.init(
      from: step.fromName, to: step.toName, way: step.isInferred ? "inferred" : "mapped")
  }
}
