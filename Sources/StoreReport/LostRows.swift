import SQLiteFile
import SQLiteForensics
import SafeText
import StoreExtraction

/// Counts the rows that an index still refers to, although no live row with their row id can be read.
struct LostRows {
  /// The number of lost rows of each table. A table without lost rows has no entry.
  private(set) var counts: [SQLName: Int] = [:]
  /// Whether counting stopped at the limit, so that there may be more lost rows than counted.
  private(set) var isCut = false

  /// The maximum number of different rows that are collected from index entries. They take about 16 MB of memory.
  private static let most = 500_000

  private struct Row: Hashable {
    let table: SQLName
    let number: Int64
  }

  /// Counts the lost rows of a store.
  ///
  /// - Throws: `SQLiteFileError` when the device fails.
  init(_ store: DamagedStore) throws {
    var rows: Set<Row> = []
    var isCut = false
    _ = try store.database.forEachIndexedValues { found in
      guard found.place == .entry else { return true }
      let row = Row(table: SQLName(found.table), number: found.rowID)
      if rows.count < Self.most {
        rows.insert(row)
      } else {
        isCut = !rows.contains(row)
      }
      return !isCut
    }
    guard !rows.isEmpty else { return }
    let tables = store.database.tables.map { SQLName($0.name) }
    let names = Set(rows.map(\.table))
    let wanted = store.database.tables.map(\.name).filter { names.contains(SQLName($0)) }
    // Removes the rows that can be read: an index entry may refer to such a row although the values in the entry differ
    // from those in the row.
    try store.database.forEachBufferedRow(.live, of: wanted, readsAhead: false) { row in
      if let number = row.rowID, let table = row.origin.table {
        rows.remove(Row(table: tables[table], number: number))
      }
      return !rows.isEmpty
    }
    self.isCut = isCut
    for row in rows { counts[row.table, default: 0] += 1 }
  }
}
