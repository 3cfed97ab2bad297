public import ManagedObjects
import ModelTools
import ObjectModel
import SafeText

/// A stage of a staged migration: `NSLightweightMigrationStage` and `NSCustomMigrationStage` of Core Data,
/// `MigrationStage` of SwiftData. Versions are named as the model's files are, or by their version checksums.
public struct MigrationStage: Sendable {
  /// The app's code for a stage. It gets the objects of one store, and the changes that it makes are kept.
  public typealias Handler = @Sendable (ObjectContext) throws -> Void

  let versions: [String]
  let isCustom: Bool
  var willMigrate: Handler?
  var didMigrate: Handler?

  /// A stage that leads through the given versions in their order. The mappings between the versions are inferred.
  public static func lightweight(_ versions: [String]) -> MigrationStage {
    MigrationStage(versions: versions, isCustom: false)
  }

  /// A stage with the app's code: `willMigrate` gets the objects of the version before, `didMigrate` those of the
  /// version after.
  public static func custom(
    from: String, to: String, willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) -> MigrationStage {
    MigrationStage(
      versions: [from, to], isCustom: true, willMigrate: willMigrate, didMigrate: didMigrate)
  }
}

extension Migration {
  /// Carries the rows of a store through the stages of an app's plan, from the stage that has the store's version to
  /// the last one.
  ///
  /// Lightweight stages alone make one inferred step from the store's version to the last. With a custom stage among
  /// them, each version is a step. The first version of a stage may be the last one of the stage before. Apart from
  /// this, no version may come twice.
  ///
  /// - Parameters:
  ///   - path: the path of the old store, which is only read.
  ///   - stages: the stages, in order.
  ///   - models: the app's models: a `.momd`, an `.xcdatamodeld`, a folder.
  ///   - output: the path of the new store; nothing may exist there.
  ///   - salvages: whether the old store may be damaged: its live rows are then taken wherever they are found.
  /// - Returns: a report of what became of the rows.
  /// - Throws: what ``run(storeAt:alongModelsAt:toVersion:mappings:output:salvages:)`` throws, and what a handler
  ///   throws.
  public func run(
    storeAt path: String, stages: [MigrationStage], modelsAt models: String, output: String,
    salvages: Bool = false
  ) throws -> MigrationReport {
    let source = try Source(path, salvages: salvages)
    let steps = try Self.steps(stages, ModelCollection(searching: models), of: source)
    return try run(source, steps, to: output)
  }

  private static func steps(
    _ stages: [MigrationStage], _ models: ModelCollection, of source: Source
  ) throws -> [MigrationStep] {
    // The versions in their order, each with the custom stage that leads to it.
    var versions: [(name: String, model: ManagedObjectModel, stage: MigrationStage?)] = []
    for stage in stages {
      for (place, name) in stage.versions.enumerated() {
        guard let model = model(named: name, in: models) else {
          throw MigrationError(.noWay, ["the models have no version \(name)"])
        }
        if let there = versions.firstIndex(where: {
          $0.model.versionHashes() == model.versionHashes()
        }) {
          guard place == 0, there == versions.count - 1 else {
            throw MigrationError(
              .noWay,
              ["the version \(name) comes twice in the stages, or has the hashes of another one"])
          }
          continue
        }
        versions.append((name, model, stage.isCustom && place == 1 ? stage : nil))
      }
    }
    guard let recorded = source.recordedHashes ?? source.model?.versionHashes().hashes,
      let start = versions.firstIndex(where: { $0.model.versionHashes().matches(recorded) }),
      let last = versions.last
    else {
      throw MigrationError(.noWay, ["none of the stages has the version of the store"])
    }
    let way = versions[start...]
    guard way.count > 1 else { return [try .same(last.model, named: last.name)] }
    func step(
      from: ManagedObjectModel, _ fromName: String, to: ManagedObjectModel, _ toName: String
    )
      throws -> MigrationStep
    {
      MigrationStep(
        from: from, named: fromName, to: to, named: toName,
        mapping: try MappingModel.inferred(from: from, to: to), isInferred: true)
    }
    guard stages.contains(where: \.isCustom) else {
      let first = versions[start]
      return [try step(from: first.model, first.name, to: last.model, last.name)]
    }
    var steps: [MigrationStep] = []
    for (before, after) in zip(way, way.dropFirst()) {
      if let handler = after.stage?.willMigrate {
        // The app's code changes the objects of the version before in a copy of the store.
        var copy = try MigrationStep.same(before.model, named: before.name)
        copy.handler = handler
        steps.append(copy)
      }
      var next = try step(from: before.model, before.name, to: after.model, after.name)
      next.handler = after.stage?.didMigrate
      steps.append(next)
    }
    return steps
  }

  private static func model(named name: String, in models: ModelCollection) -> ManagedObjectModel? {
    (models.versions.first { $0.name == name }
      ?? models.versions.first { $0.model?.versionHashes().checksum == name })?.model
  }
}
