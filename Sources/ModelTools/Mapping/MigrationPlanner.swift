package import ObjectModel

/// Finds the way from a store's model to a version.
///
/// A step uses mapping models that fit, or an inferred mapping. The plan has as few steps as three rules of higher
/// priority allow: a certain step is preferred to an uncertain one; a mapping model for a step on the way is not
/// skipped; and a way that leaves less behind is preferred, where all objects of one entity weigh more than any number
/// of properties. On the way back to an earlier version, a direct step is preferred to several steps that leave
/// something behind.
package struct MigrationPlanner: Sendable {
  /// Returns the inferred step between two models.
  package typealias Inference =
    @Sendable (_ from: ManagedObjectModel, _ to: ManagedObjectModel) -> InferredStep

  private let versions: [ModelCollection.Version]
  private let mappings: MappingModelSet
  private let inference: Inference?

  /// Makes a planner for the versions of some collections, in their order. The inferred steps follow
  /// Apple's documented rules, unless `inference` is given.
  package init(
    _ collections: [ModelCollection], mappings: MappingModelSet = MappingModelSet(),
    inference: Inference? = nil
  ) {
    versions = collections.flatMap(\.versions)
    self.mappings = mappings
    self.inference = inference
  }

  /// Plans the way to a version.
  ///
  /// - Parameters:
  ///   - hashes: What the store recorded.
  ///   - model: The model that the store carries, if any.
  ///   - target: One of the versions.
  /// - Returns: The plan; its ``MigrationPlan/steps`` are nil when there is no way.
  package func plan(
    from hashes: [String: VersionHash], model: ManagedObjectModel?,
    to target: ModelCollection.Version
  ) -> MigrationPlan {
    var map = PlanMap(versions: versions, hashes: hashes, model: model, target: target)
    map.shareEntities()
    var search = PlanSearch(map, StepFinder(map.places, mappings, inference))
    return search.plan()
  }
}
