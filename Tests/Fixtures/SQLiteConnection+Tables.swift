public import Foundation

extension SQLiteConnection {
  /// A row of a table. `rowid` is nil when a statement cannot ask for the row id of the table's rows.
  public typealias FixtureRow = (rowid: Int64?, values: [FixtureValue])

  /// Copies a store into a folder under the same name: the main file, the `-wal` and the `-journal`, but never the
  /// `-shm`.
  ///
  /// - Returns: the URL of the copied main file.
  @discardableResult
  public static func copyStore(_ store: URL, into folder: URL) throws -> URL {
    let copy = folder.appendingPathComponent(store.lastPathComponent)
    for suffix in ["", "-wal", "-journal"] {
      let source = store.path + suffix
      guard suffix.isEmpty || FileManager.default.fileExists(atPath: source) else { continue }
      try FileManager.default.copyItem(atPath: source, toPath: copy.path + suffix)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: copy.path + suffix)
    }
    return copy
  }

  /// Returns all rows of all ordinary tables. SQLite reads them from a private copy of the store, after it has rolled
  /// back a hot journal or read the write-ahead log.
  ///
  /// The rows of a table are in the order of the table's own b-tree: by row id or, in a WITHOUT ROWID table, by primary
  /// key. Virtual tables are left out, but their shadow tables are not. The row id is nil in a WITHOUT ROWID table, and
  /// in a table where other columns have all three names of the row id.
  ///
  /// - Parameters:
  ///   - storePath: the path of the main file.
  ///   - text: the form in which text is returned; see `TextForm`.
  ///   - virtualColumns: whether the values include those of VIRTUAL generated columns, which are not in the file.
  /// - Returns: the rows, keyed by the name of their table.
  /// - Throws: `FixtureError`, or Foundation's error when the copy fails.
  public static func rowsOfEveryTable(
    inCopyOf storePath: String, text: TextForm = .utf8, virtualColumns: Bool = true
  ) throws -> [String: [FixtureRow]] {
    let folder = try TemporaryFolder()
    let copy = try copyStore(URL(fileURLWithPath: storePath), into: folder.url)
    let connection = try SQLiteConnection(copy)
    defer { connection.close() }
    var result: [String: [FixtureRow]] = [:]
    // SQLite never has two tables whose names differ in bytes and are equal for SQLite.
    for table in try connection.ordinaryTables() {
      result[table] = try connection.rowsOfTable(
        table, text: text, virtualColumns: virtualColumns)
    }
    return result
  }

  /// Returns all rows of all ordinary tables of the store at a file URL.
  public static func rowsOfEveryTable(
    inCopyOf store: URL, text: TextForm = .utf8, virtualColumns: Bool = true
  ) throws -> [String: [FixtureRow]] {
    try rowsOfEveryTable(inCopyOf: store.path, text: text, virtualColumns: virtualColumns)
  }

  /// The names of all tables that have a b-tree, including SQLite's own tables, in the order of the schema.
  public func ordinaryTables() throws -> [String] {
    try rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rowid"
    ).compactMap { row in
      guard case .text(let bytes)? = row.first else { return nil }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Returns all rows of one ordinary table, as `rowsOfEveryTable` does.
  public func rowsOfTable(
    _ table: String, text: TextForm = .utf8, virtualColumns: Bool = true
  ) throws -> [FixtureRow] {
    let columns = try columns(of: table)
    let chosen = columns.filter { virtualColumns || !$0.isVirtual }
    let list = chosen.map { Self.quoted($0.name) }.joined(separator: ", ")
    let name = Self.quoted(table)
    let withoutRowid =
      try rows(
        "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?",
        [
          .string(table)
        ]
      ).first?.first == .integer(1)
    var result: [FixtureRow] = []
    // With NOT INDEXED, SQLite reads the table's own b-tree, and not an index that contains all columns.
    if withoutRowid {
      try forEachRow("SELECT \(list) FROM \(name) NOT INDEXED", text: text) {
        result.append((nil, $0))
      }
      return result
    }
    let names = Set(columns.map { $0.name.lowercased() })
    guard let rowid = ["rowid", "_rowid_", "oid"].first(where: { !names.contains($0) }) else {
      let alias = try rowidAlias(of: table, columns)
      try forEachRow("SELECT \(list) FROM \(name) NOT INDEXED", text: text) { values in
        guard let alias, case .integer(let number) = values[alias] else {
          return result.append((nil, values))
        }
        result.append((number, values))
      }
      return result
    }
    if chosen.count >= 2000 {
      // A result has at most 2,000 columns, so a table of 2,000 columns leaves no room for the row id.
      let ids = try rows("SELECT \(rowid) FROM \(name) NOT INDEXED ORDER BY \(rowid)")
      let lists = try rows(
        "SELECT \(list) FROM \(name) NOT INDEXED ORDER BY \(rowid)", text: text)
      return zip(ids, lists).map { id, values in
        guard case .integer(let number) = id[0] else { return (nil, values) }
        return (number, values)
      }
    }
    try forEachRow(
      "SELECT \(rowid), \(list) FROM \(name) NOT INDEXED ORDER BY \(rowid)", text: text
    ) { row in
      guard case .integer(let number) = row[0] else {
        throw FixtureError("a row ID of \(table) is no integer: \(row[0])")
      }
      result.append((number, Array(row.dropFirst())))
    }
    return result
  }

  /// Quotes a name for use in an SQL statement, between double quotes.
  public static func quoted(_ name: String) -> String {
    "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }

  private struct Column {
    let name: String
    let type: String
    let isKey: Bool
    let isVirtual: Bool
  }

  private func columns(of table: String) throws -> [Column] {
    try rows(
      "SELECT name, type, pk, hidden FROM pragma_table_xinfo(?) ORDER BY cid", [.string(table)]
    ).compactMap { row in
      guard case .text(let name) = row[0], case .text(let type) = row[1] else { return nil }
      // `hidden` is 2 for a VIRTUAL and 3 for a STORED generated column.
      return Column(
        name: String(decoding: name, as: UTF8.self), type: String(decoding: type, as: UTF8.self),
        isKey: row[2] != .integer(0), isVirtual: row[3] == .integer(2))
    }
  }

  /// The index of the column that stands for the row id: the only column of the primary key, of type INTEGER, without
  /// an index.
  private func rowidAlias(of table: String, _ columns: [Column]) throws -> Int? {
    let keys = columns.indices.filter { columns[$0].isKey }
    guard keys.count == 1, columns[keys[0]].type.uppercased() == "INTEGER" else { return nil }
    let origin = try integer(
      "SELECT count(*) FROM pragma_index_list('\(table.replacingOccurrences(of: "'", with: "''"))')"
        + " WHERE origin = 'pk'")
    return origin == 0 ? keys[0] : nil
  }
}
