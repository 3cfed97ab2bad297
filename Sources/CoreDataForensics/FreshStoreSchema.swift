package import CoreDataStore
import ModelTools
import SQLiteFile
import StoreFiles
package import ObjectModel

/// The content of a new, empty store for a model, as SQL statements and rows. The caller writes the content into a file
/// with SQLite, so that a store is made without the app.
package struct FreshStoreSchema: Sendable, Equatable {
  package struct Failure: Error, Sendable, Equatable {
    /// What is wrong, in a sentence without a full stop.
    package let message: String
  }

  package let layout: TableLayout
  /// CREATE TABLE and CREATE INDEX statements, in Core Data's order.
  package let statements: [String]
  package struct Table: Sendable, Equatable {
    package let name: String
    package let sql: String
  }

  /// The tables in the order of their statements in ``statements``.
  package let tables: [Table]
  package struct Index: Sendable, Hashable {
    package let table: String
    package let sql: String
    package let isUnique: Bool
  }

  /// The indexes in the order of their statements in ``statements``.
  package let indexes: [Index]
  /// The rows of Z_PRIMARYKEY, ascending by entity number.
  package let entities: [EntityRecord]
  /// The property list for `Z_METADATA.Z_PLIST`.
  package let metadataPlist: [UInt8]
  /// The content of `Z_MODELCACHE.Z_CONTENT`.
  package let modelCache: [UInt8]

  /// The framework version that is written into new stores: that of iOS 17. For newer versions, no store made by Core
  /// Data was compared with a store made by Lifeboat.
  package static let frameworkVersion: Int64 = 1344

  /// Computes the content of a new store for a model.
  ///
  /// - Parameters:
  ///   - model: the model.
  ///   - withHistory: whether the store has tables for persistent history (their form since iOS 13).
  ///   - sides: see ``TableLayout/init(_:namedAfter:)``.
  /// - Throws: ``Failure`` when the rule for the hash of an entity is not confirmed, when two tables or columns would
  ///   have the same name, or when the model cannot be cached.
  package init(
    _ model: ManagedObjectModel, withHistory: Bool = false, namedAfter sides: Set<String> = []
  ) throws(Failure) {
    let hashes = model.versionHashes()
    if let (entity, reason) = hashes.unknown.min(by: { $0.key < $1.key }) {
      throw Failure(message: "the version hash of entity \(entity) is not known: \(reason)")
    }
    let layout = TableLayout(model, namedAfter: sides)
    self.layout = layout
    let history =
      withHistory ? Self.historyTables(tombstoneCount: Self.tombstoneCount(of: model)) : []
    let own = Self.tables(layout)
    if let collision = Self.collision(layout, own.map(\.name)) {
      throw Failure(message: collision)
    }
    tables = own + history.map(\.table)
    indexes = layout.tables.flatMap { Self.indexes(of: $0, layout) }
    statements =
      own.dropLast(Self.bookkeeping.count).map(\.sql)
      + indexes.map(\.sql) + Self.bookkeeping.map(\.sql)
      + history.map(\.table.sql) + (withHistory ? Self.historyIndexes.map(\.sql) : [])
    entities =
      Self.records(layout)
      + history.map {
        EntityRecord(number: $0.number, name: $0.entity, superNumber: 0, highestKey: 0)
      }
    metadataPlist = Self.metadata(model, hashes).binaryBytes()
    do throws(ModelCache.Failure) {
      modelCache = try ModelCache.written(model).bytes
    } catch {
      throw Failure(message: "the model cannot be written into the store: \(error.message)")
    }
  }

  /// Returns a sentence about a name that two tables, or two columns of one table, share; nil when all names differ.
  /// ASCII letters are compared without case, as in SQLite.
  private static func collision(_ layout: TableLayout, _ tables: [String]) -> String? {
    func twice(_ names: [String]) -> String? {
      var seen: Set<SQLName> = []
      return names.first { !seen.insert(SQLName($0)).inserted }
    }
    if let name = twice(tables) { return "two tables of the store would have the name \(name)" }
    for table in layout.tables {
      if let name = twice(table.columnNames) {
        return "two columns of table \(table.name) would have the name \(name)"
      }
    }
    return nil
  }

  private static func metadata(_ model: ManagedObjectModel, _ hashes: ModelHashes) -> PropertyList {
    var entries: [String: PropertyList] = [
      "NSStoreModelVersionHashes": .dictionary(hashes.hashes.mapValues { .data($0.bytes) }),
      "NSStoreModelVersionHashesVersion": .integer(3),
      "NSStoreModelVersionIdentifiers": .array(
        (model.versionIdentifiers.isEmpty ? [""] : model.versionIdentifiers).map { .string($0) }),
      "NSPersistenceFrameworkVersion": .integer(frameworkVersion),
      "NSStoreType": .string("SQLite"),
      "_NSAutoVacuumLevel": .string("2"),
    ]
    if let digest = hashes.digest { entries["NSStoreModelVersionHashesDigest"] = .string(digest) }
    if let checksum = hashes.checksum {
      entries["NSStoreModelVersionChecksumKey"] = .string(checksum)
    }
    return .dictionary(entries)
  }

  private static func records(_ layout: TableLayout) -> [EntityRecord] {
    layout.numbering.names.enumerated().map { index, name in
      let parent = layout.model.entities[name]?.superentityName
      return EntityRecord(
        number: Int64(index + 1), name: name,
        superNumber: parent.flatMap { layout.numbering.number(of: $0) } ?? 0, highestKey: 0)
    }
  }

  // MARK: - SQL

  /// Core Data's own tables. They are the same in every store that caches its model.
  package static let bookkeeping: [Table] = [
    Table(
      name: "Z_PRIMARYKEY",
      sql:
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"
    ),
    Table(
      name: "Z_METADATA",
      sql:
        "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)"
    ),
    Table(name: "Z_MODELCACHE", sql: "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)"),
  ]

  /// Returns the tables of root entities, and after each of them the join tables of the many-to-many relationships that
  /// its entities own. Core Data's own tables come last.
  private static func tables(_ layout: TableLayout) -> [Table] {
    var tables: [Table] = []
    for table in layout.tables {
      let columns = ordered(table.columns, layout)
      let declarations = columns.map { ", \(quoted($0.name)) \(declaredType($0.role))" }
      tables.append(Self.table(table.name, declarations.joined()))
      for join in joins(of: table, layout) {
        let keys = [join.ownerColumn, join.destinationColumn].map(quoted)
        let orders = [join.ownerOrderColumn, join.destinationOrderColumn].compactMap { $0 }
        let columns = (keys + orders.map(quoted)).map { $0 + " INTEGER" }
        tables.append(
          Table(
            name: join.name,
            sql:
              "CREATE TABLE \(quoted(join.name)) ( \(columns.joined(separator: ", ")), PRIMARY KEY (\(keys[0]), \(keys[1])) )"
          ))
      }
    }
    return tables + bookkeeping
  }

  /// Makes the table of a root entity. `columns` is the SQL for all columns after Z_OPT, and begins with a comma.
  private static func table(_ name: String, _ columns: String) -> Table {
    Table(
      name: name,
      sql:
        "CREATE TABLE \(quoted(name)) ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER\(columns) )"
    )
  }

  private static func joins(of table: TableLayout.Table, _ layout: TableLayout)
    -> [TableLayout.JoinTable]
  {
    layout.joinTables.filter { table.entityNames.contains($0.ownerName) }
  }

  /// Returns the indexes of the table of a root entity and of the join tables that its entities own, in Core Data's
  /// order: indexes on columns with keys of other rows, the index on entity numbers, indexes on join tables. Last come,
  /// entity by entity, the indexes for fetch indexes and for uniqueness constraints.
  private static func indexes(of table: TableLayout.Table, _ layout: TableLayout) -> [Index] {
    var indexes: [Index] = []
    for column in ordered(table.columns, layout) {
      switch column.role {
      case .toOne, .owner:
        indexes.append(
          index("\(table.name)_\(column.name)_INDEX", table.name, [quoted(column.name)]))
      default: break
      }
    }
    if table.entityNames.count > 1 {
      indexes.append(index("\(table.name)_Z_ENT_INDEX", table.name, ["Z_ENT"]))
    }
    for join in joins(of: table, layout) {
      indexes.append(
        index(
          "\(join.name)_\(join.destinationColumn)_INDEX", join.name,
          [join.destinationColumn, join.ownerColumn].map(quoted)))
    }
    for name in table.entityNames {
      guard let entity = layout.model.entities[name] else { continue }
      for fetchIndex in fetchIndexes(of: entity)
      where fetchIndex.partialPredicate == nil
        && fetchIndex.elements.allSatisfy({ $0.kind == .binary })
      {
        let columns = fetchIndex.elements.compactMap {
          layout.column(of: $0.propertyName, in: name)
        }
        guard columns.count == fetchIndex.elements.count, let first = columns.first else {
          continue
        }
        // The column that holds the key of a relationship's destination has an index already.
        if columns.count == 1, case .toOne = first.role { continue }
        let terms = zip(columns, fetchIndex.elements).map { column, element in
          quoted(column.name) + " COLLATE BINARY " + (element.isAscending ? "ASC" : "DESC")
        }
        indexes.append(index("Z_\(name)_\(fetchIndex.name)", table.name, terms))
      }
      for constraint in entity.uniquenessConstraints {
        let columns = constraint.compactMap { layout.column(of: $0, in: name) }
        guard columns.count == constraint.count, !columns.isEmpty else { continue }
        indexes.append(
          index(
            "Z_\(name)_UNIQUE_" + constraint.joined(separator: "_"), table.name,
            columns.map { quoted($0.name) + " COLLATE BINARY ASC" }, isUnique: true))
      }
    }
    var met: Set<Index> = []
    return indexes.filter { met.insert($0).inserted }
  }

  /// Returns the fetch indexes of an entity, in this order: one for each attribute that is marked as indexed, one for
  /// each compound index, and the declared fetch indexes. An indexed attribute is left out if a declared fetch index
  /// has only this attribute. The first two kinds are older declarations, from which Apple's compiler makes such fetch
  /// indexes.
  private static func fetchIndexes(of entity: Entity) -> [FetchIndex] {
    let single = Set(
      entity.fetchIndexes.filter { $0.elements.count == 1 }.compactMap {
        $0.elements.first?.propertyName
      })
    let attributes = entity.attributes.filter { $0.isIndexed && !single.contains($0.name) }
    return
      (attributes.map { [$0.name] } + entity.compoundIndexes).map { names in
        FetchIndex(
          name: names.joined(separator: "_"),
          elements: names.map { FetchIndex.Element(propertyName: $0) })
      } + entity.fetchIndexes
  }

  private static func index(
    _ name: String, _ table: String, _ terms: [String], isUnique: Bool = false
  ) -> Index {
    Index(
      table: table,
      sql:
        "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(quoted(name)) ON \(quoted(table)) (\(terms.joined(separator: ", ")))",
      isUnique: isUnique)
  }

  /// Sorts columns into Core Data's order. The columns form these groups, in this order: integers and keys; positions
  /// in ordered relationships; dates and floats; decimals; text; URIs; UUIDs; transformed values; bytes. Positions keep
  /// their given order. In every other group, columns are sorted by entity number, and the attributes of an entity come
  /// before its keys.
  private static func ordered(_ columns: [TableLayout.Column], _ layout: TableLayout)
    -> [TableLayout.Column]
  {
    func key(_ column: TableLayout.Column) -> (Int, Int64, Int) {
      let number = layout.numbering.number(of: column.entityName) ?? 0
      return switch column.role {
      case .attribute(let attribute): (storageRank(attribute.type), number, 0)
      case .toOne, .destinationEntity: (0, number, 1)
      case .owner: (0, number, 2)
      // In Core Data's own stores, the order of several positions follows no known rule.
      case .order, .ownerOrder: (1, 0, 0)
      }
    }
    return columns.enumerated().sorted { one, two in
      let (a, b) = (key(one.element), key(two.element))
      return a == b ? one.offset < two.offset : a < b
    }.map(\.element)
  }

  private static func storageRank(_ type: AttributeType) -> Int {
    switch type {
    case .integer16, .integer32, .integer64, .boolean: 0
    case .date, .double, .float: 2
    case .decimal: 3
    case .string: 4
    case .uri: 5
    case .uuid: 6
    case .transformable: 7
    default: 8
    }
  }

  private static func declaredType(_ role: TableLayout.Role) -> String {
    guard case .attribute(let attribute) = role else { return "INTEGER" }
    return switch attribute.type {
    case .integer16, .integer32, .integer64, .boolean: "INTEGER"
    case .decimal: "DECIMAL"
    case .double, .float: "FLOAT"
    case .string, .uri: "VARCHAR"
    case .date: "TIMESTAMP"
    default: "BLOB"
    }
  }

  // MARK: - Persistent history

  /// Returns the tables of persistent history, in their form since iOS 13, each with the name and the number of its
  /// entity. `tombstoneCount` is the number of columns for values of deleted rows.
  package static func historyTables(tombstoneCount: Int)
    -> [(entity: String, number: Int64, table: Table)]
  {
    let tombstones = (0..<tombstoneCount).map { ", ZTOMBSTONE\($0) BLOB" }.joined()
    return [
      (
        "CHANGE", 16001,
        table(
          "ACHANGE",
          ", ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB"
            + tombstones)
      ),
      (
        "TRANSACTION", 16002,
        table(
          "ATRANSACTION",
          ", ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB"
        )
      ),
      ("TRANSACTIONSTRING", 16003, table("ATRANSACTIONSTRING", ", ZNAME VARCHAR")),
    ]
  }

  private static let historyIndexes: [Index] = {
    let keys =
      [("ACHANGE", "ZTRANSACTIONID")]
      + ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"].map { ("ATRANSACTION", $0) }
    return keys.map { table, column in index("\(table)_\(column)_INDEX", table, [column]) } + [
      index(
        "Z_TRANSACTION_TransactionAuthorIndex", "ATRANSACTION", ["ZAUTHOR COLLATE BINARY ASC"]),
      index(
        "Z_TRANSACTION_TransactionTimestampIndex", "ATRANSACTION",
        ["ZTIMESTAMP COLLATE BINARY ASC"]),
      index(
        "Z_TRANSACTIONSTRING_UNIQUE_NAME", "ATRANSACTIONSTRING", ["ZNAME COLLATE BINARY ASC"],
        isUnique: true),
    ]
  }()

  /// Returns the number of columns that persistent history needs for the values of a deleted row. An entity needs a
  /// column for each attribute that is preserved after deletion, including inherited attributes. The result is the
  /// maximum for all entities.
  private static func tombstoneCount(of model: ManagedObjectModel) -> Int {
    model.entities.values.map { entity in
      ([entity] + model.ancestors(of: entity.name)).flatMap(\.attributes)
        .count { $0.preservesValueInHistoryOnDeletion && !$0.isTransient }
    }.max() ?? 0
  }

  // MARK: - Names

  /// Returns a name for use in SQL: in quotes, unless it consists of ASCII letters, digits and underscores and does not
  /// begin with a digit.
  private static func quoted(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { byte in
      (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || (0x30...0x39).contains(byte) || byte == 0x5f
    }
    if isPlain, let first = name.utf8.first, !(0x30...0x39).contains(first) { return name }
    // The search for quotes compares bytes, because Swift treats a quote and a combining mark after it as one
    // `Character`.
    let quote = UInt8(ascii: "\"")
    let doubled = name.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return "\"" + String(decoding: doubled, as: UTF8.self) + "\""
  }
}
