/// Where a column of a new row gets its value, when no SQL is needed.
enum RowField: Hashable {
  /// The column of the old row with this index, as it is.
  case column(Int)
  /// A column of the old row; where its value is NULL, a constant, as SQL.
  case columnOr(Int, constant: String)
  /// A constant, as SQL, where a column of the old row is not NULL; else NULL.
  case constantWhere(Int, constant: String)
  /// A constant, as SQL.
  case constant(String)
}

/// A new row that can be put together from the values of an old one alone.
struct PlainRow {
  /// Where the values come from, by the names of the new columns. Columns without an entry are NULL.
  let fields: [String: RowField]
  /// The names of the new columns that must not be NULL.
  let demanded: Set<String>
}
