/// How columns are read from the fields of a record.
@usableFromInline package struct RowLayout {
  /// Where a column's value is. Compact, because a rule is looked up for each value of each row.
  @usableFromInline package struct Rule: BitwiseCopyable {
    /// The index in the record; negative when the value is in no field.
    @usableFromInline package var field: Int32
    /// The field of the record is then NULL.
    @usableFromInline package var isRowID = false
    /// Whether integers are converted to reals when they are read.
    @usableFromInline package var isReal = false
  }

  /// One for each column.
  @usableFromInline package let rules: ContiguousArray<Rule>
  /// The values of columns for which a record has no field; nil if the value is not known.
  package let defaults: [StoredValue?]
  /// In the order of ``rules``.
  package let names: [String]
  /// Whether field and column have the same index, so that a record can be read in one pass.
  @usableFromInline package let isInOrder: Bool
  /// The maximum number in a record of the table.
  @usableFromInline package let fieldCount: Int
  /// What the CREATE statement demands of the fields.
  package let demands: FieldDemands
  /// Whether fields beyond the last column are read too.
  @usableFromInline package let takesAllFields: Bool

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

  /// Keeps only some columns of `layout`: those with the indexes `columns`, in this order.
  package init(_ layout: RowLayout, columns: [Int]) {
    rules = ContiguousArray(columns.map { layout.rules[$0] })
    defaults = columns.map { layout.defaults[$0] }
    names = columns.map { layout.names[$0] }
    isInOrder = false
    fieldCount = layout.fieldCount
    demands = layout.demands
    takesAllFields = false
  }

  /// For records of an unknown table: all fields are read as stored.
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
