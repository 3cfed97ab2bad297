import CoreDataStore
import SQLiteFile
import SQLiteWriter

/// Writes rows into a new SQLite file. Each entity gets a table, whose columns are the properties of the entity. Tables
/// that hold no rows of entities are copied.
struct SQLiteExport {
  let source: ExportSource
  /// The name of the store in the new file.
  let name: String
  let options: RowOutput.Options
  let made: MadeFiles
  let verifies: Bool
  let progress: RowProgress?

  private var store: CoreDataStore { source.store }

  /// Writes the file, which gets its name only when it is finished. Calls `check` after all rows were written. If
  /// `check` throws, the file is removed. Returns the parts of the file, and the SHA-256 of each file of the store set.
  func write(
    to path: String, _ check: () throws -> Void
  ) throws -> (parts: [StoreExport.Result.Part], hashes: [String: String]) {
    try SQLiteWriter.checkFree(path)
    // A journal would not protect anything in a new file, and would be one more file to remove.
    return try made.makeDatabase(at: path, SQLiteWriter.Options(journalMode: .memory)) { writer in
      var folded: [(table: String, columnCount: Int)] = []
      let parts = try writeRows(writer, &folded)
      let hashes = try source.hashes()
      try writeProvenance(writer, hashes, folded)
      let problems = try writer.check(writer.finalCheckDepth(verifies: verifies))
      guard problems.isEmpty else {
        throw ExtractionError(
          .writeFailed, "the new file does not pass SQLite's own check: \(problems[0])", path: path)
      }
      try check()
      try writer.complete()
      return (parts, hashes)
    }
  }

  // MARK: - Rows

  /// A table of the store that holds rows of entities, and the tables of the export into which these rows are written.
  private struct EntitySource {
    let plan: RowPlan
    var targets: EntityRecords.Targets
  }

  /// A table of the store whose values are written as they are stored.
  private struct TableSource {
    let table: Table
    let names: [String]
    let target: Int
  }

  private func writeRows(
    _ writer: SQLiteWriter, _ folded: inout [(table: String, columnCount: Int)]
  ) throws -> [StoreExport.Result.Part] {
    let tables = ExportTables(writer, reserved: ["_provenance"])
    var entitySources: [EntitySource] = []
    var tableSources: [TableSource] = []
    try writer.transaction {
      if store.kind != .sqlite { entitySources = try addEntities(to: tables) }
      tableSources = try addTables(to: tables, &folded)
    }
    try tables.begin()
    for source in entitySources { try write(source, to: tables) }
    for source in tableSources {
      let names = source.names
      let maker = TableRecords(
        names, ownCount: min(names.count, OverflowColumns.maxColumns), to: source.target,
        limit: options.limit)
      try MadeRecords.read(source.table, of: store.database, with: maker, progress, tables.add)
    }
    try tables.finish()
    return entitySources.flatMap { parts(of: $0, in: tables) }
      + tableSources.flatMap { source in
        let table = tables.tables[source.target]
        return [table, table.repeated].compactMap { $0?.part(of: source.table.name) }
      }
  }

  private func addEntities(to tables: ExportTables) throws -> [EntitySource] {
    let wanted = options.entityNames.map(store.numbers(ofEntities:))
    let links = try tables.add(
      "_links",
      [
        "source_entity", "source_pk", "relationship", "destination_entity", "destination_pk",
        "position",
      ])
    let missing = try tables.add("_missing_files", ["entity", "pk", "property", "file", "problem"])
    var sources: [EntitySource] = []
    for table in store.entityTables {
      guard let plan = try store.plan(for: table, wanted: nil) else { continue }
      var targets = EntityRecords.Targets(links: links, missing: missing)
      for entity in plan.describedEntities where wanted?.contains(entity.number) ?? true {
        targets.entities[entity.number] = try tables.add(
          entity.name, try columns(of: entity), key: .column)
      }
      // The columns of the table for rows of unknown entities are the entity number, the key, and the columns that the
      // store declares.
      if wanted == nil {
        var taken = UniqueNames(["_ent", "_pk"])
        let names = try plan.fallback.map { try SQLIdentifier.quoted(taken.unique($0.name)) }
        targets.unknown = try tables.add(
          table.name + "_unknown", ["_ent", "_pk"] + names, isLate: true)
      }
      sources.append(EntitySource(plan: plan, targets: targets))
    }
    return sources
  }

  private func write(_ source: EntitySource, to tables: ExportTables) throws {
    let maker = EntityRecords(
      source.plan, of: store, to: source.targets, limit: options.limit,
      noteExternal: self.source.external.note)
    defer { store.note(maker.unknownNumbers, in: source.plan.table) }
    try MadeRecords.read(source.plan.table, of: store.database, with: maker, progress, tables.add)
  }

  private func parts(
    of source: EntitySource, in tables: ExportTables
  ) -> [StoreExport.Result.Part] {
    source.plan.describedEntities.flatMap { entity in
      let table = source.targets.entities[entity.number].map { tables.tables[$0] }
      return [table, table?.repeated].compactMap { $0?.part(of: entity.name) }
    }
      + [source.targets.unknown.map { tables.tables[$0] }].compactMap {
        $0.flatMap { $0.isMade ? $0.part(of: source.plan.table.name) : nil }
      }
  }

  private func columns(of entity: DescribedEntity) throws -> [String] {
    var taken = UniqueNames(["_pk"])
    var columns = ["_pk"]
    for property in entity.properties where property.kind != .toMany {
      columns.append(try SQLIdentifier.quoted(taken.unique(property.name)))
      if property.kind == .toOne {
        columns.append(try SQLIdentifier.quoted(taken.unique(property.name + "_entity")))
      }
    }
    return columns
  }

  /// The maximum length in bytes of a value that SQLite stores (SQLITE_MAX_LENGTH).
  static let maxValueBytes: Int64 = 1_000_000_000

  private func addTables(
    to tables: ExportTables, _ folded: inout [(table: String, columnCount: Int)]
  ) throws -> [TableSource] {
    var sources: [TableSource] = []
    for table in source.tables where !SQLName(table.name).hasPrefix("sqlite_") {
      let names = try store.database.fieldNames(of: table)
      guard !names.isEmpty else { continue }
      var taken = UniqueNames([OverflowColumns.name])
      var columns = try names.prefix(OverflowColumns.maxColumns).map {
        try SQLIdentifier.quoted(taken.unique($0))
      }
      // The values of columns beyond SQLite's limit are stored in one column, as JSON.
      if names.count > OverflowColumns.maxColumns {
        columns.append(try SQLIdentifier.quoted(OverflowColumns.name))
        folded.append((table.name, names.count))
      }
      let target = try tables.add(table.name, columns, key: .rowID)
      sources.append(TableSource(table: table, names: names, target: target))
    }
    return sources
  }

  // MARK: - Provenance

  private func writeProvenance(
    _ writer: SQLiteWriter, _ hashes: [String: String],
    _ folded: [(table: String, columnCount: Int)]
  ) throws {
    try writer.execute("CREATE TABLE _provenance (key TEXT, value TEXT)")
    let insert = try writer.prepare("INSERT INTO _provenance VALUES (?, ?)")
    let others = folded.map { table, count in
      (
        "columns of \(table)",
        "\(count), more than SQLite allows; the column \(OverflowColumns.name) holds those from number \(OverflowColumns.maxColumns + 1) on, as JSON"
      )
    }
    let damageCount = store.findings.damageCount
    for (key, value) in source.facts(name, hashes, others, damageCount: damageCount) {
      try insert.run([.string(key), .string(value)])
    }
  }
}

extension ExportTables.Table {
  fileprivate func part(of entity: String) -> StoreExport.Result.Part {
    .init(name: entity, target: name, rowCount: rowCount)
  }
}
