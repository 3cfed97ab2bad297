package import CoreDataStore
import ObjectModel
package import SQLiteFile

extension CoreDataStore {
  /// The latest date in rows, up to some time; nil when no row has one.
  ///
  /// Apps write dates far ahead to mark something, and appointments: neither says when the store was used last.
  ///
  /// - Parameter end: the end of time, in seconds since 2001.
  /// - Returns: the date; nil when no row has one.
  /// - Throws: `SQLiteFileError` when the device fails.
  package func newestDate(before end: Double) throws(SQLiteFileError) -> ReferenceDate? {
    var newest = -Double.infinity
    for table in entityTables {
      guard let plan = try plan(for: table, wanted: nil) else { continue }
      let columns = Set(
        (plan.entities.values.flatMap(\.fields) + plan.fallback).filter(\.isDate).map(\.column))
      guard !columns.isEmpty else { continue }
      try database.forEachRow(of: table) { row in
        for column in columns where column < row.values.count {
          let seconds: Double? =
            switch row.values[column] {
            case .integer(let value): Double(value)
            case .real(let value): value
            default: nil
            }
          if let seconds, seconds < end, seconds > newest { newest = seconds }
        }
        return true
      }
    }
    return newest.isFinite ? ReferenceDate(seconds: newest) : nil
  }
}

extension RowPlan.Field {
  /// Whether the column holds dates.
  fileprivate var isDate: Bool {
    switch kind {
    case .attribute(let attribute): attribute.type == .date
    case .declared(let isDate): isDate
    case .toOne: false
    }
  }
}
