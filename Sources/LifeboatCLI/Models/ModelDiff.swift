import ArgumentParser
import ModelTools
import ObjectModel
import CoreDataStore
import SafeText
import Terminal

struct ModelDiff: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show what changed from one model to another.",
    discussion: """
      Examples: lifeboat model diff Notes.sqlite Notes.xcdatamodeld
                lifeboat model diff Notes.xcdatamodeld --from "Notes 2" --to "Notes 3"

      Each change is shown with what it means for a store: whether the store opens as before and, if not, whether \
      Core Data's lightweight migration handles it. --format html writes one page with a picture; dot and mermaid \
      write the picture for Graphviz or Mermaid.

      Exit status: 0 when nothing differs, 1 when something does.
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case text, html, dot, mermaid
  }

  @Argument(
    help: "The old model, or anything that holds it: a store, a folder, a support bundle.",
    completion: .file())
  var old: String

  @Argument(
    help:
      "The new model, or anything that holds it; if left out, --from and --to are versions of the old model.",
    completion: .file())
  var new: String?

  @Option(name: .customLong("from"), help: "The version of the old model.")
  var oldVersion: String?

  @Option(name: .customLong("to"), help: "The version of the new model.")
  var newVersion: String?

  @Option(name: .long, help: "Write text, or a picture: html, dot or mermaid.")
  var format: Format = .text

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    guard new != nil || oldVersion != nil && newVersion != nil else {
      throw ValidationError(
        "Name the new model as well, or two versions of one model with --from and --to.")
    }
    if display.json, format != .text {
      throw ValidationError("--json and --format \(format.rawValue) cannot be used together.")
    }
  }

  func run() throws {
    let before = try ModelInput(old, secrets)
    var after = before
    if let new { after = try ModelInput(new, secrets) }
    let from = try before.model(named: oldVersion)
    let to = try after.model(named: newVersion)
    for version in [from.version, to.version] {
      for problem in version.unreadValues {
        display.note("note: \(VisibleText.visible(version.name)): \(problem.sentence.visible)")
      }
    }
    let difference = ModelDifference(
      from: from.model, to: to.model,
      scope: Self.scope([before, after], [from.version, to.version]))
    let names = (Self.name(of: from.version, before), Self.name(of: to.version, after))
    switch format {
    case _ where display.json:
      let report = ModelDiffReport(
        old: from.version.name, new: to.version.name, difference: difference)
      try display.write(json: report)
    case .text: try display.write(text(difference, names))
    case .html:
      let page = DifferencePage(
        oldName: names.0, newName: names.1, from: from.model, to: to.model, difference)
      try display.write(page.html)
    case .dot:
      try display.write(ModelDiagram(from: from.model, to: to.model, difference).dotText)
    case .mermaid:
      try display.write(ModelDiagram(from: from.model, to: to.model, difference).mermaidText)
    }
    try display.tell(passedOver: before.passedOver + after.passedOver)
    if !difference.isEmpty { try display.exitWithFindings() }
  }

  /// Returns which parts of the models are compared: those that both inputs can hold. A compiled model holds less than
  /// an .xcdatamodel, and the cached model of a store holds even less.
  private static func scope(
    _ inputs: [ModelInput], _ versions: [ModelCollection.Version]
  ) -> ComparisonScope {
    if inputs.contains(where: { !$0.stores.isEmpty }) { return .cached }
    let isSource = versions.allSatisfy { version in
      PathText.ends(version.fileName, with: ".xcdatamodel") || version.fileName == "contents"
    }
    return isSource ? .everything : .compiled
  }

  /// Returns the name that the output gives to a version. A model that is cached in a store is named by the store's
  /// file.
  private static func name(of version: ModelCollection.Version, _ input: ModelInput) -> String {
    guard !input.stores.isEmpty else { return version.name }
    return "the model in \(PathText.lastComponent(of: version.path))"
  }

  private func hanging(_ text: String, _ indent: Int) -> String {
    DisplayText.hanging(text, width: display.width, indent: indent, rest: indent)
  }

  private func text(_ difference: ModelDifference, _ names: (String, String)) -> String {
    var text =
      "from \(VisibleText.visible(names.0)) to \(VisibleText.visible(names.1))\n"
    if difference.isEmpty { return text + "no difference\n" }
    text += display.style.apply(difference.outcome.visible, .bold) + "\n"
    text += hanging(difference.countText, 0)
    var entity: String??
    for change in difference.changes {
      if entity != .some(change.entityName) {
        let heading = change.entityName ?? "The model as a whole"
        text += "\n" + display.style.apply(heading.visible, .bold) + "\n"
        entity = .some(change.entityName)
      }
      text += hanging(change.sentence.visible, 2)
      if let remark = change.remark { text += hanging(remark.visible, 4) }
    }
    let indirect = difference.indirectEffects
    if !indirect.isEmpty {
      text += "\n" + display.style.apply("Affected by changes of other entities", .bold) + "\n"
      for effect in indirect { text += hanging(effect.sentence.visible, 2) }
    }
    if !difference.guesses.isEmpty {
      text += "\n" + display.style.apply("Guesses", .bold) + "\n"
      for guess in difference.guesses { text += hanging(guess.sentence.visible, 2) }
    }
    return text
  }
}

extension String {
  fileprivate var visible: String { VisibleText.visible(self) }
}
