package import SQLiteFile

extension CoreDataStore {
  /// The rows of a table whose entity number belongs to none of the table's entities. The number may be that of an
  /// entity in another table, may be unknown, or may be missing.
  package struct UnknownRows {
    package let table: Table
    /// The properties of these rows: one for each declared column. Empty when ``CoreDataStore/shows`` chooses the
    /// properties to read.
    package let properties: [DescribedEntity.Property]
    /// The number of these rows for each integer in Z_ENT. The key nil stands for rows without an integer there.
    package let counts: [Int64?: Int]
  }

  /// Returns the tables of ``entityTables`` with rows whose entity number belongs to none of the table's entities. The
  /// rows of the tables are read in their order: all of them, or the first `limit`. A table for whose properties
  /// `isWanted` returns false is left out.
  /// - Throws: `SQLiteFileError` when the device fails.
  package func unknownRows(
    amongFirst limit: Int? = nil,
    where isWanted: ([DescribedEntity.Property]) -> Bool = { _ in true }
  ) throws(SQLiteFileError) -> [UnknownRows] {
    var found: [UnknownRows] = []
    var left = limit
    for table in entityTables where left ?? 1 > 0 {
      guard let plan = try plan(for: table, wanted: nil) else { continue }
      let properties = plan.fallback.map(\.described)
      guard isWanted(properties) else { continue }
      let rows = try database.rowCounts(of: table, byInteger: plan.entityColumn, limit: left)
      left = left.map { $0 - rows.count }
      var counts: [Int64?: Int] = [:]
      for (number, count) in rows.byInteger where plan.entities[number] == nil {
        counts[number] = count
      }
      let withoutNumber = rows.count - rows.byInteger.values.reduce(0, +)
      if withoutNumber > 0 { counts[Int64?.none] = withoutNumber }
      guard !counts.isEmpty else { continue }
      found.append(UnknownRows(table: table, properties: properties, counts: counts))
    }
    return found
  }
}
