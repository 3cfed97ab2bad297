import SQLiteFile

/// The rules for the records in one b-tree.
struct RecordRules {
  /// The rule for one field of a record. The struct is small, because the rule is looked up for each value of each row.
  struct Field: BitwiseCopyable {
    /// The storage classes that SQLite never stores in this field, as bits of `StorageClasses`.
    var refused: UInt8 = 0
    /// The storage classes whose values must be compared with the ``ColumnDemand`` of the column, as bits of
    /// `StorageClasses`. Values of other classes always meet the demand.
    var watched: UInt8 = 0
    /// The index of the column in the table's declaration; -1 if there is no column.
    var column: Int32 = -1
    /// Whether text that looks like a number is an error in this field, because SQLite would have converted it to a
    /// number by the column's affinity.
    var refusesNumericText = false
    /// Whether the column is an alias of the row id, so that the field must be NULL.
    var isRowID = false
    /// The index in ``RecordCheck/demands`` of the demand on the field's values; -1 if there is no such demand.
    var demand: Int16 = -1
    /// The number of the key set that must contain the integers in this field; -1 if the field refers to no table.
    var target: Int16 = -1
    /// Whether an index of the table contains the field. If so, the hash of the field's value is added to a sum
    /// (``RecordRules/sums``).
    var isIndexed = false
    /// Whether every record must have the field, because a record without it would have NULL in a NOT NULL column.
    var isRequired = false

    /// The storage classes whose values must be examined one by one, as bits of `StorageClasses`. A value of any other
    /// class is accepted at once.
    @inline(__always)
    var attention: UInt8 {
      refused | watched | (refusesNumericText ? StorageClasses.text.rawValue : 0)
    }
  }

  /// The bit in ``attention`` that marks an indexed field. No storage class uses this bit.
  static let isIndexed: UInt8 = 0x80

  /// The rule for each field, in the order of the record.
  var fields: ContiguousArray<Field> = []
  /// For each field, the storage classes whose values must be examined (``Field/attention``). The bit ``isIndexed`` is
  /// added if the field is indexed. Empty until ``settle()`` is called.
  private(set) var attention: ContiguousArray<UInt8> = []
  var maxFields = Int.max
  /// The minimum number of fields of a record. A record with fewer fields would have NULL in a NOT NULL column.
  private(set) var minFields = 0
  /// The column names for messages.
  var names: [String] = []
  /// The number of the key set to which the row ids of the table are added; -1 if no key set gets the row ids.
  var keys = -1
  /// Whether the last field must be a row id, as in an index of a table with row ids.
  var endsWithRowID = false
  /// The sums (``IndexSum``) of the table's indexes, each with the fields whose hashes are added to the sum.
  var sums: ContiguousArray<IndexSum.Part> = []
  /// The index, in ``RecordCheck/sums``, of the sum over the hashes of this index's entries; -1 for a b-tree whose
  /// entries are not compared with rows.
  var entrySum = -1
  /// For each field, the hash of the default value of its column. Used for records that lack the field.
  var absentHashes: ContiguousArray<UInt64> = []

  var sumNumbers: [Int] { sums.map(\.sum) + (entrySum >= 0 ? [entrySum] : []) }

  /// Computes ``attention`` from ``fields``. Must be called after the last change of ``fields``.
  mutating func settle() {
    attention = ContiguousArray(
      fields.map { $0.attention | ($0.isIndexed ? Self.isIndexed : 0) })
  }

  /// Creates rules that allow any record, for a b-tree about which nothing is known.
  init() {}

  init(_ table: TableDefinition) {
    fields = ContiguousArray(
      table.storedOrder.map { place in
        Field(
          refused: table.refusedClasses(ofColumn: place).rawValue, column: Int32(place),
          refusesNumericText: table.refusesNumericText(inColumn: place),
          isRowID: table.rowIDColumn == place, isRequired: table.requiresField(ofColumn: place))
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
