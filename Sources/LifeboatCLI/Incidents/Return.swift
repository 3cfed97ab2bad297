import ArgumentParser
import Foundation
import ModelTools
import ObjectModel
import Quoting
import SQLiteFile
import SafeText
import StoreExtraction
import StoreFiles
import StoreRecovery
import StoreReturns
import Terminal

struct Return: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "return",
    abstract: "Send a repaired store back to the app, and put it in place of the present store.",
    discussion: """
      Support repairs or migrates the store of an incident, packs it as a .lifeboat-return file, and sends this file to \
      the user. The app, or lifeboat return accept, checks that the store belongs to the incident and fits the app's \
      model, sets the present store aside, and puts the repaired one in its place.
      """,
    subcommands: [ReturnMake.self, ReturnVerify.self, ReturnAccept.self])
}

/// The incident whose folder the user has named in an argument.
struct IncidentArgument {
  let incidents: Incidents
  let incident: Incident
  /// The path of the folder `Incompatible` that the incident is in.
  let folder: String

  /// Reads the incident in the folder at `path`, such as `Incompatible/ID`.
  ///
  /// - Throws: a failure when the folder or its record cannot be read.
  init(_ path: String) throws {
    guard let (folder, id) = try IncidentFolder.incident(path, nil) else {
      throw IncidentFolder.noneNamed(in: path)
    }
    self.folder = folder
    incidents = try IncidentFolder.incidents(in: folder)
    incident = try incidents.show(id).readable()
  }
}

struct ReturnMake: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "make", abstract: "Pack a repaired store for the app that set it aside.",
    discussion: """
      Examples: lifeboat salvage Incompatible/ID/store/Notes.sqlite --model Notes.momd -o Saved.sqlite
                lifeboat return make Incompatible/ID Saved.sqlite -o Notes.lifeboat-return

      Exit status: 0 when the file was made; 1 when it was made without external files that are missing; 65 when the \
      store cannot be read, is damaged or is that of another app; 73 when the output exists; 74 when it cannot be \
      written.
      """)

  @Argument(help: "The folder of the incident.", completion: .directory)
  var incident: String

  @Argument(help: "The repaired store.", completion: .file())
  var store: String

  @Option(name: .shortAndLong, help: "The file to make.", completion: .file())
  var output: String

  @Option(
    name: .long, help: "A report to send along, such as the JSON of salvage or migrate.",
    completion: .file())
  var report: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.returnMade"
    let version = 1
    let output: String
    /// The id of the incident that keeps the store as it was before the repair.
    let incident: String
  }

  func run() throws {
    try EvidenceGuard.check(output, against: store)
    try EvidenceGuard.check(output, outside: incident)
    let argument = try IncidentArgument(incident)
    // The app refuses a damaged store, and would tell only the user. Missing external files are gone for good.
    let check = try StoreCheck(path: store)
    let lacksFiles = RepairCommand.lacksOnlyFiles(check.findings)
    guard check.isSound || lacksFiles else {
      let finding = check.findings.first { $0.severity == .damage }
      throw Failure(
        65, StoreReturnError.Code.unfit.rawValue,
        "\(store): the store is damaged: \(finding?.message ?? "\(check.damageCount) findings")",
        hint: "to see all that is damaged, run: lifeboat check \(ShellText.path(store)); "
          + "to make a sound store of it, run: lifeboat salvage \(ShellText.path(store)) -o NEW.sqlite"
      )
    }
    let text = try report.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
    // The unfinished file holds rows of the user, so an interruption must not leave it behind.
    let interruption = Interruption()
    let hashes = try withExtendedLifetime(interruption) {
      try StoreReturn.make(
        of: store, for: argument.incident, report: text, at: output,
        making: interruption.files.making)
    }
    try display.write(
      json: Report(output: output, incident: argument.incident.id),
      orText: """
        made \(VisibleText.visible(output)) for the incident \(argument.incident.id)
        next: the user's app takes it in, or: lifeboat return accept \(ShellText.path(output)) \(ShellText.path(incident)) --model MODEL

        """)
    tellWhatMayNotFit(hashes, argument.incident)
    guard lacksFiles else { return }
    display.note(RecoveryAdvice.note(for: ShellText.path(store), check.findings, .salvage))
    try display.exitWithFindings()
  }

  /// Notes that the app could not open a store with these version hashes, if they are those of the store that was set
  /// aside, and if the app's model had others.
  private func tellWhatMayNotFit(_ hashes: [String: VersionHash], _ incident: Incident) {
    guard let model = incident.model, let recorded = incident.evidence.recordedHashes,
      !(model.onlyInStore + model.onlyInModel + model.differing).isEmpty, hashes == recorded
    else { return }
    display.note(
      "note: \(store) has the model of the store that was set aside, which the app did not open; to bring it to the "
        + "app's model, run: lifeboat salvage \(ShellText.path(store)) --model MODEL -o NEW.sqlite")
  }
}

struct ReturnVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check every byte of a returned store.",
    discussion: """
      Example: lifeboat return verify Notes.lifeboat-return

      Exit status: 0 when the file is whole and belongs to the incident that --incident names; 65 when it is not whole \
      or belongs to another incident; 66 when it is missing; 77 when you have no permission to read it.
      """)

  @Argument(help: "The returned store.", completion: .file())
  var file: String

  @Option(name: .long, help: "The folder of the incident that the returned store must belong to.")
  var incident: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON that `lifeboat return verify` prints for an intact file. A damaged or incomplete file is reported as an
  /// error instead.
  struct Report: Encodable {
    let schema = "lifeboat.returnVerification"
    let version = 1
    let path: String
    let storeName: String
    let sizeBytes: Int64
    /// The id of the incident in which the app set the original store aside.
    let incident: String
  }

  func run() throws {
    let returned = try StoreReturn(verifying: file)
    if let incident {
      guard returned.isFor(try IncidentArgument(incident).incident) else {
        throw Failure(
          65, StoreReturnError.Code.otherIncident.rawValue,
          "the store was repaired for another incident: \(returned.incidentID), \(file)"
        )
      }
    }
    try display.write(
      json: Report(
        path: file, storeName: returned.storeName, sizeBytes: returned.sizeBytes,
        incident: returned.incidentID),
      orText: "\(VisibleText.visible(file)) is whole: \(VisibleText.visible(returned.storeName)), "
        + "\(Quantity.bytes(returned.sizeBytes)), for the incident "
        + "\(VisibleText.visible(returned.incidentID))\n")
  }
}

struct ReturnAccept: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept", abstract: "Put a returned store in the place of the present one.",
    discussion: """
      Example: lifeboat return accept Notes.lifeboat-return Incompatible/ID --model Notes.momd

      Close the app first. The present store is set aside, in an incident of its own; nothing is deleted.

      Exit status: 0 when the store is in place; 65 when the store is damaged, belongs to another incident or does not \
      fit, or when the model cannot be read; 73 when this store is in its place already; other codes as for \
      incidents restore.
      """)

  @Argument(help: "The returned store.", completion: .file())
  var file: String

  @Argument(help: "The folder of the incident.", completion: .directory)
  var incident: String

  @Option(
    name: .long, help: "The app's model, or a folder of its versions; the current version is used.",
    completion: .file())
  var model: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.returnAccepted"
    let version = 1
    /// The paths of the files and folders of the returned store after they were moved to their places.
    let restored: [String]
    /// The id of the new incident that was made for the returned store.
    let incident: String
    /// The id of the incident that keeps the replaced store; nil when no store was replaced.
    let replaced: String?
  }

  func run() throws {
    let interruption = Interruption(lettingWorkEnd: true)
    let argument = try IncidentArgument(incident)
    var incidents = argument.incidents
    incidents.isCancelled = interruption.requested
    let expected = try model.map { path -> ExpectedModel in
      let input = try ModelInput(path)
      for other in input.passedOver { display.note(other) }
      return try input.expected(input.version())
    }
    let accepted = try withExtendedLifetime(interruption) {
      try IncidentFolder.changing("the returned store was not put in place") {
        try incidents.accept(
          return: URL(fileURLWithPath: file), for: argument.incident.id, fitting: expected)
      }
    }
    let restoration = accepted.restoration
    var text = "in place:\n"
    for path in restoration.restored { text += "  \(VisibleText.visible(path))\n" }
    text += "next: open the app\n"
    if let replaced = restoration.replaced {
      let folder = ShellText.path(argument.folder)
      text +=
        "the store that was replaced is kept as incident "
        + "\(replaced.id)\nto go back, run: lifeboat incidents restore \(folder) \(ShellText.quoted(replaced.id))\n"
    }
    try display.write(
      json: Report(
        restored: restoration.restored, incident: accepted.incident.id,
        replaced: restoration.replaced?.id),
      orText: text)
  }
}
