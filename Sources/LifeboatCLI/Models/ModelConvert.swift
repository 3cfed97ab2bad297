import ArgumentParser
import CoreDataForensics
import CoreDataStore
import Foundation
import ModelTools
import ObjectModel
import Quoting
import SafeText
import StoreExtraction
import Terminal

struct ModelConvert: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    commandName: "convert",
    abstract:
      "Write a model in another form: .xcdatamodeld for Xcode, a compiled model, or a store's model cache.",
    discussion: """
      Examples: lifeboat model convert Notes.sqlite --to xcdatamodeld -o Notes.xcdatamodeld
                lifeboat model convert Notes.momd --model-version "Notes 2" --to contents -o contents

      The report names what the new form cannot hold. The output is read back, and its version hashes are compared \
      with those of the input.

      Exit status: 0 when nothing was lost; 1 when something was lost; 65 when there is no readable model; 73 when \
      the output exists or would be inside the input.
      """)

  enum Form: String, ExpressibleByArgument, CaseIterable {
    case contents, xcdatamodeld, mom, momd, cache

    /// Whether an output in this form is a folder that can hold several versions of a model.
    var isBundle: Bool { self == .xcdatamodeld || self == .momd }
  }

  @Argument(
    help: "Anything that holds a model: a store, a bundle, .xcdatamodeld, .momd, .mom and others.",
    completion: .file())
  var path: String

  @Option(
    name: .customLong("model-version"),
    help:
      "The version to write; default: all versions for .xcdatamodeld and .momd, otherwise the current version."
  )
  var modelVersion: String?

  @Option(name: .customLong("to"), help: "The form to write.")
  var form: Form

  @Option(name: .shortAndLong, help: "The file or folder to make.", completion: .file())
  var output: String

  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { [output] }

  struct Report: Encodable {
    struct Version: Encodable {
      let name: String
      let entityCount: Int
      let losses: [ModelLoss]
      /// Whether the model that the command has written is equal to the original when it is read back.
      let isEqual: Bool
      let hashesCompared: Int
      let differingHashes: [String]
    }

    struct Skipped: Encodable {
      let name: String
      let problem: String
    }

    let schema = "lifeboat.modelConversion"
    let version = 1
    let input: String
    let output: String
    let form: String
    let currentVersion: String?
    let versions: [Version]
    let skipped: [Skipped]

    var lossCount: Int { versions.reduce(0) { $0 + $1.losses.count } }
  }

  func run() throws {
    let watch = EvidenceWatch(path)
    let input = try ModelInput(path, secrets)
    try EvidenceGuard.check(output, outside: path)
    if !input.stores.isEmpty { try EvidenceGuard.check(output, againstAllAt: path) }
    let plan = try ConversionPlan(input, form, named: modelVersion, output: output)
    let interruption = Interruption()
    let target = ModelOutput(output, making: interruption.files.making)
    let report = try withExtendedLifetime(interruption) {
      do {
        let report = try plan.run(target, path: path, output: output)
        try watch.requireUnchanged()
        return report
      } catch {
        target.discard()
        throw error
      }
    }
    try tell(report)
    try display.tell(passedOver: input.passedOver)
    if report.lossCount > 0 || !report.skipped.isEmpty { try display.exitWithFindings() }
  }

  private func tell(_ report: Report) throws {
    for version in report.versions {
      let place = report.versions.count > 1 ? version.name + ", " : ""
      for loss in version.losses {
        display.note("lost: " + VisibleText.visible(place + loss.description))
      }
    }
    for skipped in report.skipped {
      display.note(
        "left out: \(VisibleText.visible(skipped.name)): \(VisibleText.visible(skipped.problem))")
    }
    try display.write(json: report, orText: text(report))
  }

  private func text(_ report: Report) -> String {
    var block = KeyValueBlock()
    let names = report.versions.map(\.name)
    block.add("Written", report.output)
    let current = report.currentVersion.map { "; current is \($0)" } ?? ""
    block.add(
      names.count == 1 ? "Version" : "Versions",
      names.joined(separator: ", ") + (names.count == 1 ? "" : current))
    let equal = report.versions.count(where: \.isEqual)
    let hashes = Quantity.count(
      report.versions.reduce(0) { $0 + $1.hashesCompared }, "version hash", "version hashes")
    let differing = report.versions.flatMap(\.differingHashes)
    var read =
      equal == names.count
      ? "read back as the same model"
      : "read back as the same model, except for what was lost"
    read +=
      differing.isEmpty
      ? "; \(hashes) the same" : "; \(Quantity.count(differing.count)) of \(hashes) differ"
    block.add("Checked", read, tone: differing.isEmpty ? .green : .yellow)
    block.add(
      "Lost",
      report.lossCount == 0
        ? "nothing"
        : report.lossCount == 1 ? "one thing" : "\(Quantity.count(report.lossCount)) things",
      tone: report.lossCount == 0 ? nil : .yellow)
    if form != .cache {
      block.add(
        "Next",
        [.init("lifeboat model show \(ShellText.path(report.output))", "look at the new model")])
    }
    return block.text(width: display.width, style: display.style)
  }
}

/// The versions that a conversion writes, with their settings and hashes. Versions whose model cannot be read are in
/// `skipped`.
private struct ConversionPlan {
  private typealias Report = ModelConvert.Report

  private let form: ModelConvert.Form
  private var versions: [ModelBundle.Version] = []
  /// The version of the input that each of `versions` was read from, keyed by the name in `versions`.
  private var sources: [String: ModelCollection.Version] = [:]
  private var skipped: [Report.Skipped] = []
  private var current: String?

  init(_ input: ModelInput, _ form: ModelConvert.Form, named name: String?, output: String) throws {
    self.form = form
    let chosen: [ModelCollection.Version]
    if name == nil, form.isBundle, input.stores.count < 2 {
      chosen = try Self.bundle(input)
      if let marked = input.collection.current, marked.model != nil { current = marked.name }
    } else {
      chosen = [try input.model(named: name).version]
    }
    let outputName = PathText.lastComponent(of: output)
    // No version may have a name that begins with a dot.
    let stem = PathText.stem(of: PathText.dropping(prefix: ".", from: outputName) ?? outputName)
    for version in chosen {
      guard let model = version.model else {
        skipped.append(
          .init(
            name: version.name,
            problem: version.problem?.message ?? "only its version hashes are known"))
        continue
      }
      // The model in a store has no name, so the version gets the output's name.
      let isFromStore = !input.stores.isEmpty || version.name == version.fileName
      let name = isFromStore ? stem : version.name
      versions.append(
        ModelBundle.Version(
          name: name, model: model,
          settings: form == .contents || form == .xcdatamodeld
            ? Self.settings(of: version) : SourceSettings(), recorded: version.recorded))
      sources[name] = version
    }
    if versions.count == 1 { current = versions[0].name }
    if versions.isEmpty { _ = try input.model(named: name) }
  }

  /// All versions of the input. Throws `usage.whichVersion` when the input contains more than one model bundle.
  private static func bundle(_ input: ModelInput) throws -> [ModelCollection.Version] {
    var bundles: [String] = []
    for version in input.versions where version.model != nil {
      let folder = PathText.folder(of: version.path)
      if !bundles.contains(folder) { bundles.append(folder) }
    }
    guard bundles.count < 2 else {
      throw Failure(
        64, "usage.whichVersion",
        "\(input.path) holds \(bundles.count) models: "
          + bundles.prefix(10).joined(separator: ", "),
        hint: "name one of these models, or one version with --model-version")
    }
    return input.versions
  }

  /// The settings that an .xcdatamodel has in addition to its model. For a version that was read from any other form,
  /// these are the defaults.
  private static func settings(of version: ModelCollection.Version) -> SourceSettings {
    for path in [version.path, version.path + "/contents"] {
      if let data = try? Data(contentsOf: URL(fileURLWithPath: path)), data.count < 32 << 20,
        let settings = try? SourceSettings(contentsXML: Array(data)), !settings.model.isEmpty
      {
        return settings
      }
    }
    return SourceSettings()
  }

  func run(_ target: ModelOutput, path: String, output: String) throws -> ModelConvert.Report {
    var losses: [String: [ModelLoss]] = [:]
    switch form {
    case .xcdatamodeld, .momd:
      let bundle =
        form == .momd
        ? try ModelBundle(compiled: versions, current: current)
        : try ModelBundle(source: versions, current: current)
      try target.write(bundle.files.map { ($0.path, $0.bytes) })
      losses = bundle.losses
    case .contents, .mom, .cache:
      for version in versions {
        let written = try written(version)
        if form == .contents, PathText.ends(output, with: ".xcdatamodel") {
          try target.write([("contents", written.bytes)])
        } else {
          try target.write(written.bytes)
        }
        losses[version.name] = written.losses
      }
    }
    let back = try readBack(output)
    return ModelConvert.Report(
      input: path, output: output, form: form.rawValue,
      currentVersion: form.isBundle ? current : nil,
      versions: try versions.map { try check($0, against: back, losses[$0.name] ?? []) },
      skipped: skipped)
  }

  private func written(_ version: ModelBundle.Version) throws -> WrittenModel {
    switch form {
    case .contents, .xcdatamodeld: return version.model.contentsXML(settings: version.settings)
    case .mom, .momd: return try version.model.readableArchive(form: .compiled)
    case .cache:
      // `readableArchive` throws if the cache is too large to be read back. `ModelCache.written` does not.
      _ = try version.model.readableArchive(form: .modelCache)
      return try ModelCache.written(version.model)
    }
  }

  /// Reads the output back, and returns its versions, keyed by name. If the output is a single file, the key of its
  /// version is an empty string.
  private func readBack(_ output: String) throws -> [String: ModelCollection.Version] {
    let found = try ModelInput(output).versions
    return Dictionary(firstOf: found.map { (form.isBundle ? $0.name : "", $0) })
  }

  private func check(
    _ version: ModelBundle.Version, against back: [String: ModelCollection.Version],
    _ losses: [ModelLoss]
  ) throws -> ModelConvert.Report.Version {
    let original = version.model
    let found = back[form.isBundle ? version.name : ""]
    if let problem = found?.problem, problem.code == .tooLarge { throw problem }
    guard let copy = found?.model else {
      throw Failure(70, "model.notReadBack", "the output for \(version.name) cannot be read back")
    }
    let isEqual = copy == original
    // A compiled model or a cache can hold only some parts of a model. The copy is compared with an original that is
    // reduced to these parts.
    let isAsExpected =
      switch form {
      case .contents, .xcdatamodeld: isEqual || !losses.isEmpty
      case .mom, .momd: copy == original.reduced(to: .compiled)
      case .cache: copy == original.reduced(to: .modelCache)
      }
    let source = sources[version.name]
    let before = source?.hashes ?? original.versionHashes()
    let after = found?.hashes ?? copy.versionHashes()
    let differing = original.entityNames.filter { name in
      (before.hashes[name] ?? before.unconfirmed[name])
        != (after.hashes[name] ?? after.unconfirmed[name])
    }
    guard isAsExpected, !losses.isEmpty || differing.isEmpty else {
      throw Failure(
        70, "model.notReadBack",
        "the output for \(version.name) does not read back as the same model"
      )
    }
    return .init(
      name: version.name, entityCount: original.entities.count,
      losses: losses
        + (source?.unreadValues ?? []).map {
          ModelLoss(
            entityName: $0.entityName, propertyName: $0.propertyName, sentence: $0.sentence)
        }, isEqual: isEqual, hashesCompared: original.entities.count, differingHashes: differing)
  }
}
