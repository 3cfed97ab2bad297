import ArgumentParser
import StoreFiles
import SafeFiles
import Foundation
import Quoting
import SafeText
import StoreExtraction
import StoreRecovery
import Terminal

struct IncidentsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "incidents",
    abstract: "List, show, verify, restore and prune what was set aside.",
    subcommands: [
      IncidentsList.self, IncidentsShow.self, IncidentsVerify.self, IncidentsRestore.self,
      IncidentsPrune.self,
    ])
}

extension Incidents.Entry {
  /// The size, in bytes, of the files that the incident keeps. Nil if the files were restored or put back, or if their
  /// size is not known.
  var keptBytes: Int64? { outcome == nil ? incident?.seal?.sizeBytes : nil }

  /// A few words on what has happened to the store since it was set aside.
  var state: String {
    if problem != nil { return "record not readable" }
    if isUnfinished { return "unfinished" }
    switch outcome?.kind {
    case .restored?: return "restored"
    case .putBack?: return "put back"
    case nil: return isSealPending ? "kept, not sealed yet" : "kept"
    }
  }

  /// The record of the incident. Throws a failure when the record cannot be read.
  func readable() throws -> Incident {
    if let failure = Failure(unreadable: self) { throw failure }
    guard let incident else {
      throw Failure(
        65, "incident.unreadable",
        "\(folder): \(problem ?? "the record of the incident cannot be read")",
        hint: Failure.keptHint(folder))
    }
    return incident
  }
}

struct IncidentsList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List what was set aside, oldest first.",
    discussion: """
      Example: lifeboat incidents list ~/Stores

      Exit status: 1 when the record of an incident cannot be read (the incident is listed all the same).
      """)

  @Argument(
    help: "The folder of the store, or its Incompatible folder; or the folder of one incident.",
    completion: .directory)
  var folder: String

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.incidents"
    let version = 1
    let incidents: [Incidents.Entry]
  }

  func run() throws {
    let one = try IncidentFolder.incident(folder, nil)
    let incidents = try IncidentFolder.incidents(in: one?.folder ?? folder)
    let entries = try one.map { [try incidents.show($0.id)] } ?? incidents.list()
    try display.write(
      json: Report(incidents: entries), orText: text(entries), evenIfQuiet: true)
    if entries.contains(where: { $0.problem != nil }) { try display.exitWithFindings() }
  }

  private func text(_ entries: [Incidents.Entry]) -> String {
    guard !entries.isEmpty else { return "nothing was set aside here\n" }
    var table = TextTable([
      .init("Incident"), .init("Store"), .init("Because"), .init("State"),
      .init("Kept", .trailing),
    ])
    for entry in entries {
      table.add([
        entry.id, entry.incident?.storeName ?? "?", Self.why(entry.incident), entry.state,
        entry.keptBytes.map { Quantity.bytes($0) } ?? "",
      ])
    }
    return table.text(width: display.width, style: display.style)
  }

  /// Why an incident was made, in one word.
  private static func why(_ incident: Incident?) -> String {
    switch incident?.kind {
    case .replaced?: "replaced"
    case .returned?: "returned"
    case .setAside?, .copied?: incident?.verdict.finding.rawValue ?? "?"
    case nil: "?"
    }
  }
}

struct IncidentsShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one incident: what the user is told, and why.",
    discussion: "Example: lifeboat incidents show ~/Stores 2026-11-20-21-53-07Z")

  @OptionGroup var place: IncidentPlace

  @OptionGroup(title: "Display") var display: DisplayOptions

  func run() throws {
    let (folder, id) = try place.incident()
    let entry = try IncidentFolder.incidents(in: folder).show(id)
    if let failure = Failure(unreadable: entry) { throw failure }
    try display.write(
      json: entry,
      orText: IncidentText.text(
        entry.readable(), state: entry.state, outcome: entry.outcome, folder: entry.folder,
        display),
      evenIfQuiet: true)
  }
}

struct IncidentsRestore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Bring a set-aside store back; the current store is set aside in turn.",
    discussion: """
      Example: lifeboat incidents restore ~/Stores 2026-11-20-21-53-07Z

      Close every program that uses the store first. Nothing is overwritten or deleted.

      Only a SQLite database and the ordinary files beside it are restored. --force also restores a main file of \
      another kind, a file that this user may not read, and a support folder that is a link or holds pipes or sockets.

      Exit status: 1 when the kept files changed since they were set aside; 65 when they are not a store; 66 when \
      nothing is kept; 75 when a program uses the store (in all these cases, nothing is moved).
      """)

  @OptionGroup var place: IncidentPlace

  @Flag(
    name: .shortAndLong, help: "Restore the files even when they changed since they were set aside."
  )
  var force = false

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.restoration"
    let version = 1
    let restored: [String]
    let replaced: String?
    let differences: [String]
    let nextStep: Incidents.Restoration.NextStep
    let leftBehind: [String]
  }

  func run() throws {
    let (folder, id) = try place.incident()
    let interruption = Interruption(lettingWorkEnd: true)
    var incidents = try IncidentFolder.incidents(in: folder)
    incidents.isCancelled = interruption.requested
    let result = try withExtendedLifetime(interruption) {
      try IncidentFolder.changing("the incident was not restored") {
        try incidents.restore(id, force: force)
      }
    }
    var text = "restored:\n"
    for path in result.restored { text += "  \(VisibleText.visible(path))\n" }
    if let replaced = result.replaced {
      text += "the store that was replaced is kept as incident \(replaced.id)\n"
    }
    for difference in result.differences {
      let start = difference.id == .notCompared ? "" : "changed since the store was set aside: "
      text += "\(start)\(VisibleText.visible(difference.text))\n"
    }
    for name in result.leftBehind { text += "left behind: \(VisibleText.visible(name))\n" }
    try display.write(
      json: Report(
        restored: result.restored, replaced: result.replaced?.id,
        differences: result.differences.map(\.text), nextStep: result.nextStep,
        leftBehind: result.leftBehind),
      orText: text + next(result, folder))
  }

  private func next(_ result: Incidents.Restoration, _ folder: String) -> String {
    let path = result.restored.first ?? folder
    var text =
      switch result.nextStep {
      case .open: "next: open the app\n"
      case .openWithFittingBuild:
        DisplayText.hanging(
          "next: open the app, in a version that has the model of this store; any other version "
            + "sets the store aside again",
          width: display.width, rest: 6)
      case .salvage:
        "next: the store is damaged, so save what can be read: "
          + RepairCommand(forFileAt: path).text(ShellText.path(path)) + "\n"
      }
    if let replaced = result.replaced {
      text +=
        "to go back, run: lifeboat incidents restore \(ShellText.path(folder)) \(ShellText.quoted(replaced.id))\n"
    }
    return text
  }
}

/// The arguments that name an incident. Without `id`, `folder` is the incident's own folder. With `id`, `folder` is the
/// store's folder or its subfolder `Incompatible`.
struct IncidentPlace: ParsableArguments {
  @Argument(
    help:
      "The folder of the incident (Incompatible/ID). Or the folder of the store, or its Incompatible folder, with ID as the next argument.",
    completion: .directory)
  var folder: String

  @Argument(help: "The name of the incident, ID.")
  var id: String?

  /// Returns the name of the incident, and the folder to look in: the folder of the store or its folder `Incompatible`.
  /// Throws a failure if the arguments name no incident.
  func incident() throws -> (folder: String, id: String) {
    guard let incident = try IncidentFolder.incident(folder, id) else {
      throw IncidentFolder.noneNamed(in: folder)
    }
    return incident
  }
}

enum IncidentFolder {
  /// Returns the folder and the id that name an incident.
  ///
  /// With an `id`, `folder` is the folder of the store, its folder `Incompatible`, or the folder of the incident
  /// itself. Without an `id`, `folder` must be the folder of the incident; the result is nil for any other folder.
  ///
  /// - Throws: a failure if there is no `id`, and `folder` is the folder of an incident that is not in a folder named
  ///   `Incompatible`.
  static func incident(_ folder: String, _ id: String?) throws -> (folder: String, id: String)? {
    let own = parts(of: folder)
    if let id {
      // `folder` is already the folder of the incident `id`.
      if let own, PathText.isSame(own.id, id) { return own }
      return (folder, id)
    }
    guard own != nil || !StoreInput.isIncident(folder) else {
      throw Failure(
        64, "usage.noIncident",
        "\(folder): this is the folder of an incident, but it is not in a folder named Incompatible",
        hint: "to look at the store in it, run: lifeboat inspect \(ShellText.path(folder)); for "
          + "other commands, first move this folder into a folder named Incompatible")
    }
    return own
  }

  /// The failure for a command that needs one incident, when its arguments name only the folder of all incidents.
  static func noneNamed(in folder: String) -> Failure {
    Failure(
      64, "usage.noIncident", "\(folder): this is not the folder of an incident",
      hint: "name the folder of an incident, such as Incompatible/2026-11-20-21-53-07Z; to see all "
        + "incidents, run: lifeboat incidents list \(ShellText.path(folder))")
  }

  /// Splits the path of an incident's folder into the path of the folder `Incompatible` and the name of the incident.
  /// Nil for any other path.
  static func parts(of path: String) -> (folder: String, id: String)? {
    let given = PathText.withoutTrailingSlashes(path)
    guard !given.isEmpty else { return nil }
    let (parent, name) = (PathText.folder(of: given), PathText.lastComponent(of: given))
    // A relative path, or a path with a symbolic link, can lack the name `Incompatible`, so the resolved paths are
    // tried, too.
    let places =
      [given, PathText.joined(StoreSet.realFolder(parent), name)]
      + (StoreInput.isIncident(given) ? [StoreSet.realFolder(given)] : [])
    for place in places {
      let (folder, id) = (PathText.folder(of: place), PathText.lastComponent(of: place))
      // A folder in `Incompatible` that is not named like an incident may contain stores, so it is not taken for an
      // incident. If nothing exists at the path, the name may be a mistyped incident.
      if isOfAll(folder), Incidents.isID(id) || FileStatus.found(place) == nil {
        return (folder, id)
      }
    }
    return nil
  }

  /// The incident whose folder is at `path` or contains the file or folder at `path`; nil if no folder of an incident
  /// contains `path`. Only the path itself is examined, not the file system.
  static func enclosing(_ path: String) -> (folder: String, id: String)? {
    folders(of: path).map { (folder: PathText.folder(of: $0), id: PathText.lastComponent(of: $0)) }
      .first { isOfAll($0.folder) && Incidents.isID($0.id) }
  }

  /// The path of the innermost folder `Incompatible` that contains `path` or is at `path`; nil if `path` leads through
  /// no folder of this name.
  static func ofAll(_ path: String) -> String? { folders(of: path).first(where: isOfAll) }

  /// Whether `path` is that of the folder with all incidents, which has the name `Incompatible`.
  private static func isOfAll(_ path: String) -> Bool {
    PathText.isSame(PathText.lastComponent(of: path), Incidents.folderName)
  }

  /// The absolute form of `path`, followed by the paths of all folders that contain it, innermost first.
  private static func folders(of path: String) -> [String] {
    sequence(first: StoreInput.absolute(path)) { PathText.folder(of: $0) }
      .prefix { $0.utf8.count > 1 }
  }

  /// Returns the incidents of the stores in a folder. `folder` is the path of this folder, or of its subfolder
  /// `Incompatible`.
  ///
  /// - Throws: a failure if there is no folder at the path, or if the folder is the folder of an incident or is inside
  ///   such a folder.
  static func incidents(in folder: String) throws -> Incidents {
    let given = PathText.withoutTrailingSlashes(folder)
    // A path such as `.` does not contain the name of the folder, so the path is resolved before its last component is
    // compared.
    let isNamed = PathText.isPlainName(PathText.lastComponent(of: given))
    let named = isNamed ? given : StoreSet.realFolder(given)
    // The folder of a store can be a symbolic link, but the folder `Incompatible` must not be one.
    let isOfIncidents = isOfAll(named)
    let path = isOfIncidents ? named : StoreSet.resolvedFolder(named)
    let status = FileStatus.found(path)
    guard status?.kind == .folder else {
      throw Failure(
        66, "input.noFolder",
        "\(folder): "
          + (status.map { "this is \($0.kind.words), and a folder is expected" }
            ?? "this folder does not exist"),
        hint: "name the folder that the store is in"
          + (status?.kind == .file ? ": \(ShellText.path(PathText.folder(of: named)))" : ""))
    }
    let inner = PathText.joined(path, Incidents.folderName)
    if !isOfIncidents, let found = FileStatus.found(inner), found.kind != .folder {
      throw Failure(
        66, "input.noFolder", "\(inner): this is \(found.kind.words), and a folder is expected",
        hint: "put the folder of the incidents itself in its place")
    }
    if !isOfIncidents, FileStatus.found(inner) == nil,
      let (all, id) = enclosing(path)
    {
      let own = PathText.joined(all, id)
      let isOwn = PathText.isSame(own, StoreInput.absolute(path))
      throw Failure(
        64, "usage.noIncident",
        "\(folder): this folder \(isOwn ? "is that of" : "belongs to") one incident",
        hint: (isOwn ? "" : "name the folder of the incident, \(ShellText.path(own)), or ")
          + "name the folder that all incidents are in: \(ShellText.path(all))")
    }
    return Incidents(in: URL(fileURLWithPath: named))
  }

  /// Runs `work`, which moves or removes files of incidents. If a system call fails, throws a failure that begins with
  /// `notDone` and tells the user what to do.
  static func changing<Result>(_ notDone: String, _ work: () throws -> Result) throws -> Result {
    do { return try work() } catch let error as SystemCallError {
      guard var failure = Failure(error) else { throw error }
      failure.message = "\(notDone): \(failure.message)"
      failure.hint =
        "nothing was lost; the next run finishes or undoes what has begun"
        + (failure.hint.map { "; \($0)" } ?? "")
      throw failure
    }
  }
}

enum IncidentText {
  /// Returns the notice that the app shows to the user, followed by the facts about the incident. `folder` is the path
  /// at which the incident's folder is now. The path in the incident's record may be different, because the folder may
  /// have been moved or copied.
  static func text(
    _ incident: Incident, state: String, outcome: IncidentOutcome? = nil, folder: String,
    _ display: DisplayOptions
  ) -> String {
    var notice = KeyValueBlock()
    let told = incident.notice(
      in: IncidentTexts(preferring: ["en"]), outcome: outcome,
      showingFolder: folder)
    let parts = [told.title, told.whatHappened, told.whatWasKept, told.whatToDo]
    let newline = UInt8(ascii: "\n")
    for line in parts.joined(separator: "\n\n").utf8.split(
      separator: newline, omittingEmptySubsequences: false)
    {
      notice.add("", String(Substring(line)))
    }
    var text = notice.text(width: display.width, style: display.style)
    var block = KeyValueBlock()
    block.add("Incident", "\(incident.id), \(state)")
    block.add(
      "Verdict", "\(incident.verdict.finding.rawValue), \(incident.verdict.action.rawValue)")
    block.add("Because", incident.verdict.reason)
    if let model = incident.model {
      block.add("Written by", model.writtenBy ?? "an unknown model version")
      if let expected = model.expected { block.add("Expected", expected) }
      let lists = [
        ("Entities that differ", model.differing), ("Only in the store", model.onlyInStore),
        ("Only in the model", model.onlyInModel),
      ]
      for (label, names) in lists where !names.isEmpty {
        block.add(label, names.joined(separator: ", "))
      }
    }
    if let files = incident.seal?.files.filter({ $0.kind == .file }) {
      block.add(
        outcome == nil ? "Kept" : "Was kept",
        files.map { "\($0.name) (\(Quantity.bytes($0.sizeBytes)))" }.joined(
          separator: ", "))
    }
    text += "\n" + block.text(width: display.width, style: display.style)
    return text
  }
}
