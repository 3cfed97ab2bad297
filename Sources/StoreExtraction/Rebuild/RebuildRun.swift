import CoreDataStore
import SQLiteFile
import SQLiteForensics
import SQLiteWriter
import SafeText

/// Makes everything in the new file, from the first table to the last trigger.
final class RebuildRun {
  let store: DamagedStore
  let options: StoreRebuild
  let writer: SQLiteWriter
  var names = UniqueNames()
  var result: RebuildResult
  var findings = FindingList()
  /// The table of the new file for each table of the damaged file; nil if the rows of a table get no table of their
  /// own.
  var targets: [RebuildTable?] = []
  /// The CREATE statements of the indexes whose pages were written together with the rows of their tables.
  var filledIndexes = ExactTexts()
  private var sequence: [(rowID: Int64?, name: String, value: Int64)] = []
  private let sequencePlace: Int?
  private var unattributed: LostAndFoundTable?
  private var deleted: [Int: LostAndFoundTable] = [:]
  private lazy var notes = RebuildNotes(writer) { [weak self] in self?.freeName($0) ?? $0 }
  let external: ExternalFiles
  /// The reasons why definitions of tables cannot be used, by the position of the table in the source.
  let unusableDefinitions: [Int: String]
  /// Whether tables are written page by page where possible, instead of by INSERT.
  private let isFilling: Bool
  private var pages: LostPages
  private let dropsInvalidText: Bool
  private let invalidText: RebuildTable.InvalidText
  private var failure: (any Error)?
  private var nextReport: UInt32 = 0

  /// The maximum number of rows of sqlite_sequence that are read. The table has one row for each AUTOINCREMENT table,
  /// and no sound file has so many tables.
  private static let maxSequences = 100_000
  private static let reportEvery: UInt32 = 512

  init(
    _ store: DamagedStore, _ options: StoreRebuild, _ writer: SQLiteWriter,
    _ unusableDefinitions: [Int: String], isFilling: Bool
  ) {
    self.unusableDefinitions = unusableDefinitions
    // If the origin of every row is recorded, SQLite has to insert a note for each row, so filling the tables page by
    // page saves little.
    self.isFilling =
      isFilling && writer.canBeFilled && options.provenance != .all
      && store.database.layout.textEncoding == .utf8
    external = ExternalFiles(of: store)
    pages = LostPages(store.database)
    self.store = store
    self.options = options
    self.writer = writer
    sequencePlace = store.database.tables.firstIndex { $0.name == "sqlite_sequence" }
    result = RebuildResult(of: store)
    if options.includesDeleted { result.deletedCount = 0 }
    // Core Data writes only valid UTF-8. In other databases, invalid text may be intended.
    dropsInvalidText = store.kind != .sqlite
    invalidText =
      dropsInvalidText ? .drop : store.database.layout.textEncoding == .utf8 ? .keep : .transcode
    names.take(store.database.tables.map(\.name) + store.companions.map(\.name))
  }

  /// Writes the new file, and copies the external files beside `output`. Returns the result of the rebuild.
  func run(for output: String) throws -> RebuildResult {
    try writer.execute("BEGIN IMMEDIATE")
    try makeTables()
    if isFilling {
      let kept = try fillTables()
      try writer.execute("BEGIN IMMEDIATE")
      try kept.forEach { try take($0) }
    } else {
      try read(.readable, take)
    }
    try giveUpDefinitionsThatAlwaysFail()
    for (place, table) in targets.enumerated() {
      guard let table else { continue }
      do {
        try table.placeRowsWithoutRowID { from, old, new in
          try notes.move(from: from, old, to: table.target, new)
        }
      } catch let error as SQLiteWriterError where error.endsTransaction && table.computes {
        throw UnusableDefinition(place: place, reason: Self.reason(of: error))
      }
    }
    if options.includesDeleted { try read(.deleted, take) }
    try writeSequence()
    for table in targets { table?.close() }
    unattributed?.close()
    for table in deleted.values { table.close() }
    try writer.execute("COMMIT")
    try makeCompanions()

    // Two entries of the schema can have the same new table.
    var met: Set<SQLName> = []
    result.tables = targets.compactMap { $0 }.filter { met.insert(SQLName($0.target)).inserted }
      .map(\.result)
    result.markAssumed(store)
    let (files, missing) = try external.copy(beside: output, options.made)
    result.externalFiles = files
    pages.count(into: &result)
    var all = RebuildFindings.all(of: store, result, pages)
    all.add(findings)
    for finding in missing { all.add(finding) }
    let problems = try check(&all)
    result.finish(all)
    if !result.isLossless {
      for entry in store.companions where entry.type == "table" {
        all.add(
          Finding(
            .recoverVirtualTable,
            "the virtual table \(entry.name) may not match the recovered rows; rebuild the virtual table",
            severity: .note, table: entry.name))
      }
      result.finish(all)
    }
    try writer.execute("BEGIN IMMEDIATE")
    try notes.write(all.kept)
    if let header = store.database.layout.header {
      try writer.execute("PRAGMA user_version = \(header.userVersion)")
      try writer.execute("PRAGMA application_id = \(Int32(bitPattern: header.applicationID))")
    }
    try writer.execute("COMMIT")
    guard problems.isEmpty else {
      throw ExtractionError(
        .writeFailed, "the new file does not pass SQLite's own check: \(problems[0])",
        path: writer.path)
    }
    try registerVirtualTables()
    return result
  }

  /// Checks the new file before it gets its final name. Returns the problems that SQLite reports.
  ///
  /// On a large file, SQLite runs only `quick_check`, and Lifeboat's own check compares each index with its table.
  /// SQLite runs `integrity_check` if Lifeboat's check finds damage, or if a table has computed values. A failing CHECK
  /// constraint is not damage, because a constraint may depend on the date.
  private func check(_ all: inout FindingList) throws -> [String] {
    var problems: [String] = []
    var failing: Set<ExactText> = []
    var depth = try writer.finalCheckDepth(
      verifies: options.verifies || targets.contains { $0?.computes ?? false })
    if depth == .quick, try !passesOwnCheck() { depth = .full }
    let mistakes = mistakenProblems
    var isMistaken = false
    for problem in try writer.check(depth) {
      if let table = PathText.dropping(prefix: "CHECK constraint failed in ", from: problem) {
        failing.insert(ExactText(table))
      } else if mistakes.contains(problem) {
        isMistaken = true
      } else {
        problems.append(problem)
      }
    }
    // SQLite lists a limited number of problems, so false problems may take the place of real ones.
    if isMistaken, problems.isEmpty, try !passesOwnCheck() {
      problems.append("its list is not reliable, and Lifeboat finds damage in the file")
    }
    for name in failing.sorted() {
      all.add(
        Finding(
          .recoverCheckFails,
          "rows violate a CHECK constraint that accepted them when they were inserted",
          table: name.text))
    }
    return problems
  }

  /// Problems that SQLite 3.40.1 reports by mistake for WITHOUT ROWID tables, because this version confuses the columns
  /// of such a table when it checks NOT NULL and types. The tables are sound: SQLite itself inserted their rows, and
  /// refused any row with a value that its column does not accept.
  private var mistakenProblems: ExactTexts {
    var problems = ExactTexts()
    for case let table? in targets where !table.needsRowID {
      for column in table.columns {
        let place = "value in \(table.target).\(column)"
        for type in ["NULL", "TEXT", "NUMERIC"] { problems.insert("\(type) \(place)") }
        guard table.expected.definition.isStrict else { continue }
        for type in ["INT", "INTEGER", "REAL", "TEXT", "BLOB"] {
          problems.insert("non-\(type) \(place)")
        }
      }
    }
    return problems
  }

  private func passesOwnCheck() throws -> Bool {
    try writer.withoutLock {
      try SQLiteDatabase(path: writer.path).check(depth: .full).findings.damageCount == 0
    }
  }

  // MARK: - Rows

  func read(
    _ selection: DamagedDatabase.Selection,
    _ take: (borrowing RecoveredRowBuffer) throws -> Void
  ) throws {
    try store.database.forEachBufferedRow(selection) { row in attempt { try take(row) } }
    if let failure { throw failure }
  }

  /// Reads all rows that can be read. Passes records that fit the new tables unchanged to `takeRecords`, and all other
  /// rows to `take`.
  func read(
    as forms: [RecordForm?],
    _ takeRecords: (borrowing RecordBatch, RecordBatch.Stretch) throws -> Void,
    _ take: (borrowing RecoveredRowBuffer) throws -> Void
  ) throws {
    try store.database.forEachReadableRow(as: forms) { batch, stretch in
      attempt { try takeRecords(batch, stretch) }
    } others: { row in
      attempt { try take(row) }
    }
    if let failure { throw failure }
  }

  private func attempt(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      failure = error
      return false
    }
  }

  /// Notes that a row was read from a page, and reports progress.
  func meet(_ page: UInt32) {
    if page >= nextReport {
      options.progress?(Int64(page), Int64(store.database.pageCount))
      nextReport = page + Self.reportEvery
    }
    pages.read(page)
  }

  /// Records the page of a live row, and the external files whose names are in the row.
  func meet(_ row: borrowing RecoveredRowBuffer) {
    meet(row.origin.page)
    external.note(row, in: row.origin.table.map { store.database.tables[$0].name } ?? "")
  }

  private func take(_ row: borrowing RecoveredRowBuffer) throws {
    if row.origin.state == .contradicted { return try takeContradicted(row) }
    if row.origin.state != nil { return try takeDeleted(row) }
    meet(row)
    guard let place = row.origin.table else { return try takeUnattributed(row) }
    guard let table = targets[place] else {
      if place == sequencePlace { return noteSequence(row) }
      return try takeUnattributed(row)
    }
    // A row with a row id cannot belong to a WITHOUT ROWID table, even if its values would fit.
    if !table.needsRowID, row.rowID != nil { return try takeUnattributed(row) }
    let isPartial = !row.partial.isEmpty || (dropsInvalidText && row.hasInvalidText)
    guard table.takes(row) else {
      let kept = try table.keepBack(row, reason: .rowIDLost)
      return try note(row, in: kept.table, kept.rowID, table)
    }
    do throws(SQLiteWriterError) {
      try table.add(row, invalidText)
    } catch {
      if error.endsTransaction, table.computes {
        throw UnusableDefinition(
          place: place, reason: Self.reason(of: error))
      }
      guard error.isRowRefusal else { throw error }
      if table.computes, error.code != .constraint { table.failedCount += 1 }
      if try table.has(row) {
        table.result.repeatedCount += 1
        return
      }
      let kept = try table.keepBack(row, reason: .refused(error.message))
      return try note(row, in: kept.table, kept.rowID, table)
    }
    if isPartial { table.result.partialRowCount += 1 }
    if isPartial || row.origin.confidence < 100 || options.provenance == .all {
      try note(row, in: table.target, row.rowID, table)
    }
  }

  /// Throws ``UnusableDefinition`` if a table stayed empty because the expressions of its definition failed for every
  /// row. No row can have been stored under such a definition.
  private func giveUpDefinitionsThatAlwaysFail() throws {
    for (place, table) in targets.enumerated() {
      guard let table, table.failedCount > 0, table.result.rowCount == 0 else { continue }
      throw UnusableDefinition(
        place: place,
        reason: "its expressions fail, or give values that are larger than the store could hold")
    }
  }

  private static func reason(of error: SQLiteWriterError) -> String {
    switch error.code {
    case .tooLong: "its expressions take too long to compute"
    case .full: "its expressions give values that are far larger than the store"
    default: "its expressions need more memory than is available"
    }
  }

  private func note(
    _ row: borrowing RecoveredRowBuffer, in name: String, _ rowID: Int64?, _ table: RebuildTable?
  ) throws {
    var partial = row.partial
    if dropsInvalidText, row.hasInvalidText {
      for column in 0..<row.values.count {
        let value = row.values[column]
        guard !value.isValid else { continue }
        partial.append(
          PartialValue(
            column: column, have: value.count, of: value.count, isDoubtful: true,
            bytes: row.content(of: value)))
      }
    }
    try notes.add(
      row, in: name, rowID: rowID, partial: partial,
      columns: table?.expected.definition.columns.map(\.name) ?? [])
  }

  private func takeUnattributed(_ row: borrowing RecoveredRowBuffer) throws {
    if unattributed == nil {
      unattributed = try LostAndFoundTable(
        names.unique("_lifeboat_unattributed"), columns: nil, in: writer)
    }
    guard let unattributed else { return }
    let guess = (row.origin.guess ?? row.origin.table).map { store.database.tables[$0].name }
    let id = try unattributed.add(row, note: guess, confidence: row.origin.confidence)
    result.unattributedCount += 1
    try note(row, in: unattributed.name, id, nil)
  }

  /// Keeps a row of a page that contradicts itself. SQLite reads the row, but the other content of the page speaks
  /// against it. The row goes into a separate table, unless its own table already has an equal row.
  private func takeContradicted(_ row: borrowing RecoveredRowBuffer) throws {
    meet(row)
    guard let table = row.origin.table.flatMap({ targets[$0] }) else {
      return try takeUnattributed(row)
    }
    if try table.has(row) {
      table.result.repeatedCount += 1
      return
    }
    let kept = try table.keepBack(row, reason: .contradicted)
    try note(row, in: kept.table, kept.rowID, table)
  }

  private func takeDeleted(_ row: borrowing RecoveredRowBuffer) throws {
    external.note(row, in: "")
    // The key -1 stands for rows whose table is not known.
    let place = row.origin.table ?? row.origin.guess ?? -1
    if deleted[place] == nil {
      let expected = place < 0 ? nil : store.database.tables[place]
      let name = (place < 0 ? nil : targets[place]?.target) ?? expected?.name ?? "unattributed"
      deleted[place] = try LostAndFoundTable(
        names.unique("_lifeboat_deleted_" + name),
        columns: expected.flatMap { $0.isDescribed ? $0.definition.columns.map(\.name) : nil },
        in: writer)
    }
    guard let table = deleted[place] else { return }
    let state = row.origin.state?.rawValue
    let id = try table.add(row, note: state, confidence: row.origin.confidence)
    result.deletedCount? += 1
    if place >= 0 { targets[place]?.result.deletedCount += 1 }
    try note(row, in: table.name, id, place < 0 ? nil : targets[place])
  }

  // MARK: - sqlite_sequence

  private func noteSequence(_ row: borrowing RecoveredRowBuffer) {
    guard row.values.count == 2, row.values[0].kind == .text, row.values[1].kind == .integer,
      sequence.count < Self.maxSequences
    else { return }
    sequence.append(
      (
        row.rowID, String(decoding: row.content(of: row.values[0]), as: UTF8.self),
        row.values[1].bits
      ))
  }

  /// Writes the highest row id that each AUTOINCREMENT table ever had. This number is taken from the old
  /// sqlite_sequence and from the rows.
  private func writeSequence() throws {
    guard
      try writer.rows("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'").isEmpty == false
    else { return }
    // SQLite compares the names in sqlite_sequence byte by byte.
    var highest: [ExactText: Int64] = [:]
    for row in try writer.rows("SELECT name, seq FROM sqlite_sequence") {
      if case .text(let name) = row[0], case .integer(let value) = row[1] {
        highest[ExactText(String(decoding: name, as: UTF8.self))] = value
      }
    }
    for case let table? in targets {
      guard let rowID = try table.highestFilledRowID() else { continue }
      let name = ExactText(table.target)
      highest[name] = max(highest[name] ?? 0, rowID)
    }
    try writer.execute("DELETE FROM sqlite_sequence")
    let insert = try writer.prepare(
      "INSERT OR IGNORE INTO sqlite_sequence(rowid, name, seq) VALUES(?, ?, ?)")
    defer { insert.finalize() }
    var done = ExactTexts()
    sequence.sort { ($0.rowID ?? .max) < ($1.rowID ?? .max) }
    for (rowID, name, value) in sequence where done.insert(name) {
      try insert.run([
        rowID.map { .integer($0) } ?? .null, .string(name),
        .integer(max(value, highest[ExactText(name)] ?? value)),
      ])
    }
    for (name, value) in highest.sorted(by: { $0.key < $1.key })
    where !done.contains(name.text) {
      try insert.run([.null, .string(name.text), .integer(value)])
    }
  }
}
