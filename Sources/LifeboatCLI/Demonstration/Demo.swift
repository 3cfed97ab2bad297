import ArgumentParser
import CoreDataStore
import StoreFiles
import Foundation
import ObjectModel
import Quoting
import SafeText
import StoreExtraction
import StoreMigration
import StoreRecovery
import SupportBundle
import Terminal

struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show in a minute what lifeboat does, on a store made for the demo.",
    discussion: """
      Example: lifeboat demo

      Version 1 of an app writes a store of notes, which version 2 cannot open. Lifeboat sets the store aside, makes a \
      fresh one, records what happened, reads the old store and packs a bundle. All files go into a new folder, which \
      is kept for you to look at.
      """)

  @Option(
    name: .shortAndLong,
    help: "The folder to make; by default, a new one in the temporary folder.",
    completion: .directory)
  var output: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.demo"
    let version = 1
    let folder: String
    let incident: Incident
    let extract: StoreExport.Result
    let bundle: BundleManifest
  }

  func run() throws {
    try output.map(EvidenceGuard.checkIsNoSideFile)
    let place = DemoPlace(
      output
        ?? FileManager.default.temporaryDirectory
        .appendingPathComponent("lifeboat-demo-" + UUID().uuidString.prefix(8)).path)
    let interruption = Interruption(lettingWorkEnd: true) { place.note(in: $0) }
    do {
      try place.make(interruption)
      try show(place, interruption)
      // All work is done, so a signal that comes later does not change the exit status.
      interruption.end()
    } catch {
      // After a failure, everything that the demo made is removed.
      place.note(in: interruption.files)
      interruption.files.takeBack()
      throw place.failure(error)
    }
  }

  private func show(_ place: DemoPlace, _ interruption: Interruption) throws {
    let folder = place.folder
    let stores = place.stores
    try say(
      "1. An app keeps notes",
      "The app's store was written with version 1 of its model. Part of the store is still in the write-ahead log, and a picture is in a file of its own."
    )
    let path = try DemoStore.make(in: stores)
    try show(try StoreInspection(path: path))

    try place.goOn(interruption)
    try say(
      "2. Version 2 of the app opens the store",
      "The model has changed: a note now has a count of its words, and the name of a tag is now called label. The store does not open. Lifeboat finds out why, sets the store aside, and lets the app go on."
    )
    let opened = try Recovery(
      URL(fileURLWithPath: path), app: .init(name: "Notes", version: "2.0")
    ).openSynchronously(expecting: DemoStore.newModel) { url in
      try DemoApp.open(url, expecting: DemoStore.newModel)
    }
    guard let incident = opened.incident else {
      throw Failure(70, "demo.opened", "the demo's store opened although it should not have")
    }
    try show(IncidentText.text(incident, state: "kept", folder: incident.folder, display))

    try place.goOn(interruption)
    try say(
      "3. The fresh store",
      "The fresh store is where the old one was. It is made for the new model.")
    try show(try StoreInspection(path: path))

    let kept = incident.keptMainPath(in: incident.folder)
    try place.goOn(interruption)
    try say(
      "4. Support reads the old store",
      "Only the files are needed: no app, no model, no Mac. Every row is saved, also the rows in the log; so is the picture."
    )
    let result = try StoreExport().run(
      try CoreDataStore(path: kept), as: .ndjson, to: folder.appendingPathComponent("Rows").path)
    for part in result.parts {
      try show("  \(part.name): \(Quantity.count(part.rowCount, "row")) in Rows/\(part.target)\n")
    }
    try show("\n" + firstLines(of: folder.appendingPathComponent("Rows/Note.ndjson")))

    try place.goOn(interruption)
    try say(
      "5. A bundle for the person who helps next",
      "Structure only: nothing that the user typed leaves the machine unless somebody asks for it.")
    let bundle = folder.appendingPathComponent("support.zip").path
    let subject = try StoreInput(incident.folder)
    // The newest `Interruption` handles a signal. If another one were made here, the demo's closure that notes its
    // files would not be called.
    let receipt = try BundleRequest().make(
      of: try subject.storePath(), subject.incident, to: bundle,
      isCancelled: { interruption.isRequested }, making: interruption.files.making)
    try show(BundleText.table(receipt.manifest, display))
    for sentence in receipt.manifest.withheld {
      try show("left out: \(VisibleText.visible(sentence))\n")
    }

    try place.goOn(interruption)
    if display.json {
      try display.write(
        json: Report(
          folder: folder.path, incident: incident, extract: result, bundle: receipt.manifest))
    } else {
      try say("All files are in \(folder.path)", "")
      var block = KeyValueBlock()
      block.add(
        "Try",
        [
          .init("lifeboat incidents list \(ShellText.path(stores.path))"),
          .init("lifeboat rows \(ShellText.path(kept)) --entity Note"),
          .init("lifeboat bundle verify \(ShellText.path(bundle))"),
          .init("lifeboat incidents restore \(ShellText.path(stores.path)) \(incident.id)"),
        ])
      try show(block.text(width: display.width, style: display.style))
    }
  }

  private func show(_ inspection: StoreInspection) throws {
    try show(InspectionText(inspection: inspection, display: display).text)
  }

  private func show(_ text: String) throws {
    if !display.json, !display.quiet { try display.write(text) }
  }

  private func say(_ title: String, _ sentence: String) throws {
    var text = "\n" + display.style.apply(VisibleText.visible(title), .bold) + "\n"
    if !sentence.isEmpty {
      var block = KeyValueBlock()
      block.add("", sentence)
      text += block.text(width: display.width, style: display.style)
      text += "\n"
    }
    try show(text)
  }

  private func firstLines(of file: URL) throws -> String {
    let text = try String(contentsOf: file, encoding: .utf8)
    return text.unicodeScalars.split(separator: "\n").prefix(2)
      .map {
        "  "
          + DisplayText.truncated(VisibleText.visible(String($0)), to: max(20, display.width - 2))
          + "\n"
      }
      .joined()
  }
}

/// The folder that a demo makes, and the names of the files that the demo makes in the folder.
struct DemoPlace: Sendable {
  let folder: URL
  var stores: URL { folder.appendingPathComponent("Stores") }

  init(_ path: String) { folder = URL(fileURLWithPath: path) }

  /// Makes the folder and its missing parent folders. Each folder is registered with `interruption`.
  ///
  /// - Throws: an error when the folder exists already.
  func make(_ interruption: Interruption) throws {
    let files = FileManager.default
    guard !files.fileExists(atPath: folder.path) else {
      throw ExtractionError(.outputExists, "the output already exists", path: folder.path)
    }
    var missing = [folder]
    while let parent = missing.last?.deletingLastPathComponent(), parent.path != "/",
      !files.fileExists(atPath: parent.path)
    {
      missing.append(parent)
    }
    for url in missing.reversed() + [stores] {
      var failure: (any Error)?
      interruption.files.making(url.path) {
        do { try files.createDirectory(at: url, withIntermediateDirectories: false) } catch {
          failure = error
        }
        return failure == nil
      }
      if let failure { throw failure }
    }
  }

  /// Notes all files and folders that the demo has made in its folder, so that an interruption or a failure removes
  /// them. The folder itself is removed only if it is then empty. Does nothing if the demo did not make the folder.
  func note(in files: MadeFiles) {
    guard files.hasMade(stores.path) else { return }
    for name in (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
    where isOurs(PathText.components(of: name)) {
      files.note(folder.path + "/" + name)
    }
  }

  private func isOurs(_ parts: [String]) -> Bool {
    guard let first = parts.first, parts.count > 1 else {
      return ["Stores", "Rows", "support.zip"].contains(parts.first ?? "")
        || PathText.starts(parts.first ?? "", with: ".lifeboat-")
    }
    if PathText.isSame(first, "Rows") { return true }
    return PathText.isSame(first, "Stores")
      && ["Notes.", ".Notes", "Incompatible", "scratch", ".lifeboat-"].contains {
        PathText.starts(parts[1], with: $0)
      }
  }

  /// Throws a failure if a signal has asked the demo to end.
  func goOn(_ interruption: Interruption) throws {
    if interruption.isRequested { throw Failure(130, "demo.cancelled", "stopped as asked") }
  }

  /// The error that ends a demo. If the demo's folder still exists, the hint of the error names the folder.
  func failure(_ error: any Error) -> any Error {
    guard FileManager.default.fileExists(atPath: folder.path),
      var failure = Failure(error), failure.code != "output.exists"
    else { return error }
    failure.hint =
      "the demo left files in \(ShellText.path(folder.path)); you may delete them"
    return failure
  }
}

/// A stand-in for the app. It opens a store as Core Data does, by comparing version hashes.
enum DemoApp {
  /// Opens the store at a URL. If no file exists at the URL, makes a fresh store. Throws the error that Core Data would
  /// throw when the store does not fit the model.
  static func open(_ url: URL, expecting model: ManagedObjectModel) throws {
    guard FileManager.default.fileExists(atPath: url.path) else {
      return try FreshStore.create(at: url.path, for: model)
    }
    let recorded = try CoreDataStore(path: url.path).metadata?.versionHashes ?? [:]
    guard model.versionHashes().matches(recorded) else {
      // NSPersistentStoreIncompatibleVersionHashError, as Core Data reports it.
      throw NSError(domain: NSCocoaErrorDomain, code: 134_100)
    }
  }
}
