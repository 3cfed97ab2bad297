import ArgumentParser
import CoreDataStore
import StoreFiles
import Foundation
import ModelTools
import ObjectModel
import SafeText
import StoreExtraction
import StoreReport
import SupportBundle
import Terminal

struct ModelPlan: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Show the steps that migrate a store to a version of a model.",
    discussion: """
      Examples: lifeboat model plan Notes.sqlite Notes.xcdatamodeld
                lifeboat model plan Notes.sqlite Notes.xcdatamodeld --format html -o Plan.html

      Mapping models in the given folders and beside the given models are found automatically. --format html writes \
      one page with a picture of the steps, the changes and losses of each step, and what cannot be done.

      Exit status: 0 when the store can be migrated, or opens as it is; 1 when it cannot be migrated, or a model \
      could not be read; 73 when the output exists.
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case text, html
  }

  @Argument(help: "The store to migrate.", completion: .file())
  var store: String

  @Argument(help: "Models, or folders that hold models and mapping models.", completion: .file())
  var models: [String]

  @Option(name: .customLong("to"), help: "The version to migrate to; by default the current one.")
  var target: String?

  @Option(
    name: .customLong("mapping"), help: "A mapping model, or a folder of them; may be repeated.",
    completion: .file())
  var mappings: [String] = []

  @Option(name: .long, help: "Write text, or a page for a browser: html.")
  var format: Format = .text

  @OptionGroup var made: PageOutput
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    try made.validate(format == .html ? "html" : nil, among: "html", display)
  }

  func run() throws {
    if let output = made.output {
      try EvidenceGuard.check(output, againstAllAt: store)
      for path in [store] + models + mappings { try EvidenceGuard.check(output, outside: path) }
    }
    let source = try MigrationRoute.Source(store, secrets: secrets)
    let route = try MigrationRoute(
      models, to: target, versionOption: "--to", mappings: mappings)
    let plan = route.plan(from: source, display)
    let text = PlanText(store: store, plan: plan, style: display.style)
    if display.json {
      try display.write(json: PlanReport(store: store, plan: plan))
    } else if format == .html {
      let name = PathText.lastComponent(of: PathText.withoutTrailingSlashes(store))
      try made.write(text.page(name).html(), display)
    } else {
      try display.write(text.text)
    }
    if plan.steps == nil || !route.passedOver.isEmpty { try display.exitWithFindings() }
  }
}
