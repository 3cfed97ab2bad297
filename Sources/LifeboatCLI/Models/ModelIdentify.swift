import ArgumentParser
import Foundation
import CoreDataStore
import StoreFiles
import ModelTools
import ObjectModel
import SQLiteFile
import SafeText
import SupportBundle
import Terminal

struct ModelIdentify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identify",
    abstract: "Show which version of a model wrote a store.",
    usage: """
      lifeboat model identify [<options>] <store> <models> ...
      lifeboat model identify [<options>] --hashes <file> <models> ...
      """,
    discussion: """
      Examples: lifeboat model identify Notes.sqlite Notes.xcdatamodeld
                pbpaste | lifeboat model identify --hashes - Notes.xcdatamodeld

      With --hashes, the version hashes are read from a text instead of a store: an error message of Core Data or \
      SwiftData, a property list, or the names of entities, each followed by its hash in hexadecimal or base64.

      If no version fits, the nearest one is named, with its differences. A hash counts as unknown, never as \
      different, if real stores do not confirm how Core Data computes it.

      Exit status: 0 when a version fits, 1 when no version certainly fits.
      """)

  @Argument(help: "The store, or a support bundle of it.", completion: .file())
  var store: String

  @Argument(help: "Models, or folders that hold models.", completion: .file())
  var models: [String] = []

  @Option(
    name: .long,
    help: "A text file with version hashes, given instead of a store; - is standard input.",
    completion: .file())
  var hashes: String?

  @Option(
    name: .long,
    help:
      "The Core Data framework version that the app runs on; a store that a later version wrote counts as newer."
  )
  var framework: Int64?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    guard hashes != nil || !models.isEmpty else {
      throw ValidationError("Give at least one model as an argument after the store.")
    }
  }

  func run() throws {
    // With `--hashes` there is no store argument, so the first path is a model.
    let paths = hashes == nil ? models : [store] + models
    let inputs = try paths.map { try ModelInput($0) }
    let store = hashes ?? self.store
    let (record, cached) =
      try hashes.map { (try pasted($0, inputs.map(\.collection)), nil) } ?? stored()
    let found = ModelIdentification(
      record, in: inputs.map(\.collection), frameworkVersion: framework)
    let report = ModelIdentifyReport(store: store, found: found, cached: cached)
    try display.write(json: report, orText: text(found, report), evenIfQuiet: true)
    try display.tell(passedOver: inputs.flatMap(\.passedOver))
    if found.matches.isEmpty { try display.exitWithFindings() }
  }

  /// Returns the version hashes in a pasted text as if a store had recorded them. `path` is the path of a file, or `-`
  /// for standard input. Throws a failure when the text is larger than 1 MiB, contains no hashes, or contains several
  /// hashes for one entity.
  private func pasted(
    _ path: String, _ collections: [ModelCollection]
  ) throws -> StoreModelRecord {
    let limit = PastedHashes.maximumByteCount
    let bytes: [UInt8]
    if path == "-" {
      bytes = Array(try FileHandle.standardInput.read(upToCount: limit + 1) ?? Data())
    } else {
      bytes = try ByteFile(path).bytes(at: 0, count: limit + 1)
    }
    let name = path == "-" ? "standard input" : path
    guard bytes.count <= limit else {
      throw Failure(
        65, "hashes.tooLong", "\(name) is larger than 1 MiB",
        hint: "shorten the text to the lines with NSStoreModelVersionHashes")
    }
    let found = PastedHashes.hashes(in: bytes)
    guard !found.isEmpty else {
      throw Failure(
        65, "hashes.none", "\(name) contains no version hashes",
        hint:
          "paste the whole error message, or lines such as: Note = {length = 32, bytes = 0x01234567 ...}"
      )
    }
    if let several = ByteOrder.sorted(found.keys).first(where: { found[$0]?.count != 1 }) {
      throw Failure(
        65, "hashes.several",
        "\(name) has several hashes of the entity \(several), so the text is about several models",
        hint:
          "give only the part of the text that is about the store: the dictionary after NSStoreModelVersionHashes"
      )
    }
    return StoreModelRecord(
      hashes: PastedHashes.completed(found.compactMapValues(\.first), by: collections),
      hashesVersion: nil, frameworkVersion: nil, maximumFrameworkVersion: nil,
      versionIdentifiers: [])
  }

  /// The version hashes and metadata that the store records, and the model that is cached in the store. The model is
  /// nil if no model is cached in the store.
  private func stored() throws -> (StoreModelRecord, ManagedObjectModel?) {
    let (hashes, metadata, model) = try ModelInput.record(ofStoreAt: store, secrets)
    guard !hashes.isEmpty else {
      throw Failure(65, "coredata.noHashes", "\(store): the store records no version hashes")
    }
    return (
      StoreModelRecord(
        hashes: hashes, hashesVersion: metadata?.versionHashesVersion,
        frameworkVersion: metadata?.frameworkVersion,
        maximumFrameworkVersion: metadata?.maximumFrameworkVersion,
        versionIdentifiers: metadata?.versionIdentifiers ?? []), model
    )
  }

  // MARK: Text

  private func text(_ found: ModelIdentification, _ report: ModelIdentifyReport) -> String {
    var text = ""
    for (index, match) in found.matches.enumerated() {
      text += index == 0 ? "written by " : "also fits "
      text += place(match.version) + "\n"
    }
    if found.matches.count > 1 {
      text += "These versions have equal hashes: the store opens with each of them"
      text +=
        found.matches.first?.sharesIdentifier == true
        ? "; the first also has the store's version identifier" : ""
      text += ".\n"
    }
    if found.matches.isEmpty {
      text += display.style.apply(
        found.unread.isEmpty ? "no version fits" : "no readable version fits", .bold)
      text += found.possible.isEmpty ? "\n" : " for certain\n"
      for candidate in found.possible {
        text += "may fit \(place(candidate.version))"
        if case .unknown(let reason) = candidate.agreement.compatibility {
          text += ": \(VisibleText.visible(reason))"
        }
        text += "\n"
      }
      text += UnreadVersions.text(found.unread)
      text += nearest(found, report)
    }
    return text + ageText(found.age)
  }

  private func place(_ version: ModelCollection.Version) -> String {
    "\(VisibleText.visible(version.name)), \(VisibleText.visible(version.path))"
  }

  private func nearest(_ found: ModelIdentification, _ report: ModelIdentifyReport) -> String {
    guard let nearest = found.nearest else { return "" }
    let count = found.record.hashes.count
    var text = "the nearest version is \(place(nearest.version)), "
    text += "with \(nearest.agreement.agreeing.count) of "
    text += counted(count, "entity", "entities") + " the same\n"
    let agreement = nearest.agreement
    for name in agreement.differing { text += "  \(VisibleText.visible(name)) differs\n" }
    for name in agreement.onlyInStore {
      text += "  \(VisibleText.visible(name)) is only in the store\n"
    }
    for name in agreement.onlyInModel {
      text += "  \(VisibleText.visible(name)) is only in the model\n"
    }
    for (name, reason) in agreement.undecided.sorted(by: { $0.key < $1.key }) {
      text += "  \(VisibleText.visible(name)) cannot be judged: \(VisibleText.visible(reason))\n"
    }
    if let changes = report.nearest?.changes, !changes.isEmpty {
      text +=
        "how the store's own model differs from \(VisibleText.visible(nearest.version.name)):\n"
      for change in changes { text += "  \(VisibleText.visible(change.summary))\n" }
    }
    let others = (found.possible + found.others).dropFirst().prefix(3)
    for other in others {
      text +=
        "the next nearest version is \(place(other.version)), with \(other.agreement.agreeing.count) of \(count) entities the same\n"
    }
    return text
  }

  private func ageText(_ age: ModelIdentification.Age) -> String {
    switch age {
    case .current: return "The store has the current version of the model.\n"
    case .older: return "The store is older than the current version.\n"
    case .newer(let reason):
      return "The store is newer than the app: \(VisibleText.visible(reason)).\n"
    case .unknown(let reason, let doubt):
      let why = doubt.map { "; \(VisibleText.visible($0))" } ?? ""
      return
        "It is not known whether the store is older or newer than the models: \(VisibleText.visible(reason))\(why).\n"
    }
  }
}
