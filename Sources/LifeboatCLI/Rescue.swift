import ArgumentParser
import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteWriter
import StoreMigration
import StoreRecovery
import Terminal

/// `lifeboat rescue`
struct Rescue: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set a store aside that does not fit its model or is damaged, and make a fresh one.",
    discussion: """
      Example: lifeboat rescue Notes.sqlite --model Notes.xcdatamodeld --app Notes

      The whole store set goes into Incompatible/<time>/store/ beside it, under its own names, with a record of what \
      happened. Nothing is deleted. A store that fits is left alone. Close every program that uses the store first.
      What was found out about the store, and what follows from it, is shown before anything is moved.

      Exit status: 0 set aside, or nothing to do; 65 when the file is no store (nothing is moved); 75 when something \
      else stands in the way.
      """)

  @Argument(help: "The store.")
  var path: String

  @Option(
    name: .long, help: "The model that the app expects: a model, or a folder of its versions.")
  var model: String

  @Option(
    name: .customLong("model-version"), help: "Which version, instead of the one marked as current."
  )
  var modelVersion: String?

  @Option(name: .long, help: "The app's name, for the note to the user.")
  var app: String

  @Option(name: .customLong("app-version"), help: "The app's version, for the note to the user.")
  var appVersion: String?

  @Option(
    name: .customLong("policy"),
    help: ArgumentHelp(
      "What may be done: report, the same as --dry-run; min-free=SIZE, the space that must be free; no-trial, make no throw-away store first. May be repeated.",
      valueName: "policy"))
  var policies: [RescuePolicy] = []

  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Only say what would be done.")
  var dryRun = false

  private var onlyReports: Bool { dryRun || policies.contains(.report) }

  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { [] }

  /// The JSON form.
  struct Report: Encodable {
    let schema = "lifeboat.rescue"
    let version = 1
    let store: String
    let verdict: Verdict
    let evidence: StoreEvidence
    let dryRun: Bool
    let incident: Incident?
    let freshStore: String?
  }

  func run() throws {
    let input = try ModelInput(model)
    let choice = try input.model(named: modelVersion)
    guard let expected = ExpectedModel(input.collection, versionName: choice.version.name) else {
      throw Failure(65, "model.unreadable", "\(model): \(choice.version.name) has no hashes")
    }
    // What must be possible before anything moves: a fresh store for this model.
    _ = try FreshStoreSchema(choice.model)
    guard ByteFile.exists(path) || ByteFile.exists(path + "-wal") else {
      throw SQLiteFileError(.missing, "no such file", path: path)
    }
    if let status = try? FileStatus.of(path), status.kind != .file {
      throw SQLiteFileError(.notRegular, "is \(Self.words(status.kind))", path: path)
    }
    let recovery = StoreRecovery(
      URL(fileURLWithPath: path), app: .init(name: app, version: appVersion ?? ""),
      policy: policy(choice.model))
    if !onlyReports { try recovery.resume() }
    var judgement = recovery.judge(try recovery.examine(expecting: expected))
    if judgement.verdict.action == .quarantine, !onlyReports, !policies.contains(.noTrial) {
      judgement = try recovery.confirmedAtRest(judgement)
    }
    let isText = !display.json && !display.quiet
    if isText { try display.write(explanation(judgement, choice.version.name)) }
    let incident = try setAside(recovery, judgement, choice.model)
    if display.json {
      try display.write(
        json: Report(
          store: path, verdict: judgement.verdict, evidence: judgement.evidence,
          dryRun: onlyReports, incident: incident, freshStore: incident == nil ? nil : path))
    } else if let incident, isText {
      try display.write(text(incident))
    }
    try end(judgement)
  }

  private func policy(_ model: ManagedObjectModel) -> Policy {
    var policy = Policy()
    if onlyReports { policy.mode = .reportOnly }
    for case .minimumFree(let bytes) in policies { policy.minimumFreeBytes = bytes }
    // There is no opener here that could judge a copy; but a fresh store for the model must be possible.
    policy.maximumCopyBytes = 0
    policy.check = { try FreshStore.create(at: $0.path, for: model) }
    return policy
  }

  private func setAside(
    _ recovery: StoreRecovery, _ judgement: Judgement, _ model: ManagedObjectModel
  ) throws -> Incident? {
    guard judgement.verdict.action == .quarantine, !onlyReports else { return nil }
    do {
      return try recovery.recover(judgement) { url in
        try FreshStore.create(at: url.path, for: model)
      }.incident
    } catch let error as SQLiteWriterError {
      let isDevice = ["writer.full", "writer.io"].contains(error.code.rawValue)
      throw Failure(
        isDevice ? 74 : 75, "store.freshFailed",
        "no fresh store could be made, so the old one goes back: \(error.message), \(path)",
        hint: "close whatever uses the store, and run lifeboat rescue again")
    }
  }

  private static func words(_ kind: StoreSet.Kind) -> String {
    switch kind {
    case .symbolicLink: "a symbolic link; name the file that it leads to"
    case .folder: "a folder"
    case .file, .other: "not an ordinary file"
    }
  }

  private func end(_ judgement: Judgement) throws {
    let verdict = judgement.verdict
    if verdict.finding == .unavailable, [EACCES, EPERM].contains(judgement.evidence.openErrno ?? 0)
    {
      throw SQLiteFileError(.permission, "permission denied", path: path)
    }
    switch (verdict.action, verdict.finding) {
    case (.open, _), (.quarantine, _): return
    case (_, .foreign), (_, .newer):
      throw Failure(
        65, "store.\(verdict.finding.rawValue)", "\(verdict.reason), \(path)",
        hint: "nothing was moved; look at the file with: lifeboat inspect \(ShellText.quoted(path))"
      )
    default:
      throw Failure(
        75, "store.\(verdict.finding.rawValue)", "\(verdict.reason), \(path)",
        hint: "nothing was moved; remove the cause and try again")
    }
  }

  /// What was found out and what follows from it.
  private func explanation(_ judgement: Judgement, _ expected: String) -> String {
    let verdict = judgement.verdict
    var block = KeyValueBlock()
    let name = StoreSet.lastComponent(of: path)
    switch verdict.action {
    case .open: block.add(name, "fits \(expected); nothing to do", tone: .green)
    case .quarantine:
      block.add(
        name, onlyReports ? "would be set aside" : "is set aside and replaced", tone: .yellow)
    default: block.add(name, "is left alone", tone: .yellow)
    }
    if let comparison = judgement.evidence.comparison, !comparison.isEqual {
      let parts: [(String, [String])] = [
        ("Differ", comparison.differing), ("Only in the store", comparison.onlyInStore),
        ("Only in the model", comparison.onlyInModel), ("The same", comparison.agreeing),
      ]
      for (label, names) in parts where !names.isEmpty {
        block.add(label, names.joined(separator: ", "))
      }
    }
    for line in verdict.supportLines(judgement.evidence) {
      // Long lists are for those who ask.
      if line.isList, line.name != "Strays", display.verbose == 0 { continue }
      for (index, part) in line.parts.enumerated() { block.add(index == 0 ? line.name : "", part) }
    }
    return block.text(width: display.width, style: display.style)
  }

  private func text(_ incident: Incident) -> String {
    var block = KeyValueBlock()
    block.add("Kept in", incident.folder + "/store")
    block.add("Fresh store", path)
    block.add(
      "Next",
      [
        .init(
          "lifeboat incidents show \(folder) \(incident.id)", "what the user is told, and why"),
        .init(
          "lifeboat extract \(ShellText.quoted(incident.folder + "/store/" + incident.storeName)) -o DIR",
          "save the rows"),
        .init(
          "lifeboat bundle create \(ShellText.quoted(incident.folder)) -o support.zip",
          "pack what support needs"),
        .init("lifeboat incidents restore \(folder) \(incident.id)", "bring it back"),
      ])
    return block.text(width: display.width, style: display.style)
  }

  private var folder: String {
    ShellText.quoted(URL(fileURLWithPath: path).deletingLastPathComponent().path)
  }
}
