import CoreDataForensics
import CoreDataStore
import ModelTools
public import ObjectModel
import SQLiteFile
package import StoreExtraction
import StoreFiles

/// Carries the rows of a store into a new store of another version of its model, or of the same one.
///
/// The old store is only read. The new one is written under a private name, checked by SQLite and by Lifeboat's own
/// check, and then given its name.
public struct Migration: Sendable {
  /// What happens to an entity mapping that names a policy class of the app which is not registered.
  public var missingPolicy = MissingPolicy.refuse
  /// Whether the persistent history is copied into the new store. Changes of objects that have no counterpart in the
  /// new store are left out. Without it, apps and CloudKit that follow the history start anew. A merge cannot keep the
  /// history.
  public var keepsHistory = false
  /// Called from time to time with the progress of the migration, one call at a time, on any thread; nil for no
  /// reports.
  public var onProgress: (@Sendable (MigrationProgress) -> Void)?
  /// Called from time to time. When it returns true, the migration throws ``MigrationError/Code/cancelled``, and what
  /// it has written is removed.
  public var isCancelled: @Sendable () -> Bool = { false }
  var policies = PolicyRegister()
  /// Whether SQLite runs `integrity_check`, not just `quick_check`, on a large new store.
  public var verifies = false
  /// Tracks the files that the migration makes, for a caller that must remove them quickly.
  package var made = MadeFiles()

  /// Creates a migration that refuses what it cannot carry out.
  public init() {}

  /// Registers the app's code for mappings that name a class.
  ///
  /// - Parameters:
  ///   - className: the name that the mapping model uses, with or without the name of the module.
  ///   - make: makes the policy object of one entity mapping.
  public mutating func register(
    _ className: String, _ make: @escaping @Sendable () -> any MigrationPolicy
  ) {
    policies.add(className, make)
  }

  /// Carries the rows of a Core Data store into a new store of `model`, by the mapping that Core Data would infer.
  ///
  /// - Parameters:
  ///   - path: the path of the old store, which is only read.
  ///   - model: the model of the new store; nil for the one that the old store carries.
  ///   - output: the path of the new store; nothing may exist there.
  ///   - salvages: whether the old store may be damaged: its live rows are then taken wherever they are found.
  ///   - present: the path of the store that the app has used since, which is only read. The rows of the old store are
  ///     merged with the rows of that store. Nil for no merge.
  ///   - policy: what becomes of objects that both stores have.
  /// - Returns: a report of what became of the rows.
  /// - Throws: ``MigrationError``; `SQLiteFileError` when the old store cannot be read; `ExtractionError` when the old
  ///   store changes during the run, or the output cannot be made. In each case, what was written is removed.
  public func run(
    storeAt path: String, to model: ManagedObjectModel? = nil, output: String,
    salvages: Bool = false, into present: String? = nil, policy: MergePolicy = MergePolicy()
  ) throws -> MigrationReport {
    let source = try Source(path, salvages: salvages)
    guard let old = source.model else {
      throw MigrationError(
        .noSourceModel, ["the store carries no model that can be read"])
    }
    let present = try present.map { try PresentStore(path: $0, policy: policy) }
    let new = model ?? present?.model ?? old
    let step = MigrationStep(
      from: old, named: "the store's model", to: new, named: "the given model",
      mapping: try MappingModel.inferred(from: old, to: new), isInferred: true)
    return try run(source, [step], to: output, into: present)
  }

  /// Carries the rows of a Core Data store step by step into a new store of a version of the app's model. The steps are
  /// inferred, or use the app's mapping models and policies, whichever way is the shortest.
  ///
  /// - Parameters:
  ///   - path: the path of the old store, which is only read.
  ///   - models: the path of the app's models: a `.momd`, an `.xcdatamodeld` or a folder. Mapping models in it and
  ///     beside it are used.
  ///   - version: the name of the version to migrate to; nil for the current one.
  ///   - mappings: more mapping models, or folders of them.
  ///   - output: the path of the new store; nothing may exist there.
  ///   - salvages: whether the old store may be damaged: its live rows are then taken wherever they are found.
  /// - Returns: a report of what became of the rows.
  /// - Throws: ``MigrationError``, also when no way leads to the version; `ModelError` when models cannot be read;
  ///   `SQLiteFileError` when the old store cannot be read; `ExtractionError` when the old store changes during the
  ///   run, or the output cannot be made. In each case, what was written is removed.
  public func run(
    storeAt path: String, alongModelsAt models: String, toVersion version: String? = nil,
    mappings: [String] = [], output: String, salvages: Bool = false
  ) throws -> MigrationReport {
    let collection = try ModelCollection(searching: models)
    let named = version.map { name in collection.versions.first { $0.name == name } }
    guard let target = named ?? collection.current else {
      throw MigrationError(
        .noWay,
        [
          version.map { "\(models) has no version \($0)" }
            ?? "\(models) marks no version as current, so the one to migrate to must be named"
        ])
    }
    let source = try Source(path, salvages: salvages)
    let plan = MigrationPlanner(
      [collection], mappings: try MappingModelSet(named: mappings, withModelsAt: [models])
    ).plan(
      from: source.recordedHashes ?? source.model?.versionHashes().hashes ?? [:],
      model: source.model, to: target)
    return try run(source, MigrationStep.steps(of: plan, model: source.model), to: output)
  }
}
