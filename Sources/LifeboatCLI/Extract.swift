import ArgumentParser
import CoreDataStore
import SafeText
import StoreExtraction
import Terminal

/// `lifeboat extract`
struct Extract: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Save every row that can be read, as CSV, NDJSON or one clean SQLite file.",
    discussion: """
      Examples: lifeboat extract Notes.sqlite -o Rows
                lifeboat extract Notes.sqlite --format sqlite -o Rows.sqlite

      For a sound store; of a damaged one lifeboat recover saves more.

      Exit status: 1 when damage was met (what can be read is saved); 73 when the output exists; 75 when the store \
      changed while it was read.
      """,
    aliases: ["export"])

  @Argument(help: "The store.")
  var path: String

  @Option(name: .shortAndLong, help: "The folder (CSV, NDJSON) or file (SQLite) to make.")
  var output: String

  @Option(name: .long, help: "csv, ndjson or sqlite.")
  var format: StoreExport.Format = .csv

  @OptionGroup var rows: RowOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [path] }
  var outputPaths: [String] { [output] }

  func run() throws {
    let coreData = try rows.open(path, store)
    try EvidenceGuard.check(output, against: path)
    let interruption = Interruption()
    var export = StoreExport(rows.output)
    export.created = interruption.made
    let result = try withExtendedLifetime(interruption) {
      try export.run(coreData, as: format, to: output)
    }
    if display.json {
      try display.write(json: result)
    } else if !display.quiet {
      try display.write(text(result))
    }
    display.note(result.findings)
    if result.damageCount > 0 {
      display.note(RecoveryAdvice.note(for: path))
      try display.exitWithFindings()
    }
  }

  private func text(_ result: StoreExport.Result) -> String {
    var table = TextTable([
      .init("Name", isFlexible: true), .init("Rows", .trailing),
      .init(format == .sqlite ? "Table" : "File", isFlexible: true),
    ])
    for part in result.parts { table.add([part.name, Quantity.count(part.rowCount), part.target]) }
    return table.text(width: display.width, style: display.style)
      + "\(Quantity.count(result.rowCount)) rows saved in \(VisibleText.visible(result.output))\n"
  }
}
