import Quoting
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

struct StatesText {
  let list: StateList
  let secrets: SecretOptions
  let display: DisplayOptions

  var text: String {
    var block = KeyValueBlock()
    block.add(PathText.lastComponent(of: list.path), head)
    if let size = commonSize { block.add("Size", size) }
    if list.states.contains(where: { $0.tables?.isEmpty == false }) {
      block.add(
        "Rows", "+ added, ~ changed, - removed" + (display.verbose > 0 ? "" : " (-v lists them)"))
    }
    if let shown = exportable { block.add("Next", next(shown)) }
    var text = block.text(width: display.width, style: display.style)
    if !list.states.isEmpty { text += "\n" + table }
    let hidden = list.stateCount - list.states.count
    if hidden > 0 {
      text += "and \(Quantity.count(hidden, "older state")) (--limit shows more)\n"
    }
    for (label, notes) in [("", notes), ("Also in the files", remainders)] where !notes.isEmpty {
      text += "\n" + (label.isEmpty ? "" : label + "\n")
      for note in notes { text += FindingText.block(note, display) }
    }
    if display.verbose > 0 { text += details }
    return text
  }

  private var head: String {
    let current = list.states.first { $0.isCurrent }.map { "; SQLite reads state \($0.state)" }
    return Quantity.count(list.stateCount, "state") + (current ?? "")
  }

  /// The newest complete state other than the current state; nil if the list contains no such state. The current state
  /// is the one that SQLite reads.
  private var exportable: StoreState? {
    list.states.last { !$0.isCurrent && $0.isWhole }
  }

  private func next(_ state: StoreState) -> [KeyValueBlock.Suggestion] {
    let store = secrets.argument(list.path)
    return [
      .init(
        "lifeboat states export \(store) \(state.state) -o NEW.sqlite",
        "write this state as a file")
    ]
  }

  // MARK: - The table

  private var table: String {
    let hasTimes = list.states.contains { $0.time != nil }
    let hasSizes = commonSize == nil
    var columns: [TextTable.Column] = [
      .init("State", .trailing), .init("From"), .init("Pages", .trailing),
    ]
    if hasSizes { columns.append(.init("Size", .trailing)) }
    if hasTimes { columns.append(.init("Time in UTC")) }
    columns.append(.init("Rows", isFlexible: true))
    var table = TextTable(columns)
    for state in list.states {
      let tone: Style.Tone? = state.isWhole ? state.isCurrent ? .bold : nil : .yellow
      var cells: [TextTable.Cell] = [
        .init(state.state + (state.isWhole ? "" : "?"), tone: tone), .init(state.source.rawValue),
        .init(state.writtenPageCount.map { Quantity.count($0) } ?? ""),
      ]
      if hasSizes { cells.append(.init(size(state))) }
      if hasTimes { cells.append(.init(state.time.map(Self.second) ?? "")) }
      cells.append(.init(changes(state)))
      table.add(cells)
    }
    return table.text(width: display.width, style: display.style)
  }

  /// The size of the database in words if all listed states have the same size; nil otherwise.
  private var commonSize: String? {
    let counts = Set(list.states.map(\.databasePageCount))
    guard counts.count == 1, let state = list.states.first, state.databasePageCount != nil else {
      return nil
    }
    return size(state)
  }

  private func size(_ state: StoreState) -> String {
    guard let count = state.databasePageCount else { return "none" }
    return Quantity.bytes(UInt64(count) * UInt64(max(0, list.pageSizeBytes)))
  }

  /// Shortens a time in ISO 8601 to the form `2026-11-20 21:53:07`.
  private static func second(_ time: String) -> String {
    let bytes = Array(time.utf8)
    guard bytes.count >= 19 else { return time }
    return String(decoding: bytes[..<10] + [UInt8(ascii: " ")] + bytes[11..<19], as: UTF8.self)
  }

  /// Returns the changes that led to a state, for example `Note +2 ~1`. Changes in tables of entities come before
  /// changes in other tables.
  private func changes(_ state: StoreState) -> String {
    guard let tables = state.tables else {
      return state.writtenPageCount == nil ? "" : "not known"
    }
    let entities = tables.filter { $0.entity != nil }
    // Core Data's own tables change whenever rows of entities do, so they are left out.
    let others = tables.filter { $0.entity == nil && (entities.isEmpty || !$0.isOwn) }
    var parts = (entities + others).map(Self.short)
    parts += state.tablesNotCompared.map { $0 + " written" }
    return parts.isEmpty ? "none" : parts.joined(separator: ", ")
  }

  private static func short(_ change: StoreState.Change) -> String {
    var text = change.entity ?? change.table
    if let what = change.tableChange { text += " " + what }
    for (mark, count) in [("+", change.added), ("~", change.changed), ("-", change.removed)]
    where count > 0 {
      text += " \(mark)\(Quantity.count(count))"
    }
    return text
  }

  // MARK: - Notes

  /// The findings about all listed states. A finding that several states have is listed once, with the names of these
  /// states.
  private var notes: [String] {
    var order: [String] = []
    var states: [ExactText: [String]] = [:]
    for state in list.states {
      for finding in state.findings {
        let line = FindingText.line(finding)
        let key = ExactText(line)
        if states[key] == nil { order.append(line) }
        states[key, default: []].append(state.state)
      }
    }
    return order.map { line in
      let names = states[ExactText(line)] ?? []
      let shown = names.count > 6 ? Array(names.prefix(3)) + ["…"] + names.suffix(1) : names
      return "state\(names.count == 1 ? "" : "s") \(shown.joined(separator: ", ")): \(line)"
    }
  }

  private var remainders: [String] {
    list.remainders.map { part in
      let frames = Quantity.count(part.frameCount, "frame")
      let pages = Quantity.count(part.pageCount ?? 0, "page")
      let commits = part.commitCount.map { ", with \(Quantity.count($0, "commit"))" } ?? ""
      switch part.kind {
      case "uncommitted":
        return "\(frames) of a transaction that was never finished, \(pages)"
      case "stale":
        return
          "\(frames) from before the last restart of the log\(commits): older versions of \(pages), not a whole database"
      case "journal":
        return
          "\(Quantity.count(part.frameCount, "page")) of earlier transactions in the journal, not a whole database"
      default:
        return
          "\(frames) in or after a transaction with a bad checksum\(commits): versions of \(pages), not a whole database"
      }
    }
      + (list.remainders.isEmpty
        ? []
        : [
          "to see the rows in these frames and pages, run: lifeboat rows --deleted "
            + secrets.argument(list.path)
        ])
  }

  // MARK: - Details

  /// Text that lists the changed tables of each state, with the row ids of the changed rows.
  private var details: String {
    var text = ""
    for state in list.states {
      guard let tables = state.tables, !tables.isEmpty else { continue }
      var block = KeyValueBlock()
      for change in tables {
        let parts = [
          ("added", change.added, change.addedKeys),
          ("changed", change.changed, change.changedKeys),
          ("removed", change.removed, change.removedKeys),
        ].filter { $0.1 > 0 }
          .map { "\(Quantity.count($0.1)) \($0.0)\(Self.keys($0.2, of: $0.1))" }
        block.add(
          change.table, ([change.tableChange].compactMap { $0 } + parts).joined(separator: "; "))
      }
      text += "\nState \(state.state)\n"
      for line in block.lines(width: display.width - 2, style: display.style) {
        text += "  " + line + "\n"
      }
    }
    return text
  }

  private static func keys(_ keys: [Int64], of count: Int) -> String {
    guard !keys.isEmpty else { return "" }
    return " (" + keys.map(String.init).joined(separator: ", ")
      + (keys.count < count ? ", …)" : ")")
  }

  // MARK: - An exported state

  static func text(
    _ manifest: StateManifest, _ secrets: SecretOptions, _ display: DisplayOptions
  ) -> String {
    var block = KeyValueBlock()
    block.add(
      "State \(manifest.state)",
      manifest.isWhole
        ? "whole; SQLite's integrity check found nothing wrong" : "may not be whole",
      tone: manifest.isWhole ? .green : .yellow)
    let pages = manifest.pages
    let parts = [
      (pages.main, "of the main file"), (pages.wal, "of the log"),
      (pages.journal, "of the journal"), (pages.missing, "missing, written as zeros"),
    ].filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    block.add("Pages", parts.joined(separator: ", "))
    if manifest.externalFileCount > 0 {
      block.add(
        "Files",
        "\(Quantity.count(manifest.externalFileCount, "file")) of external data beside the store, not exported"
      )
    }
    block.add(
      "Written",
      "\(manifest.output), \(Quantity.bytes(manifest.sizeBytes))")
    block.add("Manifest", StateManifest.path(for: manifest.output))
    block.add(
      "Next",
      [
        .init(
          "lifeboat compare \(ShellText.path(manifest.output)) \(secrets.argument(manifest.source))",
          "show what has changed since")
      ])
    return block.text(width: display.width, style: display.style)
  }
}
