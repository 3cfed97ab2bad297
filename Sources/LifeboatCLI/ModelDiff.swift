import ArgumentParser
import ObjectModel
import Terminal

/// `lifeboat model diff`
struct ModelDiff: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Say what changed from one model to another.",
    discussion: """
      Example: lifeboat model diff Notes.sqlite Notes.xcdatamodeld

      Exit status: 0 when nothing differs, 1 when something does.
      """)

  @Argument(help: "The older model, or a store.")
  var old: String

  @Argument(help: "The newer model, or a store.")
  var new: String

  @Option(name: .customLong("from"), help: "Which version of the older one.")
  var oldVersion: String?

  @Option(name: .customLong("to"), help: "Which version of the newer one.")
  var newVersion: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON form.
  struct Report: Encodable {
    struct Change: Encodable {
      let kind: String
      let entity: String
      let property: String?
      let field: String?
      let old: String?
      let new: String?
      let affectsVersionHash: Bool
      let sentence: String
    }

    let schema = "lifeboat.modelDifference"
    let version = 1
    let old: String
    let new: String
    let changes: [Change]
  }

  func run() throws {
    let from = try ModelInput(old).model(named: oldVersion)
    let to = try ModelInput(new).model(named: newVersion)
    let difference = ModelDifference(from: from.model, to: to.model)
    if display.json {
      let changes = difference.changes.map {
        Report.Change(
          kind: $0.kind.rawValue, entity: $0.entityName, property: $0.propertyName, field: $0.field,
          old: $0.oldValue, new: $0.newValue, affectsVersionHash: $0.affectsVersionHash,
          sentence: $0.sentence)
      }
      try display.write(json: Report(old: from.version.name, new: to.version.name, changes: changes))
    } else {
      var text = "from \(DisplayText.visible(from.version.name)) to \(DisplayText.visible(to.version.name))\n"
      for change in difference.changes {
        let mark = change.affectsVersionHash ? "  " : "  (version hash unchanged) "
        text += mark + DisplayText.visible(change.sentence) + "\n"
      }
      if difference.isEmpty { text += "  no difference\n" }
      try display.write(text)
    }
    if !difference.isEmpty { try display.exitWithFindings() }
  }
}
