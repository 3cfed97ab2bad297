/// Collects the SQL that inserts a new row: the columns of the old row that it takes, and the values that it sets.
struct RowSQL {
  private var columns: [Int] = []
  private var values: [(name: String, value: String)] = []
  private var conditions: [String] = []
  private var demanded: Set<String> = []
  /// How some values can be found without SQL. A key is the SQL of a value.
  private var forms: [String: RowField] = [:]
  private var watched: [(value: String, converted: String, property: String)] = []

  /// Creates an empty row. The first parameter, `?1`, takes the key of the old row.
  init(keyColumn: Int) { columns = [keyColumn] }

  /// The parameter that takes the key of the old row.
  var ownKey: String { "?1" }

  /// The parameter that takes the value of a column of the old row.
  mutating func parameter(_ column: Int) -> String {
    if let place = columns.firstIndex(of: column) { return "?\(place + 1)" }
    columns.append(column)
    return "?\(columns.count)"
  }

  /// The value of a column of the old row, as SQL, with a constant where it is NULL.
  mutating func parameter(_ column: Int, or constant: String) -> String {
    let sql = "IFNULL(\(parameter(column)), \(constant))"
    forms[sql] = .columnOr(column, constant: constant)
    return sql
  }

  /// A constant where a value is not NULL, else NULL, as SQL.
  mutating func constant(_ constant: String, where value: String) -> String {
    let sql = "CASE WHEN \(value) IS NULL THEN NULL ELSE \(constant) END"
    if case .column(let column)? = field(value) {
      forms[sql] = .constantWhere(column, constant: constant)
    }
    return sql
  }

  /// How a value, which is given as SQL, can be found without SQL; nil when it cannot.
  private func field(_ value: String) -> RowField? {
    if let known = forms[value] { return known }
    guard value.utf8.contains(UInt8(ascii: "?")) else { return .constant(value) }
    guard let place = columns.indices.first(where: { value == "?\($0 + 1)" }) else { return nil }
    return .column(columns[place])
  }

  /// How the row is put together without SQL; nil when SQL is needed.
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

  /// Sets a column of the new row to a value, which is given as SQL.
  mutating func set(_ name: String, to value: String) { values.append((name, value)) }

  /// Remembers a conversion that some values do not survive, for ``losses()``.
  mutating func watch(_ value: String, _ converted: String, property: String) {
    watched.append((value, converted, property))
  }

  /// A statement that finds which values of a row are lost in a conversion, and the properties concerned. Each column
  /// of its result is 1 when the value of the property at the same place is lost. Nil when no conversion loses values.
  func losses() -> (statement: RowStatement, properties: [String])? {
    guard !watched.isEmpty else { return nil }
    let columns = watched.map { "(\($0.value) IS NOT NULL AND \($0.converted) IS NULL)" }
    return (
      statement("SELECT " + columns.joined(separator: ", ")), watched.map(\.property)
    )
  }

  /// Lets the insertion take only rows for which a condition, given as SQL, holds.
  mutating func take(where condition: String) { conditions.append(condition) }

  /// Lets the insertion take only rows in which a value, given as SQL, is not NULL.
  mutating func demand(_ value: String) { demanded.insert(value) }

  /// The statement that inserts the row.
  func insert(into table: String) throws -> RowStatement {
    let names = try values.map { try SQLText.quoted($0.name) }.joined(separator: ", ")
    let selected = values.map(\.value).joined(separator: ", ")
    let into = try SQLText.quoted(table)
    let conditions = conditions + demanded.sorted().map { "\($0) IS NOT NULL" }
    // Without a condition VALUES is a third faster than SELECT.
    return RowStatement(
      sql: conditions.isEmpty
        ? "INSERT INTO \(into) (\(names)) VALUES (\(selected))"
        : "INSERT INTO \(into) (\(names)) SELECT \(selected) WHERE \(conditions.joined(separator: " AND "))",
      columns: columns)
  }

  /// A statement whose parameters take the columns that were asked for so far.
  func statement(_ sql: String) -> RowStatement { RowStatement(sql: sql, columns: columns) }
}
