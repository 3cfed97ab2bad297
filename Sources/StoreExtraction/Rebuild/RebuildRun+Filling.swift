import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// Thrown when pages of tables cannot be written directly. SQLite must then insert every row.
struct FillingGivenUp: Error {}

extension RebuildRun {
  private static let maxKeptBytes = 2 << 20
  /// The memory, in bytes, in which entries of indexes are collected before the indexes are written. All indexes share
  /// this memory. Entries that do not fit into it are kept in a temporary file.
  private static let keyBytes = 2 << 20
  private static let maxIndexes = 32
  /// The maximum size, in bytes, of the lists that note which leaves were written. If the lists become larger, SQLite
  /// inserts all rows instead.
  private static let maxOrderBytes = 4 << 20

  /// Writes all live rows that SQLite would store unchanged straight into the pages of their tables and indexes. Keeps
  /// all other live rows in memory; the caller has SQLite insert them after the tables are filled.
  ///
  /// - Returns: the rows that were kept.
  /// - Throws: ``FillingGivenUp`` when too many rows are kept, when the leaves are not in order, or when a row id or a
  ///   unique key occurs twice.
  func fillTables() throws -> KeptRows {
    let (indexes, others) = try makeIndexesToFill()
    try writer.execute("COMMIT")
    var filler = try writer.filler()
    for index in indexes { try index.begin(&filler, maxBytes: Self.keyBytes / indexes.count) }
    for table in targets {
      guard let table, table.filled == nil else { continue }
      try table.begin(&filler)
    }
    var kept = KeptRows()
    var values: ContiguousArray<RecoveredRowBuffer.Value> = []
    try read(as: targets.map { $0?.form }) { batch, stretch in
      try fill(batch, stretch, &values, &filler)
      if filler.orderBytes > Self.maxOrderBytes { throw FillingGivenUp() }
    } _: { row in
      if try fill(row, &filler) { return }
      kept.append(row)
      if kept.sizeBytes > Self.maxKeptBytes { throw FillingGivenUp() }
    }
    guard try filler.finishTables() else { throw FillingGivenUp() }
    for index in indexes {
      guard try index.fill(&filler) else { throw FillingGivenUp() }
    }
    try filler.finish()
    try leaveToSQLite(others + indexes.filter(\.isLeftToSQLite).map(\.name))
    for table in targets { table?.indexes = [] }
    return kept
  }

  /// Fills a table with the records of one leaf. `values` is scratch memory for the values that the table's indexes
  /// need.
  private func fill(
    _ batch: borrowing RecordBatch, _ stretch: RecordBatch.Stretch,
    _ values: inout ContiguousArray<RecoveredRowBuffer.Value>, _ filler: inout TableFiller
  ) throws {
    // Only tables that can be filled page by page have a form.
    guard let table = targets[stretch.table], let filled = table.filled else { return }
    meet(stretch.page)
    var isNext = table.goesOn(with: stretch.page)
    let indexes = table.indexes
    let indexedCount = table.indexedCount
    let records = batch.records
    for place in stretch.records {
      let record = records[place]
      try filler.add(
        to: filled, record.rowID, isNext: isNext, record.offset..<record.offset + record.count,
        of: batch.bytes)
      isNext = true
      if indexedCount > 0 {
        RecordBatch.read(
          record.offset..<record.offset + record.count, of: batch.bytes, indexedCount,
          into: &values)
        for index in indexes { try index.add(values, of: batch.bytes, rowID: record.rowID) }
      }
    }
    table.result.rowCount &+= stretch.records.count
  }

  /// Adds a row to its table, if the table is filled page by page. Returns false if SQLite must insert the row.
  private func fill(_ row: borrowing RecoveredRowBuffer, _ filler: inout TableFiller) throws
    -> Bool
  {
    guard let place = row.origin.table, row.origin.confidence == 100, let rowID = row.rowID,
      let table = targets[place], table.encode(row), let filled = table.filled
    else { return false }
    meet(row)
    let record = table.record
    try filler.add(
      to: filled, rowID, isNext: table.goesOn(with: row.origin.page), 0..<record.count, of: record)
    for index in table.indexes { try index.add(row.values, of: row.bytes, rowID: rowID) }
    table.result.rowCount &+= 1
    return true
  }

  // MARK: - Indexes

  /// Prepares the indexes of the tables that are filled page by page. Creates those indexes that can be filled page by
  /// page, too. Automatic indexes exist already.
  ///
  /// - Returns: in `found`, the indexes to fill page by page; in `others`, the names of the automatic indexes that
  ///   SQLite has to rebuild.
  private func makeIndexesToFill() throws -> (found: [FilledIndex], others: [String]) {
    var found: [FilledIndex] = []
    var others: [String] = []
    var met: Set<ObjectIdentifier> = []
    for case let table? in targets
    where table.isPlain && met.insert(ObjectIdentifier(table)).inserted {
      for row in try writer.rows(
        "SELECT name FROM pragma_index_list(?)", [.string(table.target)])
      {
        guard found.count < Self.maxIndexes,
          let index = try FilledIndex(
            row[0].string, of: table.expected, named: table.target, in: writer)
        else {
          others.append(row[0].string)
          continue
        }
        table.indexes.append(index)
        found.append(index)
      }
    }
    for entry in store.companions where entry.type == "index" && found.count < Self.maxIndexes {
      // Unique indexes are not made here, because duplicates are known only after all rows are in the table.
      guard let sql = entry.sql, SQLName(sql).hasPrefix("create index "),
        !filledIndexes.contains(sql),
        let table = targets.lazy.compactMap({ $0 }).first(where: {
          $0.isPlain && SQLName.isSame($0.target, entry.tableName)
        }), try define(index: sql, named: entry.name)
      else { continue }
      guard
        let index = try FilledIndex(
          entry.name, of: table.expected, named: table.target, in: writer)
      else {
        try drop(entry.name)
        continue
      }
      filledIndexes.insert(sql)
      table.indexes.append(index)
      found.append(index)
    }
    return (found, others)
  }

  /// Runs the CREATE statement of an index. Returns whether the statement made exactly one index, with this name. If
  /// SQLite refuses the statement, returns false without an error. The caller creates the remaining indexes later and
  /// reports failures then.
  private func define(index sql: String, named name: String) throws(SQLiteWriterError) -> Bool {
    let last = try lastSchemaRow()
    do throws(SQLiteWriterError) {
      try writer.define(sql)
    } catch {
      guard error.isRefusal, writer.isInTransaction else { throw error }
      return false
    }
    let made = try writer.rows("SELECT name FROM sqlite_schema WHERE rowid > ?", [.integer(last)])
    if made == [[.string(name)]] { return true }
    for row in made { try drop(row[0].string) }
    return false
  }

  private func drop(_ index: String) throws(SQLiteWriterError) {
    try writer.execute("DROP INDEX main.\(try SQLIdentifier.quoted(index))")
  }

  /// Lets SQLite rebuild indexes that are still empty. Dropping these indexes and making them again would also drop
  /// their ANALYZE statistics.
  private func leaveToSQLite(_ indexes: [String]) throws {
    for name in indexes {
      do throws(SQLiteWriterError) {
        try writer.execute("REINDEX main.\(try SQLIdentifier.quoted(name))")
      } catch {
        guard error.code == .constraint || error.isRefusal else { throw error }
        throw FillingGivenUp()
      }
    }
  }
}
