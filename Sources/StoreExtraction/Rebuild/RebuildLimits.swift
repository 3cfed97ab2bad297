import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// Limits on the time and space that definitions from a damaged file may use. An expression in such a definition could
/// run for any time, and compute values of any size.
enum RebuildLimits {
  /// The initial time limit, in seconds, for all expressions of a table or an index. Each row of a table adds the time
  /// ``seconds(forRow:)``.
  static let initialSeconds = 5.0

  /// Returns the time in seconds by which a row of `bytes` bytes increases the time limit for the expressions of its
  /// table. Ordinary expressions need a hundredth of this time.
  static func seconds(forRow bytes: Int) -> Double { 100e-6 + Double(bytes) * 50e-9 }

  /// Returns the time in seconds by which the size of the file increases the time limit for an index. To build an
  /// index, SQLite reads and sorts the whole table.
  static func seconds(forIndexOver database: DamagedDatabase) -> Double {
    Double(database.pageCount) * Double(database.layout.pageSize) * 200e-9
  }

  /// Returns the maximum size of a value in bytes. No value is longer than the source file, but a text may take twice
  /// the space in another encoding.
  static func valueBytes(of sourceBytes: Int64) -> Int {
    Int(clamping: (1 << 20) + min(sourceBytes, 1 << 40) * 2)
  }

  /// Returns the maximum number of pages of the new file. This number includes room for notes about rows, and for the
  /// tables of an example (`--like`).
  static func pages(of sourceBytes: Int64, pageSize: Int, tables: Int, everyRowIsNoted: Bool) -> Int
  {
    let own = Int(clamping: min(sourceBytes, 1 << 45)) / max(512, pageSize)
    return 4096 + tables * 4 + own * (everyRowIsNoted ? 24 : 8)
  }
}

/// Thrown when the rebuild cannot use the definition of a table and must start again without this definition.
struct UnusableDefinition: Error {
  /// The index of the table in the list of the store's tables.
  let place: Int
  let reason: String
}

extension ExpectedTable {
  /// Whether SQLite has to compute a generated column or a CHECK constraint when a row is inserted into the table. The
  /// text "check" anywhere in the CREATE statement counts as a CHECK constraint. Defaults do not count, because each
  /// column gets a value.
  var computes: Bool {
    definition.columns.contains { $0.generation != .none }
      || sql?.range(of: "check", options: .caseInsensitive) != nil
  }
}
