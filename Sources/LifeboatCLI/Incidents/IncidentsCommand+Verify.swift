import ArgumentParser
import SafeText
import StoreRecovery
import Terminal

struct IncidentsVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check that what was set aside is unchanged.",
    discussion: """
      Example: lifeboat incidents verify ~/Stores

      Every file is read and compared with the seal in its incident's record. Nothing is changed.

      Exit status: 1 when a file differs, or when an incident cannot be compared.
      """)

  @Argument(
    help: "The folder of the store, or its Incompatible folder; or the folder of one incident.",
    completion: .directory)
  var folder: String

  @Argument(
    help: "The name of the incident; without a name, all incidents of the folder are checked.")
  var id: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.incidentCheck"
    let version = 1
    let isSound: Bool
    let incidents: [IncidentCheck]
  }

  func run() throws {
    let one = try IncidentFolder.incident(folder, id)
    let incidents = try IncidentFolder.incidents(in: one?.folder ?? folder)
    let checks = try one.map { [try incidents.verify($0.id)] } ?? incidents.verify()
    let isSound = checks.allSatisfy(\.isSound)
    try display.write(
      json: Report(isSound: isSound, incidents: checks), orText: text(checks),
      evenIfQuiet: !isSound)
    if checks.contains(where: { $0.finding == .unread }) {
      display.note("hint: run lifeboat as the user who owns the files, on a disk without errors")
    }
    if !isSound { try display.exitWithFindings() }
  }

  private func text(_ checks: [IncidentCheck]) -> String {
    guard !checks.isEmpty else { return "nothing was set aside here\n" }
    var text = ""
    for check in checks where !display.quiet || !check.isSound {
      text += "\(VisibleText.visible(check.id)): \(VisibleText.visible(Self.words(check)))\n"
      for file in check.files where file.state != .ok || file.text != nil || display.verbose > 0 {
        let words = file.text.map { "\(file.state.rawValue): \($0)" } ?? "ok: \(file.name)"
        text += "  \(VisibleText.visible(words))\n"
      }
    }
    return text
  }

  private static func words(_ check: IncidentCheck) -> String {
    let count = check.files.count { $0.state != .ok }
    return switch check.finding {
    case .intact: "unchanged since it was set aside"
    case .moved: "no longer kept here: the store was restored or put back"
    case .different:
      "changed since it was set aside: \(Quantity.count(count)) of its files \(count == 1 ? "differs" : "differ")"
    case .unread: check.problem ?? "files that cannot be read: \(Quantity.count(count))"
    default: check.problem ?? check.finding.rawValue
    }
  }
}
