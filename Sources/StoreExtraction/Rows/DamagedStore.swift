import CoreDataForensics
package import CoreDataStore
import StoreFiles
public import ObjectModel
public import SQLiteFile
package import SQLiteForensics

/// A store that is read page by page, with all that is known about its tables: from the file itself, from the model
/// that it carries, and from models or healthy stores that describe what the file has lost.
public final class DamagedStore {
  /// Where the description of a table comes from.
  package enum TableSource: String, Sendable, Codable {
    /// The file's own schema.
    case schema
    /// Core Data's rules, with or without the model in the file.
    case model
    /// A model or store that was given as an example (`like`).
    case like
  }

  /// The database file.
  package let database: DamagedDatabase
  /// What kind of file it is, as far as the readable part tells.
  package private(set) var kind = CoreDataStore.Kind.sqlite
  /// The model that names the rows: the given one, the one that the file carries, or a matching one from `like`. Nil
  /// when there is none.
  package private(set) var model: ManagedObjectModel?
  /// The entities numbered in `Z_PRIMARYKEY`, as far as its rows can be read.
  package let entities: [EntityRecord]
  /// The version hashes that the store records, as far as they can be read.
  package let recordedHashes: [String: VersionHash]
  /// Where the description of each table comes from, in the order of the database's tables.
  package private(set) var sources: [TableSource] = []
  /// CREATE statements of indexes, views, triggers and virtual tables: the file's own first, then those of tables that
  /// the file does not describe.
  package private(set) var companions: [SchemaEntry] = []

  /// Opens the file at `path`, damaged or not.
  ///
  /// - Parameters:
  ///   - path: the main file; its log and journal are found beside it.
  ///   - logView: which part of the write-ahead log counts.
  ///   - like: paths of models (anything that ``ModelCollection`` reads) and of healthy stores, the most trusted first.
  ///     They describe what the file itself does not.
  ///   - model: the model to name rows by; nil for the one that the file carries.
  /// - Throws: `SQLiteFileError` when the file is not a database, `ModelError` and ``ExtractionError`` when a path in
  ///   `like` holds nothing usable.
  public convenience init(
    path: String, logView: SQLiteDatabase.LogView = .committed, like: [String] = [],
    model: ManagedObjectModel? = nil
  ) throws {
    try self.init(path: path, logView: logView, like: like, model: model) { _ in }
  }

  /// Opens the file at `path`, damaged or not. `tellPassedOver` receives each file that could not be read in a folder
  /// of `like`, before the example is used.
  package init(
    path: String, logView: SQLiteDatabase.LogView = .committed, like: [String] = [],
    model: ManagedObjectModel? = nil, tellPassedOver: (StoreFinder.PassedOver) -> Void
  ) throws {
    let examples = try like.map { try Example($0) }
    for example in examples { for other in example.passedOver { tellPassedOver(other) } }
    database = try DamagedDatabase(path: path, logView: logView)
    let named = Set(database.tables.filter(\.isDescribed).map { SQLName($0.name) })
    try CoreDataExpectations.expect(in: database, model: model)
    let facts = try Facts(database)
    entities = facts.entities
    recordedHashes = facts.hashes
    self.model = model ?? facts.model
    companions = database.schemaEntries.filter { $0.type != "table" || $0.rootPage == 0 }
    sources = database.tables.map { named.contains(SQLName($0.name)) ? .schema : .model }

    let isWhole = Self.isSchemaWhole(path, logView)
    // Stores come first: they have the actual statements, while a model only implies what the statements must have
    // been.
    var contents: [Example.Content] = []
    for example in examples {
      let content = try example.content(for: facts)
      if self.model == nil { self.model = content.model }
      contents.append(content)
    }
    guard !isWhole else {
      settleKind()
      return
    }
    contents = contents.filter(\.isStore) + contents.filter { !$0.isStore }
    for content in contents { try complete(content, as: .like) }
    if let model = facts.model { try complete(Example.described(by: model), as: .model) }
    settleKind()
  }

  private func settleKind() {
    let names = Set(database.tables.map { SQLName($0.name) })
    let hasMetadata = names.contains(SQLName("Z_METADATA"))
    let hasKeys = names.contains(SQLName("Z_PRIMARYKEY"))
    kind =
      hasMetadata && hasKeys
      ? .coreData : hasMetadata || hasKeys ? .coreDataShaped : .sqlite
  }

  /// Adds what the file's own schema does not describe: tables with their indexes, views and triggers.
  private func complete(_ content: Example.Content, as source: TableSource) throws(SQLiteFileError)
  {
    var tables = database.tables
    var places = Dictionary(
      tables.enumerated().filter(\.element.isDescribed).map { (SQLName($1.name), $0) },
      uniquingKeysWith: { one, _ in one })
    var isChanged = false
    var own: Set<SQLName> = []
    for table in content.tables {
      let key = SQLName(table.name)
      if let place = places[key] {
        guard sources[place] != .schema else { continue }
        own.insert(key)
        // A model gives only the set of columns; a store also gives their order and declarations.
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

  /// Whether the ordinary reader finds an intact schema. If so, nothing needs to be added to it.
  private static func isSchemaWhole(_ path: String, _ logView: SQLiteDatabase.LogView) -> Bool {
    guard let healthy = try? SQLiteDatabase(path: path, logView: logView),
      !healthy.schema.tables.isEmpty
    else { return false }
    return !healthy.findings.kept.contains {
      $0.severity == .damage && ($0.table == "sqlite_schema" || $0.id == .fileTruncated)
    }
  }

  /// What the rows of Core Data's own tables say about the store.
  struct Facts {
    var model: ManagedObjectModel?
    var entities: [EntityRecord] = []
    var hashes: [String: VersionHash] = [:]

    /// The most entities that are kept. Entities with higher numbers belong to the persistent history.
    private static let maxEntities = 16_100

    init(_ database: DamagedDatabase) throws(SQLiteFileError) {
      let tables = database.tables
      let names = ["Z_MODELCACHE", "Z_PRIMARYKEY", "Z_METADATA"]
      guard tables.contains(where: { names.contains($0.name) }) else { return }
      var model: ManagedObjectModel?
      var entities: [EntityRecord] = []
      var hashes: [String: VersionHash] = [:]
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
          if entities.count < Self.maxEntities, let record = EntityRecord(row: stored) {
            entities.append(record)
          }
        }
        return true
      }
      self.model = model
      self.entities = entities.sorted { $0.number < $1.number }
      self.hashes = hashes
    }
  }
}

extension ExpectedTable {
  /// Whether this table and `other` have the same columns, in any order.
  fileprivate func hasColumns(of other: ExpectedTable) -> Bool {
    Set(definition.columns.map { SQLName($0.name) })
      == Set(other.definition.columns.map { SQLName($0.name) })
  }

  /// Returns the integer ranges of the columns, by the positions that the columns have in `other`.
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
