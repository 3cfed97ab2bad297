import ArgumentParser
import CoreDataForensics
import StoreFiles
import SafeFiles
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import SQLiteWriter
import Quoting
import SafeText
import StoreExtraction
import StoreMigration
import StoreRecovery
import Terminal

struct Rescue: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Set aside a store that does not fit its model or is damaged, and make a fresh one.",
    discussion: """
      Example: lifeboat rescue Notes.sqlite --model Notes.xcdatamodeld --app Notes

      Close every program that uses the store first. All files of the store are moved to Incompatible/<time>/store/ \
      beside it, and keep their names; a record says what happened. Nothing is deleted. A sound store that fits is \
      left alone. Before it moves anything, the command shows what it found and what it will do; -v shows all evidence.

      Exit status: 0 when the store was set aside, or nothing had to be done; 65 when the file is not a store, or is \
      another app's store (nothing is moved); 75 when something else prevents the move.
      """)

  @Argument(help: "The store.", completion: .file())
  var path: String

  @Option(
    name: .long, help: "The model that the app expects: a model, or a folder of its versions.",
    completion: .file())
  var model: String

  @Option(
    name: .customLong("model-version"),
    help: "The version to use, instead of the one marked as current.")
  var modelVersion: String?

  @Option(name: .long, help: "The app's name, for the note to the user.")
  var app: String

  @Option(name: .customLong("app-version"), help: "The app's version, for the note to the user.")
  var appVersion: String?

  @Option(
    name: .customLong("policy"),
    help: ArgumentHelp(
      "Limit the rescue: report (the same as --dry-run), min-free=SIZE (move the store only if this space is free) or no-trial (do not test first whether a fresh store can be made). May be repeated.",
      valueName: "policy"))
  var policies: [RescuePolicy] = []

  @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Only show what would be done.")
  var dryRun = false

  private var onlyReports: Bool { dryRun || policies.contains(.report) }

  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }

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
    guard !StoreInput.isWithin(path) else {
      throw Failure(
        64, "usage.packedStore", "\(path): a store in an archive or backup cannot be set aside",
        hint: unpackingHint)
    }
    let input = try ModelInput(model)
    for other in input.passedOver { display.note(other) }
    let choice = try input.model(named: modelVersion)
    let expected = try input.expected(choice.version)
    // Before any file is moved, it must be certain that a fresh store can be made for this model.
    _ = try FreshStoreSchema(choice.model)
    let recovery = recovery(for: choice.model)
    // An earlier run may have been stopped after it moved the store and before it made a fresh one.
    if let incident = try recovery.resume(makingFresh: { incident in
      let old = incident.keptMainPath(in: folder(of: incident))
      try makeFresh(recovery, choice.model, .ofFile(at: old))
    }) {
      noteFreshStore()
      return try tellFinished(incident)
    }
    guard ByteFile.exists(path) || ByteFile.exists(path + "-wal") else {
      throw SQLiteFileError(.missing, "no such file", path: path)
    }
    if let status = FileStatus.found(path), status.kind != .file {
      throw SQLiteFileError(.notRegular, "is \(Self.words(status.kind))", path: path)
    }
    var judgement = recovery.judge(try recovery.examine(expecting: expected))
    // Before this line, a signal simply ends the process. After it, a signal first undoes work that has begun.
    let interruption = onlyReports ? nil : Interruption(lettingWorkEnd: true)
    defer { withExtendedLifetime(interruption) {} }
    if judgement.verdict.action == .quarantine, !onlyReports, !policies.contains(.noTrial) {
      judgement = try recovery.confirmedAtRest(judgement)
    }
    if interruption?.isRequested == true {
      throw Failure(
        75, StoreRecoveryError.Code.cancelled.rawValue, "stopped as asked, \(path)",
        hint: "nothing was moved")
    }
    // The report is the purpose of a dry run, so --quiet does not leave it out.
    if !display.json, !display.quiet || onlyReports {
      try display.write(explanation(judgement, choice.version.name))
    }
    let incident = try setAside(judgement, choice.model, interruption)
    if let incident {
      RunTrace.shared.note(moved: path, to: incident.keptMainPath(in: folder(of: incident)))
      noteFreshStore()
      for record in Incident.recordNames {
        RunTrace.shared.note(made: PathText.joined(folder(of: incident), record))
      }
    }
    if display.json {
      try display.write(
        json: Report(
          store: path, verdict: judgement.verdict, evidence: judgement.evidence,
          dryRun: onlyReports, incident: incident, freshStore: incident == nil ? nil : path))
    } else if let incident, !display.quiet {
      try display.write(text(incident))
    }
    try end(judgement)
  }

  /// Notes the files of the fresh store for the custody log.
  private func noteFreshStore() {
    for member in StoreSet(at: path).members where member.kind == .file {
      RunTrace.shared.note(made: member.path)
    }
  }

  /// Reports a rescue that an earlier run began. That run was stopped after it had set the store aside, and this run
  /// has made the fresh store.
  private func tellFinished(_ incident: Incident) throws {
    var block = KeyValueBlock()
    block.add(
      PathText.lastComponent(of: path),
      "was set aside by an earlier run that was stopped; it is now replaced",
      tone: .yellow)
    block.add("Verdict", "\(incident.verdict.finding.rawValue): \(incident.verdict.reason)")
    try display.write(
      json: Report(
        store: path, verdict: incident.verdict, evidence: incident.evidence, dryRun: false,
        incident: incident, freshStore: path),
      orText: block.text(width: display.width, style: display.style) + text(incident))
  }

  private func recovery(
    for model: ManagedObjectModel, isCancelled: @escaping @Sendable () -> Bool = { false }
  ) -> Recovery {
    Recovery(
      URL(fileURLWithPath: path), app: .init(name: app, version: appVersion ?? ""),
      policy: policy(model), isCancelled: isCancelled)
  }

  private func policy(_ model: ManagedObjectModel) -> Policy {
    var policy = Policy()
    if onlyReports { policy.mode = .reportOnly }
    for case .minimumFree(let bytes) in policies { policy.minimumFreeBytes = bytes }
    // No launch of an app waits for this command, so all files are sealed at once.
    policy.sealBytesPerLaunch = .max
    // This command has no code of the app that could open a copy of the store, so no copy is made. But it must be
    // certain that a fresh store can be made for the model.
    policy.maximumCopyBytes = 0
    policy.check = { try FreshStore.create(at: $0.path, for: model) }
    return policy
  }

  private func setAside(
    _ judgement: Judgement, _ model: ManagedObjectModel, _ interruption: Interruption?
  ) throws -> Incident? {
    guard judgement.verdict.action == .quarantine, let interruption else { return nil }
    let recovery = recovery(for: model, isCancelled: interruption.requested)
    do {
      // `traits` is nil if another process has already moved the store; the recovery reports that.
      let traits = FileTraits.ofFile(at: path)
      return try recovery.recover(judgement) { _ in
        try makeFresh(recovery, model, traits)
      }.incident
    } catch let error as SQLiteWriterError {
      let isDevice = [SQLiteWriterError.Code.full, .inputOutput].contains(error.code)
      throw Failure(
        isDevice ? 74 : 75, "store.freshFailed",
        "no fresh store could be made, so the old store is put back: \(error.message), \(path)",
        hint: "close every program that uses the store, and run lifeboat rescue again")
    }
  }

  /// Makes the fresh store with the owner, group and permissions of the old store, so that the app can use it, whoever
  /// runs this command. The owner may always write to the fresh store, even if the old one was read-only.
  private func makeFresh(
    _ recovery: Recovery, _ model: ManagedObjectModel, _ traits: FileTraits?
  ) throws {
    try recovery.makeWhole(traits: traits) { try FreshStore.create(at: $0.path, for: model) }
    guard let traits, let fresh = FileTraits.ofFile(at: path), fresh.group != traits.group else {
      return
    }
    let mode = String(traits.mode, radix: 8)
    display.note(
      "note: the fresh store has the group \(fresh.group), because you may not give it the group \(traits.group) "
        + "of the old store. If the members of the group \(traits.group) share the store, ask root to run: "
        + "chgrp \(traits.group) \(ShellText.path(path)) && chmod \(mode) \(ShellText.path(path))")
  }

  private static func words(_ kind: StoreSet.Kind) -> String {
    switch kind {
    case .symbolicLink: "a symbolic link; name the file that it leads to"
    case .folder: "a folder"
    case .file, .other: "not an ordinary file"
    }
  }

  private func end(_ judgement: Judgement) throws {
    let (verdict, evidence) = (judgement.verdict, judgement.evidence)
    if verdict.finding == .unavailable, [EACCES, EPERM].contains(evidence.openErrno ?? 0) {
      throw SQLiteFileError(.permission, "permission denied", path: path)
    }
    if verdict.rule == .holdFreshFails, [EACCES, EPERM].contains(evidence.trial?.freshCode ?? 0) {
      throw Failure(
        77, "file.permission",
        "permission denied: no file can be made in the store's folder, \(home)",
        hint: "nothing was moved; run lifeboat as the user who owns the folder")
    }
    switch (verdict.action, verdict.finding) {
    case (.open, _), (.quarantine, _): return
    case (_, .foreign) where verdict.rule == .modelForeign:
      throw Failure(
        65, "store.foreign", "\(verdict.reason), \(path)",
        hint:
          "nothing was moved; name the app's own store, or give --model all versions of the app's model"
      )
    case (_, .foreign) where verdict.rule == .fileNotADatabase:
      throw Failure.pastedHashes(at: path) ?? notRescued(verdict)
    case (_, .foreign), (_, .newer): throw notRescued(verdict)
    default:
      throw Failure(
        75, "store.\(verdict.finding.rawValue)", "\(verdict.reason), \(path)",
        hint: "nothing was moved; " + remedy(judgement))
    }
  }

  private func notRescued(_ verdict: Verdict) -> Failure {
    Failure(
      65, "store.\(verdict.finding.rawValue)", "\(verdict.reason), \(path)",
      hint: StoreInput.isArchive(path)
        ? "nothing was moved; the file is an archive or encrypted; " + unpackingHint
        : "nothing was moved; to see what the file is, run: lifeboat inspect "
          + ShellText.path(path))
  }

  /// A hint on how to get a store out of an archive or backup. A bundle holds all files of the store, also those that a
  /// backup keeps under other names.
  private var unpackingHint: String {
    "to copy the store out of it, run: lifeboat bundle create \(ShellText.path(path)) --include store "
      + "-o NEW.zip, then: lifeboat bundle extract NEW.zip -o DIR, and rescue the store in DIR/store"
  }

  /// A hint on how to remove the obstacle that has prevented the move.
  private func remedy(_ judgement: Judgement) -> String {
    switch judgement.verdict.rule {
    case .holdShared:
      let holder = judgement.evidence.lockHolder.map { " (process \($0))" } ?? ""
      return "close the program that has the store open\(holder) and try again"
    case .holdNoSpace:
      return "free some space and try again, or lower the limit with --policy min-free=SIZE"
    case .holdFreshFails: return "free some space on the volume and try again"
    case .storeMainMissing:
      return
        "copy the log into another folder, make an empty file there with the name of the store, "
        + "and run: lifeboat recover FILE -o NEW.sqlite"
    default:
      return judgement.verdict.finding == .corrupt
        ? "to save what can be read, run: "
          + RepairCommand(forFileAt: path).text(
            ShellText.path(path), model: ShellText.path(model))
        : "remove the cause that the message names, and try again"
    }
  }

  private func explanation(_ judgement: Judgement, _ expected: String) -> String {
    let (verdict, evidence) = (judgement.verdict, judgement.evidence)
    var block = KeyValueBlock()
    let name = PathText.lastComponent(of: path)
    switch verdict.action {
    // The examination does not read indexes, so it finds no damage in them.
    case .open:
      block.add(
        name, "fits \(expected); nothing to do: no damage was found in the store's tables",
        tone: .green)
    case .quarantine:
      block.add(
        name, onlyReports ? "would be set aside and replaced" : "will be set aside and replaced",
        tone: .yellow)
    default: block.add(name, "is left alone", tone: .yellow)
    }
    block.add("Verdict", "\(verdict.finding.rawValue): \(verdict.reason)")
    if evidence.recordedHashes != nil {
      block.add("Written by", evidence.writtenBy ?? "a version that is not among the given models")
      block.add("Expected", expected)
    }
    if let comparison = evidence.comparison, !comparison.isEqual {
      let parts = [
        ("Differ", comparison.differing), ("Only in the store", comparison.onlyInStore),
        ("Only in the model", comparison.onlyInModel), ("The same", comparison.agreeing),
      ]
      for (label, names) in parts where !names.isEmpty {
        block.add(label, names.joined(separator: ", "))
      }
    }
    // A file that is not a database has no damage of its own to report.
    if let structure = evidence.structure, structure.findingCount > 0,
      structure.findings != [SQLiteFileError.Code.notADatabase.rawValue]
    {
      block.add(
        "Damage",
        "\(Quantity.count(structure.findingCount, "finding")): \(structure.findings.joined(separator: ", "))"
      )
    }
    if evidence.wal?.loss != nil || evidence.wal?.doubt != nil {
      block.add("Newest rows", evidence.silentLossSentence ?? "")
    }
    if display.verbose > 0 { addEvidence(judgement, to: &block) }
    addNext(verdict.action, to: &block)
    return block.text(width: display.width, style: display.style)
  }

  /// Adds the evidence for the verdict to `block`, in the words of the text that an app sends to support.
  private func addEvidence(_ judgement: Judgement, to block: inout KeyValueBlock) {
    let told: Set = ["Verdict", "Reason", "Written by", "Expected"]
    for line in judgement.verdict.supportLines(judgement.evidence) where !told.contains(line.name) {
      for (index, part) in line.parts.enumerated() { block.add(index == 0 ? line.name : "", part) }
    }
  }

  /// Adds to `block` the command that the user should run next, after an examination that moved no files.
  private func addNext(_ action: Action, to block: inout KeyValueBlock) {
    guard action == .open || (action == .quarantine && onlyReports) else { return }
    let store = ShellText.path(path)
    if action == .open {
      block.add("Next", [.init("lifeboat check \(store)", "look at every page, indexes too")])
      return
    }
    var words = ["lifeboat", "rescue", store, "--model", ShellText.path(model)]
    if let modelVersion { words += ["--model-version", ShellText.quoted(modelVersion)] }
    words += ["--app", ShellText.quoted(app)]
    if let appVersion { words += ["--app-version", ShellText.quoted(appVersion)] }
    block.add("Next", [.init(words.joined(separator: " "), "set the store aside")])
  }

  /// The folder of the store. It is derived from the path that the user gave, because the path in an incident's record
  /// is wrong if the folder was moved.
  private var home: String { PathText.folder(of: path) }

  /// Returns the path of an incident's folder. It is relative if the path of the store is.
  private func folder(of incident: Incident) -> String {
    let parent = PathText.isSame(home, ".") ? "" : PathText.joined(home, "")
    return parent + Incidents.folderName + "/" + incident.id
  }

  private func text(_ incident: Incident) -> String {
    let folder = folder(of: incident)
    let name = "\(ShellText.path(home)) \(incident.id)"
    var block = KeyValueBlock()
    block.add("Set aside in", Incidents.keptFolder(in: folder))
    block.add("Fresh store", path)
    block.add(
      "Next",
      [
        .init("lifeboat incidents show \(name)", "what the user is told, and why"),
        .init(
          "lifeboat extract \(ShellText.path(incident.keptMainPath(in: folder))) -o DIR",
          "save the rows"),
        .init(
          "lifeboat bundle create \(ShellText.path(folder)) -o support.zip",
          "pack what support needs"),
        .init("lifeboat incidents restore \(name)", "bring the old store back"),
      ])
    return "\n" + block.text(width: display.width, style: display.style)
  }
}

extension ModelInput {
  /// The version hashes that a store of this model version should record. Throws if these hashes are not known.
  func expected(_ version: ModelCollection.Version) throws -> ExpectedModel {
    guard !version.knownHashes.isEmpty,
      let expected = ExpectedModel(collection, versionName: version.name)
    else {
      throw version.problem
        ?? Failure(65, "model.unreadable", "\(path): \(version.name) has no version hashes")
    }
    return expected
  }
}
