import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// Deleted rows that are salvaged beside live ones: what is live is not changed by what was deleted.
@Suite struct DeletedRowTests {
  private static let model = ManagedObjectModel(
    entities: [
      Entity(
        name: "Contact", relationships: [relationship("items", to: "Item", "owner", isToMany: true)]
      ),
      Entity(
        name: "Item", attributes: [attribute("name")],
        relationships: [relationship("owner", to: "Contact", "items")]),
    ], versionIdentifiers: ["1"])

  /// Migrates a store with its deleted rows. Items 4 to 12 were deleted, and item 5 was made anew, without an owner. The
  /// pages of the deleted items are free, so that these items are found whole. `owner` is the owner that items had when
  /// they were made, as SQL.
  private static func migrate(
    to new: ManagedObjectModel, _ mappings: [EntityMapping], owner: String,
    in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: model)
    let database = try SQLiteConnection(url)
    // Debian builds SQLite with secure_delete on, which overwrites deleted rows with zeros.
    try database.exec("PRAGMA journal_mode = DELETE")
    try database.exec("PRAGMA secure_delete = OFF")
    try database.exec(
      """
      INSERT INTO ZCONTACT (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12)
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZOWNER, ZNAME) SELECT i, 2, 1, \(owner), hex(zeroblob(500)) FROM n;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 12;
      DELETE FROM ZITEM WHERE Z_PK BETWEEN 4 AND 12;
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (5, 2, 1, 'new');
      """)
    database.close()
    let step = MigrationStep(
      from: model, named: "old", to: new, named: "new",
      mapping: MappingModel(entityMappings: mappings), isInferred: true)
    let report = try Migration().run(
      .damaged(try DamagedStore(path: url.path), deleted: true), [step], to: output.path)
    return (report, try SQLiteConnection(output))
  }

  private static func item() throws -> EntityMapping {
    var mapping = try MappedReferenceTests.mapping("ItemToItem", "Item", "Item")
    mapping.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: try ModelExpression(parsing: "$source.name"))
    ]
    return mapping
  }

  /// References that are set after all rows are written are those of the row that was written.
  @Test func aLiveRowKeepsItsReference() throws {
    let folder = try TemporaryFolder()
    let items = ["items": #""ItemToItem", $source.items"#]
    let (report, database) = try Self.migrate(
      to: Self.model,
      [
        MappedReferenceTests.mapping("ContactToContact", "Contact", "Contact", items),
        MappedReferenceTests.mapping("ContactToCopy", "Contact", "Contact", items), Self.item(),
      ], owner: "1", in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_PK, ZOWNER FROM ZITEM WHERE Z_PK IN (3, 5, 8) ORDER BY 1")
        == "3 1, 5 -, 8 1")
    #expect(try database.text("SELECT ZNAME FROM ZITEM WHERE Z_PK = 5") == "new")
    #expect(
      try MergeTests.rejects(report).contains { $0.contains("another row has the same key") })
  }

  /// A link that only an older version of a live row has does not count.
  @Test func aLiveRowWithoutALinkHasNone() throws {
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Contact", relationships: [relationship("item", to: "Item", "owners")]),
        Entity(
          name: "Item", attributes: [attribute("name")],
          relationships: [relationship("owners", to: "Contact", "item", isToMany: true)]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      to: new,
      [
        MappedReferenceTests.mapping(
          "ContactToContact", "Contact", "Contact", ["item": #""ItemToItem", $source.items"#]),
        Self.item(),
      ], owner: "CASE WHEN i = 5 THEN 1 END", in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT ZITEM FROM ZCONTACT") == "-")
    #expect(report.cutCount == 0)
    // The older version was found.
    #expect(
      try MergeTests.rejects(report).contains { $0.contains("another row has the same key") })
  }
}
