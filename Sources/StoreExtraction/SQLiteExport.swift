import CoreDataStore
import SQLiteFile
import SQLiteWriter

/// Writes rows into one new SQLite file: of a Core Data store a table for each entity with its properties as
/// columns, of any other file the tables as they are.
struct SQLiteExport {
  private let store: CoreDataStore
  private let options: RowOutput.Options
  private let sourceHashes: [String: String]

  init(_ store: CoreDataStore, _ options: RowOutput.Options, _ sourceHashes: [String: String]) {
    self.store = store
    self.options = options
    self.sourceHashes = sourceHashes
  }

  func write(to path: String) throws -> [StoreExport.Result.Part] {
    let writer = try SQLiteWriter(creating: path)
    do {
      let parts = try writer.transaction {
        store.kind == .sqlite ? try writeTables(writer) : try writeEntities(writer)
      }
      try writeProvenance(writer)
      let problems = try writer.integrityCheck()
      guard problems.isEmpty else {
        throw ExtractionError(
          .writeFailed, "the new file does not pass SQLite's own check: \(problems[0])", path: path)
      }
      try writer.close()
      return parts
    } catch {
      writer.discard()
      throw error
    }
  }

  // MARK: - Entities

  private func writeEntities(_ writer: SQLiteWriter) throws -> [StoreExport.Result.Part] {
    var parts: [StoreExport.Result.Part] = []
    var taken: Set<String> = ["_provenance", "_links", "_missing_files"]
    try writer.execute(
      "CREATE TABLE _links (source_entity TEXT, source_pk INTEGER, relationship TEXT, destination_entity TEXT, destination_pk INTEGER, position INTEGER)"
    )
    try writer.execute(
      "CREATE TABLE _missing_files (entity TEXT, pk INTEGER, property TEXT, file TEXT)")
    let links = try writer.prepare("INSERT INTO _links VALUES (?, ?, ?, ?, ?, ?)")
    let missing = try writer.prepare("INSERT INTO _missing_files VALUES (?, ?, ?, ?)")
    for table in store.entityTables {
      let entities = try store.describedEntities(of: table)
        .filter { options.entityNames?.contains($0.name) ?? true }
      var inserts: [String: (statement: SQLiteStatement, target: String)] = [:]
      var counts: [String: Int] = [:]
      for entity in entities {
        let target = Self.unique(entity.name, &taken)
        inserts[entity.name] = (try create(target, entity, writer), target)
      }
      var failure: (any Error)?
      try store.forEachRow(in: [table]) { row in
        guard let name = row.entityName, let insert = inserts[name],
          options.limit.map({ counts[name, default: 0] < $0 }) ?? true
        else { return true }
        do {
          try insert.statement.run(values(of: row))
          try writeCompanions(of: row, name, links, missing)
          counts[name, default: 0] += 1
          return true
        } catch {
          failure = error
          return false
        }
      }
      if let failure { throw failure }
      for entity in entities {
        guard let insert = inserts[entity.name] else { continue }
        parts.append(
          .init(name: entity.name, target: insert.target, rowCount: counts[entity.name] ?? 0))
      }
    }
    return parts
  }

  private func create(_ target: String, _ entity: DescribedEntity, _ writer: SQLiteWriter) throws
    -> SQLiteStatement
  {
    var taken: Set<String> = ["_pk"]
    var columns = ["_pk INTEGER PRIMARY KEY"]
    for property in entity.properties where property.kind != .toMany {
      // Columns have no types: an affinity could change values on their way in.
      columns.append(try SQLIdentifier.quoted(Self.unique(property.name, &taken)))
      if property.kind == .toOne {
        columns.append(try SQLIdentifier.quoted(Self.unique(property.name + "_entity", &taken)))
      }
    }
    let table = try SQLIdentifier.quoted(target)
    try writer.define("CREATE TABLE \(table) (\(columns.joined(separator: ", ")))")
    let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    return try writer.prepare("INSERT INTO \(table) VALUES (\(marks))")
  }

  private func values(of row: ManagedRow) -> [SQLiteValue] {
    var values: [SQLiteValue] = [.integer(row.primaryKey)]
    for property in row.properties {
      switch property.value {
      case .null: values.append(.null)
      case .integer(let number): values.append(.integer(number))
      case .real(let number): values.append(.real(number))
      case .boolean(let flag): values.append(.integer(flag ? 1 : 0))
      case .string(let text): values.append(.text(text.utf8))
      case .date(let date):
        values.append(date.iso8601.map { .string($0) } ?? .real(date.seconds))
      case .uuid(let bytes): values.append(.string(UUIDText.string(bytes)))
      case .binary(let bytes): values.append(.blob(bytes))
      case .external(let blob): values.append(Self.content(of: blob).map { .blob($0) } ?? .null)
      case .toOne(let reference):
        values.append(.integer(reference.primaryKey))
        values.append(reference.entityName.map { .string($0) } ?? .null)
      case .toMany: continue
      }
    }
    return values
  }

  /// The content of an external file; nil where it is missing.
  private static func content(of blob: ExternalBlob) -> [UInt8]? {
    guard let size = blob.sizeBytes, size <= 1 << 30 else { return nil }
    return try? ByteFile(blob.path).bytes(at: 0, count: Int(size))
  }

  /// What a row has beside its columns: links of many-to-many relationships, and external files that are missing.
  private func writeCompanions(
    of row: ManagedRow, _ entity: String, _ insert: SQLiteStatement, _ missing: SQLiteStatement
  ) throws {
    for property in row.properties {
      if case .external(let blob) = property.value, blob.sizeBytes == nil {
        try missing.run([
          .string(entity), .integer(row.primaryKey), .string(property.name),
          .string(blob.identifier),
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

  private func writeTables(_ writer: SQLiteWriter) throws -> [StoreExport.Result.Part] {
    var parts: [StoreExport.Result.Part] = []
    var taken: Set<String> = ["_provenance"]
    for table in store.database.schema.tables
    where !table.name.lowercased().hasPrefix("sqlite_")
      && (options.entityNames?.contains(table.name) ?? true)
    {
      let names = table.columnNames
      guard !names.isEmpty else { continue }
      let target = Self.unique(table.name, &taken)
      var takenColumns: Set<String> = []
      let columns = try names.map { try SQLIdentifier.quoted(Self.unique($0, &takenColumns)) }
      let quoted = try SQLIdentifier.quoted(target)
      try writer.define("CREATE TABLE \(quoted) (\(columns.joined(separator: ", ")))")
      let marks = Array(repeating: "?", count: columns.count).joined(separator: ", ")
      let insert = try writer.prepare("INSERT INTO \(quoted) VALUES (\(marks))")
      var count = 0
      var failure: (any Error)?
      try store.database.forEachRow(of: table) { row in
        if let limit = options.limit, count >= limit { return false }
        do {
          try insert.run(row.values.map { SQLiteValue($0) })
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

  private func writeProvenance(_ writer: SQLiteWriter) throws {
    try writer.execute("CREATE TABLE _provenance (key TEXT, value TEXT)")
    let insert = try writer.prepare("INSERT INTO _provenance VALUES (?, ?)")
    try insert.run([.string("source"), .string(store.database.path)])
    for (name, hash) in sourceHashes.sorted(by: { $0.key < $1.key }) {
      try insert.run([.string("sha256 of \(name)"), .string(hash)])
    }
    try insert.run([.string("write-ahead log"), .string(store.database.logView.rawValue)])
    try insert.run([.string("findings of damage"), .string("\(store.findings.damageCount)")])
  }

  /// A name that is not taken yet; SQL does not tell upper and lower case apart.
  private static func unique(_ name: String, _ taken: inout Set<String>) -> String {
    let base = name.isEmpty || name.utf8.contains(0) ? "_unnamed" : name
    var candidate = base.lowercased().hasPrefix("sqlite_") ? "_" + base : base
    var number = 2
    while !taken.insert(candidate.lowercased()).inserted {
      candidate = base + "_\(number)"
      number += 1
    }
    return candidate
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
