import CoreDataStore
import Fixtures
import Foundation
@testable import ModelTools
import ObjectModel
import SQLiteFile
@testable import SQLiteForensics
import SQLiteWriter
import StoreExtraction
import Testing
@testable import CoreDataForensics

/// Core Data stores without their schema: the model, carried or named, gives each row its table.
@Suite struct LostSchemaTests {
  private static let model: ManagedObjectModel = {
    let place = Entity(
      name: "Place", isAbstract: true,
      attributes: [
        Attribute(name: "height", type: .double, isOptional: true),
        Attribute(name: "name", type: .string, isOptional: true),
      ],
      relationships: [
        Relationship(
          name: "visits", destinationEntityName: "Visit", inverseName: "place",
          inverseEntityName: "Visit", maxCount: 0, isOptional: true)
      ])
    let harbour = Entity(
      name: "Harbour", superentityName: "Place",
      attributes: [Attribute(name: "berths", type: .integer32, isOptional: true)])
    let visit = Entity(
      name: "Visit",
      attributes: [
        Attribute(name: "code", type: .string, isOptional: false),
        Attribute(name: "photo", type: .binary, isOptional: true),
        Attribute(name: "when", type: .date, isOptional: true),
      ],
      relationships: [
        Relationship(
          name: "guests", destinationEntityName: "Guest", inverseName: "visits",
          inverseEntityName: "Guest", maxCount: 0, isOptional: true),
        Relationship(
          name: "place", destinationEntityName: "Place", inverseName: "visits",
          inverseEntityName: "Place", isOptional: true),
      ])
    let guest = Entity(
      name: "Guest",
      attributes: [Attribute(name: "name", type: .string, isOptional: true)],
      relationships: [
        Relationship(
          name: "visits", destinationEntityName: "Visit", inverseName: "guests",
          inverseEntityName: "Visit", maxCount: 0, isOptional: true)
      ])
    return ManagedObjectModel(entities: [place, harbour, visit, guest])
  }()

  private struct Store {
    let folder: TemporaryFolder
    let url: URL
    let truth: [String: [SQLiteConnection.FixtureRow]]

    func ruinPageOne() throws {
      try overwrite(url, at: 0, bytes: [UInt8](repeating: 0, count: 4096))
    }
  }

  /// Makes a store that carries its model or not.
  private static func make(hasCache: Bool, hasHistory: Bool = true) throws -> Store {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Log.sqlite")
    let schema = try FreshStoreSchema(model)
    let writer = try SQLiteWriter(creating: url.path)
    for statement in schema.statements { try writer.define(statement) }
    if hasHistory {
      for table in CoreDataExpectations.history { try writer.define(try #require(table.sql)) }
    }
    if hasCache {
      try writer.prepare("INSERT INTO Z_MODELCACHE VALUES(?)").run([.blob(schema.modelCache)])
    }
    try writer.close()
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    var generator = SplitMix64(seed: 11)
    let entities: [String: ClosedRange<Int64>] = [
      "ZGUEST": 1...1, "ZPLACE": 3...3, "ZVISIT": 4...4, "ACHANGE": 16_001...16_001,
      "ATRANSACTION": 16_002...16_002, "ATRANSACTIONSTRING": 16_003...16_003,
    ]
    try connection.exec(
      """
      INSERT OR REPLACE INTO Z_PRIMARYKEY VALUES
        (1, 'Guest', 0, 120), (2, 'Place', 0, 120), (3, 'Harbour', 2, 120), (4, 'Visit', 0, 120);
      """)
    for table in try connection.ordinaryTables()
    where !table.hasPrefix("Z_") || table.contains("VISITS") {
      let columns = try connection.rows("SELECT name, type FROM pragma_table_info('\(table)')")
      let count = table.hasPrefix("ATRANSACTIONSTRING") ? 8 : 120
      var rows: [[FixtureValue]] = []
      for number in 1...count {
        rows.append(
          columns.map { column in
            guard case .text(let name) = column[0], case .text(let type) = column[1] else {
              return .null
            }
            switch (String(decoding: name, as: UTF8.self), String(decoding: type, as: UTF8.self)) {
            case ("Z_PK", _): return .integer(Int64(number))
            case ("Z_ENT", _): return .integer(entities[table]?.lowerBound ?? 1)
            case ("Z_OPT", _): return .integer(Int64(number % 7 + 1))
            case (let name, "INTEGER"):
              return name.hasPrefix("Z_FOK") || name.hasPrefix("Z2_")
                ? .null : .integer(Int64(number))
            case (_, "TIMESTAMP"), (_, "FLOAT"): return .real(7e8 + Double(number) / 4)
            case (_, "BLOB"):
              return number % 5 == 0 ? .blob(generator.bytes(number % 25 == 0 ? 9000 : 40)) : .null
            default: return number % 9 == 0 ? .null : .string("\(table.lowercased()) \(number)")
            }
          })
      }
      let marks = columns.map { _ in "?" }.joined(separator: ", ")
      try connection.insert("INSERT INTO \(table) VALUES(\(marks))", rows)
    }
    var truth: [String: [SQLiteConnection.FixtureRow]] = [:]
    for table in try connection.ordinaryTables() {
      truth[table] = try connection.rowsOfTable(table)
    }
    return Store(folder: folder, url: url, truth: truth)
  }

  private static func value(_ value: StoredValue) -> FixtureValue {
    switch value {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let text): .text(text.utf8)
    case .blob(let bytes): .blob(bytes)
    }
  }

  /// Each row of the truth, once, in its table.
  private static func expectAll(_ damaged: DamagedStore, _ store: Store) throws {
    var given: [String: [[FixtureValue]: Int]] = [:]
    var nameless = 0
    try damaged.database.forEachRow(.live) { row in
      guard let table = row.origin.table else {
        nameless += 1
        return true
      }
      #expect(row.partial.isEmpty)
      let name = damaged.database.tables[table].name
      given[name, default: [:]][row.values.map { Self.value($0) }, default: 0] += 1
      return true
    }
    #expect(nameless == 0)
    for (name, rows) in store.truth {
      var left = given[name] ?? [:]
      var missing = 0
      for row in rows {
        if let count = left[row.values], count > 0 {
          left[row.values] = count - 1
        } else {
          missing += 1
        }
      }
      #expect(missing == 0, "\(name): \(missing) of \(rows.count)")
      #expect(left.values.reduce(0, +) == 0, "\(name) has others")
    }
  }

  @Test func aWholeStoreIsReadByItsSchema() throws {
    let store = try Self.make(hasCache: true)
    let damaged = try DamagedStore(path: store.url.path)
    #expect(damaged.kind == .coreData)
    #expect(damaged.sources.allSatisfy { $0 == .schema })
    try Self.expectAll(damaged, store)
  }

  /// The cached model names the tables of entities, their join tables and the history's.
  @Test(arguments: [true, false])
  func theCachedModelNamesTheTables(_ hasHistory: Bool) throws {
    let store = try Self.make(hasCache: true, hasHistory: hasHistory)
    #expect(store.truth.keys.contains { $0.hasSuffix("VISITS") })
    try store.ruinPageOne()
    let before = treeState(of: store.folder.url)
    let damaged = try DamagedStore(path: store.url.path)
    #expect(damaged.kind == .coreData)
    #expect(damaged.model?.entities.count == 4)
    #expect(damaged.entities.map(\.name) == ["Guest", "Place", "Harbour", "Visit"])
    #expect(damaged.sources.allSatisfy { $0 == .model })
    try Self.expectAll(damaged, store)
    #expect(treeState(of: store.folder.url) == before)
  }

  /// A schema that reads well, but lacks the entry of an entity's table, which Z_PRIMARYKEY names: the entry is deleted
  /// and still on its page, or overwritten.
  @Test(arguments: ["ZVISIT", "ZPLACE"], [false, true])
  func anEntityWithoutAnEntryKeepsItsRows(_ table: String, _ isOverwritten: Bool) throws {
    let store = try Self.make(hasCache: true)
    let connection = try SQLiteConnection(store.url)
    try connection.exec(
      """
      PRAGMA secure_delete = \(isOverwritten); PRAGMA writable_schema = ON;
      DELETE FROM sqlite_schema WHERE tbl_name = '\(table)'
      """)
    connection.close()
    let damaged = try DamagedStore(path: store.url.path)
    #expect(
      damaged.database.findings.kept.contains { $0.id == .schemaIncomplete && $0.table == table })
    try Self.expectAll(damaged, store)
    #expect(damaged.companions.contains { $0.tableName == table })
  }

  /// A table that SQLite has dropped has deleted rows, although Z_PRIMARYKEY still names its entity.
  @Test func aDroppedTableHasNoLiveRows() throws {
    let store = try Self.make(hasCache: true)
    let connection = try SQLiteConnection(store.url)
    try connection.exec("PRAGMA secure_delete = OFF; DROP TABLE ZVISIT")
    connection.close()
    let damaged = try DamagedStore(path: store.url.path)
    #expect(!damaged.database.findings.kept.contains { $0.id == .schemaIncomplete })
    var states: [String: Int] = [:]
    try damaged.database.forEachRow(.all, of: ["ZVISIT"]) { row in
      states[row.origin.state?.rawValue ?? "live", default: 0] += 1
      return true
    }
    #expect(states["live"] == nil && states.values.reduce(0, +) >= 100, "\(states)")
  }

  /// Without its own a model that is named does it, and so does a healthy store.
  @Test(arguments: [false, true])
  func aNamedModelNamesTheTables(_ isStore: Bool) throws {
    let store = try Self.make(hasCache: false, hasHistory: false)
    let like: URL
    let other: Store?
    if isStore {
      let healthy = try Self.make(hasCache: true, hasHistory: false)
      like = healthy.url
      other = healthy
    } else {
      like = store.folder.url.appendingPathComponent("Log.mom")
      try Data(Self.model.archive(form: .compiled).bytes).write(to: like)
      other = nil
    }
    defer { withExtendedLifetime(other) {} }
    try store.ruinPageOne()
    let damaged = try DamagedStore(path: store.url.path, like: [like.path])
    #expect(damaged.sources.contains(.like))
    try Self.expectAll(damaged, store)
  }

  /// With nobody to ask, every row is there, and none in a table that is not its own.
  @Test func withoutAnyModelRowsHaveNoTable() throws {
    let store = try Self.make(hasCache: false, hasHistory: false)
    try store.ruinPageOne()
    let damaged = try DamagedStore(path: store.url.path)
    var count = 0
    try damaged.database.forEachRow(.live) { row in
      count += 1
      let name = row.origin.table.map { damaged.database.tables[$0].name }
      #expect(name == nil || name == "Z_PRIMARYKEY" || name == "Z_METADATA", "\(name ?? "")")
      return true
    }
    #expect(count == store.truth.values.reduce(0) { $0 + $1.count })
  }

  /// The history's tables are alike in every store, and the entity numbers of their rows are no app's.
  @Test(arguments: [4096, 16_384])
  func historyNeedsNoModel(_ lost: Int) throws {
    let store = try Self.make(hasCache: false)
    try overwrite(store.url, at: 0, bytes: [UInt8](repeating: 0, count: lost))
    let damaged = try DamagedStore(path: store.url.path)
    var named: [String: Int] = [:]
    try damaged.database.forEachRow(.live) { row in
      if let table = row.origin.table {
        named[damaged.database.tables[table].name, default: 0] += 1
      }
      return true
    }
    for table in CoreDataExpectations.history {
      #expect(named[table.name] == store.truth[table.name]?.count, "\(table.name)")
    }
    let others = named.keys.filter { name in
      !CoreDataExpectations.history.contains { $0.name == name }
    }
    #expect(Set(others).isSubset(of: ["Z_PRIMARYKEY", "Z_METADATA"]))
  }

  @Test func noiseIsNoModel() throws {
    let store = try Self.make(hasCache: true)
    let other = store.folder.url.appendingPathComponent("noise.mom")
    try randomFile(other, bytes: 5000, seed: 4)
    #expect(throws: (any Error).self) {
      try DamagedStore(path: store.url.path, like: [other.path])
    }
  }
}
