import CoreDataStore
import StoreFiles
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeText

/// Builds a new SQLite file from everything that can be read of a damaged file. The new file has the same schema, and
/// rows keep their row ids. Extra tables hold the rows that do not fit into their own table.
public struct StoreRebuild: Sendable {
  /// The rows for which the new file records where they were found: the file, page and offset.
  package enum Provenance: String, Sendable, CaseIterable {
    /// The rows that differ from ordinary live rows: rows with an incomplete value, rows in a separate table,
    /// unattributed rows and deleted rows.
    case notable
    case all
  }

  package var provenance = Provenance.notable
  /// Whether to look for deleted rows. They are written to tables of their own.
  public var includesDeleted = false
  /// Whether SQLite runs `integrity_check`, not just `quick_check`, on a large new file before the file gets its final
  /// name.
  public var verifies = false
  /// The initial time limit, in seconds, for the expressions of each table and index.
  package var computingSeconds = RebuildLimits.initialSeconds
  /// Tracks the files that are made, so that a caller can remove them at any time.
  package var made = MadeFiles()
  /// Called with the number of pages read so far and the total number of pages.
  public var progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)?

  /// Creates a rebuild of live rows only.
  public init() {}

  /// Counts what a rebuild would produce, without making a file.
  ///
  /// Constraints are not tested. A row that violates a constraint is counted as a row of its table.
  /// - Throws: `SQLiteFileError` when the device fails; ``ExtractionError`` when the store changes while it is read.
  package func survey(_ store: DamagedStore) throws -> RebuildResult {
    let watch = EvidenceWatch(store.database.path)
    let tables = store.database.tables
    var result = RebuildResult(of: store)
    result.tables = zip(tables, store.sources).map {
      .init(name: $0.name, target: $0.name, source: $1)
    }
    if includesDeleted { result.deletedCount = 0 }
    let total = Int64(store.database.pageCount)
    var nextReport: UInt32 = 0
    var pages = LostPages(store.database)
    let external = ExternalFiles(of: store)
    let isCoreData = store.kind != .sqlite
    // SQLite keeps the table sqlite_sequence itself, so its rows do not count as rows of the rebuilt store.
    let sequence = tables.firstIndex { $0.name == "sqlite_sequence" }
    try store.database.forEachBufferedRow(includesDeleted ? .all : .readable) { row in
      external.note(row, in: row.origin.table.map { tables[$0].name } ?? "")
      if row.origin.state == .contradicted {
        if let place = row.origin.table {
          result.tables[place].conflictCount += 1
          result.tables[place].contradictedCount += 1
        }
        return true
      }
      if row.origin.state != nil {
        result.deletedCount? += 1
        if let place = row.origin.table { result.tables[place].deletedCount += 1 }
        return true
      }
      if row.origin.page >= nextReport {
        progress?(Int64(row.origin.page), total)
        nextReport = row.origin.page + 512
      }
      pages.read(row.origin.page)
      if let sequence, row.origin.table == sequence { return true }
      guard let place = row.origin.table, !tables[place].isDropped, tables[place].isDescribed,
        row.rowID == nil || !tables[place].definition.isWithoutRowID
      else {
        result.unattributedCount += 1
        return true
      }
      result.tables[place].rowCount += 1
      if !row.partial.isEmpty || (isCoreData && row.hasInvalidText) {
        result.tables[place].partialRowCount += 1
      }
      return true
    }
    result.markAssumed(store)
    let (files, missing) = try external.survey()
    result.externalFiles = files
    pages.count(into: &result)
    var all = RebuildFindings.all(of: store, result, pages)
    for finding in missing { all.add(finding) }
    result.finish(all)
    result.tables = zip(tables, result.tables).enumerated().filter { place, pair in
      place != sequence && (!pair.0.isDropped || pair.1.deletedCount > 0)
    }.map(\.element.1)
    try watch.requireUnchanged()
    return result
  }

  /// Writes the new file.
  ///
  /// Nothing may exist at `output`. Until the file is finished and fully checked, it has another name in the same
  /// folder.
  /// - Throws: `SQLiteFileError`, `SQLiteWriterError`, ``ExtractionError``. Before an error is thrown, everything that
  ///   was written is removed.
  public func run(_ store: DamagedStore, to output: String) throws -> RebuildResult {
    let watch = EvidenceWatch(store.database.path)
    try SQLiteWriter.checkFree(output)
    try ExternalFiles.checkFree(output, for: store)
    var unusableDefinitions: [Int: String] = [:]
    var tries = 0
    var isFilling = true
    let found = store.database.findings
    while true {
      do {
        return try run(store, to: output, watch, unusableDefinitions, isFilling: isFilling)
      } catch is FillingGivenUp {
        isFilling = false
      } catch let error as UnusableDefinition {
        // SQLite has rolled back the transaction, so the rebuild starts again without the definition that failed.
        unusableDefinitions[error.place] = error.reason
        tries += 1
        for (place, table) in store.database.tables.enumerated()
        where tries >= Self.maxTries && table.computes && unusableDefinitions[place] == nil {
          unusableDefinitions[place] =
            "expressions of other tables failed too often, so those of this table are not tried"
        }
      }
      // The next attempt reads the file again and makes the same findings, so the findings of this attempt are dropped.
      store.database.takeBack(to: found)
    }
  }

  /// The number of failed definitions after which the rebuild gives up all definitions with expressions. Before that,
  /// each restart of the rebuild gives up only the definition that has failed.
  private static let maxTries = 3

  private func run(
    _ store: DamagedStore, to output: String, _ watch: EvidenceWatch,
    _ unusableDefinitions: [Int: String], isFilling: Bool
  ) throws -> RebuildResult {
    try made.makeDatabase(at: output, writerOptions(for: store)) { writer -> RebuildResult in
      let run = RebuildRun(store, self, writer, unusableDefinitions, isFilling: isFilling)
      var result = try run.run(for: output)
      result.output = output
      try watch.requireUnchanged()
      try writer.complete()
      return result
    }
  }

  /// Returns options that give the new file the layout of the source, such as its page size, so far as the layout is
  /// known.
  private func writerOptions(for store: DamagedStore) -> SQLiteWriter.Options {
    let layout = store.database.layout
    var options = SQLiteWriter.Options(pageSize: layout.pageSize, journalMode: .memory)
    switch layout.textEncoding {
    case .utf8: options.encoding = .utf8
    case .utf16LittleEndian: options.encoding = .utf16LittleEndian
    case .utf16BigEndian: options.encoding = .utf16BigEndian
    }
    if layout.hasPointerMap {
      // If the header is lost, incremental vacuum is the best guess, because Core Data uses it.
      options.autoVacuum = layout.header?.isIncrementalVacuum ?? true ? .incremental : .full
    }
    options.isSynchronous = false
    options.cacheKiB = 3 * 1024
    let size = max(
      StoreSet(at: store.database.path).members
        .filter { $0.role == .main || $0.role == .wal || $0.role == .journal }
        .reduce(Int64(0)) { $0 + min($1.sizeBytes, 1 << 45) },
      0)
    options.maxValueBytes = RebuildLimits.valueBytes(of: size)
    options.maxPages = RebuildLimits.pages(
      of: size, pageSize: layout.pageSize, tables: store.database.tables.count,
      everyRowIsNoted: provenance == .all)
    return options
  }
}

extension RebuildResult {
  /// Creates the result of a rebuild with what is known before rows are read. All counts are still 0.
  init(of store: DamagedStore) {
    let database = store.database
    self.init(
      source: database.path, pageSizeBytes: database.layout.pageSize,
      pageCount: database.pageCount, unreadablePageCount: 0)
  }

  mutating func markAssumed(_ store: DamagedStore) {
    let rooted = Set(
      store.database.tables.filter { $0.rootPage != nil }.map { SQLName($0.name) })
    for place in tables.indices {
      let table = tables[place]
      guard table.source == .like, !rooted.contains(SQLName(table.name)), table.rowCount == 0,
        table.conflictCount == 0, table.deletedCount == 0
      else { continue }
      tables[place].isAssumed = true
    }
  }

  mutating func finish(_ list: FindingList) {
    rowCount = tables.reduce(0) { $0 + $1.rowCount }
    partialRowCount = tables.reduce(0) { $0 + $1.partialRowCount }
    conflictCount = tables.reduce(0) { $0 + $1.conflictCount }
    findings = list.kept
    damageCount = list.damageCount
  }
}
