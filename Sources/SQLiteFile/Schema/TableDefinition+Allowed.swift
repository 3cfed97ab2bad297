extension TableDefinition {
  private static let strict: [SQLName: StorageClasses] = [
    SQLName("INT"): [.real, .text, .blob], SQLName("INTEGER"): [.real, .text, .blob],
    SQLName("REAL"): [.text, .blob], SQLName("TEXT"): [.integer, .real, .blob],
    SQLName("BLOB"): [.integer, .real, .text],
  ]

  /// Returns the storage classes that SQLite never stores in a column. `PRAGMA integrity_check` reports a value of such
  /// a class as NUMERIC, non-INT or NULL (pragma.c). If the column is an alias for the row id, SQLite stores only NULL
  /// in the column.
  package func refusedClasses(ofColumn place: Int) -> StorageClasses {
    if rowIDColumn == place { return [.integer, .real, .text, .blob] }
    let column = columns[place]
    var refused: StorageClasses = column.affinity == .text ? [.integer, .real] : []
    if isStrict { refused = Self.strict[SQLName(column.declaredType)] ?? [] }
    if column.isNotNull || isWithoutRowID && keyColumns.contains(place) { refused.insert(.null) }
    return refused
  }

  /// Whether SQLite converts numeric text to a number before it stores the text in the column.
  package func refusesNumericText(inColumn place: Int) -> Bool {
    !isStrict && columns[place].affinity != .text && columns[place].affinity != .blob
  }

  /// Whether every record must have a field for a column. SQLite reads a missing field as the column's default value,
  /// because the record is older than the column. So the field is required if the column forbids NULL and the default
  /// value is NULL. A default expression is assumed not to be NULL.
  package func requiresField(ofColumn place: Int) -> Bool {
    rowIDColumn != place && refusedClasses(ofColumn: place).contains(.null)
      && columns[place].defaultValue == .null
  }
}

/// The constraints that a table's declaration sets on the fields of a record. They are computed once for each table,
/// because a table may have thousands of columns.
package struct FieldDemands: Sendable {
  package struct Field: BitwiseCopyable, Sendable {
    /// The storage classes that SQLite never stores in the field.
    package let refused: StorageClasses
    /// Whether the field cannot contain numeric text, because SQLite converts such text to a number before storing it.
    package let refusesNumericText: Bool
    /// Whether every record must have the field. Without the field, SQLite would read NULL, which the column forbids.
    package let isRequired: Bool
  }

  /// The constraints in the order of the record's fields; empty for an unknown table.
  package let fields: ContiguousArray<Field>

  package init(_ table: TableDefinition) {
    fields = ContiguousArray(
      table.storedOrder.map { column in
        Field(
          refused: table.refusedClasses(ofColumn: column),
          refusesNumericText: table.refusesNumericText(inColumn: column),
          isRequired: table.requiresField(ofColumn: column))
      })
  }

  /// Creates an empty list of constraints, for an unknown table.
  package init() { fields = [] }

  /// Whether SQLite could have stored a record with these serial types.
  package func allow(_ types: borrowing RecordTypes) -> Bool {
    if fields.isEmpty { return true }
    let count = types.types.count
    guard count <= fields.count else { return false }
    for index in 0..<count
    where !fields[index].refused.isDisjoint(with: StorageClasses(serialType: types.types[index])) {
      return false
    }
    return !fields[count...].contains { $0.isRequired }
  }

  /// Whether the readable part of the record header gives a field a storage class that SQLite never stores in the
  /// field. NULL does not count, because a column may have become NOT NULL later.
  package func contradict(_ record: RawSpan) -> Bool {
    let end = record.byteCount
    guard let header = Varint.read(record, at: 0, end: end) else { return false }
    var offset = header.length
    for field in fields {
      guard offset < end, UInt64(offset) < header.value,
        let type = Varint.read(record, at: offset, end: end)
      else { return false }
      let kind = StorageClasses(serialType: type.value)
      if kind != .null, !field.refused.isDisjoint(with: kind) { return true }
      offset += type.length
    }
    return false
  }
}
