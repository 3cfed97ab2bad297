import CoreDataForensics
import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import Testing
@testable import StoreMigration

/// Persistent history that goes along with the rows.
@Suite struct HistoryCopyTests {
  private static let tables = ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"]

  /// The rows of a table as SQLite reads them, each as one text of the columns that both tables have.
  private func rows(_ table: String, in one: SQLiteConnection, like other: SQLiteConnection) throws
    -> Set<String>
  {
    func columns(_ database: SQLiteConnection) throws -> [String] {
      try database.rows("SELECT name FROM pragma_table_info('\(table)')").compactMap { row in
        if case .text(let name)? = row.first { String(decoding: name, as: UTF8.self) } else { nil }
      }
    }
    let common = try columns(one).filter(try Set(columns(other)).contains).filter { $0 != "Z_ENT" }
    guard !common.isEmpty else { return [] }
    let texts = common.map { "quote(\"\($0)\")" }.joined(separator: " || ' ' || ")
    return Set(
      try one.rows("SELECT \(texts) FROM \(table)").compactMap { row in
        if case .text(let text)? = row.first { String(decoding: text, as: UTF8.self) } else { nil }
      })
  }

  /// A real store's history is whole in a new store of the same model. Outside the long rounds, that of every second
  /// store, of which five have one.
  @Test(.enabled(if: Shared.isThere), arguments: Rounds.part(of: RealStores.all, every: 2))
  func aRealHistoryIsKept(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    guard let model = store.cachedModel, store.database.schema.table(named: "ACHANGE") != nil else {
      return
    }
    let folder = try TemporaryFolder()
    // SQLite may change what it reads.
    let copy = folder.url.appendingPathComponent("Old.sqlite")
    for end in ["", "-wal"] where FileManager.default.fileExists(atPath: real.url.path + end) {
      try FileManager.default.copyItem(atPath: real.url.path + end, toPath: copy.path + end)
    }
    for isDamaged in [false, true] {
      let output = folder.url.appendingPathComponent("New \(isDamaged).sqlite")
      var migration = Migration()
      migration.keepsHistory = true
      let report = try migration.run(
        isDamaged
          ? .damaged(try DamagedStore(path: real.url.path), deleted: false) : .sound(store),
        [.same(model, named: "own")], to: output.path)
      let (old, new) = (try SQLiteConnection(copy), try SQLiteConnection(output))
      defer {
        old.close()
        new.close()
      }
      #expect(try new.integrityCheck() == ["ok"])
      #expect(!report.steps.flatMap(\.notes).contains { $0.contains("history") })
      for table in Self.tables {
        let isThere = try old.integer(
          "SELECT count(*) FROM sqlite_schema WHERE name = '\(table)'")
        guard isThere == 1 else { continue }
        #expect(
          try rows(table, in: new, like: old) == rows(table, in: old, like: new),
          "\(table) of \(real.url.lastPathComponent)")
        let wrong = "SELECT count(*) FROM \(table) WHERE Z_ENT NOT BETWEEN 16001 AND 16003"
        #expect(try new.integer(wrong) == 0)
        let highest =
          "SELECT Z_MAX FROM Z_PRIMARYKEY WHERE 'A' || Z_NAME = '\(table)'"
        #expect(try new.integer(highest) == old.integer(highest))
      }
    }
  }

  private static func entity(_ name: String, _ attributes: [String]) -> Entity {
    Entity(
      name: name,
      attributes: attributes.map {
        Attribute(
          name: $0, type: .string, isOptional: true, preservesValueInHistoryOnDeletion: $0 == "kept"
        )
      })
  }

  private static func model(_ version: String, _ entities: [Entity]) -> ManagedObjectModel {
    ManagedObjectModel(entities: entities, versionIdentifiers: [version])
  }

  /// Entities get other numbers, one is renamed, one has another attribute and one goes.
  @Test(arguments: [false, true]) func changesFollowTheirObjects(_ salvages: Bool) throws {
    let old = Self.model(
      "1",
      [
        Self.entity("Gone", ["name"]), Self.entity("More", ["kept", "name"]),
        Self.entity("Same", ["kept", "name"]),
      ])
    var grown = Self.entity("More", ["kept", "name", "title"])
    grown.renamingIdentifier = "More"
    let new = Self.model(
      "2",
      [
        Self.entity("Added", []), Self.entity("Another", []), grown,
        Self.entity("Same", ["kept", "name"]),
      ])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let writer = try SQLiteConnection(url)
    let schema = try FreshStoreSchema(old, withHistory: true)
    try FreshStore.create(at: folder.url.appendingPathComponent("Plain.sqlite").path, for: old)
    for statement in schema.statements { try writer.exec(statement) }
    try writer.exec("ATTACH '\(folder.url.path)/Plain.sqlite' AS plain")
    for table in ["Z_METADATA", "Z_MODELCACHE"] {
      try writer.exec("INSERT INTO main.\(table) SELECT * FROM plain.\(table)")
    }
    for record in schema.entities {
      try writer.exec(
        "INSERT INTO Z_PRIMARYKEY VALUES (\(record.number), '\(record.name)', 0, 9)")
    }
    try writer.exec(
      """
      INSERT INTO ZGONE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1); INSERT INTO ZMORE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
      INSERT INTO ZSAME (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1), (2, 3, 1);
      INSERT INTO ATRANSACTIONSTRING (Z_PK, Z_ENT, ZNAME) VALUES (1, 16003, 'com.example.app');
      INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZBUNDLEIDTS, ZAUTHORTS, ZTIMESTAMP) VALUES (1, 16002, 1, NULL, 700000000.5), (2, 16002, 1, 7, 700000001);
      INSERT INTO ACHANGE (Z_PK, Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID, ZCOLUMNS, ZTOMBSTONE0) VALUES
        (1, 16001, 0, 1, 1, 1, NULL, NULL), (2, 16001, 1, 2, 1, 1, x'80', NULL), (3, 16001, 2, 2, 5, 1, NULL, 'old'),
        (4, 16001, 1, 3, 2, 2, x'40', NULL), (5, 16001, 2, 3, 4, 2, NULL, 'gone'), (6, 16001, 0, 3, 1, 3, NULL, NULL),
        (7, 16001, 0, 77, 1, 1, NULL, NULL);
      """)
    writer.close()
    let output = folder.url.appendingPathComponent("New.sqlite")
    var migration = Migration()
    migration.keepsHistory = true
    let report = try migration.run(
      storeAt: url.path, to: new, output: output.path, salvages: salvages)
    let store = try SQLiteConnection(output)
    defer { store.close() }
    #expect(try store.integrityCheck() == ["ok"])
    #expect(
      try store.text(
        "SELECT group_concat(Z_PK || ':' || ZENTITY || ':' || ZENTITYPK || ':' || quote(ZCOLUMNS) || ':' || quote(ZTOMBSTONE0), ' ') FROM (SELECT * FROM ACHANGE ORDER BY Z_PK)"
      )
        == "2:3:1:NULL:NULL 3:3:5:NULL:NULL 4:4:2:X'40':NULL 5:4:4:NULL:'gone'")
    // The author of the second transaction is lost.
    #expect(
      try store.text(
        "SELECT group_concat(quote(ZAUTHORTS) || quote(ZBUNDLEIDTS)) FROM ATRANSACTION")
        == "NULL1,NULL1")
    #expect(try store.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT = 16001") == 9)
    let notes = report.steps.flatMap(\.notes)
    #expect(
      notes.contains { $0.hasPrefix("1 change of the persistent history is not") }, "\(notes)")
    let lost = report.steps.flatMap(\.leftOut)
    #expect(lost.contains { $0.hasPrefix("2 damaged rows of the persistent history") }, "\(lost)")
    #expect(notes.contains { $0.hasPrefix("2 changes of the persistent history no longer") })
    // A table that lacks a column that the new one sets, and one that lacks its key.
    for (column, count) in [("Z_ENT", 4), ("Z_PK", 0)] {
      let odd = folder.url.appendingPathComponent("Without \(column).sqlite")
      try FileManager.default.copyItem(at: url, to: odd)
      let database = try SQLiteConnection(odd)
      let names = try database.rows("SELECT name FROM pragma_table_info('ACHANGE')")
        .compactMap { row in
          if case .text(let name)? = row.first {
            String(decoding: name, as: UTF8.self)
          } else {
            nil
          }
        }.filter { $0 != column }.joined(separator: ", ")
      try database.exec(
        "CREATE TABLE other AS SELECT \(names) FROM ACHANGE; DROP TABLE ACHANGE; ALTER TABLE other RENAME TO ACHANGE"
      )
      database.close()
      let made = folder.url.appendingPathComponent("From \(column).sqlite")
      let report = try migration.run(storeAt: odd.path, to: new, output: made.path)
      let store = try SQLiteConnection(made)
      defer { store.close() }
      #expect(try store.integer("SELECT count(*) FROM ACHANGE WHERE Z_ENT = 16001") == Int64(count))
      #expect(
        report.steps.flatMap(\.leftOut).contains {
          $0.hasPrefix("\(count == 0 ? 7 : 2) damaged rows")
        })
    }
    // Without the wish, it is left behind, which is told.
    let plain = folder.url.appendingPathComponent("NoHistory.sqlite")
    let without = try Migration().run(
      storeAt: url.path, to: new, output: plain.path, salvages: salvages)
    #expect(without.steps.flatMap(\.notes).contains { $0.contains("start anew") })
    #expect(throws: MigrationError.self) {
      try migration.run(
        storeAt: url.path, output: folder.url.appendingPathComponent("Merged.sqlite").path,
        into: plain.path)
    }
  }
}
