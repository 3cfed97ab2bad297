import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import Testing
@testable import CoreDataForensics

/// Rows by entity and property, against what SQL gives on a private copy.
@Suite struct RealRowsTests {
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2))
  func rowsOfEachEntityAreCountedAsSQLCountsThem(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(try real.copy(into: folder.url))
    defer { connection.close() }
    var wanted: [Int64: Int64] = [:]
    for record in store.entities where record.superNumber == 0 && !record.isHistory {
      let table = "Z" + record.name.uppercased()
      guard
        try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = '\(table)'") == 1
      else { continue }
      for row in try connection.rows("SELECT Z_ENT, count(*) FROM \"\(table)\" GROUP BY Z_ENT") {
        guard case .integer(let number) = row[0], case .integer(let count) = row[1] else {
          continue
        }
        wanted[number, default: 0] += count
      }
    }
    var counts: [Int64: Int64] = [:]
    var names: [String: Int] = [:]
    try store.forEachRow { row in
      counts[row.entityNumber ?? -1, default: 0] += 1
      if let name = row.entityName { names[name, default: 0] += 1 }
      return true
    }
    // SampleModel_V2's renamed entity has a table of its new name.
    if !real.description.hasSuffix("SampleModel_V2.sqlite") { #expect(counts == wanted) }
    #expect(names.values.reduce(0, +) == Int(counts.values.reduce(0, +)))
    #expect(store.findings.damageCount == 0, "\(store.findings.kept)")
    // One entity alone gives the same rows, with those of its descendants.
    for (name, count) in names {
      var alone = 0
      try store.forEachRow(of: [name]) { row in
        if row.entityName == name { alone += 1 }
        return true
      }
      #expect(alone == count, "\(name)")
    }
  }

  /// Every attribute and key of every row of some stores.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      "Moody.moody", "Moody 3.moody", "Bookmarks_V3.sqlite", "SampleModel2_V2.sqlite",
      "default.store",
      "store2-24-1.wiredatabase", "ios/Accounts3.sqlite", "RMAdminStore-Local.sqlite",
    ])
  func valuesAreThoseOfTheColumns(_ name: String) throws {
    guard Shared.require("values of \(name)") != nil else { return }
    let real = try RealStores.named(name)
    let store = try CoreDataStore(path: real.url.path)
    let layout = TableLayout(try #require(store.model))
    let raw = try SQLiteConnection.rowsOfEveryTable(inCopyOf: real.url)
    let folder = try TemporaryFolder()
    let connection = try SQLiteConnection(try real.copy(into: folder.url))
    defer { connection.close() }
    var compared = 0
    for table in store.entityTables {
      let columns = try RealLayoutTests.tables(connection)[table.name]?.map(\.name) ?? []
      let rows = Dictionary(
        (raw[table.name] ?? []).map { ($0.rowid ?? 0, $0.values) },
        uniquingKeysWith: { one, _ in one })
      try store.forEachRow(in: [table]) { row in
        guard let entity = row.entityName, let values = rows[row.primaryKey],
          let place = layout.table(of: entity)
        else {
          Issue.record("\(table.name) \(row.primaryKey)")
          return false
        }
        let lineage = Set([entity] + layout.model.ancestors(of: entity).map(\.name))
        for column in place.columns where lineage.contains(column.entityName) {
          guard let index = columns.firstIndex(of: column.name) else { continue }
          switch column.role {
          case .attribute(let attribute):
            let value = row.properties.first { $0.name == attribute.name }?.value
            #expect(
              Self.agrees(value, values[index], attribute),
              "\(entity) \(row.primaryKey) \(attribute.name): \(String(describing: value))")
            compared += 1
          case .toOne(let relationship):
            let value = row.properties.first { $0.name == relationship.name }?.value
            if case .toOne(let reference)? = value {
              #expect(values[index] == .integer(reference.primaryKey))
              #expect(reference.entityName.map { layout.model.entities[$0] != nil } == true)
            } else {
              #expect(value == .null && values[index] == .null)
            }
            compared += 1
          default: continue
          }
        }
        return true
      }
    }
    #expect(compared > 8, "\(compared)")
  }

  /// A property's value against its column, written down once more and in other words than the reader's.
  private static func agrees(
    _ value: PropertyValue?, _ stored: FixtureValue, _ attribute: Attribute
  )
    -> Bool
  {
    switch (value, stored) {
    case (.null?, .null): return true
    case (.integer(let a)?, .integer(let b)):
      return a == b && ![.date, .double, .float, .decimal].contains(attribute.type)
    case (.boolean(let a)?, .integer(let b)): return b == (a ? 1 : 0) && attribute.type == .boolean
    case (.real(let a)?, .real(let b)): return a == b && attribute.type != .date
    case (.real(let a)?, .integer(let b)): return a == Double(b)
    case (.date(let a)?, .real(let b)): return a.seconds == b && attribute.type == .date
    case (.date(let a)?, .integer(let b)): return a.seconds == Double(b) && attribute.type == .date
    case (.string(let a)?, .text(let b)): return a.utf8 == b
    case (.uuid(let a)?, .blob(let b)): return a == b && attribute.type == .uuid
    case (.external(let a)?, .blob(let b)):
      return b == [2] + Array(a.identifier.utf8) + [0] && attribute.allowsExternalBinaryDataStorage
    case (.binary(let a)?, .blob(let b)):
      return attribute.allowsExternalBinaryDataStorage && b.first == 1 ? [1] + a == b : a == b
    default: return false
    }
  }

  /// The links of many-to-many relationships are the rows of the join tables, from either side.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2, from: 1))
  func linksAreTheRowsOfTheJoinTables(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    guard let model = store.model else { return }
    let layout = TableLayout(model)
    let raw = try SQLiteConnection.rowsOfEveryTable(inCopyOf: real.url)
    let columns = try RealLayoutTests.tables(of: real)
    var links: [String: Set<[Int64]>] = [:]
    try store.forEachRow { row in
      for property in row.properties {
        guard case .toMany(let references) = property.value, let entity = row.entityName else {
          continue
        }
        let root = model.rootEntity(of: entity)?.name ?? entity
        for reference in references {
          links["\(root).\(property.name)", default: []].insert([
            row.primaryKey, reference.primaryKey,
          ])
        }
      }
      return true
    }
    for join in layout.joinTables {
      // The table by its columns, whichever side named it.
      guard
        let (name, names) = columns.first(where: {
          Set($0.value.map(\.name)).isSuperset(of: [join.ownerColumn, join.destinationColumn])
        }).map({ ($0.key, $0.value.map(\.name)) }),
        let owner = names.firstIndex(of: join.ownerColumn),
        let destination = names.firstIndex(of: join.destinationColumn)
      else {
        Issue.record("no table for \(join.name)")
        continue
      }
      let pairs = (raw[name] ?? []).compactMap { row -> [Int64]? in
        guard case .integer(let one) = row.values[owner],
          case .integer(let two) = row.values[destination]
        else { return nil }
        return [one, two]
      }
      // Links of rows that are no longer there have nobody to give them.
      let owners = try Self.keys(of: join.ownerName, model, store)
      let root = model.rootEntity(of: join.ownerName)?.name ?? join.ownerName
      #expect(
        links["\(root).\(join.relationship.name)", default: []]
          == Set(pairs.filter { owners.contains($0[0]) }), "\(name)")
      guard let inverse = join.relationship.inverseName,
        inverse != join.relationship.name
          || join.ownerName != join.relationship.destinationEntityName
      else { continue }
      let destinations = try Self.keys(of: join.relationship.destinationEntityName, model, store)
      let other =
        model.rootEntity(of: join.relationship.destinationEntityName)?.name
        ?? join.relationship.destinationEntityName
      #expect(
        links["\(other).\(inverse)", default: []]
          == Set(pairs.filter { destinations.contains($0[1]) }.map { [$0[1], $0[0]] }), "\(name)")
    }
  }

  private static func keys(of entity: String, _ model: ManagedObjectModel, _ store: CoreDataStore)
    throws -> Set<Int64>
  {
    var keys: Set<Int64> = []
    try store.forEachRow(of: [entity]) { row in
      keys.insert(row.primaryKey)
      return true
    }
    return keys
  }

  @Test(.enabled(if: Shared.isThere)) func thereAreLinksToCompare() throws {
    guard Shared.require("links") != nil else { return }
    var count = 0
    for real in RealStores.all {
      try CoreDataStore(path: real.url.path).forEachRow { row in
        for property in row.properties {
          if case .toMany(let references) = property.value { count += references.count }
        }
        return true
      }
    }
    #expect(count > 3000, "\(count)")
  }

  /// A renamed entity: its rows are read by the model's name.
  @Test(.enabled(if: Shared.isThere)) func aStaleNameIsReadByTheModel() throws {
    guard Shared.require("the renamed entity") != nil else { return }
    let store = try CoreDataStore(path: RealStores.named("SampleModel_V2.sqlite").url.path)
    #expect(store.entities.contains { $0.name == "ExpensiveSportCar" })
    var names: Set<String> = []
    try store.forEachRow { row in
      names.insert(row.entityName ?? "")
      return true
    }
    #expect(names.contains("LuxuryCar") && !names.contains("ExpensiveSportCar"), "\(names)")
  }

  /// Without a model the columns stand for the properties.
  @Test(.enabled(if: Shared.isThere)) func withoutAModelColumnsAreProperties() throws {
    guard Shared.require("stores without a model") != nil else { return }
    let store = try CoreDataStore(path: RealStores.named("kik.sqlite").url.path)
    #expect(store.model == nil && store.kind == .coreData)
    var dates = 0
    try store.forEachRow { row in
      #expect(row.entityName != nil)
      #expect(row.properties.allSatisfy { $0.name.hasPrefix("Z") })
      dates += row.properties.count {
        if case .date = $0.value { true } else { false }
      }
      return true
    }
    #expect(dates > 0)
  }

  // MARK: - External values

  @Test(.enabled(if: Shared.isThere)) func danglingReferencesOfARealStoreAreMissing() throws {
    guard Shared.require("external values") != nil else { return }
    let store = try CoreDataStore(path: RealStores.named("store2-24-1.wiredatabase").url.path)
    var external: [ExternalBlob] = []
    var inline = 0
    try store.forEachRow { row in
      for property in row.properties {
        if case .external(let blob) = property.value { external.append(blob) }
        if case .binary(let bytes) = property.value, bytes.starts(with: [0xff, 0xd8]) {
          inline += 1
        }
      }
      return true
    }
    #expect(external.contains { $0.identifier.hasPrefix("30084A1C-") })
    #expect(external.allSatisfy { $0.sizeBytes == nil })
    // A JPEG stored in the row has lost its leading 0x01.
    #expect(inline > 0)
  }

  @Test func externalFilesAreFound() throws {
    var model = ManagedObjectModel(entities: [])
    model.entities["Note"] = Entity(
      name: "Note",
      attributes: [
        Attribute(name: "photo", type: .binary, allowsExternalBinaryDataStorage: true),
        Attribute(name: "plain", type: .binary),
      ])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("My.Notes.sqlite")
    try RealLayoutTests.write(try FreshStoreSchema(model), to: url, uuid: UUID().uuidString)
    let identifier = "30084A1C-6B5E-4D2C-9F3A-1C2D3E4F5061"
    let other = "../../../../../../../../etc/passwd......"
    let files = folder.url.appendingPathComponent(".My.Notes_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try Data(repeating: 7, count: 5000).write(to: files.appendingPathComponent(identifier))
    let connection = try SQLiteConnection(url)
    let reference: [UInt8] = [2] + Array(identifier.utf8) + [0]
    let hostile: [UInt8] = [2] + Array(other.utf8.prefix(36)) + [0]
    try connection.insert(
      "INSERT INTO ZNOTE(Z_PK, Z_ENT, Z_OPT, ZPHOTO, ZPLAIN) VALUES(?, 1, 1, ?, ?)",
      [
        [.integer(1), .blob(reference), .blob(reference)],
        [.integer(2), .blob([1, 9, 8]), .blob([1, 9])],
        [.integer(3), .blob(hostile), .null], [.integer(4), .blob([]), .blob([])],
        [.integer(5), .blob([1]), .blob([2])], [.integer(6), .blob([3, 4]), .null],
        [.integer(7), .string("text"), .integer(4)],
      ])
    connection.close()
    let store = try CoreDataStore(path: url.path)
    var values: [[PropertyValue]] = []
    try store.forEachRow { row in
      values.append(row.properties.map(\.value))
      return true
    }
    guard case .external(let blob) = values[0][0] else {
      Issue.record("\(values[0])")
      return
    }
    #expect(blob.identifier == identifier && blob.sizeBytes == 5000)
    #expect(blob.path == files.appendingPathComponent(identifier).path)
    #expect(values[0][1] == .binary(reference))
    #expect(values[1] == [.binary([9, 8]), .binary([1, 9])])
    #expect(values[2] == [.binary(hostile), .null])
    #expect(values[3] == [.binary([]), .binary([])])
    #expect(values[4] == [.binary([]), .binary([2])])
    #expect(values[5] == [.binary([3, 4]), .null])
    #expect(values[6] == [.string(StoredText("text")), .integer(4)])
  }
}
