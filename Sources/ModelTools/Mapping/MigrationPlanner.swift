package import ObjectModel

/// Finds the way from a store's model to a version.
///
/// A step uses mapping models that fit, or an inferred mapping. A way is chosen by these rules, the most important
/// first: a certain step is preferred to an uncertain one; a mapping model for a step on the way is not skipped; as
/// little as possible is left behind, where all objects of one entity weigh more than any number of properties; the way
/// has as few steps as possible. On the way back to an earlier version, a direct step is preferred to several steps
/// that leave something behind.
package struct MigrationPlanner: Sendable {
  /// A function that judges the inferred step between two models.
  package typealias Inference =
    @Sendable (_ from: ManagedObjectModel, _ to: ManagedObjectModel) -> InferredStep

  private let versions: [ModelCollection.Version]
  private let mappings: MappingModelSet
  private let inference: Inference?

  /// Makes a planner for the versions of some collections, in the order given. Inferred steps follow Apple's documented
  /// rules, unless `inference` is given.
  package init(
    _ collections: [ModelCollection], mappings: MappingModelSet = MappingModelSet(),
    inference: Inference? = nil
  ) {
    versions = collections.flatMap(\.versions)
    self.mappings = mappings
    self.inference = inference
  }

  /// Plans the way from a store to a version.
  ///
  /// - Parameters:
  ///   - hashes: The version hashes that the store recorded, by entity name.
  ///   - model: The model that the store carries; nil if there is none.
  ///   - target: The version to migrate to, one of the planner's versions.
  /// - Returns: The plan. Its ``MigrationPlan/steps`` are nil if there is no way.
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
