import CoreDataForensics
package import CoreDataStore
import StoreFiles
public import ObjectModel
public import SQLiteFile
package import SQLiteForensics
import SafeText

/// A store that is read page by page, with the descriptions of its tables. The descriptions come from the file itself,
/// from the model that the file contains, and from models or healthy stores that describe what the file has lost.
public final class DamagedStore {
  /// The source of the description of a table.
  package enum TableSource: String, Sendable, Codable {
    /// The file's own schema.
    case schema
    /// The table is described as Core Data would create it for the model that the file contains. Without a model, only
    /// Core Data's own tables are described.
    case model
    /// A model or store that the user gave as an example (`like`).
    case like
  }

  package let database: DamagedDatabase
  /// The kind of the file, so far as the readable part shows it.
  package private(set) var kind = CoreDataStore.Kind.sqlite
  /// The model that gives the names of entities and properties for rows: the given model, the model in the file, or a
  /// matching model from `like`. Nil if there is no such model.
  package private(set) var model: ManagedObjectModel?
  /// The entities in the table `Z_PRIMARYKEY` with their numbers, so far as the rows of this table can be read.
  package let entities: [EntityRecord]
  /// The version hashes that the store records, so far as they can be read.
  package let recordedHashes: [String: VersionHash]
  /// The source of each table's description, in the order of the database's tables.
  package private(set) var sources: [TableSource] = []
  /// The schema entries of indexes, views, triggers and virtual tables. The entries from the file itself come first.
  /// They are followed by entries from a model or another store, for tables that the file does not describe.
  package private(set) var companions: [SchemaEntry] = []

  /// Opens the file at `path`, damaged or not.
  ///
  /// - Parameters:
  ///   - path: the main file; its log and journal are found beside it.
  ///   - logView: which part of the write-ahead log is read.
  ///   - like: paths of models (anything that ``ModelCollection`` reads) and of healthy stores, the most trusted first.
  ///     They describe tables that the file itself does not describe.
  ///   - model: the model whose names are used for rows; nil for the model that the file contains.
  /// - Throws: `SQLiteFileError` when the file is not a database; `ModelError` and ``ExtractionError`` when a path in
  ///   `like` holds nothing usable.
  public convenience init(
    path: String, logView: SQLiteDatabase.LogView = .committed, like: [String] = [],
    model: ManagedObjectModel? = nil
  ) throws {
    try self.init(path: path, logView: logView, like: like, model: model) { _ in }
  }

  /// Opens the file at `path`, damaged or not. If an element of `like` is a folder, `tellPassedOver` is called with
  /// each file in the folder that could not be read.
  package init(
    path: String, logView: SQLiteDatabase.LogView = .committed, like: [String] = [],
    model: ManagedObjectModel? = nil, tellPassedOver: (StoreFinder.PassedOver) -> Void
  ) throws {
    let examples = try like.map { try Example($0) }
    for example in examples { for other in example.passedOver { tellPassedOver(other) } }
    database = try DamagedDatabase(path: path, logView: logView)
    var named = Set(database.tables.filter(\.isDescribed).map { SQLName($0.name) })
    let lost = try CoreDataExpectations.expect(in: database, model: model)
    named.subtract(lost.map { SQLName($0) })
    let facts = try Facts(database)
    entities = facts.entities
    recordedHashes = facts.hashes
    self.model = model ?? facts.model
    companions = database.schemaEntries.filter { $0.type != "table" || $0.rootPage == 0 }
    sources = database.tables.map { named.contains(SQLName($0.name)) ? .schema : .model }

    let isWhole = lost.isEmpty && Self.isSchemaWhole(database, logView)
    var contents: [Example.Content] = []
    for example in examples {
      let content = try example.content(for: facts)
      if self.model == nil { self.model = content.model }
      contents.append(content)
    }
    if !isWhole {
      // Stores are used before models. A store has the actual statements, but a model only implies what the statements
      // must have been.
      for content in contents.filter(\.isStore) + contents.filter({ !$0.isStore }) {
        try complete(content, as: .like)
      }
      if let model = facts.model { try complete(Example.described(by: model), as: .model) }
    }
    let names = Set(database.tables.map { SQLName($0.name) })
    let hasMetadata = names.contains(SQLName("Z_METADATA"))
    let hasKeys = names.contains(SQLName("Z_PRIMARYKEY"))
    kind =
      hasMetadata && hasKeys
      ? .coreData : hasMetadata || hasKeys ? .coreDataShaped : .sqlite
  }

  /// Checks that each path in `like` leads to a model or a store, for a caller that does not need examples.
  /// - Throws: as ``init(path:logView:like:model:)`` does for `like`.
  package static func check(examples like: [String]) throws {
    for path in like { _ = try Example(path) }
  }

  /// Takes from `content` the tables that the schema of the file does not describe, with their indexes, views and
  /// triggers.
  private func complete(_ content: Example.Content, as source: TableSource) throws(SQLiteFileError)
  {
    var tables = database.tables
    var places = Dictionary(
      firstOf: tables.enumerated().filter(\.element.isDescribed).map { (SQLName($1.name), $0) })
    var isChanged = false
    var own: Set<SQLName> = []
    for table in content.tables {
      let key = SQLName(table.name)
      if let place = places[key] {
        guard sources[place] != .schema else { continue }
        own.insert(key)
        // A model implies only the set of columns. A store also has their order and declarations.
        guard content.isStore, sources[place] == .model, table.hasColumns(of: tables[place]) else {
          continue
        }
        var taken = table
        if taken.integers.isEmpty { taken.integers = tables[place].integers(inOrderOf: table) }
        tables[place] = taken
        sources[place] = source
      } else {
        places[key] = tables.count
        tables.append(table)
        sources.append(source)
        own.insert(key)
      }
      isChanged = true
    }
    var taken = Set(companions.map { SQLName($0.name) })
    let done = Set(companions.map { SQLName($0.tableName) })
    for entry in content.companions {
      let table = SQLName(entry.tableName)
      let isFree = ["view", "table"].contains(entry.type)
      guard isFree || (own.contains(table) && !done.contains(table)) else { continue }
      if taken.insert(SQLName(entry.name)).inserted { companions.append(entry) }
    }
    if isChanged { try database.expect(tables) }
  }

  /// Whether `SQLiteDatabase` reads an undamaged schema from the file. If so, no tables need to be added from other
  /// sources.
  private static func isSchemaWhole(
    _ damaged: DamagedDatabase, _ logView: SQLiteDatabase.LogView
  ) -> Bool {
    let plain = damaged.plain ?? (try? SQLiteDatabase(path: damaged.path, logView: logView))
    guard let healthy = plain, !healthy.schema.tables.isEmpty else { return false }
    return !healthy.findings.kept.contains {
      $0.severity == .damage && ($0.table == "sqlite_schema" || $0.id == .fileTruncated)
    }
  }

  /// Facts about the store from the rows of Core Data's own tables.
  struct Facts {
    var model: ManagedObjectModel?
    var entities: [EntityRecord] = []
    var hashes: [String: VersionHash] = [:]

    init(_ database: DamagedDatabase) throws(SQLiteFileError) {
      let tables = database.tables
      let names = ["Z_MODELCACHE", "Z_PRIMARYKEY", "Z_METADATA"]
      guard tables.contains(where: { names.contains($0.name) }) else { return }
      try database.forEachRow(.live, of: names) { row in
        guard let place = row.origin.table, row.partial.isEmpty else { return true }
        let stored = StoredRow(rowID: row.rowID, values: row.values)
        switch tables[place].name {
        case "Z_MODELCACHE":
          if model == nil, case .blob(let content)? = row.values.first {
            model = try? ModelCache.model(from: content)
          }
        case "Z_METADATA":
          if hashes.isEmpty { hashes = StoreMetadata(row: stored).versionHashes }
        default:
          if entities.count < EntityRecord.maxCount, let record = EntityRecord(row: stored) {
            entities.append(record)
          }
        }
        return true
      }
      entities.sort { $0.number < $1.number }
    }
  }
}

extension ExpectedTable {
  /// Whether this table and `other` have the same columns, in any order.
  fileprivate func hasColumns(of other: ExpectedTable) -> Bool {
    Set(definition.columns.map { SQLName($0.name) })
      == Set(other.definition.columns.map { SQLName($0.name) })
  }

  /// Returns the ranges of integers that columns of this table allow, for columns with a limited range. The key is not
  /// the column's position in this table, but the position of the column with the same name in `other`.
  fileprivate func integers(inOrderOf other: ExpectedTable) -> [Int: ClosedRange<Int64>] {
    var ranges: [Int: ClosedRange<Int64>] = [:]
    for (column, range) in integers where column < definition.columns.count {
      let name = definition.columns[column].name
      if let place = other.definition.columns.firstIndex(where: { SQLName.isSame($0.name, name) }) {
        ranges[place] = range
      }
    }
    return ranges
  }
}
