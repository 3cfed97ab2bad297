import CoreDataStore
import RowText
import SQLiteFile
import SQLiteForensics
import StoreExtraction
import Terminal

/// The part of `lifeboat rows` that handles `--indexed`. It writes the values of rows that are gone from their tables,
/// but whose values are still in an index or a full-text table.
struct IndexedRows {
  let path: String
  let format: Rows.Format
  let options: RowOptions
  let store: StoreOptions
  let display: DisplayOptions

  /// Searches indexes and full-text tables for values of lost rows, and writes these values to standard output.
  /// - Returns: the findings about the file that were made during the reading.
  func run() throws -> FindingList {
    let damaged = try DamagedStore(
      path: path, logView: store.wal, model: options.givenModel(display))
    let database = damaged.database
    let wanted = try wanted(in: damaged)
    let (count, notes) =
      format == .text ? try writeText(database, wanted) : try writeJSON(database, wanted)
    if count == 0 { display.note("note: no index or full-text table holds a value of a lost row") }
    for note in notes.texts { display.note("note: not searched: \(note)") }
    return database.findings
  }

  private func writeText(
    _ database: DamagedDatabase, _ wanted: Set<SQLName>?
  ) throws -> (count: Int, notes: IndexedSearchNotes) {
    var failure: (any Error)?
    var count = 0
    var block: (title: String, text: RowText)?
    func endBlock() throws {
      guard let text = block?.text else { return }
      try display.write(text.text(display))
      block = nil
    }
    let notes = try database.forEachIndexedValues { found in
      guard wanted?.contains(SQLName(found.table)) ?? true else { return true }
      let title = Self.title(found)
      if block.map({ !ExactText.isSame($0.title, title) }) ?? true {
        do { try endBlock() } catch {
          failure = error
          return false
        }
        let names = ["rowid", "found in"] + found.values.map(\.column)
        block = (title, RowText(title, names, limit: options.limit ?? 50))
      }
      block?.text.add {
        [String(found.rowID), Self.words(found.place)]
          + found.values.map { options.cell(PropertyValue($0.value, isDate: false)) }
      }
      count += 1
      return true
    }
    if let failure { throw failure }
    try endBlock()
    return (count, notes)
  }

  private func writeJSON(
    _ database: DamagedDatabase, _ wanted: Set<SQLName>?
  ) throws -> (count: Int, notes: IndexedSearchNotes) {
    let form = format == .json ? JSONForm.object : .lines
    var output = OutputBuffer(descriptor: 1)
    // If the device fails, the rows that were read before are written.
    defer { output.flush() }
    var count = 0
    if form == .object { output.append(form.opening) }
    let notes = try database.forEachIndexedValues { found in
      guard wanted?.contains(SQLName(found.table)) ?? true else { return true }
      guard count < options.limit ?? .max else { return false }
      if form == .object, count > 0 { output.append(",\n") }
      append(found, to: &output)
      output.append(form == .object ? "}" : "}\n")
      count += 1
      return !output.isBroken
    }
    if form == .object { output.append(form.closing) }
    try output.finish()
    return (count, notes)
  }

  private func append(_ found: IndexedValues, to output: inout OutputBuffer) {
    output.append("{\"table\":")
    output.append(jsonString: found.table)
    output.append(",\"rowid\":")
    output.append(integer: found.rowID)
    output.append(",\"state\":\"indexed\",\"index\":")
    output.append(jsonString: found.index)
    output.append(",\"place\":\"\(found.place.rawValue)\"")
    let properties = found.values.map { value in
      ManagedRow.Property(name: value.column, value: PropertyValue(value.value, isDate: false))
    }
    output.append(valuesOf: properties, blobs: options.output.blobs)
    guard let origin = found.origin else { return }
    output.append(",\"member\":\"\(origin.member.rawValue)\",\"page\":\(origin.page),\"offset\":")
    output.append(integer: origin.offset)
  }

  /// The names of the tables, including full-text tables, that the options name. Nil if the options name no table.
  ///
  /// - Throws: `input.unknownName` for a name that is neither an entity nor a table.
  private func wanted(in damaged: DamagedStore) throws -> Set<SQLName>? {
    guard !options.entity.isEmpty else { return nil }
    let names = Set(options.entity.map { SQLName($0) })
    let virtual = Set(
      damaged.database.schemaEntries.filter { $0.type == "table" && $0.rootPage == 0 }
        .map { SQLName($0.name) })
    var output = RecoveredRowOutput(damaged)
    output.names = options.entity.filter { !virtual.contains(SQLName($0)) }
    let tables = try output.tableNames() ?? []
    return names.intersection(virtual).union(tables.map { SQLName($0) })
  }

  private static func title(_ found: IndexedValues) -> String {
    found.table
      + (found.place == .words ? ", words of lost rows" : ", by the index \(found.index)")
  }

  private static func words(_ place: IndexedValues.Place) -> String {
    switch place {
    case .entry: "entry"
    case .gap: "free space"
    case .freePage: "free page"
    case .words: "words"
    }
  }
}
