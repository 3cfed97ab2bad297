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

  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() throws {
    let source = try Source(store)
    let inputs = try models.filter { !MappingModelSet.isMapping(at: $0) }.map { try ModelInput($0) }
    guard !inputs.isEmpty else {
      throw Failure(
        64, "usage.noModels", "only mapping models are given, and no model to migrate to",
        hint: "name the app's models too")
    }
    let version = try chosen(inputs)
    let set = try mappingModels()
    for item in set.items {
      if let problem = item.problem { display.note("note: not read: \(problem)") }
    }
    let plan = MigrationPlanner(inputs.map(\.collection), mappings: set).plan(
      from: source.hashes, model: source.model, to: version)
    if display.json {
      try display.write(json: PlanReport(store: store, plan: plan))
    } else {
      try display.write(PlanText(store: store, plan: plan, style: display.style).text)
    }
    let passedOver = inputs.flatMap(\.passedOver)
    let more = set.notEntered.map { StoreFinder.PassedOver($0) }
      .filter { other in !passedOver.contains { $0.path == other.path } }
    try display.tell(passedOver: passedOver + more)
    if plan.steps == nil { try display.exitWithFindings() }
  }

  /// The version hashes that the store records, and the model that it carries.
  private struct Source {
    let hashes: [String: VersionHash]
    let model: ManagedObjectModel?

    init(_ path: String) throws {
      let recorded: [String: VersionHash]?
      if UnpackedArchive.isZip(path) {
        let input = try ModelInput(path)
        recorded = input.store?.recorded?.hashes
        model = input.store == nil ? nil : input.versions.first?.model
      } else {
        // For a file that is not a store at all, the store reader reports the error.
        try ModelInput.requireNoFolder(path)
        let store = try CoreDataStore(path: path)
        recorded = store.metadata?.versionHashes
        model = store.cachedModel
      }
      guard let recorded, !recorded.isEmpty else {
        throw Failure(65, "coredata.noHashes", "\(path): no version hashes are recorded in it")
      }
      hashes = recorded
    }
  }

  /// The version to migrate to: the one named in any of the models, else the current one.
  private func chosen(_ inputs: [ModelInput]) throws -> ModelCollection.Version {
    if let target {
      let having = inputs.filter { input in
        input.versions.contains { $0.name == target || target == $0.fileName }
      }
      return try (having.first ?? inputs[0]).version(named: target)
    }
    if inputs.count > 1, let marked = inputs.first(where: { $0.collection.current != nil }) {
      let others = inputs.filter { $0.path != marked.path && $0.collection.current != nil }
      guard others.isEmpty else {
        throw Failure(
          64, "usage.whichVersion", "several of the models have a current version",
          hint: "name the one to migrate to with --to")
      }
      return try marked.version()
    }
    do {
      return try inputs[0].version()
    } catch let failure as Failure where failure.code == "usage.whichVersion" {
      throw Failure(64, failure.code, failure.message, hint: "name one with --to")
    }
  }

  /// The mapping models that were named, those in the folders, and those beside single models.
  private func mappingModels() throws -> MappingModelSet {
    var items: [MappingModelSet.Item] = []
    var notEntered: [ModelError] = []
    var met: Set<String> = []
    func add(_ set: MappingModelSet) {
      notEntered += set.notEntered
      items += set.items.filter { met.insert($0.path).inserted }
    }
    for path in mappings { add(try MappingModelSet(at: path)) }
    for path in models {
      if MappingModelSet.isMapping(at: path) {
        add(try MappingModelSet(at: path))
      } else {
        if let inside = try? MappingModelSet(at: path) { add(inside) }
        add(MappingModelSet(beside: path))
      }
    }
    return MappingModelSet(items, notEntered: notEntered)
  }
}
