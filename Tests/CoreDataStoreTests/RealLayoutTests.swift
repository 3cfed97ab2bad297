import CoreDataStore
import StoreFiles
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteWriter
import Testing
@testable import CoreDataForensics

/// The tables and columns that follow from a model, against those that Core Data made.
@Suite struct RealLayoutTests {
  typealias Column = (name: String, type: String)

  /// The tables of a private copy as SQLite describes them, Core Data's own and the history's left out.
  static func tables(of real: RealStore) throws -> [String: [Column]] {
    try ofStores.get()[real.description] ?? read(real)
  }

  /// The same of all real stores, which are copied once.
  private static let ofStores: Result<[String: [String: [Column]]], any Error> = Result {
    var all: [String: [String: [Column]]] = [:]
    for real in RealStores.all { all[real.description] = try read(real) }
    return all
  }

  private static func read(_ real: RealStore) throws -> [String: [Column]] {
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(try real.copy(into: folder.url))
    defer { connection.close() }
    return try tables(connection)
  }

  static func tables(_ connection: SQLiteConnection) throws -> [String: [Column]] {
    let system: Set<String> = [
      "Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE", "ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING",
    ]
    var tables: [String: [Column]] = [:]
    for table in try connection.ordinaryTables()
    where !system.contains(table) && !table.hasPrefix("sqlite_") {
      tables[table] = try connection.rows(
        "SELECT name, type FROM pragma_table_info(?)", [.string(table)]
      ).map { row in
        guard case .text(let name) = row[0], case .text(let type) = row[1] else { return ("", "") }
        return (String(decoding: name, as: UTF8.self), String(decoding: type, as: UTF8.self))
      }
    }
    return tables
  }

  static func columns(_ join: TableLayout.JoinTable) -> Set<String> {
    Set(
      [
        join.ownerColumn, join.destinationColumn, join.ownerOrderColumn,
        join.destinationOrderColumn,
      ]
      .compactMap { $0 })
  }

  /// The leaves of composites have columns by their own names, in the model's order, as two stores of SwiftData have
  /// them.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: ["PreloadedCocktails.store", "default-5-entities.store"])
  func columnsOfComposites(_ name: String) throws {
    guard let shared = Shared.require("columns of composites") else { return }
    let url = shared.appendingPathComponent("stores/found/models/composite/" + name)
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(SQLiteConnection.copyStore(url, into: folder.url))
    defer { connection.close() }
    let store = try CoreDataStore(path: url.path)
    let schema = try FreshStoreSchema(try #require(store.cachedModel))
    let made = try SQLiteConnection(folder.url.appendingPathComponent("Fresh.store"))
    defer { made.close() }
    for statement in schema.statements { try made.exec(statement) }
    let original = try Self.tables(connection)
    for (table, columns) in try Self.tables(made) {
      let expected = try #require(original[table], "\(table)").map { "\($0.name) \($0.type)" }
      #expect(columns.map { "\($0.name) \($0.type)" } == expected, "\(table)")
    }
  }

  /// `author.id` took the column `ZID` before the cocktail's own `id`, which is another in each row.
  @Test(.enabled(if: Shared.isThere)) func valuesOfComposites() throws {
    guard let shared = Shared.require("values of composites") else { return }
    let url = shared.appendingPathComponent(
      "stores/found/models/composite/PreloadedCocktails.store")
    let layout = TableLayout(try #require(try CoreDataStore(path: url.path).cachedModel))
    let columns = try #require(layout.table(of: "Cocktail")).columns
    func column(_ attribute: String) -> String? {
      columns.first {
        if case .attribute(let found) = $0.role { found.name == attribute } else { false }
      }?.name
    }
    #expect(column("author.id") == "ZID")
    #expect(column("id") == "ZID1")
    #expect(column("author.person") == "ZPERSON")
    #expect(column("glasswareType.glasswareType") == "ZGLASSWARETYPE")
    #expect(column("author") == nil)
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(SQLiteConnection.copyStore(url, into: folder.url))
    defer { connection.close() }
    #expect(try connection.integer("SELECT count(DISTINCT ZID1) = count(*) FROM ZCOCKTAIL") == 1)
  }

  /// Everything predicted is there, and what is there beyond that is left over from migrations.
  @Test(.enabled(if: Shared.isThere)) func predictedTablesAndColumnsAreThoseOfTheStores() throws {
    guard Shared.require("layouts of real stores") != nil else { return }
    var predicted = 0
    var extra: [String] = []
    for real in RealStores.all {
      guard let model = try CoreDataStore(path: real.url.path).cachedModel else { continue }
      let layout = TableLayout(model)
      var actual = try Self.tables(of: real)
      for table in layout.tables {
        let found = actual.removeValue(forKey: table.name)
        let columns = try #require(found, "\(real): \(table.name)")
        let names = Set(columns.map(\.name))
        let wanted = Set(["Z_PK", "Z_ENT", "Z_OPT"] + table.columns.map(\.name))
        predicted += wanted.count
        #expect(wanted.isSubset(of: names), "\(real) \(table.name): \(wanted.subtracting(names))")
        extra += names.subtracting(wanted).map {
          "\(real.url.lastPathComponent) \(table.name).\($0)"
        }
      }
      for join in layout.joinTables {
        // Of a relationship of an entity with itself either side gives the name.
        let other = layout.numbering.number(of: join.ownerName).flatMap { number in
          join.relationship.inverseName.map { "Z_\(number)" + $0.uppercased() }
        }
        let name = actual[join.name] != nil ? join.name : other ?? join.name
        let found = actual.removeValue(forKey: name)
        let columns = try #require(found, "\(real): \(join.name)")
        predicted += columns.count
        #expect(Set(columns.map(\.name)) == Self.columns(join), "\(real) \(name)")
      }
      extra += actual.keys.map { "\(real.url.lastPathComponent) table \($0)" }
    }
    #expect(predicted > 4000, "\(predicted)")
    #expect(extra.count == 0, "\(extra.sorted().joined(separator: "\n"))")
  }

  /// A store made from the cached model has the tables and columns of the store that the model came from.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2))
  func freshStoresAreLikeThoseOfCoreData(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    guard let model = store.cachedModel, let metadata = store.metadata else { return }
    let schema: FreshStoreSchema
    do {
      schema = try FreshStoreSchema(model)
    } catch {
      print("no fresh store for \(real): \(error.message)")
      return
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("fresh.sqlite")
    try Self.write(schema, to: url, uuid: UUID().uuidString)
    let connection = try SQLiteConnection(url)
    #expect(try connection.integrityCheck() == ["ok"])
    let fresh = try Self.tables(connection)
    connection.close()
    var actual = try Self.tables(of: real)
    // Of a relationship of an entity with itself either side gives the name of the table.
    for join in TableLayout(model).joinTables where actual[join.name] == nil {
      let other = join.relationship.inverseName?.uppercased() ?? ""
      let prefix =
        join.name.prefix { $0 != "_" } + "_" + join.name.dropFirst(2).prefix(while: \.isNumber)
      actual[join.name] = actual.removeValue(forKey: prefix + other)
    }
    #expect(
      Set(fresh.keys) == Set(actual.keys), "\(Set(fresh.keys).symmetricDifference(actual.keys))")
    for (name, columns) in fresh {
      let wanted = actual[name] ?? []
      let types = Dictionary(wanted.map { ($0.name, $0.type) }, uniquingKeysWith: { one, _ in one })
      for column in columns { #expect(types[column.name] == column.type, "\(name).\(column.name)") }
    }

    // It reads back as what it was made from.
    let again = try CoreDataStore(path: url.path)
    #expect(again.kind == .coreData)
    #expect(again.findings.damageCount == 0)
    #expect(again.cachedModel?.entities.keys.sorted() == model.entities.keys.sorted())
    if model.versionHashes().matches(metadata.versionHashes) {
      #expect(again.metadata?.versionHashes == metadata.versionHashes)
      if let digest = metadata.digest { #expect(again.metadata?.digest == digest) }
      if let checksum = metadata.checksum { #expect(again.metadata?.checksum == checksum) }
    }
    #expect(again.entities.map(\.number) == Array(1...Int64(model.entities.count)))
    #expect(
      again.entityTables.map(\.name).sorted() == TableLayout(model).tables.map(\.name).sorted())
    #expect(again.cachedModel.map { $0.versionHashes().hashes } == model.versionHashes().hashes)
  }

  /// The order of the columns is Core Data's own, but for tables to which a migration has added columns, which
  /// stand at the end.
  @Test(.enabled(if: Shared.isThere)) func columnsAreInCoreDatasOrder() throws {
    guard Shared.require("order of columns") != nil else { return }
    var sameCount = 0
    var grown: [String] = []
    for real in RealStores.all {
      guard let model = try CoreDataStore(path: real.url.path).cachedModel,
        let schema = try? FreshStoreSchema(model)
      else { continue }
      let folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("fresh.sqlite")
      try Self.write(schema, to: url, uuid: "U")
      let connection = try SQLiteConnection(url)
      let fresh = try Self.tables(connection)
      connection.close()
      for (name, columns) in try Self.tables(of: real) where !name.hasPrefix("Z_") {
        // Among places in ordered relationships no rule for the order is known.
        func folded(_ name: String) -> String { name.hasPrefix("Z_FOK_") ? "Z_FOK" : name }
        let wanted = try #require(fresh[name]?.map { folded($0.name) })
        let actual = columns.map { folded($0.name) }
        guard actual != wanted else {
          sameCount += 1
          continue
        }
        // Without the columns at the end the rest is in order.
        let original = (1...6).map { Array(actual.dropLast($0)) }
        #expect(
          original.contains { kept in wanted.filter(Set(kept).contains) == kept },
          "\(real) \(name): \(actual) for \(wanted)")
        grown.append("\(real.url.lastPathComponent) \(name)")
      }
    }
    #expect(sameCount > 340, "\(sameCount)")
    #expect(grown.count < 20, "\(grown.sorted())")
    print(
      "columns in order in \(sameCount) tables, added at the end of \(grown.count): \(grown.sorted())"
    )
  }

  static func write(_ schema: FreshStoreSchema, to url: URL, uuid: String) throws {
    let writer = try SQLiteWriter(creating: url.path)
    try writer.transaction {
      for statement in schema.statements { try writer.define(statement) }
      let keys = try writer.prepare("INSERT INTO Z_PRIMARYKEY VALUES(?, ?, ?, ?)")
      for entity in schema.entities {
        try keys.run([
          .integer(entity.number), .string(entity.name), .integer(entity.superNumber),
          .integer(entity.highestKey),
        ])
      }
      try writer.prepare("INSERT INTO Z_METADATA VALUES(1, ?, ?)")
        .run([.string(uuid), .blob(schema.metadataPlist)])
      try writer.prepare("INSERT INTO Z_MODELCACHE VALUES(?)").run([.blob(schema.modelCache)])
    }
    try writer.close()
  }
}
