import ModelTools
import ObjectModel

/// The JSON output of `lifeboat model plan`. `lifeboat migrate` prints the same report for a dry run, and for a store
/// that cannot be migrated.
struct PlanReport: Encodable {
  struct Place: Encodable {
    let name: String
    let versions: [String]
    let path: String?
  }

  struct MappingFile: Encodable {
    let name: String
    let path: String
  }

  struct Policy: Encodable {
    let entityMapping: String
    let className: String
  }

  struct Loss: Encodable {
    let entity: String
    let property: String?
  }

  struct Step: Encodable {
    let from: String
    let to: String
    /// How the step is done: `mapping`, `inferred` or `uncertain`.
    let way: String
    /// The name of the first of ``mappings``; nil when the list is empty.
    let mapping: String?
    let mappingPath: String?
    /// The mapping models of the step, in the order in which the plan lists them; empty when ``way`` is not `mapping`.
    let mappings: [MappingFile]
    let policies: [Policy]
    let conditions: [String]
    let doubts: [String]
    let losses: [Loss]
  }

  struct Attempt: Encodable {
    let from: String
    let to: String
    let step: Step?
    let refusals: [String]
  }

  struct Nearest: Encodable {
    let version: String
    let agreeing: Int
    let of: Int
    let differing: [String]
  }

  struct Fit: Encodable {
    let from: String
    let to: String
  }

  struct Mapping: Encodable {
    let name: String
    let path: String
    let fits: [Fit]
    let isOrphaned: Bool
    let nearestSource: Nearest?
    let nearestDestination: Nearest?
    let problem: String?
  }

  let schema = "lifeboat.migrationPlan"
  let version = 1
  let store: String
  let start: Place
  let target: Place
  /// Whether the target version is certainly older than the version of the store.
  let goesBack: Bool
  /// The reason why the migration may not go back to an older version, although the version names say that it does. Nil
  /// in all other cases.
  let orderDoubt: String?
  /// The version that differs least from the store. Nil if a version fits the store, or if every version differs from
  /// the store in all entities.
  let nearest: Nearest?
  let steps: [Step]?
  let direct: Attempt
  let obstacle: Attempt?
  let mappings: [Mapping]
  /// The versions that could not be read. If no version fits the store, any of these versions may have written the
  /// store.
  let unread: [UnreadVersions.Report]

  init(store: String, plan: MigrationPlan) {
    self.store = store
    start = Place(plan.start)
    target = Place(plan.target)
    goesBack = plan.goesBack
    orderDoubt = plan.orderDoubt
    nearest = plan.nearest.map(Nearest.init)
    unread = plan.unread.map(UnreadVersions.Report.init)
    steps = plan.steps?.map(Step.init)
    direct = Attempt(plan.direct)
    obstacle = plan.obstacle.map(Attempt.init)
    mappings = plan.standings.map(Mapping.init)
  }
}

extension PlanReport.Place {
  init(_ place: MigrationPlan.Place) {
    self.init(name: place.name, versions: place.versionNames, path: place.path)
  }
}

extension PlanReport.Step {
  init(_ step: MigrationPlan.Step) {
    var way = "inferred"
    var items: [MappingModelSet.Item] = []
    var conditions: [String] = []
    var doubts: [String] = []
    switch step.way {
    case .mappings(let mappings):
      way = "mapping"
      items = mappings
    case .inferred(let reasons): conditions = reasons
    case .uncertain(let reasons):
      way = "uncertain"
      doubts = reasons
    }
    let entities = items.flatMap { $0.compiled?.entityMappings ?? [] }
    let policies = entities.compactMap { entity in
      entity.migrationPolicyClassName.map {
        PlanReport.Policy(entityMapping: entity.name, className: $0)
      }
    }
    self.init(
      from: step.from.name, to: step.to.name, way: way, mapping: items.first?.name,
      mappingPath: items.first?.path, mappings: items.map { .init(name: $0.name, path: $0.path) },
      policies: policies, conditions: conditions, doubts: doubts,
      losses: step.losses.map { .init(entity: $0.entityName, property: $0.propertyName) })
  }
}

extension PlanReport.Attempt {
  init(_ attempt: MigrationPlan.Attempt) {
    self.init(
      from: attempt.from.name, to: attempt.to.name, step: attempt.step.map(PlanReport.Step.init),
      refusals: attempt.refusals)
  }
}

extension PlanReport.Nearest {
  init(_ nearest: MigrationPlan.Nearest) {
    self.init(
      version: nearest.versionName, agreeing: nearest.agreeing, of: nearest.of,
      differing: nearest.differing)
  }
}

extension PlanReport.Mapping {
  init(_ standing: MigrationPlan.Standing) {
    self.init(
      name: standing.item.name, path: standing.item.path,
      fits: standing.fits.map { .init(from: $0.from, to: $0.to) },
      isOrphaned: standing.isOrphaned,
      nearestSource: standing.nearestSource.map(PlanReport.Nearest.init),
      nearestDestination: standing.nearestDestination.map(PlanReport.Nearest.init),
      problem: standing.item.problem?.description)
  }
}
