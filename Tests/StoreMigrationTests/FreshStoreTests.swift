import CoreDataStore
import StoreFiles
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreMigration
import Testing
@testable import CoreDataForensics

/// Fresh stores, read back by SQLite and by our own reader.
@Suite struct FreshStoreTests {
  static let model: ManagedObjectModel = {
    let place = Entity(
      name: "Place", isAbstract: true,
      attributes: [
        Attribute(name: "height", type: .double, isOptional: true),
        Attribute(name: "name", type: .string, isOptional: true),
      ],
      relationships: [
        Relationship(
          name: "visits", destinationEntityName: "Visit", inverseName: "place",
          inverseEntityName: "Visit", maxCount: 0, isOrdered: true, isOptional: true)
      ])
    let harbour = Entity(
      name: "Harbour", superentityName: "Place",
      attributes: [Attribute(name: "berths", type: .integer32, isOptional: true)])
    let visit = Entity(
      name: "Visit",
      attributes: [
        Attribute(name: "code", type: .string, isOptional: false),
        Attribute(name: "when", type: .date, isOptional: true),
      ],
      relationships: [
        Relationship(
          name: "guests", destinationEntityName: "Guest", inverseName: "visits",
          inverseEntityName: "Guest", maxCount: 0, isOptional: true),
        Relationship(
          name: "place", destinationEntityName: "Place", inverseName: "visits",
          inverseEntityName: "Place", isOptional: true),
      ],
      uniquenessConstraints: [["code"]])
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

  @Test func sqliteOpensItAndFindsWhatCoreDataWouldMake() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Fresh.sqlite")
    try FreshStore.create(at: url.path, for: Self.model)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Fresh.sqlite"])

    let connection = try SQLiteConnection(url)
    #expect(try connection.integrityCheck() == ["ok"])
    let numbers = try connection.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY")
    #expect(
      numbers == [
        [.integer(1), .string("Guest"), .integer(0), .integer(0)],
        [.integer(2), .string("Place"), .integer(0), .integer(0)],
        [.integer(3), .string("Harbour"), .integer(2), .integer(0)],
        [.integer(4), .string("Visit"), .integer(0), .integer(0)],
      ])
    let columns = try connection.rows("SELECT name, type FROM pragma_table_info('ZVISIT')")
    #expect(
      columns == [
        [.string("Z_PK"), .string("INTEGER")], [.string("Z_ENT"), .string("INTEGER")],
        [.string("Z_OPT"), .string("INTEGER")], [.string("ZPLACE"), .string("INTEGER")],
        [.string("Z2_PLACE"), .string("INTEGER")], [.string("Z_FOK_PLACE"), .string("INTEGER")],
        [.string("ZWHEN"), .string("TIMESTAMP")], [.string("ZCODE"), .string("VARCHAR")],
      ])
    let names = try connection.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
    let indexes = Set(names.compactMap(\.first))
    #expect(indexes.contains(.string("Z_Visit_UNIQUE_code")))
    #expect(indexes.contains(.string("ZPLACE_Z_ENT_INDEX")))
    #expect(indexes.contains(.string("ZVISIT_ZPLACE_INDEX")))
    #expect(indexes.contains(.string("Z_1VISITS_Z_4VISITS_INDEX")))
    #expect(try connection.string("PRAGMA journal_mode") == "wal")
    #expect(try connection.integer("PRAGMA auto_vacuum") == 2)
  }

  @Test func itsOwnModelAndHashesAreThoseOfTheModel() throws {
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("Fresh.sqlite").path
    try FreshStore.create(at: path, for: Self.model)
    let store = try CoreDataStore(path: path)
    let hashes = Self.model.versionHashes()
    #expect(store.metadata?.versionHashes == hashes.hashes)
    #expect(store.metadata?.digest == hashes.digest)
    #expect(store.metadata?.checksum == hashes.checksum)
    #expect(store.cachedModel?.versionHashes().hashes == hashes.hashes)
    #expect(store.findings.kept.isEmpty)
  }

  /// A quote with a combining mark behind it ends a name all the same.
  @Test func namesWithQuotes() throws {
    let name = "A\"\u{301} (x); CREATE TABLE evil(y); --"
    let model = ManagedObjectModel(entities: [
      Entity(name: name, attributes: [Attribute(name: "b\"\u{301}\"", type: .string)])
    ])
    // Of such a name the hash is not known, so the store is refused; its layout is looked at by itself.
    #expect(throws: FreshStoreSchema.Failure.self) { try FreshStoreSchema(model) }
    let plain = "A\" (x); CREATE TABLE evil(y); --"
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Fresh.sqlite")
    try FreshStore.create(
      at: url.path,
      for: ManagedObjectModel(entities: [
        Entity(name: plain, attributes: [Attribute(name: "b\"", type: .string)])
      ]))
    let connection = try SQLiteConnection(url)
    defer { connection.close() }
    #expect(try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'evil'") == 0)
  }

  @Test func nothingIsReplaced() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Fresh.sqlite")
    try Data("mine".utf8).write(to: url)
    let before = treeState(of: folder.url)
    #expect(throws: (any Error).self) { try FreshStore.create(at: url.path, for: Self.model) }
    #expect(treeState(of: folder.url) == before)
  }

  @Test(.enabled(if: Shared.isThere)) func everyRealModelGivesAStore() throws {
    guard let shared = Shared.require("fresh stores for real models") else { return }
    let collection = try ModelCollection(
      searching: shared.appendingPathComponent("stores/real").path)
    var made = 0
    // Outside the long rounds, every third version.
    for version in Rounds.part(of: collection.versions, every: 3) {
      guard let model = version.model, !model.entities.isEmpty else { continue }
      let folder = try TemporaryFolder()
      let url = folder.url.appendingPathComponent("Fresh.sqlite")
      try FreshStore.create(at: url.path, for: model)
      let connection = try SQLiteConnection(url)
      #expect(try connection.integrityCheck() == ["ok"], "\(version.path)")
      let store = try CoreDataStore(path: url.path)
      #expect(
        model.versionHashes().matches(store.metadata?.versionHashes ?? [:]), "\(version.path)")
      made += 1
    }
    #expect(made > (Rounds.areLong ? 80 : 20))
  }
}
