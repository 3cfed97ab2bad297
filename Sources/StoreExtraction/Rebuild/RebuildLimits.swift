import CoreDataStore
import Foundation
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

/// What definitions of a file may cost that is rebuilt: they can compute values of any size for any time.
enum RebuildLimits {
  /// Seconds of computing that the expressions of a table may take in any case.
  static let rowSeconds = 5.0

  /// What each row adds to that. Plain rows take a hundredth of it.
  static func seconds(forRow bytes: Int) -> Double { 100e-6 + Double(bytes) * 50e-9 }

  /// What an index may take: to build one reads and sorts a table.
  static func seconds(forIndexOver database: DamagedDatabase) -> Double {
    5 + Double(database.pageCount) * Double(database.layout.pageSize) * 200e-9
  }

  /// Nothing that stands in a file is longer than the file; text takes up to twice the room in another encoding.
  static func valueBytes(of sourceBytes: Int64) -> Int {
    Int(clamping: (1 << 20) + min(sourceBytes, 1 << 40) * 2)
  }

  /// Pages that the new file may have: with room for what is told of the rows, and for tables that others describe.
  static func pages(of sourceBytes: Int64, pageSize: Int, tables: Int, everyRowIsNoted: Bool) -> Int
  {
    let own = Int(clamping: min(sourceBytes, 1 << 45)) / max(512, pageSize)
    return 4096 + tables * 4 + own * (everyRowIsNoted ? 24 : 8)
  }
}

/// Says that the rebuild cannot use the definition of a table and has to start again without it.
struct UnusableDefinition: Error {
  /// The place of the table.
  let place: Int
  let reason: String
}

extension ExpectedTable {
  /// Whether its statement computes anything as rows go in: a constraint, a stored column, a default. Where in doubt,
  /// yes.
  var computes: Bool {
    definition.columns.contains { $0.generation != .none }
      || sql?.range(of: "check", options: .caseInsensitive) != nil
  }
}
