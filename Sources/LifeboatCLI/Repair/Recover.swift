import ArgumentParser
import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import Quoting
import SafeText
import StoreExtraction
import Terminal

/// The option that names models and healthy stores. They describe the tables of a damaged file that has lost its own
/// schema.
struct LikeOptions: ParsableArguments {
  @Option(
    name: .long,
    help:
      "A model or healthy store with the tables that a damaged schema lacks; may be repeated.",
    completion: .file())
  var like: [String] = []

  /// Throws if `output` is the path of an example that `--like` names, or of a file that belongs to an example.
  func check(_ output: String) throws {
    for path in like { try EvidenceGuard.check(output, againstAllAt: path) }
  }
}

/// The option that says how thoroughly SQLite checks a new file before the file gets its final name.
struct VerificationOptions: ParsableArguments {
  @Flag(
    name: .long,
    help:
      "Run SQLite's integrity_check, not just quick_check, on a new SQLite file over 32 MB.")
  var verify = false
}

struct Recover: StoreReader {
  static let configuration = CommandConfiguration(
    abstract: "Make a fresh SQLite file out of what can be read of a damaged one.",
    discussion: """
      Examples: lifeboat recover Notes.sqlite -o Saved.sqlite
                lifeboat recover Notes.sqlite --dry-run
                lifeboat recover Notes.sqlite --like Notes.momd -o Saved.sqlite

      The new file has the schema of the old one and its rows under their row ids. Rows that do not fit \
      into their table are kept in tables whose names begin with _lifeboat.

      Exit status: 0 when nothing was lost; 1 with findings; 65 when the file is not a database; 73 when the output \
      exists; 75 when the store changed while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Option(name: .shortAndLong, help: "The file to make.", completion: .file())
  var output: String?

  @Flag(
    name: [.customShort("n"), .customLong("dry-run")],
    help: "Only show what the new file would hold, and make no file.")
  var dryRun = false

  @Flag(name: .long, help: "Also recover deleted rows, in tables of their own.")
  var deleted = false

  @Option(
    name: .long,
    help:
      "Record the origin of these rows: notable (incomplete, doubtful and deleted rows) or all.")
  var provenance: StoreRebuild.Provenance = .notable

  @OptionGroup var verification: VerificationOptions
  @OptionGroup var likes: LikeOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup var progress: ProgressOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var outputPaths: [String] { Self.paths(ofDatabaseAt: output) }

  func validate() throws {
    guard output != nil || dryRun else {
      throw ValidationError("Name the new file with --output, or add --dry-run.")
    }
    guard output == nil || !dryRun else {
      throw ValidationError(
        "--dry-run makes no file: leave out --dry-run or --output.")
    }
  }

  func read(_ input: StoreInput) throws {
    let path = try input.storePath()
    if let output {
      try input.check(output)
      try likes.check(output)
    }
    let damaged = try DamagedStore(path: path, logView: store.wal, like: likes.like) {
      display.note($0)
    }
    let interruption = Interruption()
    var rebuild = StoreRebuild()
    rebuild.provenance = provenance
    rebuild.includesDeleted = deleted
    rebuild.verifies = verification.verify
    rebuild.made = interruption.files
    let meter = progress.meter("Recovering", unit: .pages, display)
    rebuild.progress = { meter.update($0, of: $1) }
    defer { meter.finish() }
    var result = try withExtendedLifetime(interruption) {
      if let output { return try rebuild.run(damaged, to: output) }
      return try rebuild.survey(damaged)
    }
    meter.finish()
    result.source = input.shown(path)
    let text = RecoverText(
      result: result, secrets: secrets, display: display, readsAllOfLog: store.wal == .all)
    try display.write(json: result, orText: text.text)
    display.note(result.findings)
    try display.noteFreelist(
      of: damaged.database.plain, unless: result.damageCount, for: secrets.argument(result.source))
    if !result.isLossless { try display.exitWithFindings() }
  }
}

struct RecoverText {
  let result: RebuildResult
  let secrets: SecretOptions
  let display: DisplayOptions
  let readsAllOfLog: Bool

  var text: String {
    var block = KeyValueBlock()
    let name = PathText.lastComponent(of: result.source)
    block.add(
      name,
      "\(Quantity.count(Int(result.pageCount), "page")) of \(Quantity.count(result.pageSizeBytes)) bytes"
    )
    block.add("Rows", rows, tone: result.isLossless ? .green : .yellow)
    if !lost.isEmpty { block.add("Lost", lost, tone: .red) }
    if let external { block.add("Files", external) }
    if let count = result.deletedCount { block.add("Deleted rows", Quantity.count(count)) }
    if let output = result.output {
      block.add("Written", output)
      block.add(
        "Next",
        behindBreak + [.init("lifeboat inspect \(ShellText.path(output))", "inspect the new file")])
    } else {
      block.add(
        "Next",
        behindBreak + [
          .init(
            "lifeboat recover \(secrets.argument(result.source)) -o NEW.sqlite",
            "make the new file")
        ])
    }
    var text = block.text(width: display.width, style: display.style)
    let table = table
    if !table.isEmpty { text += "\n" + table }
    return text
  }

  /// The suggestion to run a command that also reads the commits after a broken frame of the log. Empty when the log
  /// has no such commits, or when this run has already read them.
  private var behindBreak: [KeyValueBlock.Suggestion] {
    let log = RecoveryAdvice.log(result.findings)
    guard !log.isEmpty, !readsAllOfLog else { return [] }
    return [
      .init(
        "lifeboat recover \(log)\(secrets.argument(result.source)) -o NEWER.sqlite",
        "also recover what was saved after the broken frame of the log")
    ]
  }

  /// What the pages that cannot be read were; empty if all pages can be read.
  var lost: String {
    var parts: [String] = []
    if result.missingPageCount > 0 {
      parts.append(
        "\(Quantity.count(result.missingPageCount, "page")) past the end of the file")
    }
    if result.unreadablePageCount > 0 {
      parts.append(
        "\(Quantity.count(result.unreadablePageCount, "unreadable page")) of tables")
    }
    return parts.joined(separator: "; ")
  }

  /// The number and size of the external data files, and whether they were copied or are missing. Nil if no row names
  /// such a file and the folder for such files is empty.
  private var external: String? {
    guard let files = result.externalFiles else { return nil }
    let amount = Quantity.bytes(files.sizeBytes)
    var text = "\(Quantity.count(files.fileCount, "external file")) of \(amount)"
    if let folder = files.output { text += " copied to \(folder)" }
    for (count, word) in [
      (files.missingCount, "missing"), (files.emptyCount, "empty"),
      (files.zeroedCount, "all zeros"), (files.strayCount, "used by no row, not copied"),
    ] where count > 0 {
      text += "; \(Quantity.count(count)) \(word)"
    }
    return text
  }

  /// The number of rows and tables, and how many of the rows are in doubt.
  var rows: String {
    var text =
      "\(Quantity.count(result.rowCount)) in \(Quantity.count(result.tables.count, "table"))"
    if result.partialRowCount > 0 {
      text += ", \(Quantity.count(result.partialRowCount)) of them with missing or doubtful values"
    }
    if result.conflictCount > 0 {
      text += "; \(Quantity.count(result.conflictCount)) kept in separate tables"
    }
    if result.unattributedCount > 0 {
      text += "; \(Quantity.count(result.unattributedCount)) whose table is not certain"
    }
    return text
  }

  private var table: String {
    let hasDeleted = result.deletedCount != nil
    var columns: [TextTable.Column] = [
      .init("Table", isFlexible: true), .init("Rows", .trailing), .init("Partial", .trailing),
      .init("Kept apart", .trailing),
    ]
    if hasDeleted { columns.append(.init("Deleted", .trailing)) }
    let hasAssumed = result.tables.contains { $0.isAssumed == true }
    if hasAssumed { columns.append(.init("")) }
    var table = TextTable(columns)
    let maxShown = display.verbose > 0 ? result.tables.count : 20
    for part in result.tables.prefix(maxShown) {
      var cells = [
        part.name, Quantity.count(part.rowCount), Quantity.count(part.partialRowCount),
        Quantity.count(part.conflictCount),
      ]
      if hasDeleted { cells.append(Quantity.count(part.deletedCount)) }
      if hasAssumed { cells.append(part.isAssumed == true ? "described only by --like" : "") }
      table.add(cells)
    }
    guard !result.tables.isEmpty else { return "" }
    var text = table.text(width: display.width, style: display.style)
    if result.tables.count > maxShown {
      text += "and \(Quantity.count(result.tables.count - maxShown)) more (-v shows all)\n"
    }
    return text
  }
}
