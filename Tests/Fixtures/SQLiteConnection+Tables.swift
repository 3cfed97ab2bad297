public import Foundation

extension SQLiteConnection {
  /// A row of a table, with its row ID where the table has one that can be asked for.
  public typealias FixtureRow = (rowid: Int64?, values: [FixtureValue])

  /// Copies a store with its `-wal` and `-journal`, but never its `-shm`, into a folder, keeping the name.
  ///
  /// - Returns: the main file of the copy.
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

  /// Every row of every ordinary table, as SQLite sees it after it has rolled back a hot journal or
  /// read the write-ahead log, taken from a private copy.
  ///
  /// Rows come in the order of the table's own b-tree: by row ID, or by primary key WITHOUT ROWID.
  /// Virtual tables are left out, their shadow tables are not. The row ID is nil for a table WITHOUT
  /// ROWID, and for one whose columns hide all three names of the row ID without standing for it.
  ///
  /// - Parameters:
  ///   - storePath: the main file.
  ///   - text: how text is fetched; see `TextForm`.
  ///   - virtualColumns: whether VIRTUAL generated columns, which are not in the file, are among the values.
  /// - Returns: the rows by table name.
  /// - Throws: `FixtureError`, or Foundation's error when the copy fails.
  public static func rowsOfEveryTable(
    inCopyOf storePath: String, text: TextForm = .utf8, virtualColumns: Bool = true
  ) throws -> [String: [FixtureRow]] {
    let folder = try TemporaryFolder()
    let copy = try copyStore(URL(fileURLWithPath: storePath), into: folder.url)
    let connection = try SQLiteConnection(copy)
    defer { connection.close() }
    var result: [String: [FixtureRow]] = [:]
    // Of two tables whose names differ in bytes but not for SQLite there is only ever one.
    for table in try connection.ordinaryTables() {
      result[table] = try connection.rowsOfTable(
        table, text: text, virtualColumns: virtualColumns)
    }
    return result
  }

  /// The same for a file URL.
  public static func rowsOfEveryTable(
    inCopyOf store: URL, text: TextForm = .utf8, virtualColumns: Bool = true
  ) throws -> [String: [FixtureRow]] {
    try rowsOfEveryTable(inCopyOf: store.path, text: text, virtualColumns: virtualColumns)
  }

  /// The names of the tables that have a b-tree, SQLite's own included, in the order of the schema.
  public func ordinaryTables() throws -> [String] {
    try rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rowid"
    ).compactMap { row in
      guard case .text(let bytes)? = row.first else { return nil }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Every row of one ordinary table; see `rowsOfEveryTable`.
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
    // NOT INDEXED, so that the table's own b-tree is read and not an index that covers it.
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
      // A result has at most 2,000 columns, and the row ID would be one more.
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

  /// A name between double quotes.
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

  /// The column that stands for the row ID: a sole key of type INTEGER that needs no index.
  private func rowidAlias(of table: String, _ columns: [Column]) throws -> Int? {
    let keys = columns.indices.filter { columns[$0].isKey }
    guard keys.count == 1, columns[keys[0]].type.uppercased() == "INTEGER" else { return nil }
    let origin = try integer(
      "SELECT count(*) FROM pragma_index_list('\(table.replacingOccurrences(of: "'", with: "''"))')"
        + " WHERE origin = 'pk'")
    return origin == 0 ? keys[0] : nil
  }
}
