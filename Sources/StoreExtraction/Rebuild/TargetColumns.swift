import SQLiteFile
import SQLiteWriter

/// The columns of a table in the new file, derived from the columns of the original table.
struct TargetColumns {
  /// For each original column, its name in the new table; nil for a column to which no value is written.
  private(set) var names: [String?] = []
  /// The name of the column that holds the row id; nil if the table has no such column.
  private(set) var rowIDColumn: String?
  /// The position of the first column that does not fit into the table. The values of this column and of all columns
  /// after it are stored in ``OverflowColumns``. Nil if all columns fit into the table.
  private(set) var overflow: Int?
  /// The names of virtual generated columns. They are left out of a table that is made without expressions.
  private(set) var leftOut: [String] = []
  /// Whether the new table is made by its own CREATE statement. If false, a simplified statement makes it.
  let isOriginal: Bool

  /// Creates the target columns of a table that its original CREATE statement makes in the new file. Generated columns
  /// receive no values.
  init(of definition: TableDefinition) {
    isOriginal = true
    names = definition.columns.map { $0.generation == .none ? $0.name : nil }
    rowIDColumn = definition.rowIDColumn.map { definition.columns[$0].name }
  }

  /// Creates the columns of a table that is made without types, constraints and expressions. Stored generated columns
  /// become ordinary columns.
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

  /// Returns the column list for a CREATE TABLE statement. No column has a type, except an INTEGER PRIMARY KEY.
  func declaration() throws(SQLiteWriterError) -> String {
    var columns: [String] = []
    for name in names {
      guard let name else { continue }
      let quoted = try SQLIdentifier.quoted(name)
      let isRowID = rowIDColumn.map { SQLName.isSame(name, $0) } ?? false
      columns.append(isRowID ? quoted + " INTEGER PRIMARY KEY" : quoted)
    }
    if overflow != nil { columns.append(try SQLIdentifier.quoted(OverflowColumns.name)) }
    return columns.joined(separator: ", ")
  }
}
