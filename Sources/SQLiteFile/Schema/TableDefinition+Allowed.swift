extension TableDefinition {
  private static let strict: [SQLName: StorageClasses] = [
    SQLName("INT"): [.real, .text, .blob], SQLName("INTEGER"): [.real, .text, .blob],
    SQLName("REAL"): [.text, .blob], SQLName("TEXT"): [.integer, .real, .blob],
    SQLName("BLOB"): [.integer, .real, .text],
  ]

  /// The classes that SQLite does not store in a column: `PRAGMA integrity_check` reports such a value as NUMERIC,
  /// non-INT or NULL (pragma.c). The column that is an alias for the row id is NULL in every record.
  package func refusedClasses(ofColumn place: Int) -> StorageClasses {
    if rowIDColumn == place { return [.integer, .real, .text, .blob] }
    let column = columns[place]
    var refused: StorageClasses = column.affinity == .text ? [.integer, .real] : []
    if isStrict { refused = Self.strict[SQLName(column.declaredType)] ?? [] }
    if column.isNotNull || isWithoutRowID && primaryKey.contains(place) { refused.insert(.null) }
    return refused
  }

  /// Whether a column would have converted numeric text to a number.
  package func refusesNumericText(inColumn place: Int) -> Bool {
    !isStrict && columns[place].affinity != .text && columns[place].affinity != .blob
  }

  /// Whether a record without a field for a column would have NULL where NULL is forbidden. A row older than the column
  /// has the column's default value; a default expression is not computed.
  package func requiresField(ofColumn place: Int) -> Bool {
    rowIDColumn != place && refusedClasses(ofColumn: place).contains(.null)
      && columns[place].defaultValue == .null
  }
}

/// The constraints that a declaration sets on the fields of a record. Created once per table, because a table may have
/// thousands of columns.
package struct FieldDemands: Sendable {
  package struct Field: BitwiseCopyable, Sendable {
    /// The classes that SQLite does not store in the field.
    package let refused: StorageClasses
    /// Whether numeric text would have been converted to a number.
    package let refusesNumericText: Bool
    /// Whether a record without the field would have NULL where NULL is forbidden.
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

  /// No constraints, for an unknown table.
  package init() { fields = [] }

  /// Whether SQLite could have stored a record with these types.
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

  /// Whether the readable part of a record header has a class that SQLite does not store in its field. NULL proves
  /// nothing, because a column may have become NOT NULL later.
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
