package import ObjectModel

/// Finds a sequence of migration steps from a store's model to a version.
///
/// A step uses mapping models that fit its two models, or an inferred mapping. A sequence is chosen by these rules,
/// the most important first:
/// 1. A certain step is preferred to an uncertain one.
/// 2. A mapping model for a step between the start and the target is not skipped.
/// 3. The sequence loses as little as possible. The objects of one entity count more than any number of properties.
/// 4. The sequence has as few steps as possible.
///
/// If the migration goes back to an earlier version, a single step is preferred to several steps that lose something.
package struct MigrationPlanner: Sendable {
  private let versions: [ModelCollection.Version]
  private let mappings: MappingModelSet

  /// Makes a planner for the versions of `collections`, in the given order.
  package init(_ collections: [ModelCollection], mappings: MappingModelSet = MappingModelSet()) {
    versions = collections.flatMap(\.versions)
    self.mappings = mappings
  }

  /// Plans the migration from a store to a version.
  ///
  /// - Parameters:
  ///   - hashes: The version hashes that the store recorded, by entity name.
  ///   - model: The model that the store contains; nil if the store contains no model.
  ///   - target: The version to migrate to, one of the planner's versions.
  /// - Returns: The plan. Its ``MigrationPlan/steps`` are nil if no sequence of steps leads to the target.
  package func plan(
    from hashes: [String: VersionHash], model: ManagedObjectModel?,
    to target: ModelCollection.Version
  ) -> MigrationPlan {
    var map = PlanMap(versions: versions, hashes: hashes, model: model, target: target)
    map.shareEntities()
    var search = PlanSearch(map, StepFinder(map.places, mappings))
    return search.plan()
  }
}
