import ArgumentParser
import CoreDataStore
import StoreFiles
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import SupportBundle
import Terminal

/// The models and mapping models that a migration may use, and the version to which the store is migrated.
struct MigrationRoute {
  private let inputs: [ModelInput]
  private let version: ModelCollection.Version
  private let mappings: MappingModelSet

  /// Reads the models and mapping models, and finds the version named `target`, or the current version if `target` is
  /// nil. Each path in `models` leads to a model, to a mapping model, or to a folder of either. `versionOption` is the
  /// option by which the user chooses a version; the hints of failures name this option.
  init(
    _ models: [String], to target: String?, versionOption: String, mappings: [String]
  ) throws {
    inputs = try models.filter { !MappingModelSet.isMapping(at: $0) }.map { try ModelInput($0) }
    guard !inputs.isEmpty else {
      throw Failure(
        64, "usage.noModels", "only mapping models are given, and no model to migrate to",
        hint: "name the app's models too")
    }
    version = try Self.chosen(inputs, target, versionOption)
    self.mappings = try MappingModelSet(named: mappings, withModelsAt: models)
  }

  /// Finds the steps from the source to the chosen version. On standard error, lists the mapping models that could not
  /// be read, and everything in ``passedOver``.
  func plan(from source: Source, _ display: DisplayOptions) -> MigrationPlan {
    for item in mappings.items {
      if let problem = item.problem { display.note("note: not read: \(problem)") }
    }
    for other in passedOver { display.note(other) }
    return MigrationPlanner(inputs.map(\.collection), mappings: mappings).plan(
      from: source.hashes, model: source.model, to: version)
  }

  /// The model of the chosen version. Throws when the model cannot be read.
  func target() throws -> ManagedObjectModel {
    guard let model = version.model else {
      throw version.problem
        ?? Failure(65, "model.unreadable", "\(version.name): the model cannot be read")
    }
    return model
  }

  /// The files and folders that could not be read in the search for models and mapping models.
  var passedOver: [StoreFinder.PassedOver] {
    let passedOver = inputs.flatMap(\.passedOver)
    return passedOver
      + mappings.notEntered.map { StoreFinder.PassedOver($0) }
      .filter { other in !passedOver.contains { $0.path == other.path } }
  }

  /// The version hashes and the model of the store that is migrated.
  ///
  /// `hashes`: the version hashes that the store records or, if it records no hashes, those of `model`.
  /// `model`: the model that wrote the store; nil if this model is not known.
  struct Source {
    let hashes: [String: VersionHash]
    let model: ManagedObjectModel?
  }

  /// The version to migrate to. This is the version named `target` in any of the models, or the current version if
  /// `target` is nil.
  private static func chosen(
    _ inputs: [ModelInput], _ target: String?, _ versionOption: String
  ) throws -> ModelCollection.Version {
    if let target {
      let having = inputs.filter { !$0.versions(named: target).isEmpty }
      let found = try (having.isEmpty ? [inputs[0]] : having).map { try $0.version(named: target) }
      guard Set(found.map(\.knownHashes).filter { !$0.isEmpty }).count < 2 else {
        throw Failure(
          64, "usage.whichVersion",
          "several of the models have a version \(target): \(having.map(\.path).joined(separator: ", "))",
          hint: "give only the model to migrate to")
      }
      return found.first { $0.model != nil } ?? found[0]
    }
    if inputs.count > 1, let marked = inputs.first(where: { $0.collection.current != nil }) {
      let others = inputs.filter { $0.path != marked.path && $0.collection.current != nil }
      guard others.isEmpty else {
        throw Failure(
          64, "usage.whichVersion", "several of the models have a current version",
          hint: "name the version to migrate to with \(versionOption)")
      }
      return try marked.version()
    }
    do {
      return try inputs[0].version()
    } catch let failure as Failure where failure.code == "usage.whichVersion" {
      throw Failure(
        64, failure.code, failure.message, hint: "name the version with \(versionOption)")
    }
  }
}

extension MigrationRoute.Source {
  /// Reads the version hashes and the model of the store at `path`.
  ///
  /// `path`: a store, or an archive with one store.
  /// `given`: the model that wrote the store, for a store that contains no model.
  /// `logView`: the frames of the write-ahead log that are read.
  init(
    _ path: String, model given: ManagedObjectModel? = nil, secrets: SecretOptions? = nil,
    logView: SQLiteDatabase.LogView = .committed
  ) throws {
    let record = try ModelInput.record(ofStoreAt: path, secrets, logView: logView)
    model = record.model ?? given
    hashes = record.hashes.isEmpty ? model?.versionHashes().hashes ?? [:] : record.hashes
    guard !hashes.isEmpty else {
      throw Failure(
        65, "coredata.noHashes", "\(path): the store records no version hashes",
        hint: "give the model that wrote the store: lifeboat migrate --from-model MODEL")
    }
  }
}
