import SQLiteFile
import SQLiteWriter

/// The columns of a table in the new file, by those that it had.
struct TargetColumns {
  /// For each column of the source its name in the new file; nil where it takes no value.
  private(set) var names: [String?] = []
  /// The column that is the row id.
  private(set) var rowIDColumn: String?
  /// The place of the first column that stands in ``OverflowColumns`` with all that follow it; nil for none.
  private(set) var overflow: Int?
  /// Columns that are computed when they are read, for which a table without expressions has no place.
  private(set) var leftOut: [String] = []
  /// Whether the table is as its own statement makes it.
  let isOriginal: Bool

  /// As the table's own statement has them: what is computed takes no value.
  init(of definition: TableDefinition) {
    isOriginal = true
    names = definition.columns.map { $0.generation == .none ? $0.name : nil }
    rowIDColumn = definition.rowIDColumn.map { definition.columns[$0].name }
  }

  /// For a table without types, constraints and expressions. A computed value that stands in the rows is one like
  /// any other.
  init(simplified definition: TableDefinition, maxColumns: Int) {
    isOriginal = false
    let maxColumns = max(1, min(maxColumns, OverflowColumns.maxColumns))
    var taken = UniqueNames()
    taken.take([OverflowColumns.name])
    let stored = definition.columns.count { $0.generation != .virtual }
    var place = 0
    for (index, column) in definition.columns.enumerated() {
      if column.generation == .virtual {
        names.append(nil)
        leftOut.append(column.name)
        continue
      }
      place += 1
      guard stored <= maxColumns || place < maxColumns else {
        if overflow == nil { overflow = index }
        names.append(nil)
        continue
      }
      let name = taken.uniqueColumn(column.name)
      names.append(name)
      if index == definition.rowIDColumn { rowIDColumn = name }
    }
  }

  /// The columns as a CREATE TABLE statement without types names them.
  func declaration() throws(SQLiteWriterError) -> String {
    var columns: [String] = []
    for name in names {
      guard let name else { continue }
      let quoted = try SQLIdentifier.quoted(name)
      columns.append(name == rowIDColumn ? quoted + " INTEGER PRIMARY KEY" : quoted)
    }
    if overflow != nil { columns.append(try SQLIdentifier.quoted(OverflowColumns.name)) }
    return columns.joined(separator: ", ")
  }
}
