extension TableDefinition {
  private static let strict: [SQLName: StorageClasses] = [
    SQLName("INT"): [.real, .text, .blob], SQLName("INTEGER"): [.real, .text, .blob],
    SQLName("REAL"): [.text, .blob], SQLName("TEXT"): [.integer, .real, .blob],
    SQLName("BLOB"): [.integer, .real, .text],
  ]

  /// The classes that SQLite does not store in a column: what `PRAGMA integrity_check` calls a NUMERIC or non-INT value,
  /// or a NULL value, in it (pragma.c). The column that stands for the row id is NULL in every record.
  package func refusedClasses(ofColumn place: Int) -> StorageClasses {
    if rowIDColumn == place { return [.integer, .real, .text, .blob] }
    let column = columns[place]
    var refused: StorageClasses = column.affinity == .text ? [.integer, .real] : []
    if isStrict { refused = Self.strict[SQLName(column.declaredType)] ?? [] }
    if column.isNotNull || isWithoutRowID && primaryKey.contains(place) { refused.insert(.null) }
    return refused
  }

  /// Whether a column would have converted text that is a number into one.
  package func refusesNumericText(inColumn place: Int) -> Bool {
    !isStrict && columns[place].affinity != .text && columns[place].affinity != .blob
  }

  /// Whether a record without a field for a column would have NULL where none may be. A row that is older than the column
  /// has its default value; an expression is not computed.
  package func requiresField(ofColumn place: Int) -> Bool {
    rowIDColumn != place && refusedClasses(ofColumn: place).contains(.null)
      && columns[place].defaultValue == .null
  }
}
