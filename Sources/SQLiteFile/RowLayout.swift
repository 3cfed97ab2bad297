/// How the fields of a record become the columns of a row.
struct RowLayout {
  /// What stands behind a column.
  enum Source {
    /// The field of this number.
    case field(Int)
    /// The row id; the field itself is NULL.
    case rowID
    /// Nothing: a virtual column is computed by whoever has SQL.
    case computed
  }

  /// For each column where its value comes from.
  let sources: ContiguousArray<Source>
  /// For each column whether whole numbers stand for reals.
  let isReal: ContiguousArray<Bool>
  /// For each column what a row without the field has; nil when that is not known.
  let defaults: [StoredValue?]
  /// The names of the columns.
  let names: [String]
  /// Whether the fields are the columns in order, so that one pass does.
  let isInOrder: Bool
  /// Whether fields behind the last column are taken too.
  let takesAllFields: Bool

  /// The layout of a table.
  init(_ table: TableDefinition) {
    var sources = ContiguousArray(repeating: Source.computed, count: table.columns.count)
    for (field, column) in table.storedOrder.enumerated() { sources[column] = .field(field) }
    if let column = table.rowIDColumn { sources[column] = .rowID }
    self.sources = sources
    isReal = ContiguousArray(table.columns.map { $0.affinity == .real })
    defaults = table.columns.map(\.defaultValue)
    names = table.columns.map(\.name)
    isInOrder = table.storedOrder == Array(table.columns.indices)
    takesAllFields = false
  }

  /// The layout of records of which nothing is known: the fields as they are, however many there are.
  init() {
    sources = []
    isReal = []
    defaults = []
    names = []
    isInOrder = true
    takesAllFields = true
  }
}
