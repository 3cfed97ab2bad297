import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// The triggers that keep derived attributes current, in new stores.
@Suite struct DerivedTriggerTests {
  /// A book counts its pages. `more`: further attributes of a page.
  private static func model(_ more: [Attribute] = []) -> ManagedObjectModel {
    ManagedObjectModel(
      entities: [
        Entity(
          name: "Book",
          attributes: [
            Attribute(
              name: "pagesCount", type: .integer64, isOptional: true,
              derivation: Derivation(text: "pages.@count"))
          ],
          relationships: [relationship("pages", to: "Page", "book", isToMany: true)]),
        Entity(
          name: "Page", attributes: [attribute("text")] + more,
          relationships: [relationship("book", to: "Book", "pages")]),
      ], versionIdentifiers: ["1"])
  }

  /// As Core Data writes them.
  private static let own = [
    "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_INSERT AFTER INSERT ON ZPAGE FOR EACH ROW WHEN (NEW.ZBOOK NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = IFNULL(ZPAGESCOUNT, 0) + 1 WHERE Z_PK = NEW.ZBOOK; SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = NEW.ZBOOK; END",
    "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE AFTER DELETE ON ZPAGE FOR EACH ROW WHEN (OLD.ZBOOK NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT - 1 WHERE Z_PK = OLD.ZBOOK; SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = OLD.ZBOOK; END",
    "CREATE TRIGGER Z_DA_ZBOOK_Book_pagesCount_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = (SELECT IFNULL(COUNT(ZBOOK), 0) FROM ZPAGE WHERE ZBOOK = NEW.Z_PK) WHERE Z_PK = NEW.Z_PK; SELECT NSCoreDataDATriggerInsertUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = NEW.Z_PK; END",
  ]

  /// Triggers that are not Core Data's, or whose statement is damaged.
  private static let others = [
    "CREATE TRIGGER mine AFTER INSERT ON ZPAGE BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = 7; END",
    "CREATE TRIGGER Z_DA_gone AFTER INSERT ON ZPAGE BEGIN DELETE FROM ZBOOK; END",
    "CREATE TRIGGER Z_DA_column AFTER INSERT ON ZPAGE BEGIN UPDATE ZBOOK SET ZPAGESCOUNU = 7; END",
    "CREATE TRIGGER Z_DA_metadata AFTER UPDATE ON Z_METADATA BEGIN UPDATE ZBOOK SET Z_OPT = 1; END",
  ]

  private static func store(_ name: String, in folder: URL, _ triggers: [String]) throws -> String {
    let url = folder.appendingPathComponent(name)
    try FreshStore.create(at: url.path, for: model())
    let database = try SQLiteConnection(url)
    defer { database.close() }
    try database.exec(
      """
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZPAGESCOUNT) VALUES (1, 1, 1, 2);
      INSERT INTO ZPAGE (Z_PK, Z_ENT, Z_OPT, ZBOOK, ZTEXT) VALUES (1, 2, 1, 1, 'a'), (2, 2, 1, 1, 'b');
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """)
    for trigger in triggers { try database.exec(trigger) }
    return url.path
  }

  /// The statements of the triggers of a sound file.
  private static func triggers(of path: String) throws -> [String] {
    let database = try SQLiteConnection(URL(fileURLWithPath: path))
    defer { database.close() }
    #expect(try database.integrityCheck() == ["ok"])
    let rows = try database.rows(
      "SELECT sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
    return rows.map { row in
      guard case .text(let bytes)? = row.first else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private static func notes(_ report: MigrationReport) -> [String] {
    report.allSteps.flatMap(\.notes).filter { $0.contains("derived attributes current") }
  }

  @Test(arguments: [false, true]) func aStoreOfTheSameModelGetsThem(_ salvages: Bool) throws {
    let folder = try TemporaryFolder()
    let old = try Self.store("Old.sqlite", in: folder.url, Self.own)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(storeAt: old, output: output, salvages: salvages)
    #expect(report.isLossless && Self.notes(report).isEmpty, "\(report)")
    #expect(try Self.triggers(of: output) == Self.own)
    #expect(try NamedRow.all(of: output) == NamedRow.all(of: old))
    #expect(try StoreCheck(path: output).isSound)
  }

  /// What is not Core Data's, what changes other things and what names an unknown column is left out.
  @Test(arguments: [false, true]) func othersAreLeftOut(_ salvages: Bool) throws {
    let folder = try TemporaryFolder()
    let old = try Self.store("Old.sqlite", in: folder.url, Self.others + Self.own)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(storeAt: old, output: output, salvages: salvages)
    #expect(try Self.triggers(of: output) == Self.own)
    let notes = Self.notes(report)
    #expect(notes.count == 1, "\(notes)")
    #expect(notes.allSatisfy { $0.contains("3 triggers that keep") }, "\(notes)")
  }

  @Test func aStoreOfAnotherModelDoesNotGetThem() throws {
    let folder = try TemporaryFolder()
    let old = try Self.store("Old.sqlite", in: folder.url, Self.own)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(
      storeAt: old, to: Self.model([attribute("title")]), output: output)
    #expect(try Self.triggers(of: output).isEmpty)
    let notes = Self.notes(report)
    #expect(notes.count == 1, "\(notes)")
    #expect(notes.allSatisfy { $0.contains("its model") }, "\(notes)")
  }

  /// A merged store gets the triggers of the present store, and they have counted none of its rows.
  @Test func aMergedStoreGetsThoseOfThePresentStore() throws {
    let folder = try TemporaryFolder()
    let old = try Self.store("Old.sqlite", in: folder.url, [])
    let present = try Self.store("Present.sqlite", in: folder.url, Self.own)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(storeAt: old, output: output, into: present)
    #expect(Self.notes(report).isEmpty, "\(report)")
    #expect(try Self.triggers(of: output) == Self.own)
    #expect(try NamedRow.all(of: output).count == 6)
  }
}
