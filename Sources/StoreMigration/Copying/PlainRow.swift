/// The source of the value in a column of a new row, when no SQL is needed.
enum RowField: Hashable {
  /// The unchanged value of the old row's column with this index.
  case column(Int)
  /// The value of a column of the old row or, if this value is NULL, a constant. The constant is given as SQL.
  case columnOr(Int, constant: String)
  /// NULL if the value of the old row's column is NULL; otherwise a constant. The constant is given as SQL.
  case constantWhere(Int, constant: String)
  /// A constant, given as SQL.
  case constant(String)
}

/// How a new row is made from the values of an old row, without SQL.
struct PlainRow {
  /// The sources of the new row's values, keyed by column name. A column without an entry is NULL.
  let fields: [String: RowField]
  /// The names of the new columns that must not be NULL.
  let demanded: Set<String>
}
