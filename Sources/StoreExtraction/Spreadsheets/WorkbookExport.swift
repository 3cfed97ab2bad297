package import CoreDataStore
import RowText
import SQLiteFile

/// Writes rows into a workbook. Each entity or table that has rows gets a sheet. One additional sheet describes the
/// source of the rows.
struct WorkbookExport {
  private let source: ExportSource
  private let options: RowOutput.Options
  private let dates: LocalDates
  private let longValues: LongValues
  private let workbook: Workbook
  private let progress: RowProgress?
  private let provenance: Sheet

  private static let provenanceName = "_provenance"

  struct Written {
    var parts: [StoreExport.Result.Part] = []
    fileprivate(set) var sheets: [Sheet] = []
    var invalidTextCount = 0
  }

  init(
    _ source: ExportSource, _ options: RowOutput.Options, _ dates: LocalDates,
    _ longValues: LongValues, _ workbook: Workbook, _ progress: RowProgress?
  ) {
    self.source = source
    self.options = options
    self.dates = dates
    self.longValues = longValues
    self.workbook = workbook
    self.progress = progress
    // The sheet is named before all others, so that no entity can take its name.
    provenance = Sheet(
      SheetPlan(table: Self.provenanceName, names: ["key", "value"]), in: workbook, among: 1)
  }

  func writeRows() throws -> Written {
    // All sheets get their names before the first row is read, so that the names do not depend on the rows.
    let entities = try entitySheets()
    let tables = try tableSheets()
    var written = Written()
    for place in entities {
      let rows = SheetRows(
        place.plan, place.renderings, to: place.targets, limit: options.limit, newSink(),
        noteExternal: source.external.note)
      try rows.read(place.plan.table, of: source.store, progress)
      written.invalidTextCount += rows.invalidTextCount
      for entity in place.plan.describedEntities {
        if let sheet = place.targets.entities[entity.number] { written.add(sheet, entity.name) }
      }
      if let others = place.targets.others, others.rowCount > 0 {
        written.add(others, place.plan.table.name)
      }
    }
    for (table, sheet) in tables {
      let rows = SheetRows(
        nil, [:], to: SheetRows.Targets(others: sheet), limit: options.limit, newSink()
      ) { _, _ in }
      try rows.read(table, of: source.store, progress)
      written.invalidTextCount += rows.invalidTextCount
      written.add(sheet, table.name)
    }
    return written
  }

  /// Completes the workbook. Writes `facts` about the source of the rows into a sheet of their own, and then writes the
  /// parts that list the sheets.
  func end(_ written: Written, _ facts: [(String, String)]) throws {
    var sink = newSink()
    sink.turn(to: provenance)
    for (key, value) in facts {
      sink.beginRow(nil)
      for text in [key, value] {
        let bytes = ContiguousArray(text.utf8)
        sink.text(bytes.rawSpan)
      }
      sink.endRow()
    }
    sink.finish()
    if let failure = sink.failure { throw failure }
    try provenance.end()
    try workbook.end(written.sheets + [provenance])
  }

  private func newSink() -> SheetRowSink {
    SheetRowSink(
      storePath: source.store.database.path, dates, longValues, options.blobs)
  }

  // MARK: - Sheets

  /// A table with rows of entities, and the sheets for these rows.
  private struct EntitySheets {
    let plan: RowPlan
    let renderings: [Int64: EntityRendering]
    let targets: SheetRows.Targets
  }

  private func entitySheets() throws -> [EntitySheets] {
    let store = source.store
    let wanted = options.entityNames.map(store.numbers(ofEntities:))
    var all: [EntitySheets] = []
    for table in store.entityTables {
      guard let plan = try store.plan(for: table, wanted: nil) else { continue }
      let renderings = plan.entities.mapValues { EntityRendering($0, plan, store.entityNames) }
      let entities = plan.entities.filter { wanted?.contains($0.key) ?? true }
      let openCount = min(entities.count + 1, SheetRows.maxOpenSheets)
      var targets = SheetRows.Targets()
      for (number, entity) in entities.sorted(by: { $0.key < $1.key }) {
        guard let rendering = renderings[number] else { continue }
        targets.entities[number] = Sheet(
          SheetPlan(rendering, name: entity.name, linkNames: entity.links.map(\.name)),
          in: workbook, among: openCount)
      }
      if wanted == nil {
        let rendering = EntityRendering(unknownEntitiesOf: plan)
        targets.others = Sheet(
          SheetPlan(rendering, name: table.name + "-unknown"), in: workbook, among: openCount)
      }
      all.append(EntitySheets(plan: plan, renderings: renderings, targets: targets))
    }
    return all
  }

  private func tableSheets() throws -> [(table: Table, sheet: Sheet)] {
    try source.tables.map { table in
      let names = try source.store.database.fieldNames(of: table)
      return (table, Sheet(SheetPlan(table: table.name, names: names), in: workbook, among: 1))
    }
  }
}

extension WorkbookExport.Written {
  /// Adds a result for each sheet of an entity or a table. If there are no rows, adds a single result with a row count
  /// of 0.
  fileprivate mutating func add(_ sheet: Sheet, _ name: String) {
    sheets.append(sheet)
    for part in sheet.parts {
      parts.append(.init(name: name, target: part.name, rowCount: part.rowCount))
    }
    if sheet.parts.isEmpty { parts.append(.init(name: name, target: "", rowCount: 0)) }
  }
}

extension SQLiteDatabase {
  /// Returns the names of a table's columns. If the table's CREATE statement is not readable, the names are `c0`, `c1`
  /// and so on, one for each value of the longest row.
  func fieldNames(of table: Table) throws -> [String] {
    guard table.columnNames.isEmpty else { return table.columnNames }
    var widest = 0
    try forEachRow(of: table) { row in
      widest = max(widest, row.values.count)
      return true
    }
    return (0..<widest).map { "c\($0)" }
  }
}

extension StoreExport {
  /// Returns the path of the folder for values that are too long for a cell, beside a workbook. The folder need not
  /// exist.
  package static func filesFolder(beside workbook: String) -> String {
    LongValues.folder(beside: workbook)
  }

  /// Writes the rows of a store into a workbook. Values that are too long for a cell and the store's external files are
  /// written into a folder beside the workbook, for example `Rows_files` beside `Rows.xlsx`.
  ///
  /// - Parameters:
  ///   - store: the opened store.
  ///   - output: the path of the workbook. Nothing may exist at this path or at that of the folder.
  ///   - dates: converts dates to a time zone.
  ///   - maxRows: the maximum number of rows in a sheet, including the header; tests use a small number.
  ///   - makeArchive: makes the archive at a path, and notes it in `made`.
  /// - Returns: what was written, and the hashes and findings of the store.
  /// - Throws: ``ExtractionError``, `SQLiteFileError`. Before an error is thrown, everything that was written is
  ///   removed.
  package func run(
    _ store: CoreDataStore, toWorkbook output: String, dates: LocalDates = .utc,
    maxRows: Int = 1_048_576,
    archive makeArchive: (_ path: String, _ made: MadeFiles) throws -> any PartArchive
  ) throws -> Result {
    try checkNames(store)
    let source = ExportSource(store, options)
    let progress = try rowProgress(of: source)
    let longValues = LongValues(LongValues.folder(beside: output), made)
    try longValues.checkFree()
    let count = made.count
    let archive = try makeArchive(output, made)
    do {
      let export = WorkbookExport(
        source, options, dates, longValues, try Workbook(archive, maxRows: maxRows), progress)
      let written = try export.writeRows()
      var files = try source.external.survey(namesAll: source.namesAll)
      if files.0?.fileCount ?? 0 > 0 {
        try longValues.opened().take(source.external)
        files.0?.output = longValues.externalFolder
      }
      let hashes = try source.hashes()
      var result = result(source, "xlsx", output, written.parts, hashes, files)
      result.parts.removeAll { $0.rowCount == 0 }
      result.timeZone = dates.name
      if longValues.fileCount > 0 {
        result.longValues = .init(
          fileCount: longValues.fileCount, sizeBytes: longValues.sizeBytes,
          output: longValues.path)
      }
      if written.invalidTextCount > 0 { result.invalidTextCount = written.invalidTextCount }
      let facts = source.facts(
        result.source, hashes, [("time zone of dates", dates.name)],
        damageCount: result.damageCount)
      try export.end(written, facts)
      try made.keep(to: count) { try archive.finish() }
      return result
    } catch {
      archive.cancel()
      longValues.discard()
      made.takeBack(to: count)
      throw error
    }
  }
}
