import SQLiteFile

/// What the fields of the records in one b-tree must be.
struct RecordRules {
  /// The rule of one field. It is small, because it is looked up for each value of each row.
  struct Field: BitwiseCopyable {
    /// The storage classes that SQLite would not have stored in this field, as bits of `StorageClasses`.
    var refused: UInt8 = 0
    /// The storage classes whose values must be compared with the demand, as bits of `StorageClasses`.
    var watched: UInt8 = 0
    /// The index of the column in the table's declaration; -1 when there is no column.
    var column: Int32 = -1
    /// Whether text that looks like a number is wrong in this field, because the column's affinity converts such text.
    var refusesNumericText = false
    /// Whether the column is an alias of the row id, so that the field must be NULL.
    var isRowID = false
    /// The number of the demand on the column; -1 when there is none.
    var demand: Int16 = -1
    /// The number of the key set that integers in this field refer to; -1 when they refer to none.
    var target: Int16 = -1
    /// Whether the hash of the field goes into a sum of ``RecordRules/sums``.
    var isIndexed = false
    /// Whether a record without the field has NULL in a NOT NULL column.
    var isRequired = false

    /// The storage classes whose values cannot be accepted by their class alone, as bits of `StorageClasses`.
    @inline(__always)
    var attention: UInt8 {
      refused | watched | (refusesNumericText ? StorageClasses.text.rawValue : 0)
    }
  }

  /// The bit in ``attention`` of an indexed field; no storage class has this bit.
  static let isIndexed: UInt8 = 0x80

  /// A rule for each field, in the order of the record.
  var fields: ContiguousArray<Field> = []
  /// For each field, the storage classes whose values cannot be accepted by their class alone, and the bit
  /// ``isIndexed`` if the field is indexed. Empty until ``settle()`` is called.
  private(set) var attention: ContiguousArray<UInt8> = []
  /// The most fields a record may have.
  var maxFields = Int.max
  /// The fewest fields a record may have: with fewer, a NOT NULL column would be NULL.
  private(set) var minFields = 0
  /// The names of the columns, for messages.
  var names: [String] = []
  /// The number of the key set that collects the row ids of the records; -1 when none does.
  var keys = -1
  /// Whether the last field of each record must be a row id, as in an index entry, which ends with the row id of its
  /// row.
  var endsWithRowID = false
  /// What each row of a table adds to the sums of the table's indexes, one part for each index; see ``IndexSum``.
  var sums: ContiguousArray<IndexSum.Part> = []
  /// The number of the sum to which the entries of an index are added; -1 when there is none.
  var entrySum = -1
  /// For each field, the hash that counts when a record lacks the field: the hash of the column's default value.
  var absentHashes: ContiguousArray<UInt64> = []

  /// The numbers of all sums that the records go into.
  var sumNumbers: [Int] { sums.map(\.sum) + (entrySum >= 0 ? [entrySum] : []) }

  /// Sets ``attention`` from the rules of the fields. Must be called after the last change of a field.
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

  /// The rules of the entries of an index.
  ///
  /// `columnCount`: the number of indexed columns; nil when it is not known.
  /// `endsWithRowID`: whether the row id follows the indexed columns; false for an index of a WITHOUT ROWID table.
  init(indexOf columnCount: Int?, endsWithRowID: Bool) {
    self.endsWithRowID = endsWithRowID
    if let columnCount, endsWithRowID { maxFields = columnCount + 1 }
  }
}
