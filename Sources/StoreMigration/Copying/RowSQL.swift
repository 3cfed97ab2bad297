/// Builds the SQL statement that inserts a new row. Collects the values of the new columns, and the columns of the old
/// row that these values need.
struct RowSQL {
  private var columns: [Int] = []
  private var values: [(name: String, value: String)] = []
  private var conditions: [String] = []
  private var demanded: Set<String> = []
  /// The ``RowField`` of each value that needs no SQL, keyed by the SQL expression of the value.
  private var forms: [String: RowField] = [:]
  private var watched: [(value: String, converted: String, property: String)] = []

  /// Creates a row without values. The first parameter, `?1`, stands for the key of the old row.
  init(keyColumn: Int) { columns = [keyColumn] }

  /// The SQL parameter for the key of the old row.
  var ownKey: String { "?1" }

  /// Returns the SQL parameter for the value in a column of the old row.
  mutating func parameter(_ column: Int) -> String {
    if let place = columns.firstIndex(of: column) { return "?\(place + 1)" }
    columns.append(column)
    return "?\(columns.count)"
  }

  /// Returns an SQL expression for the value in a column of the old row. If this value is NULL, the expression gives
  /// `constant`.
  mutating func parameter(_ column: Int, or constant: String) -> String {
    let sql = "IFNULL(\(parameter(column)), \(constant))"
    forms[sql] = .columnOr(column, constant: constant)
    return sql
  }

  /// Returns an SQL expression that gives `constant`, or NULL if the SQL expression `value` gives NULL.
  mutating func constant(_ constant: String, where value: String) -> String {
    let sql = "CASE WHEN \(value) IS NULL THEN NULL ELSE \(constant) END"
    if case .column(let column)? = field(value) {
      forms[sql] = .constantWhere(column, constant: constant)
    }
    return sql
  }

  /// Returns the constant or old column that gives the value of the SQL expression `value`; nil when SQL is needed to
  /// compute the value.
  private func field(_ value: String) -> RowField? {
    if let known = forms[value] { return known }
    guard value.utf8.contains(UInt8(ascii: "?")) else { return .constant(value) }
    guard let place = columns.indices.first(where: { value == "?\($0 + 1)" }) else { return nil }
    return .column(columns[place])
  }

  /// Returns a description of the new row from which the row can be made without SQL; nil when SQL is needed.
  func plain() -> PlainRow? {
    guard conditions.isEmpty, watched.isEmpty else { return nil }
    var fields: [String: RowField] = [:]
    var demandedColumns: Set<String> = []
    for (name, value) in values {
      guard let field = field(value) else { return nil }
      fields[name] = field
      if demanded.contains(value) { demandedColumns.insert(name) }
    }
    return PlainRow(fields: fields, demanded: demandedColumns)
  }

  /// Sets a column of the new row to the value of an SQL expression.
  mutating func set(_ name: String, to value: String) { values.append((name, value)) }

  /// Registers a conversion that may lose a value of `property`. The value is lost if the SQL expression `value` gives
  /// a value, but the SQL expression `converted` gives NULL. The statement of ``losses()`` checks this.
  mutating func watch(_ value: String, _ converted: String, property: String) {
    watched.append((value, converted, property))
  }

  /// Returns a statement that shows which values of an old row a conversion loses (``watch(_:_:property:)``). Its
  /// result has one column for each property in `properties`: 1 if the value of that property is lost. Returns nil when
  /// no value can be lost.
  func losses() -> (statement: RowStatement, properties: [String])? {
    guard !watched.isEmpty else { return nil }
    let columns = watched.map { "(\($0.value) IS NOT NULL AND \($0.converted) IS NULL)" }
    return (
      statement("SELECT " + columns.joined(separator: ", ")), watched.map(\.property)
    )
  }

  /// Adds an SQL condition. The new row is inserted only if the condition is true.
  mutating func take(where condition: String) { conditions.append(condition) }

  /// Adds an SQL expression that must give a value. The new row is not inserted if the expression gives NULL.
  mutating func demand(_ value: String) { demanded.insert(value) }

  /// Returns the statement that inserts the row into `table`.
  func insert(into table: String) throws -> RowStatement {
    let names = try values.map { try SQLText.quoted($0.name) }.joined(separator: ", ")
    let selected = values.map(\.value).joined(separator: ", ")
    let into = try SQLText.quoted(table)
    let conditions = conditions + demanded.sorted().map { "\($0) IS NOT NULL" }
    let all = SQLText.joined(conditions, by: "AND")
    // Without conditions, the statement uses VALUES, which is a third faster than SELECT.
    return RowStatement(
      sql: conditions.isEmpty
        ? "INSERT INTO \(into) (\(names)) VALUES (\(selected))"
        : "INSERT INTO \(into) (\(names)) SELECT \(selected) WHERE \(all)",
      columns: columns)
  }

  /// Makes a statement from SQL text. The statement has parameters for all columns that were passed to
  /// ``parameter(_:)`` before.
  func statement(_ sql: String) -> RowStatement { RowStatement(sql: sql, columns: columns) }
}
