import ArgumentParser
import CoreDataStore
import StoreFiles
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import SupportBundle
import Terminal

/// The models and mapping models that a migration may use, and the version that it leads to.
struct MigrationRoute {
  private let inputs: [ModelInput]
  private let version: ModelCollection.Version
  private let mappings: MappingModelSet

  /// Finds the version named `target`, or the current version if `target` is nil. `models` are paths of models, of
  /// mapping models, or of folders that hold either. Hints tell the user to name a version with `versionOption`.
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

  /// The steps from a store to the chosen version. Names on standard error the mapping models that could not be read.
  func plan(from source: Source, _ display: DisplayOptions) -> MigrationPlan {
    for item in mappings.items {
      if let problem = item.problem { display.note("note: not read: \(problem)") }
    }
    return MigrationPlanner(inputs.map(\.collection), mappings: mappings).plan(
      from: source.hashes, model: source.model, to: version)
  }

  /// The model of the chosen version. Throws when that model cannot be read.
  func target() throws -> ManagedObjectModel {
    guard let model = version.model else {
      throw version.problem
        ?? Failure(65, "model.unreadable", "\(version.name): the model cannot be read")
    }
    return model
  }

  /// Names on standard error what was not read in the folders of models. Throws the exit code for findings if there was
  /// anything.
  func tellPassedOver(_ display: DisplayOptions) throws {
    let passedOver = inputs.flatMap(\.passedOver)
    let more = mappings.notEntered.map { StoreFinder.PassedOver($0) }
      .filter { other in !passedOver.contains { $0.path == other.path } }
    try display.tell(passedOver: passedOver + more)
  }

  /// Where a migration starts: the version hashes that the store records, or else the hashes of its model, and that
  /// model. `model` is nil when no model is known.
  struct Source {
    let hashes: [String: VersionHash]
    let model: ManagedObjectModel?

    init(hashes: [String: VersionHash], model: ManagedObjectModel?) {
      self.hashes = hashes
      self.model = model
    }

    /// Reads the source from a store, or from a zip archive that holds one. `given` is the model that wrote the store.
    /// It is used only if the store carries no model.
    init(
      _ path: String, model given: ManagedObjectModel? = nil, secrets: SecretOptions? = nil
    ) throws {
      let recorded: [String: VersionHash]?
      if StoreInput.isArchive(path) || secrets?.keyFile != nil {
        let input = try ModelInput(path, secrets)
        recorded = input.store?.recorded?.hashes
        model = input.store == nil ? given : input.versions.first?.model ?? given
      } else {
        // If the file is not a store, the store reader throws the fitting error.
        try ModelInput.requireNoFolder(path)
        let store = try CoreDataStore(path: path)
        recorded = store.metadata?.versionHashes
        model = store.cachedModel ?? given
      }
      hashes = recorded.flatMap { $0.isEmpty ? nil : $0 } ?? model?.versionHashes().hashes ?? [:]
      guard !hashes.isEmpty else {
        throw Failure(
          65, "coredata.noHashes", "\(path): the store records no version hashes",
          hint: "give the model that wrote the store: lifeboat migrate --from-model MODEL")
      }
    }
  }

  /// The version to migrate to: the one named `target` in any of the models; without a name, the current one.
  private static func chosen(
    _ inputs: [ModelInput], _ target: String?, _ versionOption: String
  ) throws -> ModelCollection.Version {
    if let target {
      let having = inputs.filter { input in
        input.versions.contains { $0.name == target || target == $0.fileName }
      }
      return try (having.first ?? inputs[0]).version(named: target)
    }
    if inputs.count > 1, let marked = inputs.first(where: { $0.collection.current != nil }) {
      let others = inputs.filter { $0.path != marked.path && $0.collection.current != nil }
      guard others.isEmpty else {
        throw Failure(
          64, "usage.whichVersion", "several of the models have a current version",
          hint: "name the one to migrate to with \(versionOption)")
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
