import ArgumentParser
import CoreDataStore
import Foundation
import ObjectModel
import SQLiteFile
import SafeText
import StoreExtraction
import SupportBundle
import Terminal

/// The options for output and exit status, which all commands have.
struct DisplayOptions: ParsableArguments {
  @Flag(name: .long, help: "Write JSON for programs instead of text.")
  var json = false

  @Flag(name: .shortAndLong, help: "Leave out notes, and reports that only confirm what was done.")
  var quiet = false

  @Flag(name: .shortAndLong, help: "Show more detail.")
  var verbose: Int

  @Option(name: .long, help: "Colour: auto, always or never.")
  var color: ColorChoice = .auto

  @Flag(name: .customLong("no-color"), help: "The same as --color never.")
  var noColor = false

  @Flag(
    name: .customLong("exit-zero"), help: "Exit 0 even when there are findings.")
  var exitZero = false

  var style: Style { Style(noColor ? .never : color, descriptor: 1) }
  /// The width of standard output in columns. If standard output is not a terminal, this is the value of COLUMNS, or
  /// else 80.
  var width: Int { TerminalWidth.columns(of: 1) }

  func write(_ text: String) throws {
    let output = StandardStream(descriptor: 1)
    try output.write(text)
    try output.flush()
  }

  /// Writes a note to standard error. If standard error is a terminal, the note is wrapped, unless it contains a
  /// command, which the user must be able to copy. Otherwise the note is one line. With `--quiet`, writes nothing.
  func note(_ text: String) {
    guard !quiet else { return }
    let errors = StandardStream(descriptor: 2)
    let line = VisibleText.visible(text)
    let isWrapped = isatty(2) == 1 && line.utf8.firstRange(of: "lifeboat ".utf8) == nil
    try? errors.write(
      isWrapped
        ? DisplayText.hanging(line, width: TerminalWidth.columns(of: 2), rest: 2) : line + "\n")
    try? errors.flush()
  }

  /// Writes a value to standard output as one JSON object on several lines.
  func write(json value: some Encodable) throws {
    let output = StandardStream(descriptor: 1)
    try output.write(json: JSONText.pretty(value))
    try output.flush()
  }

  /// With `--json`, writes a value to standard output as JSON. Otherwise writes `text`; with `--quiet`, only if
  /// `evenIfQuiet` is true.
  func write(
    json value: some Encodable, orText text: @autoclosure () throws -> String,
    evenIfQuiet: Bool = false
  ) throws {
    if json {
      try write(json: value)
    } else if !quiet || evenIfQuiet {
      try write(text())
    }
  }

  /// Writes values to standard output as JSON, one value on each line.
  func write(lines values: some Sequence<some Encodable>) throws {
    let output = StandardStream(descriptor: 1)
    for value in values { try output.write(json: JSONText.line(value)) }
    try output.flush()
  }

  /// Throws exit code 1, which means "findings", unless `--exit-zero` is given.
  func exitWithFindings() throws {
    if !exitZero { throw ExitCode(1) }
  }

  /// Lists findings of damage on standard error: the first five findings or, with `-v`, all.
  func note(_ findings: [Finding]) {
    let damage = findings.filter { $0.severity == .damage }
    let maxShown = verbose > 0 ? damage.count : 5
    for finding in damage.prefix(maxShown) { note("finding: " + FindingText.line(finding)) }
    if damage.count > maxShown {
      note("finding: and \(Quantity.count(damage.count - maxShown)) more (-v names them)")
    }
  }
}

extension ArgumentHelp {
  static var store: ArgumentHelp {
    "A store, a folder or archive that holds one, the folder of an incident, or a bundle."
  }
}

/// The options that say which rows are read, with which model, and how the rows are written.
struct RowOptions: ParsableArguments {
  @Option(
    name: .long, help: "Only this entity (in a plain SQLite file: this table); may be repeated.")
  var entity: [String] = []

  @Option(
    name: .long,
    help: "The maximum number of rows; for text and lifeboat extract, the maximum for each entity.")
  var limit: Int?

  @Option(name: .long, help: "How binary values are written in JSON: hex, summary or decoded.")
  var blobs: BlobForm = .hex

  @Flag(
    name: .long,
    help:
      "Show what binary values are (property lists, archives, texts, images), as --blobs decoded does."
  )
  var decode = false

  @Flag(
    name: .customLong("spreadsheet-safe"),
    help: "Put an apostrophe before CSV cells that a spreadsheet would take for formulas.")
  var spreadsheetSafe = false

  @Option(
    name: .long,
    help: "Only attributes and relationships that this allow-list names, as ENTITY.ATTRIBUTE.",
    completion: .file())
  var allow: String?

  @Option(
    name: .long, help: "Use this model instead of the one in the store.", completion: .file())
  var model: String?

  @Option(name: .customLong("model-version"), help: "The version of --model to use.")
  var modelVersion: String?

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit takes a number of rows, 0 or more.") }
  }

  var output: RowOutput.Options {
    .init(
      entityNames: entity.isEmpty ? nil : entity, limit: limit,
      blobs: decode ? .decoded : blobs,
      isSafeForSpreadsheets: spreadsheetSafe)
  }

  /// Returns `value` as text for a cell of a table. With `--decode` or `--blobs decoded`, a blob is summarised.
  func cell(_ value: PropertyValue) -> String {
    guard decode || blobs == .decoded, case .binary(let bytes) = value else {
      return CellText.text(value)
    }
    return BlobContent(bytes).summary(sizeBytes: bytes.count)
  }

  /// The model that `--model` names; nil without the option. If files beside the model could not be read, lists them on
  /// standard error.
  func givenModel(_ display: DisplayOptions) throws -> ManagedObjectModel? {
    try model.map { try display.model(at: $0, version: modelVersion).model }
  }

  /// Opens a store with the model and the allow-list that the options name.
  ///
  /// - Throws: a failure when `--allow` is given for a store without entities.
  func open(
    _ path: String, _ store: StoreOptions, _ display: DisplayOptions
  ) throws -> CoreDataStore {
    let opened = try CoreDataStore(path: path, model: givenModel(display), logView: store.wal)
    guard let allow else { return opened }
    let list = try AllowList(contentsOf: allow)
    guard opened.kind != .sqlite else {
      throw Failure(
        64, "usage.noChoice", "--allow names attributes of entities, but \(path) is plain SQLite",
        hint: "to choose columns of a table, use: lifeboat rows --columns")
    }
    try list.check(against: opened)
    opened.shows = { list.allows($0, of: $1) }
    return opened
  }
}

/// The option that says which part of the write-ahead log is read.
struct StoreOptions: ParsableArguments {
  @Option(
    name: .long,
    help: "Which frames of the write-ahead log to use: committed, ignore or all.")
  var wal: SQLiteDatabase.LogView = .committed
}

/// The option that says how progress is shown on standard error during long work.
struct ProgressOptions: ParsableArguments {
  @Option(
    name: .long, help: "How progress is shown: auto, plain, json or none.")
  var progress: ProgressMode = .auto

  /// A meter for the progress of one operation. With `--quiet` and without `--progress`, it prints nothing.
  func meter(_ operation: String, unit: ProgressUnit, _ display: DisplayOptions) -> ProgressMeter {
    ProgressMeter(
      operation: operation, total: nil, unit: unit,
      mode: display.quiet && progress == .auto ? .none : progress)
  }
}

/// Encodes the values that the commands write as JSON.
enum JSONText {
  /// A value as a JSON object on several lines, with sorted keys and ISO 8601 dates, and a line feed at the end.
  static func pretty(_ value: some Encodable) throws -> String {
    String(decoding: try data(value, [.prettyPrinted]), as: UTF8.self) + "\n"
  }

  /// A value as a JSON object on one line, with sorted keys and ISO 8601 dates, and a line feed at the end.
  static func line(_ value: some Encodable) throws -> String {
    String(decoding: try data(value), as: UTF8.self) + "\n"
  }

  /// Encodes a value as JSON with sorted keys and ISO 8601 dates. The JSON is on one line unless `more`, which adds
  /// options for the encoder, contains `.prettyPrinted`.
  static func data(
    _ value: some Encodable, _ more: JSONEncoder.OutputFormatting = []
  ) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = more.union([.sortedKeys, .withoutEscapingSlashes])
    encoder.dateEncodingStrategy = .iso8601
    return try encoder.encode(value)
  }
}

enum FindingText {
  /// A finding on one line: the message, then table, file, page and offset if they are known, and the finding's id.
  static func line(_ finding: Finding) -> String {
    var place: [String] = []
    if let table = finding.table { place.append(table) }
    if finding.member != .main { place.append("-\(finding.member.rawValue)") }
    if let page = finding.page { place.append("page \(Quantity.count(page))") }
    if let offset = finding.offset { place.append("offset \(Quantity.count(offset))") }
    let where_ = place.isEmpty ? "" : ", " + place.joined(separator: ", ")
    return VisibleText.visible(finding.message + where_) + " (\(finding.id.rawValue))"
  }

  /// Returns `line` as a line of a list, indented by two columns, wrapped to the terminal's width, and ended by a line
  /// feed.
  static func block(_ line: String, _ display: DisplayOptions) -> String {
    DisplayText.hanging(line, width: display.width, indent: 2, rest: 4)
  }
}
