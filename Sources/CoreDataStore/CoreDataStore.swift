public import StoreFiles
public import ObjectModel
public import SQLiteFile
import SafeText

/// A Core Data or SwiftData store, read as bytes.
///
/// Any SQLite file can be opened. Core Data's content is read if the file has any. A file without it has the kind
/// ``Kind/sqlite``.
public final class CoreDataStore {
  /// Whether a file is a store of Core Data, judged by its tables.
  public enum Kind: String, Sendable, Codable {
    /// A store: the file has the tables `Z_METADATA` and `Z_PRIMARYKEY`.
    case coreData
    /// A file that looks like a store: it has only one of the tables `Z_METADATA` and `Z_PRIMARYKEY`, or a table that
    /// begins with the columns Z_PK, Z_ENT and Z_OPT.
    case coreDataShaped
    /// A plain SQLite file: it has none of Core Data's tables.
    case sqlite
  }

  /// The open database file, with its log and journal.
  package let database: SQLiteDatabase
  /// Whether the file is a store, looks like one, or is a plain SQLite file.
  public let kind: Kind
  /// The metadata that the store records about itself; nil when Z_METADATA has no row that can be read.
  public let metadata: StoreMetadata?
  /// The entities and their numbers, sorted by number, including those of the persistent history.
  public let entities: [EntityRecord]
  /// The model that the store carries; nil when it has none that can be read.
  package let cachedModel: ManagedObjectModel?
  /// Why the cached model cannot be read; nil when it can, or when there is none.
  package let cachedModelProblem: String?
  /// The model used to read rows: the one given when opening, else the cached one.
  public let model: ManagedObjectModel?
  /// What was found while reading the file and Core Data's content in it.
  public var findings: FindingList {
    var all = database.findings
    all.add(coreDataFindings)
    return all
  }

  /// Chooses the properties that are read; nil reads all. The closure gets the name of a property, and the names of the
  /// row's entity and all its ancestors. With a closure, rows of unknown entities have no properties.
  package var shows: ((_ property: String, _ lineage: [String]) -> Bool)?

  /// What was found in Core Data's content. Reading rows adds to these findings.
  package var coreDataFindings = FindingList()
  /// The join tables read so far. A key is the table's name and `>` for links by owner, or `<` for links by
  /// destination.
  var linkCache: [String: LinkTable] = [:]

  /// Opens the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the main file; its log and journal are found beside it.
  ///   - model: the model to read rows by; nil for the one that the store carries.
  ///   - logView: which part of the write-ahead log is read.
  /// - Throws: ``SQLiteFileError`` when the file cannot be opened or is not a database.
  public convenience init(
    path: String, model: ManagedObjectModel? = nil,
    logView: SQLiteDatabase.LogView = .committed
  ) throws(SQLiteFileError) {
    try self.init(SQLiteDatabase(path: path, logView: logView), model: model)
  }

  /// Reads the store in an open database.
  ///
  /// - Parameters:
  ///   - database: the open database file.
  ///   - model: the model to read rows by; nil for the one that the store carries.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public init(_ database: SQLiteDatabase, model: ManagedObjectModel? = nil) throws(SQLiteFileError)
  {
    self.database = database
    let schema = database.schema
    let metadataTable = schema.table(named: "Z_METADATA")
    let keyTable = schema.table(named: "Z_PRIMARYKEY")
    kind =
      metadataTable != nil && keyTable != nil
      ? .coreData
      : metadataTable != nil || keyTable != nil || schema.tables.contains(where: Self.hasShape)
        ? .coreDataShaped : .sqlite

    metadata = try StoreMetadata.read(from: database, &coreDataFindings)

    var entities: [EntityRecord] = []
    if let keyTable {
      try database.forEachRow(of: keyTable) { row in
        if let record = EntityRecord(row: row) { entities.append(record) }
        return entities.count < Self.entityLimit + 100
      }
    }
    self.entities = entities

    var cachedModel: ManagedObjectModel?
    var problem: String?
    if let table = schema.table(named: "Z_MODELCACHE") {
      var content: [UInt8]?
      try database.forEachRow(of: table) { row in
        if case .blob(let bytes)? = row.values.first { content = bytes }
        return false
      }
      if let content {
        do throws(ModelCache.Failure) {
          let model = try ModelCache.model(from: content)
          if model.entities.count <= Self.entityLimit {
            cachedModel = model
          } else {
            problem = "it has \(model.entities.count) entities, more than a store can number"
          }
        } catch {
          problem = error.message
        }
      }
    }
    self.cachedModel = cachedModel
    cachedModelProblem = problem
    self.model = model ?? cachedModel

    if let problem {
      coreDataFindings.add(
        Finding(
          .coredataModelCacheUnreadable, "the cached model is not readable: \(problem)",
          table: "Z_MODELCACHE"))
    }
  }

  /// The most entities of a model: numbers from 16,001 on belong to the persistent history. The limit bounds the work
  /// for hostile files.
  private static let entityLimit = 16_000

  private static func hasShape(_ table: Table) -> Bool {
    let names = table.columnNames.prefix(3).map { $0.uppercased() }
    return names == ["Z_PK", "Z_ENT", "Z_OPT"]
  }

  // MARK: - Entities

  /// The name of the entity with this number; nil when neither the model nor Z_PRIMARYKEY has the number. The model's
  /// name takes precedence over the one in Z_PRIMARYKEY, which stays stale when a migration renames an entity.
  public func entityName(ofNumber number: Int64) -> String? {
    numberedNames[number] ?? recordsByNumber[number]?.name
  }

  /// The names of all entities, by number.
  package private(set) lazy var entityNames: [Int64: String] = Dictionary(
    entities.map { ($0.number, entityName(ofNumber: $0.number) ?? $0.name) },
    uniquingKeysWith: { first, _ in first })

  private lazy var recordsByNumber: [Int64: EntityRecord] = Dictionary(
    entities.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })

  private lazy var numberedNames: [Int64: String] = {
    guard let layout else { return [:] }
    let names = layout.numbering.names
    let own = entities.filter { !$0.isHistory }
    // The model's numbers apply only when the store has as many entities as the model, numbered from 1 without gaps.
    guard own.count == names.count,
      own.map(\.number).sorted() == Array(1...Int64(max(1, own.count)))
    else { return [:] }
    return Dictionary(uniqueKeysWithValues: zip(1..., names))
  }()

  /// The tables and columns that Core Data makes for the model; nil without a model.
  package private(set) lazy var layout: TableLayout? = model.map { TableLayout($0) }

  /// Returns the numbers of the entities with these names and of all their descendants. A name stands for the entity
  /// whose name has the same bytes, else for each whose name Swift treats as equal, because a keyboard composes letters
  /// in only one way.
  package func numbers(ofEntities names: [String]) -> Set<Int64> {
    let children = Dictionary(grouping: entities.filter { $0.superNumber != 0 }, by: \.superNumber)
    let known = Dictionary(grouping: entities) { entityName(ofNumber: $0.number) ?? $0.name }
    var waiting = names.flatMap { name -> [EntityRecord] in
      let equal = known[name] ?? []
      let same = equal.filter {
        PathText.isSame(entityName(ofNumber: $0.number) ?? $0.name, name)
      }
      return same.isEmpty ? equal : same
    }
    var numbers: Set<Int64> = []
    while let record = waiting.popLast() {
      if numbers.insert(record.number).inserted { waiting += children[record.number] ?? [] }
    }
    return numbers
  }

  /// Returns the records of the entities whose rows are in a table; empty for a table that is not an entity's.
  package func records(in table: Table) -> [EntityRecord] {
    recordsByTable[SQLName(table.name.uppercased())] ?? []
  }

  private lazy var recordsByTable: [SQLName: [EntityRecord]] = {
    var tables: [SQLName: [EntityRecord]] = [:]
    for record in entities {
      var root = record
      var steps = 0
      while root.superNumber != 0, let parent = recordsByNumber[root.superNumber],
        steps < ManagedObjectModel.maximumInheritanceDepth
      {
        root = parent
        steps += 1
      }
      // The table is named after its root entity: by the name that the entity had when the table was created, or by its
      // current name.
      let names = [root.name, entityName(ofNumber: root.number) ?? root.name]
      for table in Set(names.map { SQLName("Z" + $0.uppercased()) }) {
        tables[table, default: []].append(record)
      }
    }
    return tables
  }()

  /// The tables that hold rows of entities, without those of the persistent history. If Z_PRIMARYKEY names no entity,
  /// these are all tables that begin with the columns Z_PK, Z_ENT and Z_OPT.
  package var entityTables: [Table] {
    guard entities.contains(where: { $0.superNumber == 0 && !$0.isHistory }) else {
      return database.schema.tables.filter(Self.hasShape)
    }
    return rootTables.map { $0.table }
  }

  /// The tables that hold rows of the entities in Z_PRIMARYKEY, each with its root entity's record, without those of
  /// the persistent history.
  package var rootTables: [(record: EntityRecord, table: Table)] {
    var met: Set<SQLName> = []
    return entities.filter { $0.superNumber == 0 && !$0.isHistory }.compactMap { record in
      let names = [record.name, entityName(ofNumber: record.number)].compactMap { $0 }
      return names.lazy.compactMap { self.database.schema.table(named: "Z" + $0.uppercased()) }
        .first { met.insert(SQLName($0.name)).inserted }.map { (record: record, table: $0) }
    }
  }

  /// Returns the entities whose rows are in a table, with the names of their properties in the order in which rows list
  /// them. Empty for a table that is not an entity's.
  package func describedEntities(of table: Table) throws(SQLiteFileError) -> [DescribedEntity] {
    try plan(for: table)?.describedEntities ?? []
  }
}
