import SQLiteFile

/// The rules for the records in one b-tree.
struct RecordRules {
  /// The rule for one field. It is small, because it is looked up for each value of each row.
  struct Field: BitwiseCopyable {
    /// The storage classes that SQLite never stores in this field, as bits of `StorageClasses`.
    var refused: UInt8 = 0
    /// The storage classes to which the ``ColumnDemand`` of the column applies, as bits of `StorageClasses`.
    var watched: UInt8 = 0
    /// The index of the column in the table's declaration; -1 if there is no column.
    var column: Int32 = -1
    /// Whether text that looks like a number is wrong, because SQLite would have converted it for the column's
    /// affinity.
    var refusesNumericText = false
    /// Whether the column is an alias of the row id, so that the field must be NULL.
    var isRowID = false
    /// The index of the demand on the column; -1 if there is no demand on the column.
    var demand: Int16 = -1
    /// The number of the key set that must contain the integers in this field; -1 if the field refers to no table.
    var target: Int16 = -1
    /// Whether the hash of the field goes into the sum of at least one index (``RecordRules/sums``).
    var isIndexed = false
    /// Whether a record without this field would have NULL in a NOT NULL column.
    var isRequired = false

    /// The storage classes whose values must be examined before they are accepted, as bits of `StorageClasses`.
    @inline(__always)
    var attention: UInt8 {
      refused | watched | (refusesNumericText ? StorageClasses.text.rawValue : 0)
    }
  }

  /// The bit in ``attention`` that marks an indexed field. No storage class uses this bit.
  static let isIndexed: UInt8 = 0x80

  /// The rule for each field, in the order of the record.
  var fields: ContiguousArray<Field> = []
  /// For each field, ``Field/attention``, with the bit ``isIndexed`` added if the field is indexed. Empty until
  /// ``settle()`` is called.
  private(set) var attention: ContiguousArray<UInt8> = []
  var maxFields = Int.max
  /// The minimum number of fields of a record. A record with fewer fields would have NULL in a NOT NULL column.
  private(set) var minFields = 0
  /// The column names for messages.
  var names: [String] = []
  /// The number of the key set that collects the row ids of the table; -1 if the row ids are not collected.
  var keys = -1
  /// Whether the last field must be a row id, as in an index of a table with row ids.
  var endsWithRowID = false
  /// For each index of a table, the fields that each row adds to the sum of the index; see ``IndexSum``.
  var sums: ContiguousArray<IndexSum.Part> = []
  /// The number of the sum to which the hash of each index entry is added; -1 if the hashes are not added up.
  var entrySum = -1
  /// For each field, the hash of the default value of its column. Used for records that lack the field.
  var absentHashes: ContiguousArray<UInt64> = []

  var sumNumbers: [Int] { sums.map(\.sum) + (entrySum >= 0 ? [entrySum] : []) }

  /// Sets ``attention`` from the rules of the fields. Must be called after the last change of a field.
  mutating func settle() {
    attention = ContiguousArray(
      fields.map { $0.attention | ($0.isIndexed ? Self.isIndexed : 0) })
  }

  /// Creates rules that allow any record, for a b-tree about which nothing is known.
  init() {}

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

  /// The rules for the entries of an index.
  ///
  /// `columnCount`: the number of indexed columns; nil if it is not known.
  /// `endsWithRowID`: false for an index of a WITHOUT ROWID table.
  init(indexOf columnCount: Int?, endsWithRowID: Bool) {
    self.endsWithRowID = endsWithRowID
    if let columnCount, endsWithRowID { maxFields = columnCount + 1 }
  }
}
