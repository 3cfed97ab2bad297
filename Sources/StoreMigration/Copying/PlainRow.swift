/// The source of one value of a new row that is made without SQL.
enum RowField: Hashable {
  /// The unchanged value of the old row's column with this index.
  case column(Int)
  /// The value of a column of the old row or, if this value is NULL, a constant. The constant is given as SQL.
  case columnOr(Int, constant: String)
  /// If the value in the old row's column with this index is NULL, the new value is NULL. Otherwise, the new value is
  /// the constant, which is given as SQL.
  case constantWhere(Int, constant: String)
  /// A constant, given as SQL.
  case constant(String)
}

/// How a new row is made from the values of an old row, without SQL.
struct PlainRow {
  /// The sources of the new row's values, keyed by column name. A column without an entry is NULL.
  let fields: [String: RowField]
  /// The names of the columns that must not be NULL in the new row.
  let demanded: Set<String>
}
