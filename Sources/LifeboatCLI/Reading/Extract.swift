import ArgumentParser
import CoreDataStore
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

/// `lifeboat extract`
struct Extract: StoreReader {
  static let configuration = CommandConfiguration(
    abstract: "Save every row that can be read, as CSV, NDJSON or one clean SQLite file.",
    discussion: """
      Examples: lifeboat extract Notes.sqlite -o Rows
                lifeboat extract Notes.sqlite --format sqlite -o Rows.sqlite

      For a sound store; lifeboat recover saves more of a damaged one.

      Files of external binary data are copied into _EXTERNAL_DATA in the folder, under the names that rows give.

      Exit status: 1 when damage was found (what can be read is saved), or an external file is missing, empty, zeroed \
      or named by no row; 73 when the output exists; 75 when the store changed while it was read.
      """,
    aliases: ["export"])

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(
    name: .shortAndLong, help: "The folder (CSV, NDJSON) or file (SQLite) to make.",
    completion: .file())
  var output: String

  @Option(name: .long, help: "csv, ndjson or sqlite.")
  var format: StoreExport.Format = .csv

  @OptionGroup var verification: VerificationOptions
  @OptionGroup var rows: RowOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { [output] }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    let coreData = try rows.open(path, store, display)
    try input.check(output)
    let interruption = Interruption()
    var export = StoreExport(rows.output)
    export.made = interruption.files
    export.verifies = verification.verify
    export.sourceName = input.shown(path)
    let result = try withExtendedLifetime(interruption) {
      try export.run(coreData, as: format, to: output)
    }
    if display.json {
      try display.write(json: result)
    } else if !display.quiet {
      try display.write(text(result))
    }
    display.note(result.findings)
    // A file that no row names is not damage, but it is left behind.
    for stray in result.findings where stray.id == .recoverExternalStray {
      display.note("finding: " + FindingText.line(stray))
    }
    let files = result.externalFiles
    let fileDamage: Set<Finding.ID> = [
      .recoverExternalMissing, .recoverExternalEmpty, .recoverExternalZeroed,
      .recoverExternalTooLarge, .recoverExternalUnread,
    ]
    let isStoreDamaged = result.findings.contains {
      $0.severity == .damage && !fileDamage.contains($0.id)
    }
    if isStoreDamaged { display.note(RecoveryAdvice.note(for: input.shown(path))) }
    if result.damageCount > 0 || files?.strayCount ?? 0 > 0 { try display.exitWithFindings() }
  }

  private func text(_ result: StoreExport.Result) -> String {
    var table = TextTable([
      .init("Name", isFlexible: true), .init("Rows", .trailing),
      .init(format == .sqlite ? "Table" : "File", isFlexible: true),
    ])
    for part in result.parts { table.add([part.name, Quantity.count(part.rowCount), part.target]) }
    return table.text(width: display.width, style: display.style)
      + "\(Quantity.count(result.rowCount)) rows saved in \(VisibleText.visible(result.output))\n"
      + externalText(result)
  }

  private func externalText(_ result: StoreExport.Result) -> String {
    guard let files = result.externalFiles, files.fileCount > 0 else { return "" }
    let count =
      "\(Quantity.count(files.fileCount)) external \(files.fileCount == 1 ? "file" : "files")"
    let size = Quantity.bytes(UInt64(clamping: files.sizeBytes))
    return files.output.map { "\(count) (\(size) in total) saved in \($0)\n" }
      ?? "\(count) (\(size) in total) included in the rows\n"
  }
}
