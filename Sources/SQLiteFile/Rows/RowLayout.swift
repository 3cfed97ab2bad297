/// How the fields of a record become the columns of a row.
@usableFromInline package struct RowLayout {
  /// Where a column's value comes from, small and plain: it is looked up for each value of each row.
  @usableFromInline package struct Rule: BitwiseCopyable {
    /// The number of the field; less than 0 where no field holds the value.
    package var field: Int32
    /// Whether the value is the row id; the field itself is NULL.
    @usableFromInline package var isRowID = false
    /// Whether whole numbers stand for reals.
    @usableFromInline package var isReal = false
  }

  /// A rule for each column.
  @usableFromInline package let rules: ContiguousArray<Rule>
  /// For each column what a row without the field has; nil when that is not known.
  package let defaults: [StoredValue?]
  /// The names of the columns.
  package let names: [String]
  /// Whether the fields are the columns in order, so that one pass does.
  @usableFromInline package let isInOrder: Bool
  /// The most fields that a record of the table has.
  package let fieldCount: Int
  /// What the declaration asks of the fields.
  package let demands: FieldDemands
  /// Whether fields behind the last column are taken too.
  @usableFromInline package let takesAllFields: Bool

  /// The layout of a table.
  package init(_ table: TableDefinition) {
    var rules = ContiguousArray(table.columns.map { Rule(field: -1, isReal: $0.affinity == .real) })
    for (field, column) in table.storedOrder.enumerated() { rules[column].field = Int32(field) }
    if let column = table.rowIDColumn { rules[column].isRowID = true }
    self.rules = rules
    defaults = table.columns.map(\.defaultValue)
    names = table.columns.map(\.name)
    isInOrder = table.storedOrder == Array(table.columns.indices)
    fieldCount = table.storedOrder.count
    demands = FieldDemands(table)
    takesAllFields = false
  }

  /// The layout of records of which nothing is known: the fields as they are, however many there are.
  package init() {
    rules = []
    defaults = []
    names = []
    isInOrder = true
    fieldCount = .max
    demands = FieldDemands()
    takesAllFields = true
  }
}
