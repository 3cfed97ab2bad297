import ArgumentParser
import CoreDataStore
import RowText
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

struct Compare: ParsableCommand, RecordedCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what differs between two stores, row by row.",
    discussion: """
      Examples: lifeboat compare Old.sqlite New.sqlite
                lifeboat compare Old.sqlite New.sqlite --entity Note --format ndjson

      Exit status: 0 when nothing differs, 1 when something does or damage was found; 65 when a file is not a \
      readable store; 75 when one changed while it was read.
      """)

  @Argument(
    help: "The older store, or a folder, archive or bundle that holds it.", completion: .file())
  var old: String

  @Argument(
    help: "The newer store, or a folder, archive or bundle that holds it.", completion: .file())
  var new: String

  @Option(name: .long, help: "text, json or ndjson; text by default.")
  var format: Check.Format?

  @Option(name: .long, help: "Only rows of this entity or table; may be repeated.")
  var entity: [String] = []

  @Option(name: .long, help: "The maximum number of rows to list; all are counted.")
  var limit: Int?

  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  var evidencePaths: [String] { [old, new] }

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("--limit takes a number of rows, 0 or more.") }
  }

  func run() throws {
    try StoreInput.reading(old, secrets, display) { old in
      try StoreInput.reading(new, secrets, display) { new in try compare(old, new) }
    }
  }

  private func compare(_ oldInput: StoreInput, _ newInput: StoreInput) throws {
    let (old, new) = (try oldInput.storePath(), try newInput.storePath())
    let watches = [EvidenceWatch(old), EvidenceWatch(new)]
    let comparison = try StoreComparison(
      old, new, entityNames: entity.isEmpty ? nil : entity, logView: store.wal)
    comparison.names = (oldInput.shown(old), newInput.shown(new))
    let report: StoreComparison.Report
    switch format ?? (display.json ? .json : .text) {
    case .text:
      var text = ComparisonText(limit: limit ?? 50)
      report = try comparison.run { row in
        text.add(row, comparison.properties(of: row))
        return text.wantsMore
      }
      try display.write(text.text(report, display))
    case .json: report = try comparison.writeJSON(as: .object, limit: limit, to: 1)
    case .ndjson: report = try comparison.writeJSON(as: .lines, limit: limit, to: 1)
    }
    for watch in watches { try watch.requireUnchanged() }
    for (_, list) in comparison.findings { display.note(list.kept) }
    if !report.isEqual || report.damageCount > 0 { try display.exitWithFindings() }
  }
}

struct ComparisonText {
  private let limit: Int
  private var rows: [String] = []

  init(limit: Int) { self.limit = limit }

  var wantsMore: Bool { rows.count < limit }

  /// Adds a row that differs. Does nothing when the text has the maximum number of rows.
  mutating func add(_ row: StoreComparison.Row, _ properties: [StoreComparison.ChangedProperty]) {
    guard wantsMore else { return }
    let mark = ["added": "+", "removed": "-"][row.kind] ?? "~"
    var line = "  \(mark) \(row.entity ?? row.table)"
    if let rowID = row.rowID { line += " \(rowID)" }
    if row.kind != "changed" {
      let values = properties.compactMap { property -> ManagedRow.Property? in
        guard case .value(let value)? = property.new ?? property.old else { return nil }
        return ManagedRow.Property(name: property.name, value: value)
      }
      if let title = RowTitle.title(of: values) { line += "  " + Self.quoted(title) }
      return rows.append(VisibleText.visible(line))
    }
    let changes = properties.map { property in
      "\(property.name): \(Self.text(property.old)) → \(Self.text(property.new))"
    }
    if changes.count == 1 { return rows.append(VisibleText.visible(line + "  " + changes[0])) }
    rows.append(
      ([VisibleText.visible(line)] + changes.map { "      " + VisibleText.visible($0) })
        .joined(separator: "\n"))
  }

  private static func quoted(_ text: String) -> String {
    "\"" + String(text.unicodeScalars.prefix(60)) + (text.unicodeScalars.count > 60 ? "…" : "")
      + "\""
  }

  private static func text(_ value: StoreComparison.Value?) -> String {
    switch value {
    case nil: "not there"
    case .long(let size, let isText)?:
      Quantity.count(size, "byte") + (isText ? " of text" : "")
    case .value(.null)?: "nothing"
    case .value(.string(let text))?: quoted(text.string)
    case .value(let value)?: CellText.text(value)
    }
  }

  /// A metadata value as text. A value of more than 44 characters, such as a hash, is cut to its first 12 characters.
  private func short(_ value: String?) -> String {
    guard let value else { return "nothing" }
    return value.count > 44 ? value.prefix(12) + "…" : value
  }

  func text(_ report: StoreComparison.Report, _ display: DisplayOptions) -> String {
    var lines: [String] = []
    for change in report.schemaChanges {
      var line = "\(change.change) \(change.type) \(change.name)"
      if change.type == "column", change.change == "changed" {
        line += " from \(change.old ?? "") to \(change.new ?? "")"
      }
      lines.append(VisibleText.visible(line))
    }
    for change in report.metadataChanges {
      let (was, now) = (short(change.old), short(change.new))
      lines.append(VisibleText.visible("\(change.name): \(was) became \(now)"))
    }
    if !report.tables.isEmpty {
      var table = TextTable([
        .init("Table", .leading, isFlexible: true), .init("Added", .trailing),
        .init("Removed", .trailing), .init("Changed", .trailing), .init("Before", .trailing),
        .init("After", .trailing), .init("", .leading, isFlexible: true),
      ])
      for difference in report.tables {
        table.add([
          difference.table, Quantity.count(difference.addedCount),
          Quantity.count(difference.removedCount), Quantity.count(difference.changedCount),
          Quantity.count(difference.oldRowCount), Quantity.count(difference.newRowCount),
          difference.problem ?? "",
        ])
      }
      lines.append(table.text(width: display.width, style: display.style))
      lines += rows
      let total = report.addedCount + report.removedCount + report.changedCount
      if total > rows.count {
        lines.append(
          "\(Quantity.count(rows.count)) of \(Quantity.count(total)) rows shown; --limit shows more"
        )
      }
    }
    if report.isEqual { lines.append("no difference") }
    let (old, new) = (report.old, report.new)
    if old.pageCount != new.pageCount {
      lines.append(
        "pages: \(Quantity.count(old.pageCount)) before, \(Quantity.count(new.pageCount)) after")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
