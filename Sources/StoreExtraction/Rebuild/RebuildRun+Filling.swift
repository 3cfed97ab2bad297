import SQLiteFile
import SQLiteWriter

/// Rows did not come so that tables can be filled with them; they have to go in one by one.
struct FillingGivenUp: Error {}

extension RebuildRun {
  /// Reads all live rows. Those that SQLite would store as they are go straight into pages of their tables; the
  /// others are kept for it, to be inserted when the tables stand.
  ///
  /// - Returns: those others; nil when the file cannot be filled so, and nothing has been read.
  /// - Throws: ``FillingGivenUp`` when they are many, when rows of a table do not come in an order, or when a row id or a unique key
  ///   comes twice.
  func fillTables() throws -> KeptRows? {
    try writer.execute("COMMIT")
    guard let filler = try writer.filler() else {
      try writer.execute("BEGIN IMMEDIATE")
      return nil
    }
    var kept = KeptRows()
    try read(.live) { row in
      if try fill(row, filler) { return }
      kept.append(row)
      if kept.sizeBytes > Self.mostKeptBytes { throw FillingGivenUp() }
    }
    guard try filler.finish() else { throw FillingGivenUp() }
    try fillOwnIndexes()
    return kept
  }

  private static let mostKeptBytes = 2 << 20

  private func fill(_ row: borrowing RecoveredRowBuffer, _ filler: TableFiller) throws -> Bool {
    guard let place = row.origin.table, row.origin.confidence == 100, let rowID = row.rowID,
      let table = targets[place], try table.encode(row, filler), let filled = table.filled
    else { return false }
    meet(row)
    // A leaf holds all rows between its first and its last.
    let isNext = row.origin.page == table.lastPage
    table.lastPage = row.origin.page
    try filler.add(to: filled, rowID, isNext: isNext, table.record)
    table.result.rowCount &+= 1
    return true
  }

  /// Fills the indexes that come with a table's UNIQUE and PRIMARY KEY.
  private func fillOwnIndexes() throws {
    let filled = Set(targets.compactMap { $0?.filled == nil ? nil : $0?.target })
    for row in try writer.rows(
      "SELECT DISTINCT tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NULL")
    {
      guard case .text(let bytes)? = row.first else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      guard filled.contains(name) else { continue }
      do throws(SQLiteWriterError) {
        try writer.execute("REINDEX main.\(try SQLIdentifier.quoted(name))")
      } catch {
        guard error.code == .constraint else { throw error }
        throw FillingGivenUp()
      }
    }
  }
}
