/// How the fields of a record become the columns of a row.
@usableFromInline package struct RowLayout {
  /// Where a column's value comes from. A rule is small, because it is looked up for each value of each row.
  @usableFromInline package struct Rule: BitwiseCopyable {
    /// The index of the field in the record; negative when no field holds the value.
    @usableFromInline package var field: Int32
    /// Whether the value is the row id; the field itself is NULL.
    @usableFromInline package var isRowID = false
    /// Whether integers are read as reals.
    @usableFromInline package var isReal = false
  }

  /// A rule for each column.
  @usableFromInline package let rules: ContiguousArray<Rule>
  /// For each column, the value when a record has no field for it; nil when that value is not known.
  package let defaults: [StoredValue?]
  /// The names of the columns, in the order of ``rules``.
  package let names: [String]
  /// Whether the fields are the columns in order, so that one pass is enough.
  @usableFromInline package let isInOrder: Bool
  /// The most fields that a record of the table can have.
  @usableFromInline package let fieldCount: Int
  /// The constraints that the CREATE statement sets on the fields of a record.
  package let demands: FieldDemands
  /// Whether fields after the last column are also read.
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

  /// The layout of the same table with only some columns, in the given order.
  package init(_ layout: RowLayout, columns: [Int]) {
    rules = ContiguousArray(columns.map { layout.rules[$0] })
    defaults = columns.map { layout.defaults[$0] }
    names = columns.map { layout.names[$0] }
    isInOrder = false
    fieldCount = layout.fieldCount
    demands = layout.demands
    takesAllFields = false
  }

  /// The layout of records of an unknown table: all fields as they are.
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
