import CoreDataStore
import SQLiteFile
import SQLiteWriter

extension RebuildRun {
  // MARK: - Tables

  /// Makes all tables, each by its own statement where SQLite takes that.
  func makeTables() throws {
    var made: [String: (sql: String?, table: RebuildTable)] = [:]
    let tables = store.database.tables
    if tables.contains(where: { $0.name == "sqlite_stat1" }) {
      // The only way to have the table made.
      try writer.execute("ANALYZE sqlite_schema")
    }
    for (place, expected) in tables.enumerated() {
      let key = expected.name.lowercased()
      // A dropped table has only deleted rows, and those have tables of their own.
      if key == "sqlite_sequence" || expected.isDropped {
        targets.append(nil)
        continue
      }
      if let known = made[key], known.sql == expected.sql {
        targets.append(known.table)
        continue
      }
      let isOwn = key.hasPrefix("sqlite_")
      if isOwn, try exists(expected.name) {
        targets.append(try target(expected, expected.name, place))
        continue
      }
      var name = expected.name
      if made[key] != nil || isOwn || name.utf8.contains(0) {
        name = names.unique(expected.name)
        findings.add(
          Finding(
            "recover.tableRenamed", "a table cannot have its name and is called \(name)",
            severity: made[key] == nil ? .note : .damage, table: expected.name))
        try makeSimple(expected, name)
      } else {
        name = try make(expected)
      }
      let table = try target(expected, name, place)
      if made[key] == nil { made[key] = (expected.sql, table) }
      targets.append(table)
    }
  }

  private func target(_ expected: ExpectedTable, _ name: String, _ place: Int) throws
    -> RebuildTable
  {
    try RebuildTable(
      expected, target: name, source: store.sources[place], in: writer
    ) { [weak self] in self?.names.unique($0) ?? $0 }
  }

  private func make(_ expected: ExpectedTable) throws -> String {
    var reason = "its CREATE statement is not known"
    if let sql = expected.sql {
      do throws(SQLiteWriterError) {
        try writer.define(sql)
        if try hasColumns(expected) { return expected.name }
        if try exists(expected.name) {
          try writer.execute("DROP TABLE \(try SQLIdentifier.quoted(expected.name))")
        }
        reason = "its CREATE statement has other columns to SQLite"
      } catch {
        guard error.isRefusal else { throw error }
        reason = error.message
      }
    }
    findings.add(
      Finding(
        "recover.tableSimplified", "the table is made without types and constraints: \(reason)",
        table: expected.name))
    let name = try exists(expected.name) ? names.unique(expected.name) : expected.name
    try makeSimple(expected, name)
    return name
  }

  /// A table with the columns by name and nothing else.
  private func makeSimple(_ expected: ExpectedTable, _ name: String) throws(SQLiteWriterError) {
    var taken = UniqueNames()
    var columns: [String] = []
    for (place, column) in expected.definition.columns.enumerated() {
      let quoted = try SQLIdentifier.quoted(taken.unique(column.name))
      columns.append(
        place == expected.definition.rowIDColumn ? quoted + " INTEGER PRIMARY KEY" : quoted)
    }
    try writer.execute(
      "CREATE TABLE \(try SQLIdentifier.quoted(name))(\(columns.joined(separator: ", ")))")
  }

  private func exists(_ name: String) throws(SQLiteWriterError) -> Bool {
    !(try writer.rows(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", [.string(name)])).isEmpty
  }

  /// Whether SQLite sees the same columns in the statement as we do.
  private func hasColumns(_ expected: ExpectedTable) throws(SQLiteWriterError) -> Bool {
    let rows = try writer.rows(
      "SELECT name, hidden FROM pragma_table_xinfo(?) ORDER BY cid", [.string(expected.name)])
    let columns = expected.definition.columns
    guard rows.count == columns.count, try exists(expected.name) else { return false }
    return zip(rows, columns).allSatisfy { row, column in
      row[0] == .string(column.name) && (row[1] == .integer(0)) == (column.generation == .none)
    }
  }

  // MARK: - Indexes, views, triggers

  /// Makes what stands on the tables: indexes when all rows are there, triggers last, so that none fires.
  func makeCompanions() throws {
    for (kind, id) in [
      ("index", "recover.indexNotBuilt"), ("view", "recover.viewNotBuilt"),
      ("trigger", "recover.triggerNotBuilt"),
    ] {
      var done: Set<String> = []
      for entry in store.companions where entry.type == kind {
        guard let sql = entry.sql, done.insert(sql).inserted else { continue }
        do throws(SQLiteWriterError) {
          try writer.define(sql)
        } catch {
          guard error.isRefusal || error.code == .constraint else { throw error }
          findings.add(
            Finding(
              id, "\(kind) \(entry.name) cannot be made: \(error.message)", table: entry.tableName))
        }
      }
    }
  }

  /// Enters virtual tables into the schema; their content stands in ordinary tables.
  func registerVirtualTables() throws {
    for entry in store.companions where entry.type == "table" {
      guard let sql = entry.sql, try !exists(entry.name) else { continue }
      do throws(SQLiteWriterError) {
        try writer.registerVirtualTable(entry.name, sql: sql)
      } catch {
        guard error.isRefusal else { throw error }
        result.findings.append(
          Finding(
            "recover.virtualTable",
            "virtual table \(entry.name) cannot be entered: \(error.message)", table: entry.name))
        result.damageCount += 1
      }
    }
  }
}

extension SQLiteWriterError {
  /// SQLite does not want the statement; the file is sound and the next one may do.
  fileprivate var isRefusal: Bool {
    code == .sqlite && primaryResultCode == 1 || code == .refused || code == .embeddedNUL
      || code == .tooBig
  }
}
