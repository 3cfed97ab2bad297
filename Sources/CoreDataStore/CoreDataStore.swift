public import StoreFiles
public import ObjectModel
public import SQLiteFile
import SafeText

/// A Core Data or SwiftData store that is read directly from its files, without Core Data or SQLite.
///
/// Any SQLite file can be opened. A file without Core Data's tables has the kind ``Kind/sqlite``.
public final class CoreDataStore {
  /// The kind of a file, as its tables show it: a Core Data store, a file that looks like one, or a plain SQLite file.
  public enum Kind: String, Sendable, Codable {
    /// A Core Data store: the file has the tables `Z_METADATA` and `Z_PRIMARYKEY`.
    case coreData
    /// A file that looks like a store: it has only one of the tables `Z_METADATA` and `Z_PRIMARYKEY`, or a table whose
    /// first columns are Z_PK, Z_ENT and Z_OPT.
    case coreDataShaped
    /// A plain SQLite file: it has none of Core Data's tables.
    case sqlite

    /// The kind in words, for people.
    package var words: String {
      switch self {
      case .coreData: "Core Data store"
      case .coreDataShaped: "Core Data store without metadata"
      case .sqlite: "SQLite database"
      }
    }
  }

  /// The open database file, with its write-ahead log and rollback journal.
  package let database: SQLiteDatabase
  /// The kind of the file: a store, a file that looks like a store, or a plain SQLite file.
  public let kind: Kind
  /// The metadata that the store records about itself; nil when Z_METADATA has no row that can be read.
  public let metadata: StoreMetadata?
  /// The rows of Z_PRIMARYKEY, sorted by entity number. They include the entities of the persistent history.
  public let entities: [EntityRecord]
  /// The model in Z_MODELCACHE; nil when the store has no cached model, or when the cached model cannot be read.
  package let cachedModel: ManagedObjectModel?
  /// The reason why the cached model cannot be read; nil when it can be read, or when the store has no cached model.
  package let cachedModelProblem: String?
  /// The model that defines the entities and properties of rows: the model given to the initializer, else the cached
  /// model; nil if there is neither.
  public let model: ManagedObjectModel?
  /// The findings about the file and about Core Data's content in it.
  public var findings: FindingList {
    var all = database.findings
    all.add(coreDataFindings)
    return all
  }

  /// A closure that returns whether a property is read; nil to read all properties. `property` is the name of the
  /// property. `lineage` has the names of the row's entity and of the entity's ancestors. If a closure is set, rows of
  /// unknown entities have no properties.
  package var shows: ((_ property: String, _ lineage: [String]) -> Bool)?

  /// The findings about Core Data's content. Reading rows adds more findings.
  package var coreDataFindings = FindingList()
  /// The links of join tables that were read so far. The key is the name of the join table, followed by `>` for links
  /// sorted by owner or by `<` for links sorted by destination.
  var linkCache: [String: LinkTable] = [:]

  /// Opens the store at `path`.
  ///
  /// - Parameters:
  ///   - path: the path of the main file, next to which the write-ahead log and the rollback journal are found.
  ///   - model: the model that defines entities and properties; nil for the model that is cached in the store.
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
  ///   - model: the model that defines entities and properties; nil for the model that is cached in the store.
  /// - Throws: ``SQLiteFileError`` when the device fails.
  public init(_ database: SQLiteDatabase, model: ManagedObjectModel? = nil) throws(SQLiteFileError)
  {
    self.database = database
    let schema = database.schema
    let metadataTable = schema.table(named: "Z_METADATA")
    let keyTable = schema.table(named: "Z_PRIMARYKEY")
    let hasShape = schema.tables.contains { CoreDataStore.hasShape($0.columnNames) }
    kind =
      metadataTable != nil && keyTable != nil
      ? .coreData
      : metadataTable != nil || keyTable != nil || hasShape ? .coreDataShaped : .sqlite

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
        switch row.values.first {
        case .blob(let bytes)?: content = bytes
        case .null?, nil: break
        default: problem = "it is not a blob"
        }
        return false
      }
      if let content {
        do throws(ModelCache.Failure) {
          let model = try ModelCache.model(from: content)
          if model.entities.count <= Self.entityLimit {
            cachedModel = model
          } else {
            problem =
              "it has \(model.entities.count) entities; a store can have at most \(Self.entityLimit)"
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

  /// The maximum number of entities in a model. The limit bounds the work that a hostile file can cause. It excludes no
  /// valid model, because entity numbers from 16,001 on belong to the persistent history.
  private static let entityLimit = 16_000

  /// Whether a table with these columns looks like the table of an entity.
  package static func hasShape(_ columnNames: [String]) -> Bool {
    columnNames.prefix(3).map { $0.uppercased() } == ["Z_PK", "Z_ENT", "Z_OPT"]
  }

  // MARK: - Entities

  /// Returns the name of the entity with this number; nil when neither the model nor Z_PRIMARYKEY has the number. The
  /// model's name takes precedence: if a migration has renamed the entity, Z_PRIMARYKEY still has the old name.
  public func entityName(ofNumber number: Int64) -> String? {
    numberedNames[number] ?? recordsByNumber[number]?.name
  }

  /// The names of all entities in Z_PRIMARYKEY, keyed by entity number.
  package private(set) lazy var entityNames: [Int64: String] = Dictionary(
    firstOf: entities.map { ($0.number, entityName(ofNumber: $0.number) ?? $0.name) })

  private lazy var recordsByNumber: [Int64: EntityRecord] = Dictionary(
    firstOf: entities.map { ($0.number, $0) })

  private lazy var numberedNames: [Int64: String] = {
    guard let layout else { return [:] }
    let names = layout.numbering.names
    let own = entities.filter { !$0.isHistory }
    // The model's numbering applies only when the store has as many entities as the model, numbered from 1 without
    // gaps.
    guard own.count == names.count,
      own.map(\.number).sorted() == Array(1...Int64(max(1, own.count)))
    else { return [:] }
    return Dictionary(uniqueKeysWithValues: zip(1..., names))
  }()

  /// The tables and columns that Core Data makes for the model; nil without a model.
  package private(set) lazy var layout: TableLayout? = model.map { TableLayout($0) }

  /// Returns the numbers of the entities with these names and of all their descendants. Names are first compared byte
  /// by byte. If no entity has exactly a given name, the name stands for all entities whose names are equal by Swift's
  /// `==`, because the user's keyboard may compose accents differently from the model.
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

  /// Returns the Z_PRIMARYKEY records of the entities whose rows are in the table. Empty if the table does not belong
  /// to entities.
  package func records(in table: Table) -> [EntityRecord] {
    recordsByTable[SQLName(table.name.uppercased())] ?? []
  }

  private lazy var recordsByTable: [SQLName: [EntityRecord]] = {
    var tables: [SQLName: [EntityRecord]] = [:]
    for record in entities {
      let names = record.tableNames(among: recordsByNumber, entityName(ofNumber:))
      for table in names { tables[table, default: []].append(record) }
    }
    return tables
  }()

  /// The tables that hold rows of entities, without those of the persistent history. If Z_PRIMARYKEY names no root
  /// entity, these are all tables whose first columns are Z_PK, Z_ENT and Z_OPT.
  package var entityTables: [Table] {
    guard entities.contains(where: { $0.superNumber == 0 && !$0.isHistory }) else {
      return database.schema.tables.filter { Self.hasShape($0.columnNames) }
    }
    return rootTables.map { $0.table }
  }

  /// The table of each root entity in Z_PRIMARYKEY, with the entity's record. The persistent history's tables are left
  /// out.
  package var rootTables: [(record: EntityRecord, table: Table)] {
    var met: Set<SQLName> = []
    return entities.filter { $0.superNumber == 0 && !$0.isHistory }.compactMap { record in
      let names = [record.name, entityName(ofNumber: record.number)].compactMap { $0 }
      return names.lazy.compactMap { self.database.schema.table(named: "Z" + $0.uppercased()) }
        .first { met.insert(SQLName($0.name)).inserted }.map { (record: record, table: $0) }
    }
  }

  /// Returns the entities whose rows are in the table, with their properties in the order of ``ManagedRow/properties``.
  /// Empty if the table does not belong to entities.
  package func describedEntities(of table: Table) throws(SQLiteFileError) -> [DescribedEntity] {
    try plan(for: table)?.describedEntities ?? []
  }
}
