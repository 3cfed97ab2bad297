/// How the columns of a row are read from the fields of a record.
@usableFromInline package struct RowLayout {
  /// Describes where the value of a column comes from. A rule is looked up for each value of each row, so rules are
  /// compact.
  @usableFromInline package struct Rule: BitwiseCopyable {
    /// The index of the field in the record; negative when the value is in no field.
    @usableFromInline package var field: Int32
    /// Whether the value is the row id. The field of the record is then NULL.
    @usableFromInline package var isRowID = false
    /// Whether integers are converted to reals when they are read.
    @usableFromInline package var isReal = false
  }

  /// The rules for the columns, one for each column.
  @usableFromInline package let rules: ContiguousArray<Rule>
  /// For each column, the value that is read if a record has no field for the column; nil if that value is not known.
  package let defaults: [StoredValue?]
  /// The names of the columns, in the order of ``rules``.
  package let names: [String]
  /// Whether the column with index N is stored in the field with index N, for all columns of the table. If so, a record
  /// can be read in one pass.
  @usableFromInline package let isInOrder: Bool
  /// The maximum number of fields in a record of the table.
  @usableFromInline package let fieldCount: Int
  /// The constraints that the CREATE statement sets on the fields of a record.
  package let demands: FieldDemands
  /// Whether the fields of a record beyond the last column are also read.
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

  /// Creates a layout with only some columns of `layout`: those with the indexes `columns`, in this order.
  package init(_ layout: RowLayout, columns: [Int]) {
    rules = ContiguousArray(columns.map { layout.rules[$0] })
    defaults = columns.map { layout.defaults[$0] }
    names = columns.map { layout.names[$0] }
    isInOrder = false
    fieldCount = layout.fieldCount
    demands = layout.demands
    takesAllFields = false
  }

  /// Creates the layout for records of an unknown table: all fields are read as stored.
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
