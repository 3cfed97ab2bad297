import CoreDataStore
import SQLiteFile
import SQLiteWriter

/// Writes rows into a new SQLite file. A Core Data store gets a table for each entity with its properties as columns;
/// any other file keeps its tables.
struct SQLiteExport {
  private let store: CoreDataStore
  private let options: RowOutput.Options
  private let sourceHashes: [String: String]
  private let made: MadeFiles
  private let external: ExternalFiles
  private let verifies: Bool

  init(
    _ store: CoreDataStore, _ options: RowOutput.Options, _ sourceHashes: [String: String],
    _ made: MadeFiles, _ external: ExternalFiles, verifies: Bool
  ) {
    self.verifies = verifies
    self.store = store
    self.options = options
    self.sourceHashes = sourceHashes
    self.made = made
    self.external = external
  }

  /// Writes the file, which gets its name when it is finished. `check` runs after all rows were written; when it
  /// throws, the file is removed.
  func write(to path: String, _ check: () throws -> Void) throws -> [StoreExport.Result.Part] {
    try SQLiteWriter.checkFree(path)
    let count = made.count
    // The journal of a new file protects nothing, and would be another file to remove.
    let options = SQLiteWriter.Options(journalMode: .memory)
    let writer = try made.making {
      let writer = try SQLiteWriter(
        creating: SQLiteWriter.privatePath(for: path), options: options)
      return (writer, writer.path)
    }
    do {
      var folded: [(table: String, columnCount: Int)] = []
      let parts = try writer.transaction {
        store.kind == .sqlite ? try writeTables(writer, &folded) : try writeEntities(writer)
      }
      try writeProvenance(writer, folded)
      let problems = try writer.check(writer.finalCheckDepth(verifies: verifies))
      guard problems.isEmpty else {
        throw ExtractionError(
          .writeFailed, "the new file does not pass SQLite's own check: \(problems[0])", path: path)
      }
      try check()
      try writer.complete()
      try made.keep(to: count) { try writer.publish(as: path) }
      return parts
    } catch {
      writer.discard()
      made.takeBack(to: count)
      throw error
    }
  }

  // MARK: - Entities

  private func writeEntities(_ writer: SQLiteWriter) throws -> [StoreExport.Result.Part] {
    var parts: [StoreExport.Result.Part] = []
    var taken = UniqueNames(["_provenance", "_links", "_missing_files"])
    try writer.execute(
      "CREATE TABLE _links (source_entity TEXT, source_pk INTEGER, relationship TEXT, destination_entity TEXT, destination_pk INTEGER, position INTEGER)"
    )
    try writer.execute(
      "CREATE TABLE _missing_files (entity TEXT, pk INTEGER, property TEXT, file TEXT, problem TEXT)"
    )
    let links = try writer.prepare("INSERT INTO _links VALUES (?, ?, ?, ?, ?, ?)")
    let missing = try writer.prepare("INSERT INTO _missing_files VALUES (?, ?, ?, ?, ?)")
    let wanted = options.entityNames.map(store.withDescendants)
    for table in store.entityTables {
      guard let plan = try store.plan(for: table, wanted: nil) else { continue }
      let entities = plan.describedEntities.filter { wanted?.contains($0.name) ?? true }
      var targets: [Int64: InsertTarget] = [:]
      for entity in entities {
        targets[entity.number] = try create(
          taken.unique(entity.name), entity, writer, key: "_pk INTEGER PRIMARY KEY")
      }
      let rows = InsertedRows(
        plan, of: store,
        into: InsertedRows.Targets(
          entities: targets,
          makeRepeated: { number in
            guard let entity = entities.first(where: { $0.number == number }) else {
              throw ExtractionError(
                .writeFailed, "no entity has the number \(number)", path: store.database.path)
            }
            return try create(taken.unique(entity.name + "_repeated"), entity, writer, key: "_pk")
          },
          makeUnknown: wanted != nil
            ? nil
            : {
              try createUnknown(taken.unique(table.name + "_unknown"), plan.fallback, writer)
            }, links: links, missing: missing),
        limit: options.limit, noteExternal: external.note)
      try rows.read(from: store)
      for entity in entities {
        for target in [targets[entity.number], rows.repeated[entity.number]] {
          guard let target else { continue }
          parts.append(.init(name: entity.name, target: target.name, rowCount: target.rowCount))
        }
      }
      if let unknown = rows.unknown {
        parts.append(.init(name: table.name, target: unknown.name, rowCount: unknown.rowCount))
      }
    }
    return parts
  }

  /// Makes a table for rows of an entity; `key` declares its first column.
  private func create(
    _ target: String, _ entity: DescribedEntity, _ writer: SQLiteWriter, key: String
  ) throws -> InsertTarget {
    var taken = UniqueNames(["_pk"])
    var columns = [key]
    for property in entity.properties where property.kind != .toMany {
      // Columns have no types, because an affinity could change the values.
      columns.append(try SQLIdentifier.quoted(taken.unique(property.name)))
      if property.kind == .toOne {
        columns.append(try SQLIdentifier.quoted(taken.unique(property.name + "_entity")))
      }
    }
    return try create(target, columns, writer)
  }

  /// A table for rows of unknown entities, with the columns as they are declared.
  private func createUnknown(_ target: String, _ fields: [RowPlan.Field], _ writer: SQLiteWriter)
    throws -> InsertTarget
  {
    var taken = UniqueNames(["_ent", "_pk"])
    let names = try fields.map { try SQLIdentifier.quoted(taken.unique($0.name)) }
    return try create(target, ["_ent", "_pk"] + names, writer)
  }

  private func create(_ target: String, _ columns: [String], _ writer: SQLiteWriter) throws
    -> InsertTarget
  {
    let table = try SQLIdentifier.quoted(target)
    try writer.define("CREATE TABLE \(table) (\(columns.joined(separator: ", ")))")
    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    return InsertTarget(target, try writer.prepare("INSERT INTO \(table) VALUES (\(marks))"))
  }

  /// The longest value that SQLite stores (SQLITE_MAX_LENGTH).
  static let maxValueBytes: Int64 = 1_000_000_000

  // MARK: - Tables

  private func writeTables(
    _ writer: SQLiteWriter, _ folded: inout [(table: String, columnCount: Int)]
  ) throws -> [StoreExport.Result.Part] {
    var parts: [StoreExport.Result.Part] = []
    var taken = UniqueNames(["_provenance"])
    for table in store.database.schema.tables
    where !SQLName(table.name).hasPrefix("sqlite_")
      && (options.entityNames?.contains(table.name) ?? true)
    {
      var names = table.columnNames
      if names.isEmpty {
        // The CREATE statement is not readable: all fields as they are, as many columns as the widest row has.
        var widest = 0
        try store.database.forEachRow(of: table) { row in
          widest = max(widest, row.values.count)
          return true
        }
        names = (0..<widest).map { "c\($0)" }
      }
      guard !names.isEmpty else { continue }
      let target = taken.unique(table.name)
      var takenColumns = UniqueNames([OverflowColumns.name])
      // Columns that SQLite does not allow go into one column, as JSON.
      let folds = names.count > OverflowColumns.maxColumns
      var columns = try names.prefix(OverflowColumns.maxColumns).map {
        try SQLIdentifier.quoted(takenColumns.unique($0))
      }
      if folds {
        columns.append(try SQLIdentifier.quoted(OverflowColumns.name))
        folded.append((table.name, names.count))
      }
      let insert = try create(target, columns, writer)
      let rows = InsertedTable(insert.statement, names, folds: folds, limit: options.limit)
      try rows.read(table, of: store.database)
      parts.append(.init(name: table.name, target: target, rowCount: rows.rowCount))
    }
    return parts
  }

  // MARK: - Provenance

  private func writeProvenance(
    _ writer: SQLiteWriter, _ folded: [(table: String, columnCount: Int)]
  ) throws {
    try writer.execute("CREATE TABLE _provenance (key TEXT, value TEXT)")
    let insert = try writer.prepare("INSERT INTO _provenance VALUES (?, ?)")
    try insert.run([.string("source"), .string(store.database.path)])
    for (name, hash) in sourceHashes.sorted(by: { $0.key < $1.key }) {
      try insert.run([.string("sha256 of \(name)"), .string(hash)])
    }
    try insert.run([.string("write-ahead log"), .string(store.database.logView.rawValue)])
    for (table, count) in folded {
      try insert.run([
        .string("columns of \(table)"),
        .string(
          "\(count), more than SQLite allows; the columns from number \(OverflowColumns.maxColumns + 1) on are in \(OverflowColumns.name) as JSON"
        ),
      ])
    }
    try insert.run([.string("findings of damage"), .string("\(store.findings.damageCount)")])
  }
}
