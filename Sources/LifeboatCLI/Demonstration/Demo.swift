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

/// The command `lifeboat demo`, which shows what lifeboat does on a store made for the purpose.
struct Demo: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show in a minute what lifeboat does, on a store made for the demo.",
    discussion: """
      Example: lifeboat demo

      A store of notes is written by one version of an app's model and opened by the next. It is set aside, replaced, \
      recorded, read and packed. All files go into a new folder, which is kept for you to look at.
      """)

  @Option(
    name: .shortAndLong,
    help: "The folder to make; by default, a new one in the temporary folder.",
    completion: .directory)
  var output: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON form of the result: the folder, the incident, the rows and the bundle.
  struct Report: Encodable {
    let schema = "lifeboat.demo"
    let version = 1
    let folder: String
    let incident: Incident
    let extract: StoreExport.Result
    let bundle: BundleManifest
  }

  func run() throws {
    let place = DemoPlace(
      output
        ?? FileManager.default.temporaryDirectory
        .appendingPathComponent("lifeboat-demo-" + UUID().uuidString.prefix(8)).path)
    let interruption = Interruption(lettingWorkEnd: true) { place.note(in: $0) }
    do {
      try place.make(interruption)
      try show(place, interruption)
      // The work is done, so a later signal does not change the exit status.
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
      "Its store was written by version 1 of the app's model. Part of it is still in the write-ahead log, and a picture is in a file of its own."
    )
    let path = try DemoStore.make(in: stores)
    try show(InspectionText(try StoreInspection(path: path), display).text)

    try place.goOn(interruption)
    try say(
      "2. Version 2 of the app opens it",
      "The model has changed: a note counts its words, and a tag's name is now its label. The store does not open. Lifeboat looks, sets it aside, and lets the app go on."
    )
    let opened = try StoreRecovery(
      URL(fileURLWithPath: path), app: .init(name: "Notes", version: "2.0")
    ).openSynchronously(expecting: DemoStore.newModel) { url in
      try DemoApp.open(url, expecting: DemoStore.newModel)
    }
    guard let incident = opened.incident else {
      throw Failure(70, "demo.opened", "the demo's store opened although it should not have")
    }
    try show(IncidentText.text(incident, state: "kept", display))

    try place.goOn(interruption)
    try say("3. The fresh store", "It is where the old one was, made for the new model.")
    try show(InspectionText(try StoreInspection(path: path), display).text)

    let kept = incident.folder + "/store/" + incident.storeName
    try place.goOn(interruption)
    try say(
      "4. Support reads the old one",
      "From the files alone: no app, no model, no Mac. Every row is saved, the rows of the log and the picture too."
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
    // The demo's interruption is used, because a new one would end the protection of the demo's own files.
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
      try say("All of it is in \(folder.path)", "")
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

/// The folder that a demo makes, and the names of the files that it makes there.
struct DemoPlace: Sendable {
  let folder: URL
  var stores: URL { folder.appendingPathComponent("Stores") }

  init(_ path: String) { folder = URL(fileURLWithPath: path) }

  /// Makes the folder and its missing parent folders.
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

  /// Adds everything that a demo makes in the folder to `files`, recognised by name. The folder is removed later only
  /// if it has no other files. Nothing is added for a folder that existed before.
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

  /// Throws a failure when a signal has interrupted the demo.
  func goOn(_ interruption: Interruption) throws {
    if interruption.isRequested { throw Failure(130, "demo.cancelled", "stopped as asked") }
  }

  /// The failure that ends a demo. If something could not be removed, the hint names the folder.
  func failure(_ error: any Error) -> any Error {
    guard FileManager.default.fileExists(atPath: folder.path),
      var failure = Failure(error) ?? Failure(foreign: error), failure.code != "output.exists"
    else { return error }
    failure.hint = "what is left is in \(ShellText.path(folder.path)); it may be deleted"
    return failure
  }
}

/// A stand-in for the app: it opens a store as Core Data does, by comparing version hashes.
enum DemoApp {
  /// Opens the store, or makes a fresh one if there is none. Throws the error of Core Data when the store does not fit
  /// the model.
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
