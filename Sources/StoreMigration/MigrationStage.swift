public import ManagedObjects
import ModelTools
import ObjectModel
import SafeText

/// A stage of a staged migration. It is similar to Core Data's `NSLightweightMigrationStage` and
/// `NSCustomMigrationStage`, and to SwiftData's `MigrationStage`. Each version is named by the name of its model's
/// file, or by its version checksum.
public struct MigrationStage: Sendable {
  /// The app's code in a custom stage. The code gets access to the objects of a store, and its changes to these objects
  /// are saved.
  public typealias Handler = @Sendable (ObjectContext) throws -> Void

  let versions: [String]
  let isCustom: Bool
  var willMigrate: Handler?
  var didMigrate: Handler?

  /// A stage that migrates through the given versions in order, using inferred mappings.
  public static func lightweight(_ versions: [String]) -> MigrationStage {
    MigrationStage(versions: versions, isCustom: false)
  }

  /// A stage that runs the app's code. The closure `willMigrate` gets the objects of the version `from`, and
  /// `didMigrate` gets the objects of the version `to`.
  public static func custom(
    from: String, to: String, willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) -> MigrationStage {
    MigrationStage(
      versions: [from, to], isCustom: true, willMigrate: willMigrate, didMigrate: didMigrate)
  }
}

extension Migration {
  /// Copies the rows of a store through the stages of an app's migration plan, from the store's version to the version
  /// at the end of the last stage.
  ///
  /// If all stages are lightweight, a single inferred step leads from the store's version to the last version. If any
  /// stage is custom, a step leads to each version. A stage may begin with the version at the end of the previous
  /// stage. Apart from that, no version may occur twice.
  ///
  /// - Parameters:
  ///   - path: the path of the old store, which is only read.
  ///   - stages: the stages, in order.
  ///   - models: the path of the app's models: a `.momd`, an `.xcdatamodeld` or a folder.
  ///   - output: the path of the new store. No file may exist at this path.
  ///   - salvages: whether the old store may be damaged. If true, its live rows are read by recovery.
  /// - Returns: a report that says what was done with the rows.
  /// - Throws: the errors of ``run(storeAt:alongModelsAt:toVersion:mappings:output:salvages:)``, and the errors of
  ///   handlers.
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
    // The versions in order. `stage` is the custom stage that migrates to the version; nil when no custom stage does.
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
              [
                "the version \(name) comes twice in the stages, or has the same hashes as another version"
              ])
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
      throw MigrationError(.noWay, ["no stage contains the model version of the store"])
    }
    let way = versions[start...]
    guard way.count > 1 else { return [try .same(last.model, named: last.name)] }
    guard stages.contains(where: \.isCustom) else {
      let first = versions[start]
      return [
        try .inferred(from: first.model, named: first.name, to: last.model, named: last.name)
      ]
    }
    var steps: [MigrationStep] = []
    for (before, after) in zip(way, way.dropFirst()) {
      if let handler = after.stage?.willMigrate {
        // `willMigrate` changes the objects of the earlier version in a copy of the store.
        var copy = try MigrationStep.same(before.model, named: before.name)
        copy.handler = handler
        steps.append(copy)
      }
      var next = try MigrationStep.inferred(
        from: before.model, named: before.name, to: after.model, named: after.name)
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
