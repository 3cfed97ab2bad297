package import ModelTools
package import ObjectModel

/// One step of a migration, which leads from one model to the next according to a mapping model.
package struct MigrationStep: Sendable {
  /// The name of the model before the step, for reports.
  package let fromName: String
  /// The name of the model after the step, for reports.
  package let toName: String
  /// The model before the step; nil for the model that is cached in the store.
  package let from: ManagedObjectModel?
  package let to: ManagedObjectModel
  /// The mapping model of the step. If it was not inferred, it has the expressions that Xcode generates when it
  /// compiles a mapping model.
  package let mapping: MappingModel
  package let isInferred: Bool
  /// The app's code that changes objects of the new model after all rows are inserted; nil when there is no such code.
  var handler: MigrationStage.Handler?

  /// Creates a step. If `isInferred` is false, `mapping` is compiled for the two models, as Xcode compiles an
  /// `.xcmappingmodel`.
  package init(
    from: ManagedObjectModel?, named fromName: String, to: ManagedObjectModel,
    named toName: String, mapping: MappingModel, isInferred: Bool
  ) {
    self.from = from
    self.to = to
    self.fromName = fromName
    self.toName = toName
    self.mapping = isInferred ? mapping : mapping.compiled(from: from, to: to)
    self.isInferred = isInferred
  }

  /// Returns a step with the mapping that Core Data would infer.
  package static func inferred(
    from old: ManagedObjectModel, named oldName: String, to new: ManagedObjectModel,
    named newName: String
  ) throws(InferredMappingError) -> MigrationStep {
    MigrationStep(
      from: old, named: oldName, to: new, named: newName,
      mapping: try MappingModel.inferred(from: old, to: new), isInferred: true)
  }

  /// Returns a step that copies all rows into a new store of the same model.
  package static func same(_ model: ManagedObjectModel, named name: String)
    throws(InferredMappingError) -> MigrationStep
  {
    try inferred(from: model, named: name, to: model, named: name)
  }

  /// Returns the steps of `plan` with their models and mappings. `model` is the model that is cached in the store. It
  /// is used if the plan knows only the version hashes of the store's model.
  /// - Throws: ``MigrationError`` when the plan has no way to its target, or when a model that a step needs is unknown;
  ///   `InferredMappingError` when a mapping cannot be inferred.
  package static func steps(of plan: MigrationPlan, model: ManagedObjectModel?)
    throws -> [MigrationStep]
  {
    guard let steps = plan.steps else {
      let attempt = plan.obstacle ?? plan.direct
      throw MigrationError(
        .noWay,
        attempt.refusals.isEmpty
          ? ["no steps lead from the store's model to \(plan.target.name)"] : attempt.refusals)
    }
    guard !steps.isEmpty else {
      guard let target = plan.target.model ?? plan.start.model ?? model else {
        throw MigrationError(.noSourceModel, ["the model of the store is not known"])
      }
      return [try same(target, named: plan.target.name)]
    }
    return try steps.map { step in
      guard let from = step.from.model ?? model, let to = step.to.model else {
        throw MigrationError(
          .noSourceModel,
          [
            "only the version hashes of the model \(step.from.model == nil ? step.from.name : step.to.name) are known"
          ])
      }
      func made(_ mapping: MappingModel, isInferred: Bool) -> MigrationStep {
        MigrationStep(
          from: from, named: step.from.name, to: to, named: step.to.name, mapping: mapping,
          isInferred: isInferred)
      }
      switch step.way {
      case .inferred, .uncertain:
        return made(try MappingModel.inferred(from: from, to: to), isInferred: true)
      case .mappings(let items):
        // A step can have several mapping models, each of which maps some of the entities.
        var whole = MappingModel()
        for item in items {
          whole.entityMappings += item.compiled?.entityMappings ?? []
        }
        return made(whole, isInferred: false)
      }
    }
  }
}
