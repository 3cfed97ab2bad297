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
      let entities = try store.describedEntities(of: table)
        .filter { wanted?.contains($0.name) ?? true }
      var unknown: (statement: SQLiteStatement, target: String, rowCount: Int)?
      var inserts:
        [Int64: (
          statement: SQLiteStatement, target: String, properties: [DescribedEntity.Property]
        )] = [:]
      var counts: [Int64: Int] = [:]
      // Rows with the same key as another row of the entity, which damage can cause.
      var repeated: [Int64: (statement: SQLiteStatement, target: String, rowCount: Int)] = [:]
      for entity in entities {
        let target = taken.unique(entity.name)
        inserts[entity.number] = (
          try create(target, entity, writer, key: "_pk INTEGER PRIMARY KEY"), target,
          entity.properties
        )
      }
      var failure: (any Error)?
      try store.forEachRow(in: [table]) { row in
        do {
          external.note(row, in: row.entityName ?? table.name)
          guard let name = row.entityName, let number = row.entityNumber else {
            // Rows of unknown entities go into a separate table, so that they are not lost.
            guard wanted == nil, options.limit.map({ unknown?.rowCount ?? 0 < $0 }) ?? true else {
              return true
            }
            if unknown == nil {
              let target = taken.unique(table.name + "_unknown")
              unknown = (try createUnknown(target, row, writer), target, 0)
            }
            try unknown?.statement.run(
              [row.entityNumber.map { .integer($0) } ?? .null] + values(of: row))
            unknown?.rowCount += 1
            return true
          }
          guard let insert = inserts[number],
            options.limit.map({ counts[number, default: 0] < $0 }) ?? true
          else { return true }
          let values = values(of: row, insert.properties)
          do {
            try insert.statement.run(values)
            counts[number, default: 0] += 1
          } catch let error as SQLiteWriterError where error.code == .constraint {
            if repeated[number] == nil, let entity = entities.first(where: { $0.number == number })
            {
              let target = taken.unique(name + "_repeated")
              repeated[number] = (try create(target, entity, writer, key: "_pk"), target, 0)
            }
            try repeated[number]?.statement.run(values)
            repeated[number]?.rowCount += 1
          }
          try writeCompanions(of: row, name, links, missing)
          return true
        } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
      for entity in entities {
        guard let insert = inserts[entity.number] else { continue }
        parts.append(
          .init(name: entity.name, target: insert.target, rowCount: counts[entity.number] ?? 0))
        if let other = repeated[entity.number] {
          parts.append(.init(name: entity.name, target: other.target, rowCount: other.rowCount))
        }
      }
      if let unknown {
        parts.append(.init(name: table.name, target: unknown.target, rowCount: unknown.rowCount))
      }
    }
    return parts
  }

  /// Makes a table for rows of an entity; `key` declares its first column.
  private func create(
    _ target: String, _ entity: DescribedEntity, _ writer: SQLiteWriter, key: String
  ) throws -> SQLiteStatement {
    var taken = UniqueNames(["_pk"])
    var columns = [key]
    for property in entity.properties where property.kind != .toMany {
      // Columns have no types, because an affinity could change the values.
      columns.append(try SQLIdentifier.quoted(taken.unique(property.name)))
      if property.kind == .toOne {
        columns.append(try SQLIdentifier.quoted(taken.unique(property.name + "_entity")))
      }
    }
    let table = try SQLIdentifier.quoted(target)
    try writer.define("CREATE TABLE \(table) (\(columns.joined(separator: ", ")))")
    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    return try writer.prepare("INSERT INTO \(table) VALUES (\(marks))")
  }

  /// A table for rows of unknown entities, with the columns as they are declared.
  private func createUnknown(_ target: String, _ row: ManagedRow, _ writer: SQLiteWriter) throws
    -> SQLiteStatement
  {
    var taken = UniqueNames(["_ent", "_pk"])
    let names = try row.properties.map {
      try SQLIdentifier.quoted(taken.unique($0.name))
    }
    let columns = ["_ent", "_pk"] + names
    let table = try SQLIdentifier.quoted(target)
    try writer.define("CREATE TABLE \(table) (\(columns.joined(separator: ", ")))")
    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    return try writer.prepare("INSERT INTO \(table) VALUES (\(marks))")
  }

  /// The values for a row's columns. A to-one relationship takes two columns, even when it leads nowhere.
  private func values(of row: ManagedRow, _ properties: [DescribedEntity.Property] = [])
    -> [SQLiteValue]
  {
    var values: [SQLiteValue] = [.integer(row.primaryKey)]
    for (index, property) in row.properties.enumerated() {
      let kind = index < properties.count ? properties[index].kind : .column
      if case .toMany = property.value { continue }
      values.append(value(of: property.value))
      guard kind == .toOne else { continue }
      if case .toOne(let reference) = property.value, let name = reference.entityName {
        values.append(.string(name))
      } else {
        values.append(.null)
      }
    }
    return values
  }

  private func value(of value: PropertyValue) -> SQLiteValue {
    switch value {
    case .null, .toMany: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .boolean(let flag): .integer(flag ? 1 : 0)
    case .string(let text): .text(text.utf8)
    case .date(let date): date.iso8601.map { .string($0) } ?? .real(date.seconds)
    case .uuid(let bytes): .string(UUIDText.string(bytes))
    case .binary(let bytes): .blob(bytes)
    case .external(let blob): Self.content(of: blob).map { .blob($0) } ?? .null
    case .toOne(let reference): .integer(reference.primaryKey)
    }
  }

  /// The longest value that SQLite stores (SQLITE_MAX_LENGTH).
  static let maxValueBytes: Int64 = 1_000_000_000

  /// The content of an external file; nil when it is missing, cannot be read, or is too large for a value.
  private static func content(of blob: ExternalBlob) -> [UInt8]? {
    guard let size = blob.sizeBytes, size <= maxValueBytes else { return nil }
    return try? ByteFile(blob.path).bytes(at: 0, count: Int(size))
  }

  /// Writes what a row has outside its columns: links of many-to-many relationships, and external files that are
  /// missing or cannot be read.
  private func writeCompanions(
    of row: ManagedRow, _ entity: String, _ insert: SQLiteStatement, _ missing: SQLiteStatement
  ) throws {
    for property in row.properties {
      if case .external(let blob) = property.value, blob.sizeBytes == nil {
        try missing.run([
          .string(entity), .integer(row.primaryKey), .string(property.name),
          .string(blob.identifier), blob.unreadable.map { .string($0) } ?? .null,
        ])
      }
      guard case .toMany(let references) = property.value else { continue }
      for (index, reference) in references.enumerated() {
        try insert.run([
          .string(entity), .integer(row.primaryKey), .string(property.name),
          reference.entityName.map { .string($0) } ?? .null, .integer(reference.primaryKey),
          .integer(Int64(index)),
        ])
      }
    }
  }

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
      let ownCount = columns.count
      if folds {
        columns.append(try SQLIdentifier.quoted(OverflowColumns.name))
        folded.append((table.name, names.count))
      }
      let quoted = try SQLIdentifier.quoted(target)
      try writer.define("CREATE TABLE \(quoted) (\(columns.joined(separator: ", ")))")
      let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
      let insert = try writer.prepare("INSERT INTO \(quoted) VALUES (\(marks))")
      var count = 0
      var failure: (any Error)?
      try store.database.forEachRow(of: table) { row in
        if let limit = options.limit, count >= limit { return false }
        do {
          let values = row.values.map { SQLiteValue($0) }
          let missing = max(0, ownCount - values.count)
          var bound =
            values.prefix(folds ? ownCount : values.count)
            + Array(repeating: .null, count: missing)
          if folds {
            bound.append(
              OverflowColumns.json(of: values, from: ownCount, names: names).map { .text($0) }
                ?? .null)
          }
          try insert.run(Array(bound))
          count += 1
          return true
        } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
      parts.append(.init(name: table.name, target: target, rowCount: count))
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

extension SQLiteValue {
  init(_ value: StoredValue) {
    switch value {
    case .null: self = .null
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .text(let text): self = .text(text.utf8)
    case .blob(let bytes): self = .blob(bytes)
    }
  }
}
