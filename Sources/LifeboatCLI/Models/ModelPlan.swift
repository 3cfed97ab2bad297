import ArgumentParser
import CoreDataStore
import StoreFiles
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import SupportBundle
import Terminal

/// `lifeboat model plan`
struct ModelPlan: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Show what would migrate a store to a version of a model, step by step.",
    discussion: """
      Example: lifeboat model plan Notes.sqlite Notes.xcdatamodeld

      Mapping models in the given folders and beside the given models are found automatically.

      Exit status: 0 when there is a way, or the store opens as it is; 1 when there is none.
      """)

  @Argument(help: "The store.", completion: .file())
  var store: String

  @Argument(help: "Models, or folders that hold models and mapping models.", completion: .file())
  var models: [String]

  @Option(name: .customLong("to"), help: "The version to migrate to; without it, the current one.")
  var target: String?

  @Option(
    name: .customLong("mapping"), help: "A mapping model, or a folder of them; may be repeated.",
    completion: .file())
  var mappings: [String] = []

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() throws {
    let source = try MigrationRoute.Source(store, secrets: secrets)
    let route = try MigrationRoute(
      models, to: target, versionOption: "--to", mappings: mappings)
    let plan = route.plan(from: source, display)
    if display.json {
      try display.write(json: PlanReport(store: store, plan: plan))
    } else {
      try display.write(PlanText(store: store, plan: plan, style: display.style).text)
    }
    try route.tellPassedOver(display)
    if plan.steps == nil { try display.exitWithFindings() }
  }
}
