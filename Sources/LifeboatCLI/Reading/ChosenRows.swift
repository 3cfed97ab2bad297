import ArgumentParser
import CoreDataStore
import RowText
import SQLiteFile
import SafeText
import StoreExtraction
import Terminal

/// The options that choose the rows to print, their columns and their order.
struct SelectionOptions: ParsableArguments {
  @Option(
    name: .customLong("where"),
    help: "Only rows for which this predicate holds, such as 'title CONTAINS[c] \"milk\"'.")
  var condition: String?

  @Option(
    name: .long,
    help: "Only these attributes and relationships, separated by commas, in this order.")
  var columns: [String] = []

  @Option(
    name: .long, parsing: .unconditionalSingleValue,
    help: "Sort by this attribute, or by several separated by commas; -NAME puts the highest first."
  )
  var order: [String] = []

  /// Whether the user has given an option that chooses rows, columns or their order.
  var isNeeded: Bool { condition != nil || !columns.isEmpty || !order.isEmpty }

  private static func names(_ lists: [String]) -> [String] {
    lists.flatMap { list in
      list.utf8.split(separator: UInt8(ascii: ",")).map { String(decoding: $0, as: UTF8.self) }
    }
  }

  /// Converts the options to a value that selects rows. `limit` is the maximum number of rows; nil for no limit. Throws
  /// when the predicate cannot be parsed.
  func rows(limit: Int?) throws -> SelectedRows {
    var rows = SelectedRows()
    rows.condition = try condition.map { try RowCondition($0) }
    rows.columns = Self.names(columns)
    rows.order = Self.names(order).map { SelectedRows.Order($0) }
    rows.limit = limit
    return rows
  }
}

/// The part of `lifeboat rows` that handles `--where`, `--columns` and `--order`.
struct ChosenRows {
  let selection: SelectionOptions
  let format: Rows.Format
  let options: RowOptions
  let display: DisplayOptions

  func write(_ store: CoreDataStore) throws {
    let output = options.output
    let isText = format == .text
    let chosen = try selection.rows(limit: isText ? options.limit ?? 50 : options.limit)
    let sources = named(try chosen.sources(in: store, output.entityNames))
    var rowCount = 0
    switch format {
    case .text:
      for source in sources {
        // Rows beyond the limit are counted, but they are not shown.
        let names = chosen.names(source)
        let isUnknown = source.kind == .unknownEntities
        let text =
          isUnknown
          ? RowText(unknownEntitiesOf: source.name, names, limit: .max)
          : RowText(source.name, [source.isEntity ? "pk" : "rowid"] + names, limit: .max)
        rowCount += try display.write(text) { text in
          text.count = try chosen.forEachRow(of: source, in: store) { row in
            text.add {
              (isUnknown ? [row.entityNumber.map { String($0) } ?? ""] : [])
                + [row.key.map { String($0) } ?? ""]
                + row.properties.map { options.cell($0.value) }
            }
            return true
          }
        }
      }
    case .json, .ndjson:
      var target = OutputBuffer(descriptor: 1)
      let form: JSONForm = format == .json ? .object : .lines
      if form == .object { target.append(form.opening) }
      var isFirst = true
      // If the condition cannot be evaluated, nothing is written, because the buffer is flushed only after a first row.
      defer { if !isFirst { target.flush() } }
      rowCount = try forEachRow(of: sources, chosen, in: store) { row, source, _ in
        if !isFirst, form == .object { target.append(",\n") }
        isFirst = false
        target.append(json: row, of: source, blobs: output.blobs)
        if form == .lines { target.append("\n") }
        return !target.isBroken
      }
      if form == .object { target.append(form.closing) }
      try target.finish()
    case .csv:
      let isOne = sources.count == 1
      guard let first = sources.first, isOne || sources.allSatisfy(\.isEntity) else {
        throw Failure(
          64, "usage.oneTable",
          "CSV can hold rows of only one table, but \(sources.count) match the options",
          hint: "name one table with --entity")
      }
      // All rows have the columns that the user has chosen.
      let shared = isOne || !chosen.columns.isEmpty ? nil : SharedColumns(sources)
      var target = OutputBuffer(descriptor: 1)
      target.append(
        csvHeader: (isOne ? [first.isEntity ? "_pk" : "_rowid"] : ["_entity", "_pk"])
          + (shared?.names ?? chosen.names(first)), output.csv)
      let places = shared.map { shared in sources.map { shared.places(of: $0.properties) } }
      var isFirst = true
      defer { if !isFirst { target.flush() } }
      rowCount = try forEachRow(of: sources, chosen, in: store) { row, source, place in
        isFirst = false
        if isOne {
          target.append(csv: row, output.csv)
        } else {
          target.append(
            csv: row, of: source, at: places?[place], of: shared?.names.count ?? 0, output.csv)
        }
        return !target.isBroken
      }
      try target.finish()
    }
    let condition = selection.condition == nil ? "" : " that meet the condition"
    if let note = RowAdvice.noRows(rowCount, options, condition: condition) { display.note(note) }
  }

  /// Calls `receive` with each chosen row, its source, and the index of the source, until `receive` returns false. The
  /// limit applies to the rows of all sources together, as it does without `--where`, `--columns` and `--order`. Returns
  /// the number of rows.
  private func forEachRow(
    of sources: [SelectedRows.Source], _ chosen: SelectedRows, in store: CoreDataStore,
    _ receive: (_ row: SelectedRows.Row, _ source: SelectedRows.Source, _ place: Int) -> Bool
  ) throws -> Int {
    var chosen = chosen
    var rowCount = 0
    var goesOn = true
    for (place, source) in sources.enumerated() where goesOn && chosen.limit != 0 {
      let count = try chosen.forEachRow(of: source, in: store) { row in
        goesOn = receive(row, source, place)
        return goesOn
      }
      rowCount += count
      if let limit = chosen.limit { chosen.limit = max(0, limit - count) }
    }
    return rowCount
  }

  /// Returns `sources` without tables that were not asked for. Such a table is in `sources` because its name is
  /// canonically equivalent to a name that was asked for, and Swift's `==` treats the two names as equal, although
  /// their bytes differ.
  private func named(_ sources: [SelectedRows.Source]) -> [SelectedRows.Source] {
    let names = Set(options.entity.map { ExactText($0) })
    return sources.filter { source in
      source.isEntity || names.contains(ExactText(source.name))
        || !sources.contains { $0.name == source.name && names.contains(ExactText($0.name)) }
    }
  }
}
