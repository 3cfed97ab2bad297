/// The SQL for a row while it is put together: which columns of the old row it takes, and what it sets.
struct RowSQL {
  private var columns: [Int] = []
  private var values: [(name: String, value: String)] = []
  private var conditions: [String] = []
  private var watched: [(value: String, converted: String, property: String)] = []

  /// The key is the first parameter.
  init(keyColumn: Int) { columns = [keyColumn] }

  /// The parameter that takes the key of the old row.
  var ownKey: String { "?1" }

  /// The parameter that takes a column of the old row.
  mutating func parameter(_ column: Int) -> String {
    if let place = columns.firstIndex(of: column) { return "?\(place + 1)" }
    columns.append(column)
    return "?\(columns.count)"
  }

  /// Sets a column of the new row.
  mutating func set(_ name: String, to value: String) { values.append((name, value)) }

  /// Watches a conversion that some values do not survive.
  mutating func watch(_ value: String, _ converted: String, property: String) {
    watched.append((value, converted, property))
  }

  /// The statement that finds which of the watched values of a row are lost, each column 1 for a lost one, and the
  /// properties; nil when none is watched.
  func losses() -> (statement: RowStatement, properties: [String])? {
    guard !watched.isEmpty else { return nil }
    let columns = watched.map { "(\($0.value) IS NOT NULL AND \($0.converted) IS NULL)" }
    return (
      statement("SELECT " + columns.joined(separator: ", ")), watched.map(\.property)
    )
  }

  /// Takes only rows for which a condition holds.
  mutating func take(where condition: String) { conditions.append(condition) }

  /// Demands a value that is not NULL.
  mutating func demand(_ value: String) { conditions.append("\(value) IS NOT NULL") }

  /// The statement that inserts the row.
  func insert(into table: String) throws -> RowStatement {
    let names = try values.map { try SQLText.quoted($0.name) }.joined(separator: ", ")
    let selected = values.map(\.value).joined(separator: ", ")
    let into = try SQLText.quoted(table)
    // Without a condition VALUES is a third faster than SELECT.
    return RowStatement(
      sql: conditions.isEmpty
        ? "INSERT INTO \(into) (\(names)) VALUES (\(selected))"
        : "INSERT INTO \(into) (\(names)) SELECT \(selected) WHERE \(conditions.joined(separator: " AND "))",
      columns: columns)
  }

  /// A statement with these parameters.
  func statement(_ sql: String) -> RowStatement { RowStatement(sql: sql, columns: columns) }
}
