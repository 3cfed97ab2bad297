import ArgumentParser
import CLibrary
import CoreDataStore
import Foundation
import SQLiteFile
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

struct Extract: StoreReader {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case csv, ndjson, sqlite, xlsx
  }

  static let configuration = CommandConfiguration(
    abstract:
      "Save every row that can be read, as CSV, NDJSON, a workbook or one clean SQLite file.",
    discussion: """
      Examples: lifeboat extract Notes.sqlite -o Rows
                lifeboat extract Notes.sqlite -o Rows.xlsx --time-zone Europe/Berlin
                lifeboat extract Notes.sqlite --format sqlite -o Rows.sqlite

      This is for a sound store; lifeboat recover saves more of a damaged one.

      A workbook has a sheet for each entity. Values that are too long for a cell go into a folder beside the \
      workbook: Rows_files for Rows.xlsx.

      Files of external binary data are copied into _EXTERNAL_DATA in the new folder, under the names that the rows \
      give them.

      Exit status: 1 when damage was found (what can be read is saved), or an external file is missing, empty, zeroed \
      or named by no row; 73 when the output exists; 75 when the store changed while it was read.
      """,
    aliases: ["export"])

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(
    name: .shortAndLong, help: "The folder (CSV, NDJSON) or file (SQLite, workbook) to make.",
    completion: .file())
  var output: String

  @Option(
    name: .long,
    help:
      "csv, ndjson, sqlite or xlsx; by default chosen by the extension of the output, or else csv.")
  var format: Format?

  @Flag(
    name: .long,
    help: "Write CSV for Excel: with a byte order mark, plain dates, and no formulas.")
  var excel = false

  @Option(
    name: .customLong("time-zone"),
    help:
      "The time zone of dates in a workbook or with --excel: local, or a name like Europe/Berlin.")
  var timeZone: String?

  @OptionGroup var verification: VerificationOptions
  @OptionGroup var rows: RowOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup var progress: ProgressOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] {
    let folder = StoreExport.filesFolder(beside: output)
    return [output] + (form == .xlsx && ByteFile.exists(folder) ? [folder] : [])
  }

  /// The format that `--format` names. Without this option, the extension of the output decides: `.xlsx` stands for
  /// Excel, and `.sqlite`, `.sqlite3` and `.db` stand for SQLite. Any other extension stands for CSV.
  private var form: Format {
    if let format { return format }
    let name = output.lowercased()
    if PathText.ends(name, with: ".xlsx") { return .xlsx }
    return [".sqlite", ".sqlite3", ".db"].contains { PathText.ends(name, with: $0) }
      ? .sqlite : .csv
  }

  func validate() throws {
    guard !excel || form == .csv else {
      throw ValidationError("--excel works only with CSV, but the output is \(form.rawValue).")
    }
    guard let timeZone else { return }
    guard excel || form == .xlsx else {
      throw ValidationError(
        "--time-zone is for --format xlsx and for --excel; other forms give dates in UTC.")
    }
    guard LocalDates(named: timeZone) == nil else { return }
    let nearest = NearestName.of(timeZone, among: LocalDates.names)
    throw ValidationError(
      "There is no time zone \(VisibleText.visible(timeZone)). "
        + (nearest.map { "Did you mean \($0)?" } ?? "Write it as Europe/Berlin, UTC or local."))
  }

  private var dates: LocalDates { timeZone.flatMap { LocalDates(named: $0) } ?? .utc }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    let coreData = try rows.open(path, store, display)
    try input.check(output)
    let interruption = Interruption()
    var options = rows.output
    if excel {
      let hasDecimalComma = ExcelForm.hasDecimalComma(ProcessInfo.processInfo.environment)
      options.excel = ExcelForm(hasDecimalComma: hasDecimalComma, dates: dates)
    }
    var export = StoreExport(options)
    export.made = interruption.files
    export.verifies = verification.verify
    export.sourceName = input.shown(path)
    let meter = progress.meter("Extracting", unit: .rows, display)
    defer { meter.cancel() }
    if meter.isShown {
      export.progress = { done, total in
        meter.update(done, of: total.map { max(done, $0) })
      }
      // Counting means that all rows are read once more, so rows are counted only if somebody sees the progress.
      export.countsRows = progress.progress != .auto || isatty(2) == 1
    }
    let result = try withExtendedLifetime(interruption) {
      switch form {
      case .csv: try export.run(coreData, as: .csv, to: output)
      case .ndjson: try export.run(coreData, as: .ndjson, to: output)
      case .sqlite: try export.run(coreData, as: .sqlite, to: output)
      case .xlsx:
        try export.run(
          coreData, toWorkbook: output, dates: dates, archive: { try ZippedParts($0, $1) })
      }
    }
    if meter.isShown { meter.update(result.rowCount, of: result.rowCount) }
    meter.finish()
    let text = ExtractText(
      result: result, form: form, limit: options.limit, display: display,
      hasTimeZone: timeZone != nil)
    try display.write(json: result, orText: text.text)
    if rows.allow != nil, let note = try RowAdvice.leftOut(coreData.plainTables, of: coreData) {
      display.note(note)
    }
    let plainTables = ExactText.named(options.entityNames, among: coreData.plainTables, \.name)
    if rows.allow == nil, let note = RowAdvice.notStored(plainTables) { display.note(note) }
    display.note(result.findings)
    // An external file that no row names is not damage, but it is not copied, so a note names it.
    for stray in result.findings where stray.id == .recoverExternalStray {
      display.note("finding: " + FindingText.line(stray))
    }
    let files = result.externalFiles
    let fileDamage: Set<Finding.ID> = [
      .recoverExternalMissing, .recoverExternalEmpty, .recoverExternalZeroed,
      .recoverExternalTooLarge, .recoverExternalUnread,
    ]
    let argument = secrets.argument(input.shown(path))
    let isStoreDamaged = result.findings.contains {
      $0.severity == .damage && !fileDamage.contains($0.id)
    }
    if isStoreDamaged, !display.quiet {
      let repair = RepairCommand(forFileAt: path, logView: store.wal)
      display.note(RecoveryAdvice.note(for: argument, result.findings, repair))
    }
    try display.noteFreelist(of: coreData.database, unless: result.damageCount, for: argument)
    if result.damageCount > 0 || files?.strayCount ?? 0 > 0 { try display.exitWithFindings() }
  }
}

private struct ExtractText {
  let result: StoreExport.Result
  let form: Extract.Format
  /// The maximum number of rows of each entity or table; nil for no limit.
  let limit: Int?
  let display: DisplayOptions
  let hasTimeZone: Bool

  var text: String {
    var lines = [
      "\(Quantity.count(result.rowCount, "row")) saved in \(VisibleText.visible(result.output))"
    ]
    if let limit, limit > 0, result.parts.contains(where: { $0.rowCount == limit }) {
      lines.append(
        "--limit \(limit): what has \(Quantity.count(limit, "row")) here may have more in the store"
      )
    }
    if let files = result.externalFiles, files.fileCount > 0 {
      let size = Quantity.bytes(files.sizeBytes)
      let place =
        files.output.map { "saved in \(VisibleText.visible($0))" } ?? "included in the rows"
      lines.append(
        "\(Quantity.count(files.fileCount, "external file")) (\(size) in total) \(place)")
    }
    if let long = result.longValues {
      lines.append(
        "\(Quantity.count(long.fileCount, "value")) too long for a cell "
          + "(\(Quantity.bytes(long.sizeBytes)) in total) saved in "
          + VisibleText.visible(long.output))
    }
    if let count = result.invalidTextCount {
      lines.append(
        "\(Quantity.count(count, "text")) with invalid bytes, which U+FFFD replaces; "
          + "--format ndjson keeps the bytes")
    }
    if let zone = result.timeZone {
      lines.append(
        "Dates are in \(VisibleText.visible(zone))"
          + (hasTimeZone ? "" : "; --time-zone chooses another time zone"))
    }
    if form == .xlsx, !PathText.ends(result.output.lowercased(), with: ".xlsx") {
      lines.append("Excel opens a workbook only if its name ends in .xlsx")
    }
    let doubtful = result.doubtfulNames ?? []
    func add(_ title: String, _ names: [String]) {
      guard !names.isEmpty else { return }
      lines.append("\(title): \(names.map { VisibleText.visible($0) }.joined(separator: ", "))")
    }
    add("No rows", result.emptyNames.filter { !doubtful.contains($0) })
    add("Damaged, without a row that can be read", doubtful)
    return table
      + lines.map { DisplayText.hanging($0, width: display.width, rest: 2) }.joined()
  }

  /// The table that lists what was written, with a line for each entity that has rows. Empty when no entity has rows.
  private var table: String {
    let parts = result.parts.filter { $0.rowCount > 0 }
    guard !parts.isEmpty else { return "" }
    let place =
      switch form {
      case .sqlite: "Table"
      case .xlsx: "Sheet"
      case .csv, .ndjson: "File"
      }
    var table = TextTable([
      .init("Name", isFlexible: true), .init("Rows", .trailing), .init(place),
    ])
    for part in parts { table.add([part.name, Quantity.count(part.rowCount), part.target]) }
    return table.text(width: display.width, style: display.style)
  }
}
