/// Where a column of a new row comes from, when no SQL is needed to work it out.
enum RowField: Hashable {
  /// A column of the old row, as it is.
  case column(Int)
  /// A column of the old row; a constant, as SQL, where it is NULL.
  case columnOr(Int, constant: String)
  /// A constant, as SQL, where a column of the old row is not NULL.
  case constantWhere(Int, constant: String)
  /// A constant, as SQL.
  case constant(String)
}

/// A new row that can be put together from the values of an old one alone.
struct PlainRow {
  /// By the names of the new columns; the others are NULL.
  let fields: [String: RowField]
  /// The columns that must not be NULL.
  let demanded: Set<String>
}
