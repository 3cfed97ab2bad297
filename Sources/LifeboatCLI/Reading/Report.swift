import ArgumentParser
import Foundation
import ObjectModel
import SQLiteFile
import SafeFiles
import SafeText
import StoreExtraction
import StoreRecovery
import StoreReport
import SupportBundle
import Terminal

/// The command `lifeboat report`, which writes a page for a browser about a store.
struct Report: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write a page for a browser about a store, a bundle, an incident or a folder.",
    usage: "lifeboat report [<options>] <path> --output <output>",
    discussion: """
      Examples: lifeboat report Notes.sqlite -o Notes.html
                lifeboat report Notes.sqlite --model Notes.momd -o Notes.html

      The page is one file. It loads nothing, works without its script and when printed, and holds values of rows only \
      if --values or --allow asks for them.

      Exit status: 0, also when the store is damaged (this command only describes); 1 when stores of a folder or \
      archive could not be read; 65 when no readable store was found; 73 when the output exists.
      """)

  @Argument(
    help: "A store, a bundle, the folder of an incident, or a folder that holds stores.",
    completion: .file())
  var path: String

  @Option(name: .shortAndLong, help: "The HTML file to make.", completion: .file())
  var output: String

  @Option(
    name: .long,
    help: "The app's current model, to be compared with the store.", completion: .file())
  var model: String?

  @Option(name: .customLong("model-version"), help: "The version of --model to use.")
  var modelVersion: String?

  @Flag(
    name: .long,
    help: "Also show values: rows that were changed or deleted, before and after, side by side.")
  var values = false

  @Option(
    name: .long,
    help: "Like --values, but only for attributes that this allow-list names as ENTITY.ATTRIBUTE.",
    completion: .file())
  var allow: String?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { [output] }

  /// The JSON that `lifeboat report --json` prints after it has written the page.
  struct Receipt: Encodable {
    let schema = "lifeboat.reportReceipt"
    let version = 1
    let output: String
    let sizeBytes: Int
    let storeCount: Int
  }

  func run() throws {
    let html: String
    var storeCount = 1
    var isInDoubt = false
    var others: [StoreFinder.PassedOver] = []
    let isOne = secrets.keyFile != nil || StoreInput.isIncident(path)
    let kept = KeptArchive()
    defer { withExtendedLifetime(kept) {} }
    let found =
      isOne ? [path] : try StoreInput.all(at: path, secrets.bundle, kept) { others.append($0) }
    if isOne || StoreInput.isPacked(path) && found == [path]
      || StoreInput.isArchive(path) && found.count == 1
    {
      html = try StoreInput.reading(
        found[0], bundle: secrets.bundle, key: secrets.key(), kept: kept
      ) { input in
        try input.check(output)
        // The page says what was not read, as the page about a folder does.
        let untold = input.passedOver.filter { !others.contains($0) }
        others += untold
        isInDoubt = input.isInDoubt || !others.isEmpty
        for other in others { display.note(other) }
        return try page(of: input, others, &isInDoubt)
      }
    } else {
      try EvidenceGuard.check(output, againstAllAt: path)
      if let only = found.first, found.count == 1, others.isEmpty, !StoreInput.isPacked(only) {
        html = try page(of: only, nil)
      } else {
        func inside(_ place: String) -> String {
          PathText.dropping(prefix: PathText.joined(path, ""), from: place) ?? place
        }
        var stores = found.map { store in
          (path: inside(store), read: Result { try inspected(store, kept, &isInDoubt) })
        }
        for other in others {
          stores.append((inside(other.path), .failure(PassedOver(other.message))))
        }
        for other in others { display.note(other) }
        storeCount = stores.count
        if stores.contains(where: { if case .failure = $0.read { true } else { false } }) {
          isInDoubt = true
        }
        html = try StoreReport.index(of: path, stores, made: Date())
      }
    }
    try NewText.write(html, to: output, mode: 0o644, Interruption(lettingWorkEnd: true))
    try display.write(
      json: Receipt(output: output, sizeBytes: html.utf8.count, storeCount: storeCount),
      orText: "written to \(VisibleText.visible(output)), \(Quantity.bytes(html.utf8.count))\n")
    if isInDoubt { try display.exitWithFindings() }
  }

  /// The inspection of a store that was found in a folder, or in an archive of the folder. Sets `isInDoubt` if a bundle
  /// has changed.
  private func inspected(
    _ path: String, _ kept: KeptArchive, _ isInDoubt: inout Bool
  ) throws -> StoreInspection {
    guard StoreInput.isPacked(path) else {
      return try StoreInspection(path: path, takesHashes: false)
    }
    return try StoreInput.reading(path, bundle: secrets.bundle, kept: kept) { input in
      input.tellChanges(display)
      if input.isInDoubt { isInDoubt = true }
      if let recorded = try input.recordedInspection() { return recorded }
      let place = try input.storePath()
      var inspection = try StoreInspection(path: place, takesHashes: false)
      inspection.path = input.shown(place)
      return inspection
    }
  }

  private func page(
    of path: String, _ incident: Incident?, _ warnings: [String] = []
  ) throws -> String {
    var report = try StoreReport(
      storeAt: path, logView: store.wal, expected: try expected(), incident: incident,
      values: try shownValues(), made: Date())
    report.warnings = warnings
    return try report.html()
  }

  /// The page about the store of an incident, an archive or a bundle. If the input is a bundle that does not contain
  /// the store, the page shows what the bundle has recorded about the store. `others` are the files beside the store
  /// that were not read. Sets `isInDoubt` if the bundle has changed.
  private func page(
    of input: StoreInput, _ others: [StoreFinder.PassedOver], _ isInDoubt: inout Bool
  ) throws -> String {
    guard let file = input.file, let folder = input.bundle?.path else {
      let doubts = input.decrypted?.findings.kept ?? []
      display.note(doubts)
      return try page(
        of: try input.storePath(), input.incident,
        others.map { "\($0.path): \($0.message)." }
          + doubts.prefix(10).map { "Page \($0.page ?? 0) of the encrypted file: \($0.message)." })
    }
    let check = try BundleVerification.verify(file)
    var warnings: [String] = []
    if check.outcome != .intact {
      isInDoubt = true
      let problem = check.problems.first?.message ?? ""
      warnings = [
        "The bundle is not as it was made, so nothing on this page can be relied on: \(problem)."
      ]
      display.note("warning: \(warnings[0])")
    }
    input.tellChanges(display)
    if let store = input.store { return try page(of: store, input.incident, warnings) }
    guard ByteFile.exists(PathText.joined(folder, StoreBundle.inspectionName)) else {
      throw Failure(
        65, "report.noInspection", "\(path) holds neither a store nor a record of its inspection")
    }
    do {
      var report = try StoreReport(bundleIn: folder, expected: try expected(), made: Date())
      report.warnings = warnings
      return try report.html()
    } catch is DecodingError {
      throw Failure(
        65, "report.noInspection", "\(path): the record of the store's inspection cannot be read")
    }
  }

  private func shownValues() throws -> ShownValues {
    if let allow { return .listed(try AllowList(contentsOf: allow)) }
    return values ? .all : .none
  }

  private func expected() throws -> (name: String, model: ManagedObjectModel)? {
    guard let model else { return nil }
    let chosen = try display.model(at: model, version: modelVersion)
    return (chosen.version.name, chosen.model)
  }
}
