import ArgumentParser
import SafeText
import StoreRecovery
import Terminal

struct IncidentsPrune: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "prune",
    abstract: "Remove duplicates of set-aside stores, and records of restored stores.",
    discussion: """
      Example: lifeboat incidents prune --keep-count 3 --dry-run ~/Stores

      At least one limit is needed. \
      Only what can be removed without loss is removed, and only as much as the limits require. Data that is kept \
      nowhere else stays, whatever the limits are. An incident about which there is any doubt stays, too.

      Exit status: 1 when something could not be removed.
      """)

  @Argument(help: "The folder of the store, or its Incompatible folder.", completion: .directory)
  var folder: String

  @Option(
    name: .customLong("keep-count"),
    help: ArgumentHelp("The maximum number of incidents to keep.", valueName: "n"))
  var keepCount: Int?

  @Option(
    name: .customLong("keep-bytes"),
    help: ArgumentHelp(
      "The maximum size of all incidents together, such as 500MB or 2GiB.", valueName: "size"))
  var keepBytes: ByteCount?

  @Option(
    name: .customLong("keep-days"),
    help: ArgumentHelp("The maximum age of an incident in days.", valueName: "n"))
  var keepDays: Int?

  @Flag(
    name: [.customShort("n"), .customLong("dry-run")],
    help: "Show what would be removed; remove nothing.")
  var dryRun = false

  @OptionGroup(title: "Display") var display: DisplayOptions

  struct Report: Encodable {
    let schema = "lifeboat.prune"
    let version = 1
    let limits: Retention
    let isDryRun: Bool
    let removed: [PruneReport.Removed]
    let kept: [PruneReport.Kept]
    let keptBytes: Int64
  }

  func validate() throws {
    guard !retention.keepsEverything else {
      throw ValidationError("Name a limit: --keep-count, --keep-bytes or --keep-days.")
    }
    guard (keepCount ?? 0) >= 0, (keepDays ?? 0) >= 0 else {
      throw ValidationError("--keep-count and --keep-days take a number, 0 or more.")
    }
  }

  private var retention: Retention {
    Retention(
      maximumCount: keepCount, maximumBytes: keepBytes?.count,
      maximumAgeSeconds: keepDays.map { days in
        let (seconds, overflow) = Int64(days).multipliedReportingOverflow(by: 86_400)
        return overflow ? .max : seconds
      })
  }

  func run() throws {
    let incidents = try IncidentFolder.incidents(in: folder)
    let report = try IncidentFolder.changing("the incidents were not pruned") {
      try incidents.prune(retention, dryRun: dryRun)
    }
    try display.write(
      json: Report(
        limits: retention, isDryRun: report.isDryRun, removed: report.removed, kept: report.kept,
        keptBytes: report.keptBytes),
      orText: text(report))
    if report.kept.contains(where: { $0.why == .failed }) { try display.exitWithFindings() }
  }

  private func text(_ report: PruneReport) -> String {
    guard !report.removed.isEmpty || !report.kept.isEmpty else {
      return "nothing was set aside here\n"
    }
    let verb = dryRun ? "would remove" : "removed"
    var text = ""
    for one in report.removed {
      text +=
        "\(verb) \(VisibleText.visible(one.id)): \(Self.words(one)), \(Quantity.bytes(one.freedBytes)) freed\n"
    }
    for one in report.kept {
      text += "kept \(VisibleText.visible(one.id)): \(VisibleText.visible(one.text))\n"
    }
    text +=
      "\(Quantity.count(report.removed.count)) \(dryRun ? "would be removed" : "removed"), \(Quantity.count(report.kept.count)) kept with \(Quantity.bytes(report.keptBytes)), records included\n"
    return text
  }

  private static func words(_ removed: PruneReport.Removed) -> String {
    switch removed.why {
    case .restored: "the store was restored, and only the record was left"
    case .duplicate:
      "the same content is kept in \(VisibleText.visible(removed.sameAs ?? "another"))"
    case .interrupted: "an interrupted run left this behind"
    }
  }
}
