import CoreDataStore
import SQLiteFile
import SQLiteForensics
import SQLiteWriter

extension RebuildRun {
  // MARK: - Tables

  /// Makes all tables. A table is made by its own CREATE statement if SQLite accepts the statement.
  func makeTables() throws {
    var made: [SQLName: (sql: String?, table: RebuildTable)] = [:]
    let tables = store.database.tables
    if tables.contains(where: { $0.name == "sqlite_stat1" }) {
      // ANALYZE is the only way to make sqlite_stat1.
      try writer.execute("ANALYZE sqlite_schema")
    }
    for (place, expected) in tables.enumerated() {
      let key = SQLName(expected.name)
      // A dropped table has only deleted rows, which go into tables of their own. Rows of a table with unknown columns
      // go into the table for unattributed rows, with a note that names their own table.
      if key == SQLName("sqlite_sequence") || expected.isDropped || !expected.isDescribed {
        targets.append(nil)
        continue
      }
      if let known = made[key], ExactText.isSame(known.sql, expected.sql) {
        targets.append(known.table)
        continue
      }
      do throws(SQLiteWriterError) {
        let table = try make(expected, place, isTaken: made[key] != nil)
        if made[key] == nil { made[key] = (expected.sql, table) }
        targets.append(table)
      } catch {
        guard error.isRefusal, writer.isInTransaction else { throw error }
        // The rows of this table go into the table for unattributed rows.
        findings.add(
          Finding(
            .recoverTableNotMade,
            "the table cannot be created (\(error.message)), so its rows are kept in another table",
            table: expected.name))
        targets.append(nil)
      }
    }
  }

  private func make(_ expected: ExpectedTable, _ place: Int, isTaken: Bool)
    throws(SQLiteWriterError) -> RebuildTable
  {
    let isOwn = SQLName(expected.name).hasPrefix("sqlite_")
    if isOwn, try exists(expected.name) {
      return try target(expected, expected.name, TargetColumns(of: expected.definition), place)
    }
    if isTaken || isOwn || expected.name.utf8.contains(0) {
      let name = freeName(expected.name)
      findings.add(
        Finding(
          .recoverTableRenamed,
          "the table cannot keep its name and is called \(name) in the new file",
          severity: isTaken ? .damage : .note, table: expected.name))
      return try makeSimple(expected, name, place)
    }
    var reason = "its CREATE statement is not known"
    if let known = unusableDefinitions[place] {
      reason = known
    } else if let sql = expected.sql {
      do throws(SQLiteWriterError) {
        if try define(sql, as: expected) {
          return try target(expected, expected.name, TargetColumns(of: expected.definition), place)
        }
        reason = "SQLite reads other columns or another name from its CREATE statement"
      } catch {
        guard error.isRefusal, writer.isInTransaction else { throw error }
        reason = error.message
      }
      if try exists(expected.name), !isSeparate(expected.name) {
        try writer.execute("DROP TABLE \(try SQLIdentifier.quoted(expected.name))")
      }
    }
    findings.add(
      Finding(
        .recoverTableSimplified, "the table is made without types and constraints: \(reason)",
        table: expected.name))
    let name = try exists(expected.name) ? freeName(expected.name) : expected.name
    return try makeSimple(expected, name, place)
  }

  /// Whether a table with this name in the new file is already in use for a table of the source.
  private func isSeparate(_ name: String) -> Bool {
    targets.contains { $0.map { SQLName.isSame($0.target, name) } ?? false }
  }

  /// Runs the CREATE statement of a table, and drops any other table that the statement made. Returns whether the
  /// wanted table exists and has the expected columns.
  private func define(_ sql: String, as expected: ExpectedTable) throws(SQLiteWriterError) -> Bool {
    let last = try lastSchemaRow()
    try writer.define(sql)
    let new = try writer.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND rowid > ?", [.integer(last)])
    for row in new {
      guard case .text(let bytes)? = row.first else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      guard !SQLName.isSame(name, expected.name), !SQLName(name).hasPrefix("sqlite_")
      else { continue }
      try writer.execute("DROP TABLE \(try SQLIdentifier.quoted(name))")
    }
    guard !new.isEmpty else { return false }
    return try hasColumns(expected)
  }

  func lastSchemaRow() throws(SQLiteWriterError) -> Int64 {
    let rows = try writer.rows("SELECT coalesce(max(rowid), 0) FROM sqlite_schema")
    guard case .integer(let last)? = rows.first?.first else { return 0 }
    return last
  }

  private func target(
    _ expected: ExpectedTable, _ name: String, _ shape: TargetColumns, _ place: Int
  ) throws(SQLiteWriterError) -> RebuildTable {
    try RebuildTable(
      expected, target: name, shape: shape, namesFiles: external.isOn,
      source: store.sources[place], in: writer, seconds: options.computingSeconds
    ) { [weak self] in self?.freeName($0) ?? $0 }
  }

  /// Makes a table that has the column names of the expected table, but no types and no constraints.
  private func makeSimple(_ expected: ExpectedTable, _ name: String, _ place: Int)
    throws(SQLiteWriterError) -> RebuildTable
  {
    let shape = TargetColumns(simplified: expected.definition, maxColumns: writer.maxColumns - 10)
    try writer.execute(
      "CREATE TABLE \(try SQLIdentifier.quoted(name))(\(shape.declaration()))")
    if let first = shape.overflow {
      findings.add(
        Finding(
          .recoverColumnsFolded,
          "the table has \(expected.definition.columns.count) columns, more than SQLite allows; the column \(OverflowColumns.name) holds those from number \(first + 1) on, as JSON",
          table: expected.name))
    }
    if !shape.leftOut.isEmpty {
      findings.add(
        Finding(
          .recoverComputedLeftOut,
          "virtual generated columns are left out: \(shape.leftOut.prefix(5).joined(separator: ", "))\(shape.leftOut.count > 5 ? " …" : "")",
          table: expected.name))
    }
    return try target(expected, name, shape, place)
  }

  /// Returns an unused name derived from `name`. No table, index, view or trigger has this name, in the new file or in
  /// the old file.
  func freeName(_ name: String) -> String {
    var candidate = names.unique(name)
    while (try? isTaken(candidate)) ?? false { candidate = names.unique(name) }
    return candidate
  }

  private func isTaken(_ name: String) throws(SQLiteWriterError) -> Bool {
    !(try writer.rows(
      "SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE", [.string(name)])).isEmpty
  }

  private func exists(_ name: String) throws(SQLiteWriterError) -> Bool {
    !(try writer.rows(
      "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
      [.string(name)])).isEmpty
  }

  /// Whether SQLite reads the same columns from the table's statement as Lifeboat does.
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

  /// Makes indexes, views and triggers. The caller has inserted all rows before, so no trigger fires for them. Triggers
  /// are made last.
  func makeCompanions() throws {
    for (kind, id) in [
      ("index", .recoverIndexNotBuilt), ("view", .recoverViewNotBuilt),
      ("trigger", .recoverTriggerNotBuilt),
    ] as [(String, Finding.ID)] {
      var done = ExactTexts()
      for entry in store.companions where entry.type == kind {
        guard let sql = entry.sql, !filledIndexes.contains(sql), done.insert(sql) else {
          continue
        }
        var seconds =
          options.computingSeconds + RebuildLimits.seconds(forIndexOver: store.database)
        do throws(SQLiteWriterError) {
          try writer.limited(to: &seconds) { () throws(SQLiteWriterError) in
            try writer.define(sql)
          }
        } catch {
          guard error.isRefusal || error.code == .constraint else { throw error }
          findings.add(
            Finding(
              id, "\(kind) \(entry.name) cannot be made: \(error.message)", table: entry.tableName))
        }
      }
    }
  }

  /// Adds virtual tables to the schema. The content of a virtual table is in ordinary tables, which are made before.
  func registerVirtualTables() throws {
    for entry in store.companions where entry.type == "table" {
      guard let sql = entry.sql, try !exists(entry.name) else { continue }
      do throws(SQLiteWriterError) {
        try writer.registerVirtualTable(entry.name, sql: sql)
      } catch {
        guard error.isRefusal else { throw error }
        result.findings.append(
          Finding(
            .recoverVirtualTable,
            "the virtual table \(entry.name) cannot be added to the schema: \(error.message)",
            table: entry.name))
        result.damageCount += 1
      }
    }
  }
}

extension SQLiteWriterError {
  /// Whether SQLite refused the statement, or stopped it because of a limit. The file is still sound after such an
  /// error, and the next statement may succeed.
  var isRefusal: Bool {
    code == .sqlite && (primaryResultCode == Self.error || primaryResultCode == Self.noMemory)
      || [.refused, .embeddedNUL, .tooBig, .parameters, .tooLong, .full].contains(code)
  }

  /// Whether the error only means that the table refused the row, for example because of a constraint.
  var isRowRefusal: Bool {
    code == .constraint || code == .tooBig
      || code == .sqlite && (primaryResultCode == Self.error || primaryResultCode == Self.mismatch)
  }

  /// Whether the error means that SQLite could not compute the row and rolled back the whole transaction.
  var endsTransaction: Bool {
    code == .tooLong || code == .full || code == .sqlite && primaryResultCode == Self.noMemory
  }

  // https://sqlite.org/rescode.html
  private static let error: Int32 = 1
  private static let noMemory: Int32 = 7
  private static let mismatch: Int32 = 20
}
