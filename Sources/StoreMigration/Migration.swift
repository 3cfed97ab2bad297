import CoreDataForensics
import CoreDataStore
import ModelTools
public import ObjectModel
import SQLiteFile
package import StoreExtraction
import StoreFiles

/// Copies the rows of a store into a new store, which has another version of the model or the same version.
///
/// The old store is only read. The new store is written under a temporary name, checked by SQLite and by Lifeboat, and
/// then given its final name.
public struct Migration: Sendable {
  /// What happens to an entity mapping whose policy class is not registered.
  public var missingPolicy = MissingPolicy.refuse
  /// Whether the persistent history is copied into the new store. Changes to objects that have no counterpart in the
  /// new store are left out. Without the history, CloudKit and apps that read the history cannot continue where they
  /// stopped. A merge cannot keep the history.
  public var keepsHistory = false
  /// A closure that is called repeatedly with the progress of the migration. It may be called on any thread, but never
  /// on two threads at once. Nil when no progress is reported.
  public var onProgress: (@Sendable (MigrationProgress) -> Void)?
  /// A closure that is called repeatedly. If it returns true, the migration throws ``MigrationError/Code/cancelled``,
  /// and all files of the migration are removed.
  public var isCancelled: @Sendable () -> Bool = { false }
  var policies = PolicyRegister()
  /// Whether SQLite always checks the new store with `integrity_check`. If false, SQLite checks a large store with the
  /// faster `quick_check`.
  public var verifies = false
  /// The files that the migration has made so far. A program that is interrupted uses this list to remove the files.
  package var made = MadeFiles()

  /// Creates a migration with the default settings.
  public init() {}

  /// Registers the app's code for the entity mappings that name a policy class.
  ///
  /// - Parameters:
  ///   - className: the name of the class in the mapping model, with or without the name of its module.
  ///   - make: a closure that makes a policy object. Each entity mapping that names the class gets its own object.
  public mutating func register(
    _ className: String, _ make: @escaping @Sendable () -> any MigrationPolicy
  ) {
    policies.add(className, make)
  }

  /// Copies the rows of a Core Data store into a new store of `model`, using the mapping that Core Data would infer.
  ///
  /// - Parameters:
  ///   - path: the path of the old store, which is only read.
  ///   - model: the model of the new store; nil for the model of the present store or, if there is no present store,
  ///     the model of the old store.
  ///   - output: the path of the new store. No file may exist at this path.
  ///   - salvages: whether the old store may be damaged. If true, its live rows are read by recovery.
  ///   - present: the path of the store that the app has used since the old store was set aside. This store is only
  ///     read, and its rows are merged into the new store. Nil for no merge.
  ///   - policy: how a merge treats objects that are in both stores.
  /// - Returns: a report that says what was done with the rows.
  /// - Throws: ``MigrationError``; `SQLiteFileError` when the old store cannot be read; `ExtractionError` when the old
  ///   store changes during the run, or the output cannot be made. After an error, all files of the migration are
  ///   removed.
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
    let step = try MigrationStep.inferred(
      from: old, named: "the store's model", to: new, named: "the given model")
    return try run(source, [step], to: output, into: present)
  }

  /// Copies the rows of a Core Data store into a new store that has a given version of the app's model. The migration
  /// takes the shortest sequence of steps to this version. Each step uses an inferred mapping, or the app's mapping
  /// models and policies.
  ///
  /// - Parameters:
  ///   - path: the path of the old store, which is only read.
  ///   - models: the path of the app's models: a `.momd`, an `.xcdatamodeld` or a folder. The mapping models inside it
  ///     and next to it are used.
  ///   - version: the name of the version to migrate to; nil for the current version.
  ///   - mappings: the paths of further mapping models, or of folders with mapping models.
  ///   - output: the path of the new store. No file may exist at this path.
  ///   - salvages: whether the old store may be damaged. If true, its live rows are read by recovery.
  /// - Returns: a report that says what was done with the rows.
  /// - Throws: ``MigrationError``, for example when no steps lead to the version; `ModelError` when models cannot be
  ///   read; `SQLiteFileError` when the old store cannot be read; `ExtractionError` when the old store changes during
  ///   the run, or the output cannot be made. After an error, all files of the migration are removed.
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
            ?? "\(models) marks no version as current; name the version to migrate to"
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
