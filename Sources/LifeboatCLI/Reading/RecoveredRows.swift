import CoreDataStore
import ObjectModel
import RowText
import SQLiteFile
import SQLiteForensics
import Quoting
import StoreExtraction
import Terminal

/// The part of `lifeboat rows` that handles `--all` and `--deleted`. It reads the file page by page.
struct RecoveredRows {
  let path: String
  /// The arguments that a suggested command repeats: the path, and the options that open the store.
  let argument: String
  let selection: DamagedDatabase.Selection
  let raw: Bool
  let format: Rows.Format
  let options: RowOptions
  let store: StoreOptions
  let likes: LikeOptions
  let display: DisplayOptions

  /// Prints the recovered rows to standard output.
  /// - Returns: the findings about the file, and whether any live row is partial.
  func run() throws -> (findings: FindingList, isPartial: Bool) {
    let damaged = try DamagedStore(
      path: path, logView: store.wal, like: likes.like, model: options.givenModel(display)
    ) { display.note($0) }
    var output = RecoveredRowOutput(damaged)
    output.names = options.entity.isEmpty ? nil : options.entity
    output.limit = options.limit
    output.blobs = options.output.blobs
    output.isSafeForSpreadsheets = options.output.isSafeForSpreadsheets
    var isRaw = raw
    if !raw, damaged.kind == .sqlite {
      display.note(
        "note: this is not a Core Data store; its tables follow as SQLite stores them (--raw)")
      isRaw = true
    }
    if !isRaw {
      let plain = output.plainTableNames
      let entities = output.entityNames
      // An entity and a table may have names that differ only in how Unicode composes their letters.
      let isPlain = { (name: String) in
        plain.contains { ExactText.isSame($0, name) }
          || plain.contains(name) && !entities.contains(name)
      }
      isRaw = !options.entity.isEmpty && options.entity.allSatisfy(isPlain)
      if !isRaw, let name = options.entity.first(where: isPlain) {
        throw RowAdvice.isTable(name)
      }
      if options.entity.isEmpty,
        let note = RowAdvice.leftOut(try output.tablesWithRows(selection, among: plain))
      {
        display.note(note)
      }
    }
    if isRaw {
      let names = try output.tableNames().map { Set($0.map { ExactText($0) }) }
      let tables = damaged.database.tables.filter { names?.contains(ExactText($0.name)) ?? true }
      if let note = RowAdvice.notStored(tables.map { ($0.name, $0.definition) }) {
        display.note(note)
      }
    }
    var isPartial = false
    switch (format, isRaw) {
    case (.ndjson, true), (.json, true):
      try damaged.database.writeJSON(
        selection, of: try output.tableNames(), as: format == .json ? .object : .lines,
        limit: options.limit, to: 1)
    case (.ndjson, false), (.json, false):
      isPartial = note(
        try output.writeJSON(selection, as: format == .json ? .object : .lines, to: 1))
    case (.csv, true):
      let names = try output.tableNames()
      let all = Set(damaged.database.tables.map { ExactText($0.name) })
      let table = try only(names ?? all.map(\.text))
      isPartial = note(try output.writeTableCSV(selection, of: table, to: 1))
    case (.csv, false):
      _ = try output.tableNames()
      let known = output.entityNames
      if let table = output.names?.first(where: { !known.contains($0) }) {
        throw RowAdvice.isTable(table)
      }
      let wanted = Set((output.names ?? known).map { ExactText($0) })
      isPartial = note(
        wanted.count == 1
          ? try output.writeCSV(selection, of: wanted.first?.text ?? "", to: 1)
          : try output.writeCSV(selection, ofEntities: output.names, to: 1))
    case (.text, true): isPartial = try writeTables(damaged, try output.tableNames())
    case (.text, false): isPartial = try writeEntities(output, damaged)
    }
    let findings = damaged.database.findings
    try display.noteFreelist(
      of: damaged.database.plain, unless: findings.damageCount, for: argument)
    return (findings, isPartial)
  }

  /// The only element of `names`. Throws `usage.oneTable` when `names` has no element or several.
  private func only(_ names: [String]) throws -> String {
    guard let name = names.first, names.count == 1 else {
      let shown = names.sorted().prefix(12).map { "--entity " + ShellText.quoted($0) }
      let rest = names.count - shown.count
      let flags = (selection == .deleted ? "--deleted" : "--all") + (raw ? " --raw" : "")
      throw Failure(
        64, "usage.oneTable", "CSV holds one table, but \(names.count) match the options",
        hint: "name one: \(shown.joined(separator: ", "))"
          + (rest > 0 ? " and \(Quantity.count(rest)) more" : "")
          + "; to write all tables as lines of JSON, run: lifeboat rows \(flags) --format ndjson \(argument)"
      )
    }
    return name
  }

  /// Prints a note on standard error if rows were left out. Returns whether any live row is partial.
  private func note(_ outcome: RecoveredRowOutput.Outcome) -> Bool {
    if let note = Self.leftOut(outcome.unattributedCount) { display.note(note) }
    noteCount(outcome.rowCount)
    return outcome.partialCount > 0
  }

  /// Prints a note on standard error if there are no rows of the entities or tables that the user has named.
  private func noteCount(_ count: Int) {
    let condition = selection == .deleted ? " that were deleted or replaced" : ""
    if let note = RowAdvice.noRows(count, options, condition: condition) { display.note(note) }
  }

  /// The note that says that `count` rows are left out because it is not certain which table they belong to. Nil when
  /// `count` is 0.
  static func leftOut(_ count: Int) -> String? {
    guard count > 0 else { return nil }
    return "note: \(Quantity.count(count, "row")) whose table is not certain "
      + "\(count == 1 ? "is" : "are") left out; --raw shows \(count == 1 ? "it" : "them")"
  }

  private func writeEntities(_ output: RecoveredRowOutput, _ damaged: DamagedStore) throws -> Bool {
    let limit = options.limit ?? 50
    var texts: [ExactText: RowText] = [:]
    // The rows of unknown entities, by the index of their table. They are printed last.
    var unknown: [Int: RowText] = [:]
    var output = output
    // In text, the limit applies to each entity separately.
    output.limit = nil
    let outcome = try output.forEachRow(selection) { row, columns, recovered in
      let cells = { () -> [String] in
        let values = zip(columns, row.properties).map { column, property in
          Self.partial(recovered, column) ?? options.cell(property.value)
        }
        return [
          recovered.key(of: row).map { row.isKeyInferred ? "\($0)?" : String($0) } ?? "?",
          recovered.origin.state?.rawValue ?? "",
        ] + values
      }
      if let name = row.entityName {
        texts[
          ExactText(name),
          default: RowText(
            name, ["pk", "state"] + row.properties.map(\.name), limit: limit)
        ].add(cells)
      } else if let place = recovered.origin.table ?? recovered.origin.guess {
        unknown[
          place,
          default: RowText(
            unknownEntitiesOf: damaged.database.tables[place].name,
            ["state"] + row.properties.map(\.name), limit: limit)
        ].add { [row.entityNumber.map { String($0) } ?? ""] + cells() }
      }
      return true
    }
    for name in texts.keys.sorted() { try display.write(texts[name]?.text(display) ?? "") }
    for place in unknown.keys.sorted() { try display.write(unknown[place]?.text(display) ?? "") }
    return note(outcome)
  }

  private func writeTables(_ damaged: DamagedStore, _ names: [String]?) throws -> Bool {
    let tables = damaged.database.tables
    func hasNames(_ place: Int) -> Bool { place >= 0 && tables[place].isDescribed }
    // The key of `texts` is the index of a table. Rows whose table is uncertain have the key -1, and are printed last.
    var texts: [Int: RowText] = [:]
    var isPartial = false
    try damaged.database.forEachRow(selection, of: names) { row in
      let place = row.origin.table ?? -1
      if texts[place] == nil {
        let columns =
          hasNames(place)
          ? tables[place].definition.columns.map(\.name) : (0..<16).map { "c\($0)" }
        texts[place] = RowText(
          place < 0 ? "uncertain table" : tables[place].name, ["rowid", "state"] + columns,
          limit: options.limit ?? 50)
      }
      if row.origin.state == nil, !row.partial.isEmpty { isPartial = true }
      texts[place]?.add {
        let width = hasNames(place) ? tables[place].definition.columns.count : 16
        var cells = row.values.prefix(width).enumerated().map { column, value in
          Self.partial(row, column) ?? options.cell(PropertyValue(value, isDate: false))
        }
        cells += Array(repeating: "", count: max(0, width - cells.count))
        return [row.rowID.map { String($0) } ?? "?", row.origin.state?.rawValue ?? ""] + cells
      }
      return true
    }
    for place in texts.keys.sorted(by: { ($0 < 0 ? .max : $0) < ($1 < 0 ? .max : $1) }) {
      try display.write(texts[place]?.text(display) ?? "")
    }
    noteCount(texts.values.reduce(0) { $0 + $1.count })
    return isPartial
  }

  /// The text that a cell shows in place of an incomplete or doubtful value; nil for a complete and certain value.
  static func partial(_ row: RecoveredRow, _ column: Int) -> String? {
    row.partial.first { $0.column == column }.map { value in
      let amount = "\(Quantity.count(value.have)) of \(Quantity.count(value.of, "byte"))"
      guard value.isDoubtful else { return "(\(amount))" }
      // Neither the type nor the length of the value is certain.
      if value.of == 0 { return "(in doubt)" }
      // When all bytes are there, nothing shows which of them are in doubt.
      return value.have == value.of
        ? "(\(Quantity.count(value.of, "byte")), in doubt)" : "(\(amount), the rest in doubt)"
    }
  }
}
