package import CoreDataStore
import ObjectModel
package import SQLiteFile

extension CoreDataStore {
  /// Returns the latest date before `end` in the rows of the store's entities. Returns nil when no row has such a date.
  /// Throws when the device fails.
  ///
  /// `end`: a time in seconds since 2001-01-01. It excludes dates in the far future, which apps write as markers or for
  /// appointments. Such a date does not say when the store was last used.
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
  fileprivate var isDate: Bool {
    switch kind {
    case .attribute(let attribute): attribute.type == .date
    case .declared(let isDate): isDate
    case .toOne: false
    }
  }
}
