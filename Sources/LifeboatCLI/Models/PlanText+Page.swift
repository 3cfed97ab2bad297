import ModelTools
import ObjectModel
import SafeText
import StoreReport

extension PlanText {
  /// Returns the plan as an HTML page. The page shows `name` as the name of the store.
  func page(_ name: String) -> PlanPage {
    var page = PlanPage(
      store: name, from: Self.name(plan.start), to: Self.name(plan.target),
      steps: plan.steps?.map(Self.step))
    if plan.steps == nil || plan.steps?.count ?? 0 > 1 { page.direct = Self.step(plan.direct) }
    if let obstacle = plan.obstacle {
      page.obstacle = Self.step(obstacle)
      let isDirect =
        plan.direct.from.name == obstacle.from.name && plan.direct.to.name == obstacle.to.name
      if isDirect { page.direct = nil }
    }
    if plan.goesBack {
      page.remarks.append(
        "This migration goes back to an older version: the version of the store is newer.")
    }
    if plan.start.path != nil, let doubt = plan.orderDoubt {
      page.remarks.append(
        "It is not known which came first, the store's model or the target: \(doubt).")
    }
    if let noFit { page.remarks.append(noFit) }
    if let advice = advice(for: name) { page.remarks.append(advice.joined(separator: " ")) }
    if plan.steps == nil, plan.standings.isEmpty {
      page.remarks.append("No mapping models were found.")
    }
    page.mappings = plan.standings.map { ($0.item.fileName, Self.sentence($0)) }
    page.unread = plan.unread.map { ($0.name, $0.problem?.message ?? "only its hashes are there") }
    return page
  }

  private static func step(_ step: MigrationPlan.Step) -> PlanPage.Step {
    let words = words(of: step.way)
    let way: PlanPage.Step.Way =
      switch step.way {
      case .mappings: .mapping
      case .inferred: .inferred
      case .uncertain: .uncertain
      }
    return PlanPage.Step(
      from: name(step.from), to: name(step.to), way: way, lines: words.lines + words.doubts,
      losses: step.losses.map(text), changes: changes(step.from, step.to))
  }

  private static func step(_ attempt: MigrationPlan.Attempt) -> PlanPage.Step {
    if let step = attempt.step { return Self.step(step) }
    return PlanPage.Step(
      from: name(attempt.from), to: name(attempt.to), way: .refused, lines: attempt.refusals,
      changes: changes(attempt.from, attempt.to))
  }

  /// The differences between two models: a summary, then a sentence for each change. Empty when the models do not
  /// differ, or when one of them is not known.
  private static func changes(_ from: MigrationPlan.Place, _ to: MigrationPlan.Place) -> [String] {
    guard let old = from.model, let new = to.model else { return [] }
    let difference = ModelDifference(
      from: old, to: new, scope: from.path == nil ? .cached : .compiled)
    return difference.isEmpty
      ? [] : [difference.countText] + difference.changes.map(\.sentence)
  }

  private static func sentence(_ standing: MigrationPlan.Standing) -> String {
    if let problem = standing.item.problem { return "not read: \(problem.message)" }
    guard standing.isOrphaned else {
      return "for " + standing.fits.map { "`\($0.from)` → `\($0.to)`" }.joined(separator: ", ")
    }
    let sides = [
      ("source", standing.nearestSource), ("destination", standing.nearestDestination),
    ].map { side, nearest in
      nearest.map {
        "the version nearest to its \(side) is `\($0.versionName)`, with \($0.agreeing) of \(counted($0.of, "entity", "entities")) the same"
      } ?? "its \(side) shares no entity with any version"
    }
    return "fits none of these versions: " + sides.joined(separator: "; ")
  }
}
