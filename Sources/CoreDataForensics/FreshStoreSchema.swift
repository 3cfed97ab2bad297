package import CoreDataStore
import StoreFiles
package import ObjectModel

/// The content of a new, empty store for a model, as SQL and rows. A caller that has SQLite writes it.
///
/// An app does not need this, because Core Data creates its store. It is for stores that are created without the app.
package struct FreshStoreSchema: Sendable, Equatable {
  /// Why a store cannot be created for a model.
  package struct Failure: Error, Sendable, Equatable {
    /// What is wrong, in a sentence without a full stop.
    package let message: String
  }

  /// CREATE TABLE and CREATE INDEX statements, in the order in which to run them.
  package let statements: [String]
  /// A table and the statement that creates it.
  package struct Table: Sendable, Equatable {
    /// The name.
    package let name: String
    /// The CREATE TABLE statement.
    package let sql: String
  }

  /// The tables, in the order of the statements.
  package let tables: [Table]
  /// The rows of Z_PRIMARYKEY.
  package let entities: [EntityRecord]
  /// The property list for `Z_METADATA.Z_PLIST`.
  package let metadataPlist: [UInt8]
  /// The content of `Z_MODELCACHE.Z_CONTENT`.
  package let modelCache: [UInt8]

  /// The framework version written into new stores: the newest version whose stores were compared with ours (iOS 17).
  package static let frameworkVersion: Int64 = 1344

  /// Computes the store of a model.
  ///
  /// - Throws: ``Failure`` when the rule for the hash of an entity is not confirmed, or the model cannot be cached.
  package init(_ model: ManagedObjectModel) throws(Failure) {
    let hashes = model.versionHashes()
    guard let (entity, reason) = hashes.unknown.min(by: { $0.key < $1.key }) else {
      let layout = TableLayout(model)
      let statements = Self.statements(layout)
      self.statements = statements
      let names =
        layout.tables.map(\.name) + layout.joinTables.map(\.name)
        + ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
      tables = names.compactMap { name in
        let start = "CREATE TABLE \(Self.quoted(name)) "
        return statements.first { $0.utf8.starts(with: start.utf8) }
          .map { Table(name: name, sql: $0) }
      }
      entities = Self.records(layout)
      metadataPlist = Self.metadata(model, hashes).binaryBytes()
      do throws(ModelCache.Failure) {
        modelCache = try ModelCache.content(of: model)
      } catch {
        throw Failure(message: "the model cannot be cached: \(error.message)")
      }
      return
    }
    throw Failure(message: "the version hash of entity \(entity) is not known: \(reason)")
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

  private static func statements(_ layout: TableLayout) -> [String] {
    var statements: [String] = []
    for table in layout.tables {
      let columns = ordered(table.columns, layout)
      let declarations = columns.map { ", \(quoted($0.name)) \(declaredType($0.role))" }
      statements.append(
        "CREATE TABLE \(quoted(table.name)) ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER"
          + declarations.joined() + " )")
      statements += indexes(of: table, layout)
    }
    for join in layout.joinTables {
      let keys = [join.ownerColumn, join.destinationColumn].map(quoted)
      let orders = [join.ownerOrderColumn, join.destinationOrderColumn].compactMap { $0 }
      let columns = (keys + orders.map(quoted)).map { $0 + " INTEGER" }
      statements.append(
        "CREATE TABLE \(quoted(join.name)) ( \(columns.joined(separator: ", ")), PRIMARY KEY (\(keys[0]), \(keys[1])) )"
      )
      statements.append(
        "CREATE INDEX \(quoted("\(join.name)_\(join.destinationColumn)_INDEX")) ON \(quoted(join.name)) (\(keys[1]), \(keys[0]))"
      )
    }
    statements.append(
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)"
    )
    statements.append(
      "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)")
    statements.append("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
    return statements
  }

  private static func indexes(of table: TableLayout.Table, _ layout: TableLayout) -> [String] {
    var statements: [String] = []
    for column in table.columns {
      switch column.role {
      case .toOne:
        statements.append(index("\(table.name)_\(column.name)_INDEX", table, [column.name]))
      case .attribute(let attribute) where attribute.isIndexed:
        statements.append(index("\(table.name)_\(column.name)_INDEX", table, [column.name]))
      default: break
      }
    }
    if table.entityNames.count > 1 {
      statements.append(index("\(table.name)_Z_ENT_INDEX", table, ["Z_ENT"]))
    }
    for name in table.entityNames {
      guard let entity = layout.model.entities[name] else { continue }
      for constraint in entity.uniquenessConstraints {
        let columns = constraint.compactMap { column(of: $0, entity: name, table, layout) }
        guard columns.count == constraint.count, !columns.isEmpty else { continue }
        statements.append(
          index(
            "Z_\(name)_UNIQUE_" + constraint.joined(separator: "_"), table,
            columns.map { quoted($0) + " COLLATE BINARY ASC" }, isUnique: true))
      }
      for fetchIndex in entity.fetchIndexes
      where fetchIndex.partialPredicate == nil
        && fetchIndex.elements.allSatisfy({ $0.kind == .binary })
      {
        let terms = fetchIndex.elements.compactMap { element in
          column(of: element.propertyName, entity: name, table, layout)
            .map { quoted($0) + " COLLATE BINARY " + (element.isAscending ? "ASC" : "DESC") }
        }
        guard terms.count == fetchIndex.elements.count, !terms.isEmpty else { continue }
        statements.append(index("Z_\(name)_\(fetchIndex.name)", table, terms))
      }
    }
    var met: Set<String> = []
    return statements.filter { met.insert($0).inserted }
  }

  private static func index(
    _ name: String, _ table: TableLayout.Table, _ terms: [String], isUnique: Bool = false
  ) -> String {
    "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(quoted(name)) ON \(quoted(table.name)) (\(terms.joined(separator: ", ")))"
  }

  private static func column(
    of property: String, entity: String, _ table: TableLayout.Table, _ layout: TableLayout
  ) -> String? {
    let lineage = Set([entity] + layout.model.ancestors(of: entity).map(\.name))
    return table.columns.first { column in
      guard lineage.contains(column.entityName) else { return false }
      switch column.role {
      case .attribute(let attribute): return attribute.name == property
      case .toOne(let relationship): return relationship.name == property
      default: return false
      }
    }?.name
  }

  /// Core Data's order: integers and keys, positions in ordered relationships, then dates and floats, decimals, text,
  /// URIs, UUIDs, transformed values, bytes; within each by entity, attributes before keys, by name.
  private static func ordered(_ columns: [TableLayout.Column], _ layout: TableLayout)
    -> [TableLayout.Column]
  {
    func key(_ column: TableLayout.Column) -> (Int, Int64, Int) {
      let number = layout.numbering.number(of: column.entityName) ?? 0
      return switch column.role {
      case .attribute: (storageRank(column.role), number, 0)
      case .toOne, .destinationEntity: (0, number, 1)
      case .owner: (0, number, 2)
      case .order, .ownerOrder: (1, 0, 0)
      }
    }
    return columns.enumerated().sorted { one, two in
      let (a, b) = (key(one.element), key(two.element))
      return a == b ? one.offset < two.offset : a < b
    }.map(\.element)
  }

  private static func storageRank(_ role: TableLayout.Role) -> Int {
    guard case .attribute(let attribute) = role else { return 0 }
    return switch attribute.type {
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

  /// A name in SQL: quoted unless it consists of ASCII letters, digits and underscores and begins with no digit.
  private static func quoted(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { byte in
      (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || (0x30...0x39).contains(byte) || byte == 0x5f
    }
    if isPlain, let first = name.utf8.first, !(0x30...0x39).contains(first) { return name }
    // By bytes, because a combining mark may follow a quote.
    let quote = UInt8(ascii: "\"")
    let doubled = name.utf8.flatMap { $0 == quote ? [quote, quote] : [$0] }
    return "\"" + String(decoding: doubled, as: UTF8.self) + "\""
  }
}
