import SQLiteFile
import SQLiteForensics
import SafeText
import StoreExtraction

/// Rows that an index in use still names, while no row with that id can be read.
struct LostRows {
  /// How many, by table; tables without a lost row are not in it.
  private(set) var counts: [SQLName: Int] = [:]
  /// Whether there were too many to count all.
  private(set) var isCut = false

  /// The most rows that are counted: 16 MB of memory.
  private static let most = 500_000

  private struct Row: Hashable {
    let table: SQLName
    let number: Int64
  }

  /// Counts them.
  /// - Throws: `SQLiteFileError` when the device fails.
  init(_ store: DamagedStore) throws {
    var rows: Set<Row> = []
    var isCut = false
    _ = try store.database.forEachIndexedValues { found in
      if found.place == .entry {
        rows.insert(Row(table: SQLName(found.table), number: found.rowID))
      }
      isCut = rows.count >= Self.most
      return !isCut
    }
    guard !rows.isEmpty else { return }
    let tables = store.database.tables.map { SQLName($0.name) }
    let names = Set(rows.map(\.table))
    let wanted = Set(store.database.tables.map(\.name).filter { names.contains(SQLName($0)) })
    // An entry may name a row that is there with other values.
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
