import ArgumentParser
import CoreDataStore
import Foundation
import ObjectModel
import RowText
import SQLiteFile
import SQLiteForensics
import Quoting
import SafeText
import StoreExtraction
import Terminal

struct Rows: StoreReader {
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, json, ndjson, csv
  }

  static let configuration = CommandConfiguration(
    abstract: "Print the rows of a store.",
    discussion: """
      Examples: lifeboat rows Notes.sqlite --entity Note
                lifeboat rows --raw --format ndjson Notes.sqlite

      Without --raw: the rows of entities, with the names from the model in the store. With --raw: the rows of all \
      tables as SQLite stores them.

      Exit status: 1 when damage was found, or the backup that the store is in lacks files of the store, such as the \
      log (the rows that can be read are still printed); 65 when the file is not a readable store; 75 when it changed \
      while it was read.
      """)

  @Argument(help: .store, completion: .file())
  var path: String

  @Flag(
    name: .long, help: "Rows of tables as SQLite stores them, without the model's names and types.")
  var raw = false

  @Flag(
    name: .long,
    help: "Everything that can be read: rows of damaged pages, and deleted rows marked as such.")
  var all = false

  @Flag(name: .long, help: "Only rows that were deleted or replaced.")
  var deleted = false

  @Flag(
    name: .long,
    help: "Only values of lost rows that indexes and full-text tables still hold.")
  var indexed = false

  @Option(name: .long, help: "text, json, ndjson or csv; text by default.")
  var format: Format?

  @OptionGroup(title: "Choice of rows") var selection: SelectionOptions
  @OptionGroup var rows: RowOptions
  @OptionGroup var likes: LikeOptions
  @OptionGroup(title: "Encryption") var secrets: SecretOptions
  @OptionGroup var store: StoreOptions
  @OptionGroup var custody: CustodyOptions
  @OptionGroup(title: "Display") var display: DisplayOptions

  func validate() throws {
    guard likes.like.isEmpty || all || deleted else {
      throw ValidationError("--like needs --all or --deleted.")
    }
    guard !indexed || !all && !deleted else {
      throw ValidationError(
        "--indexed cannot be used with --all or --deleted, which show other rows.")
    }
    guard !indexed || format != .csv else {
      throw ValidationError(
        "--indexed cannot write csv, because indexes differ in their columns: use text, json or ndjson."
      )
    }
    guard !indexed || rows.allow == nil && !selection.isNeeded else {
      throw ValidationError("--indexed cannot be used with --allow, --where, --columns or --order.")
    }
    guard rows.allow == nil || !all && !deleted && !raw else {
      throw ValidationError(
        "--allow is for live rows of entities: leave out --all, --deleted and --raw.")
    }
    guard !selection.isNeeded || !all && !deleted else {
      throw ValidationError(
        "--where, --columns and --order are for live rows: leave out --all and --deleted."
      )
    }
  }

  func read(_ input: StoreInput) throws {
    let format = format ?? (display.json ? .json : .text)
    if let bundled = try BundledRows(input) {
      guard !selection.isNeeded, rows.allow == nil, !deleted, !indexed else {
        throw Failure(
          64, "usage.noChoice", "\(input.given) holds rows, but not the store that they come from",
          hint:
            "read the rows without --where, --columns, --order, --allow, --deleted and --indexed")
      }
      return try bundled.write(format, rows, display)
    }
    let path = try input.storePath()
    let argument = secrets.argument(input.shown(path))
    let watch = EvidenceWatch(path)
    let findings: FindingList
    var isPartial = false
    if indexed {
      findings = try IndexedRows(
        path: path, format: format, options: rows, store: store, display: display
      ).run()
    } else if all || deleted {
      (findings, isPartial) = try RecoveredRows(
        path: path, argument: argument, selection: deleted ? .deleted : .all,
        raw: raw, format: format, options: rows, store: store, likes: likes, display: display
      ).run()
    } else if selection.isNeeded {
      let store = try rows.open(path, store, display)
      if raw, store.kind != .sqlite {
        throw Failure(
          64, "usage.noChoice",
          "--where, --columns and --order name attributes, not columns of raw rows",
          hint: "leave out --raw")
      }
      try ChosenRows(selection: selection, format: format, options: rows, display: display)
        .write(store)
      try display.noteFreelist(
        of: store.database, unless: store.database.findings.damageCount, for: argument)
      findings = store.findings
    } else if raw {
      findings = try writeRaw(of: path, argument, format)
    } else {
      findings = try writeEntities(of: path, argument, format)
    }
    try watch.requireUnchanged()
    display.note(findings.kept)
    if findings.damageCount > 0, !all, !deleted, !display.quiet {
      let repair = RepairCommand(forFileAt: path, logView: store.wal)
      display.note(RecoveryAdvice.note(for: argument, findings.kept, repair))
    }
    if findings.damageCount > 0 || isPartial { try display.exitWithFindings() }
  }

  // MARK: - Raw

  private func writeRaw(
    of path: String, _ argument: String, _ format: Format
  ) throws -> FindingList {
    let database = try SQLiteDatabase(path: path, logView: store.wal)
    let tables = try chosen(database)
    if let note = RowAdvice.notStored(tables) { display.note(note) }
    var rowCount = 0
    switch format {
    case .ndjson, .json:
      rowCount = try database.writeJSON(
        of: tables, as: format == .json ? .object : .lines, limit: rows.limit, to: 1
      ).reduce(0, +)
    case .csv:
      guard let table = tables.first, tables.count == 1 else {
        throw Failure(
          64, "usage.oneTable", "CSV holds one table, but \(tables.count) match the options",
          hint: try whichOne(tables.map(\.name), of: path))
      }
      rowCount = try database.writeCSV(
        of: table, limit: rows.limit, as: CSVForm(isSafeForSpreadsheets: rows.spreadsheetSafe),
        to: 1)
    case .text:
      for table in tables { rowCount += try writeText(table, of: database) }
    }
    if let note = RowAdvice.noRows(rowCount, rows) { display.note(note) }
    try display.noteFreelist(
      of: database, unless: database.findings.damageCount, for: argument)
    return database.findings
  }

  private func chosen(_ database: SQLiteDatabase) throws -> [Table] {
    guard !rows.entity.isEmpty else { return database.schema.tables }
    return try rows.entity.map { name in
      guard let table = database.schema.table(named: name) else {
        throw ExtractionError(
          .unknownName, "the store has no table \(name)", path: database.path,
          nearest: NearestName.of(name, among: database.schema.tables.map(\.name)))
      }
      return table
    }
  }

  // MARK: - Entities

  /// Prints the rows of the entities, and returns the findings about the file.
  private func writeEntities(
    of path: String, _ argument: String, _ format: Format
  ) throws -> FindingList {
    let coreData = try rows.open(path, store, display)
    guard coreData.kind != .sqlite else {
      display.note(
        "note: this is not a Core Data store; its tables follow as SQLite stores them (--raw)")
      return try writeRaw(of: path, argument, format)
    }
    var entities: [DescribedEntity] = []
    for table in coreData.entityTables { entities += try coreData.describedEntities(of: table) }
    // The text form needs the names of properties for its columns, and nothing in this store names them.
    if entities.isEmpty, format == .text, rows.entity.isEmpty {
      display.note(
        "note: nothing in the store names its entities; its tables follow as SQLite stores them (--raw)"
      )
      return try writeRaw(of: path, argument, format)
    }
    // CSV holds only one table, so the tables cannot be written as SQLite stores them.
    if entities.isEmpty, format == .csv, rows.entity.isEmpty {
      display.note(
        "note: nothing in the store names its entities, so _entity is empty; see the rows of one table with "
          + "--raw --entity TABLE")
    }
    let plain = coreData.plainTables
    for name in rows.entity where !entities.contains(where: { $0.name == name }) {
      if plain.contains(where: { $0.name == name }) { throw RowAdvice.isTable(name) }
      throw ExtractionError(
        .unknownName,
        "the store has no entity \(name); "
          + (entities.isEmpty
            ? "nothing in the store names its entities" : "it has \(names(entities))"),
        path: path,
        nearest: NearestName.of(name, among: entities.map(\.name)))
    }
    let options = rows.output
    let numbers = options.entityNames.map(coreData.numbers(ofEntities:))
    entities = entities.filter { numbers?.contains($0.number) ?? true }
    // Rows whose entity number does not belong to their table are written unless entities are chosen. JSON needs no
    // preparation for them. CSV has columns for those that it writes, text has the number of all.
    let unknown =
      options.entityNames == nil && (format == .csv || format == .text)
      ? try coreData.unknownRows(amongFirst: format == .csv ? rows.limit : nil) : []
    var rowCount = 0
    switch format {
    case .ndjson, .json:
      rowCount = try RowOutput(options).writeJSON(
        of: coreData, as: format == .json ? .object : .lines, to: 1)
    case .csv:
      if let only = entities.first, entities.count == 1, unknown.isEmpty {
        rowCount = try RowOutput(options).writeCSV(of: only, in: coreData, to: 1)
      } else {
        rowCount = try RowOutput(options).writeCSV(
          of: entities, andUnknown: unknown, in: coreData, to: 1)
      }
    case .text:
      let limit = rows.limit ?? 50
      for entity in entities {
        rowCount += try writeText(
          RowText(entity.name, ["pk"] + entity.properties.map(\.name), limit: limit),
          of: [entity.name], coreData
        ) { $0.entityNumber == entity.number }
      }
      for rows in unknown {
        _ = try writeText(
          RowText(unknownEntitiesOf: rows.table.name, rows.properties.map(\.name), limit: limit),
          in: [rows.table], coreData
        ) { $0.entityName == nil }
      }
    }
    if rows.entity.isEmpty {
      if let note = try RowAdvice.leftOut(plain, of: coreData) { display.note(note) }
    }
    try display.noteFreelist(
      of: coreData.database, unless: coreData.database.findings.damageCount, for: argument)
    guard let note = RowAdvice.noRows(rowCount, rows) else { return coreData.findings }
    display.note(note)
    // A row with the number of the entity may be in the table of another entity.
    for other in try coreData.unknownRows() {
      coreData.note(
        other.counts.filter { number, _ in
          number.map { numbers?.contains($0) ?? false } ?? false
        }, in: other.table)
    }
    return coreData.findings
  }

  /// A hint on how to choose a table. It lists the tables with the number of rows of each, and then names a command
  /// that writes a file for each table.
  private func whichOne(_ names: [String], of path: String) throws -> String {
    let inspection = try StoreInspection(path: path, logView: store.wal, takesHashes: false)
    let counts = Dictionary(
      firstOf: inspection.entities.map { (ExactText($0.name), $0.rowCount) }
        + inspection.tables.map { (ExactText($0.name), $0.rowCount) })
    let filled = names.filter { counts[ExactText($0), default: 0] > 0 }
    let shown = (filled.isEmpty ? names : filled).prefix(12).map { name in
      let rows = Quantity.count(counts[ExactText(name), default: 0], "row")
      return "--entity \(ShellText.quoted(name)) (\(rows))"
    }
    let rest = max(filled.count, shown.count) - shown.count
    return "name one: \(shown.joined(separator: ", "))"
      + (rest > 0 ? " and \(Quantity.count(rest)) more" : "")
      + "; to write a file for each table, run: lifeboat extract --format csv \(secrets.argument(path)) -o DIR"
  }

  private func names(_ entities: [DescribedEntity]) -> String {
    let names = entities.map(\.name)
    return names.prefix(12).joined(separator: ", ") + (names.count > 12 ? ", …" : "")
  }

  // MARK: - Text

  /// Prints the rows of entities that `isWanted` chooses, and returns their number, including those beyond the limit.
  private func writeText(
    _ text: RowText, of names: [String]? = nil, in tables: [Table]? = nil,
    _ coreData: CoreDataStore, where isWanted: (ManagedRow) -> Bool
  ) throws -> Int {
    try display.write(text) { text in
      try coreData.forEachRow(of: names, in: tables) { row in
        if isWanted(row) {
          text.add {
            (row.entityName == nil ? [row.entityNumber.map { String($0) } ?? ""] : [])
              + [String(row.primaryKey)] + row.properties.map { rows.cell($0.value) }
          }
        }
        return true
      }
    }
  }

  private func writeText(_ table: Table, of database: SQLiteDatabase) throws -> Int {
    let names = table.columnNames
    let text = RowText(table.name, ["rowid"] + names, limit: rows.limit ?? 50)
    return try display.write(text, showsEmpty: true) { text in
      try database.forEachRow(of: table) { row in
        text.add {
          [row.rowID.map { String($0) } ?? ""]
            + row.values.prefix(names.count).map { rows.cell(PropertyValue($0, isDate: false)) }
        }
        return true
      }
    }
  }
}

/// Messages about the tables of a Core Data store that do not belong to the model, and about columns that are not
/// stored.
enum RowAdvice {
  static func isTable(_ name: String) -> Failure {
    Failure(
      64, "usage.oneEntity", "\(name) is a table, not an entity", hint: "add --raw to print tables")
  }

  /// Returns a note that the entities or tables that the user has named have no rows, or none that fit the words in
  /// `condition`. Nil if there are such rows, or if none are wanted.
  static func noRows(_ count: Int, _ options: RowOptions, condition: String = "") -> String? {
    guard count == 0, !options.entity.isEmpty, options.limit != 0 else { return nil }
    return "note: there are no rows of \(shown(options.entity))\(condition)"
  }

  /// Returns a note that names those of `tables` that have rows, because the output leaves these rows out. Nil if all
  /// of `tables` are empty.
  static func leftOut(_ tables: [Table], of store: CoreDataStore) throws -> String? {
    leftOut(try tables.filter { try store.database.rowCount(of: $0).count > 0 }.map(\.name))
  }

  /// A note that some columns are empty in the output. The file does not contain these columns, because SQLite computes
  /// them when it reads a row. Nil when no table has computed columns.
  static func notStored(_ tables: [Table]) -> String? {
    notStored(tables.map { ($0.name, $0.definition) })
  }

  /// A note that some columns are empty in the output. The file does not contain these columns, because SQLite computes
  /// them when it reads a row. Nil when no table has computed columns. Tables without a readable definition are not
  /// named.
  static func notStored(_ tables: [(name: String, definition: TableDefinition?)]) -> String? {
    let names = tables.flatMap { name, definition in
      (definition?.columns ?? []).lazy.filter { $0.generation == .virtual }
        .map { "\(name).\($0.name)" }
    }
    guard !names.isEmpty else { return nil }
    return
      "note: columns that SQLite computes when it reads a row are left empty here: \(shown(names))"
  }

  /// A note that the rows of the named tables are left out; nil when there are no names.
  static func leftOut(_ names: [String]) -> String? {
    guard let first = names.first else { return nil }
    return
      "note: rows of \(Quantity.count(names.count, "table")) outside the model are left out: \(shown(names)); "
      + "see them with --raw --entity \(ShellText.quoted(first))"
  }

  private static func shown(_ names: [String]) -> String {
    names.prefix(5).map(VisibleText.visible).joined(separator: ", ")
      + (names.count > 5 ? " and \(Quantity.count(names.count - 5)) more" : "")
  }
}

/// Formats rows as text: as a table if the columns fit side by side, else as a block of lines for each row.
struct RowText {
  private let title: String
  private let names: [String]
  private let limit: Int
  private var rows: [[String]] = []
  /// The number of rows, including those beyond the limit, which are counted but not shown.
  var count = 0

  /// The minimum width of a column, in columns of the terminal. If the columns do not fit, each row is shown as a
  /// block.
  private static let minimumColumnWidth = 14

  init(_ title: String, _ names: [String], limit: Int) {
    self.title = title
    self.names = names
    self.limit = limit
  }

  /// Formats rows of the table named `table` whose entity number does not belong to this table. The cells of each row
  /// begin with the entity number and the primary key.
  init(unknownEntitiesOf table: String, _ names: [String], limit: Int) {
    self.init("unknown entity in \(table)", ["entityNumber", "pk"] + names, limit: limit)
  }

  /// Counts a row, and keeps the texts of its cells if the row is within the limit. `cells` returns these texts.
  mutating func add(_ cells: () -> [String]) {
    count += 1
    if count <= limit { rows.append(cells()) }
  }

  func text(_ display: DisplayOptions) -> String {
    var text = display.style.apply(VisibleText.visible(title), .bold)
    text += ", \(Quantity.count(count, "row"))\n"
    if names.count * Self.minimumColumnWidth <= display.width {
      var table = TextTable(
        names.enumerated().map { .init($1, $0 == 0 ? .trailing : .leading, isFlexible: $0 > 0) })
      for row in rows { table.add(row) }
      if !rows.isEmpty { text += table.text(width: display.width, style: display.style) }
    } else {
      for row in rows {
        var block = KeyValueBlock()
        for (name, cell) in zip(names, row) where !cell.isEmpty {
          block.add(name, DisplayText.truncated(cell, to: display.width * 3))
        }
        text += block.text(width: display.width, style: display.style) + "\n"
      }
    }
    if count > rows.count {
      text +=
        "\(Quantity.count(rows.count)) of \(Quantity.count(count)) rows shown; --limit shows more\n"
    }
    return text + "\n"
  }
}

extension DisplayOptions {
  /// Prints the rows that `read` adds to `text`, and returns their number, including those beyond the limit. If there
  /// are no rows, prints nothing unless `showsEmpty` is true.
  func write(
    _ text: RowText, showsEmpty: Bool = false, _ read: (inout RowText) throws -> Void
  ) throws -> Int {
    var text = text
    let reading = Result { try read(&text) }
    if text.count == 0 { try reading.get() }
    // If the device fails, the rows that were read before are shown.
    if text.count > 0 || showsEmpty { try write(text.text(self)) }
    try reading.get()
    return text.count
  }
}

/// The texts that cells show for values. The text for NULL is empty.
enum CellText {
  static func text(_ value: PropertyValue) -> String {
    switch value {
    case .null: ""
    case .integer(let number): String(number)
    case .real(let number): number.description
    case .boolean(let flag): flag ? "true" : "false"
    case .string(let text): text.string
    case .date(let date): date.iso8601 ?? "\(date.seconds) s since 2001"
    case .uuid(let bytes): UUIDText.string(bytes)
    case .binary(let bytes): Quantity.count(bytes.count, "byte")
    case .external(let blob):
      blob.sizeBytes.map { "\(Quantity.count($0, "byte")) in a file" }
        ?? blob.unreadable.map { "file \(blob.identifier) cannot be read: \($0)" }
        ?? "file \(blob.identifier) is missing"
    case .toOne(let reference): "\(reference.entityName ?? "?") \(reference.primaryKey)"
    case .toMany(let references): references.map { String($0.primaryKey) }.joined(separator: " ")
    }
  }

  static func text(_ value: StoredValue) -> String { text(PropertyValue(value, isDate: false)) }
}
