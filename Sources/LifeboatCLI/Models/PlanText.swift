import ModelTools
import ObjectModel
import Quoting
import SafeText
import Terminal

/// Writes a migration plan as text: the steps, or why there is no way.
struct PlanText {
  let store: String
  let plan: MigrationPlan
  let style: Style

  private static let shownLosses = 6

  var text: String {
    var text = ""
    let start = Self.name(plan.start)
    let target = Self.name(plan.target)
    guard let steps = plan.steps else { return noWay(start, target) }
    if steps.isEmpty {
      return
        "\(VisibleText.visible(store)) opens with \(target) as it is; nothing needs to be done\n"
    }
    text += style.apply(VisibleText.visible(store), .bold)
    text += ": from \(start) to \(target), \(Quantity.count(steps.count)) "
    text += steps.count == 1 ? "step\n" : "steps\n"
    if plan.goesBack {
      text += "This is a migration to an older version: the store has a newer one.\n"
    }
    if plan.start.path != nil, let doubt = plan.orderDoubt {
      text += "Which of the two models came first is not known: \(VisibleText.visible(doubt)).\n"
    }
    text += ownModel()
    for (index, step) in steps.enumerated() {
      let title = "\(index + 1). \(Self.name(step.from)) → \(Self.name(step.to))"
      text += "\n" + style.apply(title, .bold) + "\n"
      for line in Self.lines(of: step) { text += "   " + VisibleText.visible(line) + "\n" }
    }
    text += shortcut(steps)
    text += orphans()
    return text
  }

  static func name(_ place: MigrationPlan.Place) -> String {
    var name = VisibleText.visible(place.name)
    let others = place.versionNames.dropFirst()
    if !others.isEmpty {
      name += " (the same as \(others.map(VisibleText.visible).joined(separator: ", ")))"
    }
    return name
  }

  private static func lines(of step: MigrationPlan.Step) -> [String] {
    let words = words(of: step.way)
    var lines = words.lines + words.doubts.map { "  \($0)" }
    if let losses = losses(step.losses) { lines.append("leaves behind \(losses)") }
    return lines
  }

  /// In words: what a step does and needs (`lines`), and why it is not known whether it can be done (`doubts`).
  static func words(of way: MigrationPlan.Way) -> (lines: [String], doubts: [String]) {
    switch way {
    case .mappings(let items):
      var lines = ["by \(models(items))"]
      if items.count > 1 {
        lines.append("each migrates its part of the entities; the app decides their order")
      }
      let entities = items.flatMap { $0.compiled?.entityMappings ?? [] }
        .filter { $0.migrationPolicyClassName != nil }
      let classes = Dictionary(grouping: entities) { $0.migrationPolicyClassName ?? "" }
      for name in classes.keys.sorted() {
        let parts = classes[name]?.map(\.name).joined(separator: ", ") ?? ""
        lines.append("needs the app's class \(name), for \(parts)")
      }
      return (lines, [])
    case .inferred(_, let conditions):
      return (
        ["inferred, as lightweight migration does it"] + conditions.map { "fails if \($0)" }, []
      )
    case .uncertain(_, let doubts):
      return (["inferred, if lightweight migration can do it; this is not known:"], doubts)
    }
  }

  private static func models(_ items: [MappingModelSet.Item]) -> String {
    "the mapping \(items.count == 1 ? "model" : "models") "
      + items.map(\.fileName).joined(separator: ", then ")
  }

  private static func losses(_ losses: [MappingLoss]) -> String? {
    guard !losses.isEmpty else { return nil }
    let shown = losses.prefix(shownLosses).map(Self.text)
    let more = losses.count - shown.count
    return shown.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }

  static func text(_ loss: MappingLoss) -> String {
    loss.propertyName.map { "\(loss.entityName).\($0)" } ?? "all of \(loss.entityName)"
  }

  /// Lines that say that no version fits the store, and what follows; empty when a version fits.
  private func ownModel() -> String {
    guard let noFit else { return "" }
    return noFit + "\n" + UnreadVersions.text(plan.unread)
      + (advice(for: store) ?? []).map { $0 + "\n" }.joined()
  }

  /// A sentence that says that no version fits the store, and which version is nearest; nil when a version fits.
  var noFit: String? {
    guard plan.start.versionNames.isEmpty else { return nil }
    var text =
      plan.unread.isEmpty
      ? "No version fits the store" : "No version that could be read fits the store"
    if let nearest = plan.nearest {
      text += "; nearest is \(VisibleText.visible(nearest.versionName)), with "
      text += "\(nearest.agreeing) of \(counted(nearest.of, "entity", "entities")) the same"
    }
    return text + "."
  }

  /// What Core Data does with a store that no version fits, in words; nil when that is not known.
  func advice(for store: String) -> [String]? {
    // An unread version may be the store's own, so it is not known what Core Data does.
    guard plan.start.versionNames.isEmpty, plan.unread.isEmpty, plan.start.model != nil,
      plan.steps != nil
    else { return nil }
    return [
      "Core Data then finds no source model and stops with error 134130, unless the app is given",
      "the store's own model: lifeboat model convert \(ShellText.path(store)) -o …",
    ]
  }

  /// A sentence about what Core Data would do in one step, without the app; empty when the plan has no more than one
  /// step.
  private func shortcut(_ steps: [MigrationPlan.Step]) -> String {
    guard steps.count > 1 else { return "" }
    guard let direct = plan.direct.step else {
      return "\nCore Data cannot do this in one step by itself; the app has to go step by step.\n"
    }
    var text = "\nBy itself, Core Data would do this in one step: "
    switch direct.way {
    case .mappings(let items): text += VisibleText.visible(Self.models(items))
    case .inferred: text += "inferred"
    case .uncertain: text += "inferred, if lightweight migration can do it"
    }
    let passes = steps.contains { if case .mappings = $0.way { true } else { false } }
    if passes { text += ", without the mapping models on the way" }
    if let losses = Self.losses(direct.losses) {
      text += "; it leaves behind \(VisibleText.visible(losses))"
    }
    return text + ".\n"
  }

  private func noWay(_ start: String, _ target: String) -> String {
    var text = style.apply(VisibleText.visible(store), .bold)
    text += ": there is no way from \(start) to \(target)\n"
    text += ownModel()
    if let obstacle = plan.obstacle {
      let from = Self.name(obstacle.from)
      text +=
        "\n\(from) → \(Self.name(obstacle.to)) has no mapping model, and cannot be inferred:\n"
      for reason in obstacle.refusals { text += "   " + VisibleText.visible(reason) + "\n" }
    }
    if plan.standings.isEmpty { text += "\nNo mapping models were found.\n" }
    return text + orphans()
  }

  /// Lines about the mapping models that fit no step between these versions; empty when there are none.
  private func orphans() -> String {
    var text = ""
    let orphaned = plan.standings.filter(\.isOrphaned)
    // Mapping models of unrelated models are only counted.
    let related = orphaned.filter { $0.nearestSource != nil || $0.nearestDestination != nil }
    for standing in related {
      text += "\n\(VisibleText.visible(standing.item.fileName)) is for none of these versions:\n"
      for (side, nearest) in [
        ("source", standing.nearestSource), ("destination", standing.nearestDestination),
      ] {
        guard let nearest else {
          text += "   no version has an entity of its \(side)\n"
          continue
        }
        text += "   its \(side) is nearest to \(VisibleText.visible(nearest.versionName)), with "
        text += "\(nearest.agreeing) of \(counted(nearest.of, "entity", "entities")) the same"
        let names = nearest.differing.prefix(Self.shownLosses)
        if !names.isEmpty {
          text += "; not " + names.map(VisibleText.visible).joined(separator: ", ")
        }
        text += "\n"
      }
    }
    let others = orphaned.count - related.count
    if others > 0 {
      text += "\nMapping models that have nothing to do with these versions: "
      text += "\(Quantity.count(others))\n"
    }
    return text
  }
}
