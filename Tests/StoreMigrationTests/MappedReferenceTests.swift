import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// References under mappings that make several objects of one, or one entity of several.
@Suite struct MappedReferenceTests {
  /// A store of `old`, filled by SQL, carried to `new` by mappings.
  private static func migrate(
    _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ mappings: [EntityMapping],
    _ sql: String, isDamaged: Bool, in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    try database.exec(sql)
    database.close()
    let step = MigrationStep(
      from: old, named: "old", to: new, named: "new",
      mapping: MappingModel(entityMappings: mappings), isInferred: true)
    let report = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [step], to: output.path)
    return (report, try SQLiteConnection(output))
  }

  private static func mapping(
    _ name: String, _ from: String, _ to: String, _ relationships: [String: String] = [:],
    where predicate: String? = nil
  ) throws -> EntityMapping {
    EntityMapping(
      name: name, kind: .transform, sourceEntityName: from, destinationEntityName: to,
      attributeMappings: [],
      relationshipMappings: try relationships.map { key, objects in
        PropertyMapping(
          name: key,
          valueExpression: try ModelExpression(
            parsing:
              "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", \(objects))"
          ))
      },
      sourceExpression: try predicate.map {
        try ModelExpression(
          parsing:
            #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "\#(from)", "\#($0)"), $manager.sourceContext, NO)"#
        )
      })
  }

  /// A key that becomes a link is that of the object which the second of two mappings makes.
  @Test(arguments: [false, true]) func aLinkOfTheSecondOfTwoMappings(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(
          name: "Item", attributes: [attribute("kind", .integer16)],
          relationships: [relationship("owner", to: "Owner", "items")]),
        Entity(
          name: "Owner",
          relationships: [relationship("items", to: "Item", "owner", isToMany: true)]),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Book", attributes: [attribute("name")]),
        Entity(
          name: "Film",
          relationships: [relationship("owners", to: "Owner", "films", isToMany: true)]),
        Entity(
          name: "Owner",
          relationships: [relationship("films", to: "Film", "owners", isToMany: true)]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("ItemToBook", "Item", "Book", where: "kind == 1"),
        Self.mapping(
          "ItemToFilm", "Item", "Film", ["owners": #""OwnerToOwner", $source.owner"#],
          where: "kind == 2"),
        Self.mapping("OwnerToOwner", "Owner", "Owner"),
      ],
      """
      INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT) VALUES (5, 2, 1);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZKIND, ZOWNER) VALUES (1, 1, 1, 1, 5), (2, 1, 1, 2, 5);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 5;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK FROM ZBOOK") == "1")
    #expect(try database.text("SELECT Z_PK FROM ZFILM") == "2")
    #expect(try database.text("SELECT Z_2FILMS, Z_3OWNERS FROM Z_2OWNERS") == "2 5")
    #expect(report.cutCount == 0)
  }

  /// Two entities with equal relationships become one: the objects of both keep their links.
  @Test(arguments: [false, true]) func equalRelationshipsBecomeOne(_ isDamaged: Bool) throws {
    let items = Relationship(
      name: "items", destinationEntityName: "Item", maxCount: 0, isOptional: true)
    let old = ManagedObjectModel(
      entities: [
        Entity(name: "A", relationships: [items]), Entity(name: "B", relationships: [items]),
        Entity(name: "Item"),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "C", relationships: [relationship("items", to: "Item", "cs", isToMany: true)]),
        Entity(name: "Item", relationships: [relationship("cs", to: "C", "items", isToMany: true)]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("AToC", "A", "C", ["items": #""ItemToItem", $source.items"#]),
        Self.mapping("BToC", "B", "C", ["items": #""ItemToItem", $source.items"#]),
        Self.mapping("ItemToItem", "Item", "Item"),
      ],
      """
      INSERT INTO ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZB (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, Z1ITEMS, Z2ITEMS) VALUES (1, 3, 1, 1, NULL), (2, 3, 1, NULL, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_NAME WHEN 'Item' THEN 2 ELSE 1 END;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_1CS, Z_2ITEMS FROM Z_1ITEMS ORDER BY 1") == "1 1, 2 2")
    #expect(report.cutCount == 0)
  }

  /// A key that was handed out is not handed out again, although the entity gets another name in each step.
  @Test(arguments: [false, true]) func keysGoOnUnderOtherNames(_ isDamaged: Bool) throws {
    func model(_ name: String) -> ManagedObjectModel {
      ManagedObjectModel(
        entities: [Entity(name: name, attributes: [attribute("name")])], versionIdentifiers: [name])
    }
    func step(_ from: String, _ to: String) throws -> MigrationStep {
      MigrationStep(
        from: model(from), named: from, to: model(to), named: to,
        mapping: MappingModel(entityMappings: [try Self.mapping(from + to, from, to)]),
        isInferred: true)
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: model("Note"))
    var database = try SQLiteConnection(url)
    try database.exec(
      "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1); UPDATE Z_PRIMARYKEY SET Z_MAX = 9;")
    database.close()
    _ = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [step("Note", "Memo"), step("Memo", "Card")],
      to: output.path)
    database = try SQLiteConnection(output)
    defer { database.close() }
    #expect(try database.text("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY") == "Card 9")
  }

  /// Two objects that are made of one have its links if their mappings say so.
  @Test(arguments: [false, true], [false, true])
  func linksOfTwoObjectsOfOne(_ isDamaged: Bool, _ areBothSet: Bool) throws {
    let model = ManagedObjectModel(
      entities: [
        Entity(
          name: "Contact",
          relationships: [relationship("tags", to: "Tag", "contacts", isToMany: true)]),
        Entity(
          name: "Tag",
          relationships: [relationship("contacts", to: "Contact", "tags", isToMany: true)]),
      ], versionIdentifiers: ["1"])
    let tags = ["tags": #""TagToTag", $source.tags"#]
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      model, model,
      [
        Self.mapping("ContactToContact", "Contact", "Contact", areBothSet ? tags : [:]),
        Self.mapping("ContactToCopy", "Contact", "Contact", tags),
        Self.mapping("TagToTag", "Tag", "Tag"),
      ],
      """
      INSERT INTO ZCONTACT (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
      INSERT INTO Z_1TAGS (Z_1CONTACTS, Z_2TAGS) VALUES (1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK FROM ZCONTACT ORDER BY 1") == "1, 2")
    #expect(
      try database.text("SELECT Z_1CONTACTS, Z_2TAGS FROM Z_1TAGS ORDER BY 1")
        == (areBothSet ? "1 1, 2 1" : "2 1"))
    #expect(report.cutCount == 0)
  }
}
