import SQLiteFile

/// What the fields of the records in one b-tree must be.
struct RecordRules {
  /// The rule of one field. It is small, because it is looked up for each value of each row.
  struct Field: BitwiseCopyable {
    /// The classes that SQLite would not have stored here.
    var refused: UInt8 = 0
    /// The classes whose values need a closer look.
    var watched: UInt8 = 0
    /// The column's index in the table.
    var column: Int32 = -1
    /// Whether text that looks like a number is wrong (numeric affinities convert it).
    var refusesNumericText = false
    /// Whether the column is the row id, so that the field is NULL.
    var isRowID = false
    /// The number of a demand; -1 without one.
    var demand: Int16 = -1
    /// The number of the key set that integers here refer to; -1 without one.
    var target: Int16 = -1
    /// Whether the hash of the field goes into a sum of ``RecordRules/sums``.
    var isIndexed = false
    /// Whether a record without the field has NULL in a NOT NULL column.
    var isRequired = false

    /// The classes whose values need a look.
    @inline(__always)
    var attention: UInt8 {
      refused | watched | (refusesNumericText ? StorageClasses.text.rawValue : 0)
    }
  }

  /// The bit in ``attention`` of an indexed field; no storage class has this bit.
  static let isIndexed: UInt8 = 0x80

  /// A rule for each field in stored order.
  var fields: ContiguousArray<Field> = []
  /// For each field the classes whose values need a look, and ``isIndexed``; set by ``settle()``.
  private(set) var attention: ContiguousArray<UInt8> = []
  /// The most fields a record may have.
  var maxFields = Int.max
  /// The fewest fields a record may have: with fewer, a NOT NULL column would be NULL.
  private(set) var minFields = 0
  /// The names of the columns, for messages.
  var names: [String] = []
  /// The number of the key set that the row ids go to; -1 without one.
  var keys = -1
  /// Whether the last field is the row id that an index entry leads to.
  var endsWithRowID = false
  /// What the rows of a table add to the sums of its indexes; see ``IndexSum``.
  var sums: ContiguousArray<IndexSum.Part> = []
  /// The number of the sum that the entries of an index add up to; -1 without one.
  var entrySum = -1
  /// What a column adds to a sum when a record lacks its field, by field.
  var absentHashes: ContiguousArray<UInt64> = []

  /// The numbers of all sums that the records go into.
  var sumNumbers: [Int] { sums.map(\.sum) + (entrySum >= 0 ? [entrySum] : []) }

  /// Sets ``attention``; call this when all fields have their rules.
  mutating func settle() {
    attention = ContiguousArray(
      fields.map { $0.attention | ($0.isIndexed ? Self.isIndexed : 0) })
  }

  /// The rules of a b-tree about which nothing is known.
  init() {}

  /// The rules that follow from a table's declaration.
  init(_ table: TableDefinition) {
    fields = ContiguousArray(
      table.storedOrder.map { place in
        var field = Field(column: Int32(place))
        field.isRowID = table.rowIDColumn == place
        field.refused = table.refusedClasses(ofColumn: place).rawValue
        field.isRequired = table.requiresField(ofColumn: place)
        field.refusesNumericText = table.refusesNumericText(inColumn: place)
        return field
      })
    names = table.columns.map(\.name)
    maxFields = fields.count
    minFields = fields.lastIndex(where: { $0.isRequired }).map { $0 + 1 } ?? 0
  }

  /// The rules of an index's entries: `columnCount` columns, then the row id or the primary key.
  init(indexOf columnCount: Int?, endsWithRowID: Bool) {
    self.endsWithRowID = endsWithRowID
    if let columnCount, endsWithRowID { maxFields = columnCount + 1 }
  }
}
