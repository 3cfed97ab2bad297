import ModelTools
import ObjectModel
import Quoting
import SafeText
import Terminal

/// Describes a migration plan as text: the steps, or the reasons why the store cannot be migrated.
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
    text += ": from \(start) to \(target), \(Quantity.count(steps.count, "step"))\n"
    if plan.goesBack {
      text += "This migration goes back to an older version: the version of the store is newer.\n"
    }
    if plan.start.path != nil, let doubt = plan.orderDoubt {
      text += "It is not known which came first, the store's model or the target: "
      text += "\(VisibleText.visible(doubt)).\n"
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

  /// Describes a step in words. `lines` say what the step does and needs, and `doubts` say why the step may be
  /// impossible.
  static func words(of way: MigrationPlan.Way) -> (lines: [String], doubts: [String]) {
    switch way {
    case .mappings(let items):
      var lines = ["by \(models(items))"]
      if items.count > 1 {
        lines.append(
          "each mapping model migrates some of the entities; the app decides which comes first")
      }
      let entities = items.flatMap { $0.compiled?.entityMappings ?? [] }
        .filter { $0.migrationPolicyClassName != nil }
      let classes = Dictionary(grouping: entities) { $0.migrationPolicyClassName ?? "" }
      for name in classes.keys.sorted() {
        let parts = classes[name]?.map(\.name).joined(separator: ", ") ?? ""
        lines.append("needs the app's class \(name), for \(parts)")
      }
      return (lines, [])
    case .inferred(let conditions):
      return (
        ["inferred, as lightweight migration does it"] + conditions.map { "fails if \($0)" }, []
      )
    case .uncertain(let doubts):
      return (["inferred, but it is not known whether lightweight migration can do it:"], doubts)
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

  /// Lines about a store that no version fits: the nearest version, the versions that could not be read, and what Core
  /// Data does with the store. Empty when a version fits.
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

  /// What Core Data does with a store that no version fits, in words. Nil if a version fits the store, or if it is not
  /// known what Core Data does.
  func advice(for store: String) -> [String]? {
    // An unread version may be the store's own, so it is not known what Core Data does.
    guard plan.start.versionNames.isEmpty, plan.unread.isEmpty, plan.start.model != nil,
      plan.steps != nil
    else { return nil }
    return [
      "Without the store's own model, Core Data stops with error 134130: it finds no source model.",
      "To get this model for the app, run: lifeboat model convert \(ShellText.path(store)) --to xcdatamodeld -o DIR.xcdatamodeld",
    ]
  }

  /// A sentence about the single step by which Core Data itself would migrate the store, in place of the several steps
  /// of the plan. Empty when the plan has at most one step.
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
    if passes { text += ", without the mapping models of the steps above" }
    if let losses = Self.losses(direct.losses) {
      text += "; it leaves behind \(VisibleText.visible(losses))"
    }
    return text + ".\n"
  }

  private func noWay(_ start: String, _ target: String) -> String {
    var text = style.apply(VisibleText.visible(store), .bold)
    text += ": there is no way to migrate from \(start) to \(target)\n"
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

  /// Returns text about the mapping models that fit no step between two versions; empty if there are no such mapping
  /// models.
  private func orphans() -> String {
    var text = ""
    let orphaned = plan.standings.filter(\.isOrphaned)
    // Mapping models of unrelated models are only counted.
    let related = orphaned.filter { $0.nearestSource != nil || $0.nearestDestination != nil }
    for standing in related {
      text += "\n\(VisibleText.visible(standing.item.fileName)) fits none of these versions:\n"
      for (side, nearest) in [
        ("source", standing.nearestSource), ("destination", standing.nearestDestination),
      ] {
        guard let nearest else {
          text += "   its \(side) shares no entity with any version\n"
          continue
        }
        text += "   the version nearest to its \(side) is "
        text += "\(VisibleText.visible(nearest.versionName)), with "
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
