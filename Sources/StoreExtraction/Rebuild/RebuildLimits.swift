import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// Limits on what definitions from a damaged file may cost. Their expressions could compute values of any size for any
/// time.
enum RebuildLimits {
  /// Seconds that the expressions of a table may take even if it has no rows.
  static let rowSeconds = 5.0

  /// Seconds that a row of `bytes` bytes adds to ``rowSeconds``. Ordinary expressions take a hundredth of this time.
  static func seconds(forRow bytes: Int) -> Double { 100e-6 + Double(bytes) * 50e-9 }

  /// Seconds that SQLite may take to build an index, for which it reads and sorts a whole table.
  static func seconds(forIndexOver database: DamagedDatabase) -> Double {
    5 + Double(database.pageCount) * Double(database.layout.pageSize) * 200e-9
  }

  /// The most bytes of a value: no value is longer than its file, and text may need twice the space in another
  /// encoding.
  static func valueBytes(of sourceBytes: Int64) -> Int {
    Int(clamping: (1 << 20) + min(sourceBytes, 1 << 40) * 2)
  }

  /// Returns the most pages that the new file may have. The limit leaves room for notes about rows, and for the tables
  /// of an example (`--like`).
  static func pages(of sourceBytes: Int64, pageSize: Int, tables: Int, everyRowIsNoted: Bool) -> Int
  {
    let own = Int(clamping: min(sourceBytes, 1 << 45)) / max(512, pageSize)
    return 4096 + tables * 4 + own * (everyRowIsNoted ? 24 : 8)
  }
}

/// Thrown when the rebuild cannot use the definition of a table and must start again without it.
struct UnusableDefinition: Error {
  /// The position of the table among the tables of the store.
  let place: Int
  let reason: String
}

extension ExpectedTable {
  /// Whether SQLite computes something when rows are inserted into the table: a generated column or a CHECK constraint.
  /// True whenever the statement contains "check". Defaults do not count, because each column gets a value.
  var computes: Bool {
    definition.columns.contains { $0.generation != .none }
      || sql?.range(of: "check", options: .caseInsensitive) != nil
  }
}
