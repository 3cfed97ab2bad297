import ArgumentParser
import Foundation
import ModelTools
import ObjectModel
import Quoting
import SafeText
import StoreReport
import Terminal

struct ModelShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Describe a model: its entities, their properties and rules.",
    discussion: """
      Examples: lifeboat model show Notes.sqlite
                lifeboat model show Notes.momd --model-version "Notes 2" --entity Note
                lifeboat model show Notes.sqlite --format html -o Model.html

      --format html writes one page with a picture of the model and all of its properties; svg, dot and mermaid \
      write the picture alone, as SVG, for Graphviz or for Mermaid.

      Exit status: 0 also when the model has problems, which are listed; 73 when the output exists.
      """)

  enum Format: String, CaseIterable, ExpressibleByArgument {
    case text, html, svg, dot, mermaid
  }

  @Argument(
    help: "A model, a store (which carries its own model) or a mapping model.",
    completion: .file())
  var path: String

  @Option(
    name: .customLong("model-version"), help: "The version to show; by default the current one.")
  var modelVersion: String?

  @Option(name: .long, help: "Only this entity; may be repeated.")
  var entity: [String] = []

  @Option(name: .long, help: "Write text, or a picture: html, svg, dot or mermaid.")
  var format: Format = .text

  @OptionGroup var made: PageOutput
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    try made.validate(
      format == .text ? nil : format.rawValue, among: "html, svg, dot or mermaid", display)
  }

  func run() throws {
    if let output = made.output {
      try EvidenceGuard.check(output, outside: path)
      try EvidenceGuard.check(output, againstAllAt: path)
    }
    if MappingModelSet.isMapping(at: path) {
      try requireText("a mapping model")
      return try MappingModelText.show(path, display: display)
    }
    let input = try ModelInput(path, secrets)
    let version = try input.version(named: modelVersion)
    if version.model == nil, let optimised = version.optimised {
      try requireText("an optimised model")
      try show(optimised, version)
      return try display.tell(passedOver: input.passedOver)
    }
    let (_, model) = try input.model(named: modelVersion)
    for name in entity where model.entities[name] == nil {
      throw Failure(
        64, "input.unknownName", "\(path) has no entity \(name)",
        hint: "to list the entities, run: lifeboat model show \(secrets.argument(path))")
    }
    let names = entity.isEmpty ? model.entityNames : entity
    if display.json {
      try display.write(json: ModelReport(version, model, names, input))
    } else {
      let text = ModelText(
        version: version, model: model, names: names, input: input, display: display)
      switch format {
      case .text: try display.write(text.text)
      case .html: try made.write(text.page.html(), display)
      case .svg: try made.write(text.page.svg, display)
      case .dot: try made.write(text.diagram.dotText, display)
      case .mermaid: try made.write(text.diagram.mermaidText, display)
      }
    }
    try display.tell(passedOver: input.passedOver)
  }

  /// Throws if the user asks for a picture of an input that has no entities to draw. `what` names the kind of input.
  private func requireText(_ what: String) throws {
    guard format != .text else { return }
    throw Failure(
      64, "usage.noPicture", "\(path) is \(what), which has no entities to draw",
      hint: "leave out --format \(format.rawValue), or give the path of a model with entities")
  }

  // MARK: Optimised models

  /// Shows what is known about an optimised model (`.omo`), and which versions in the same folder have equal hashes.
  private func show(_ optimised: OptimisedModel, _ version: ModelCollection.Version) throws {
    let folder = URL(fileURLWithPath: version.path).deletingLastPathComponent().path
    let beside = (try? ModelCollection(searching: folder))?.versions ?? []
    let belongs = beside.filter { other in
      let known = other.recorded?.hashes ?? other.hashes?.hashes ?? [:]
      return other.path != version.path && !known.isEmpty && optimised.matches(known)
    }
    let names = belongs.map(\.name)
    if display.json {
      return try display.write(json: ModelReport(version, optimised, belongsTo: names))
    }
    var block = KeyValueBlock()
    block.add(version.fileName, "optimised model (.omo)")
    block.add(
      "Declares",
      Quantity.count(optimised.entityCount, "entity", "entities") + ", "
        + Quantity.count(optimised.propertyCount, "property", "properties"))
    block.add(
      "Version of",
      names.isEmpty
        ? "not known: no model in the same folder has the same hashes"
        : names.joined(separator: ", "))
    let identifiers = optimised.versionIdentifiers.filter { !$0.isEmpty }
    if !identifiers.isEmpty { block.add("Identifier", identifiers.joined(separator: ", ")) }
    block.add("Hashes", "\(Quantity.count(optimised.hashes.count)), of entities and properties")
    block.add("Names", optimised.entityStrings.joined(separator: ", "))
    block.add("Strings", optimised.strings.joined(separator: ", "))
    for problem in optimised.problems { block.add("Problem", problem, tone: .yellow) }
    block.add("Not read", "the rest of the model; for all of it, give the .mom of the same name")
    try display.write(block.text(width: display.width, style: display.style))
  }
}
