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
  static func migrate(
    _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ mappings: [EntityMapping],
    _ sql: String, isDamaged: Bool, in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let url = folder.url.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    try database.exec(sql)
    database.close()
    return try migrate(
      url, from: old, to: new, MappingModel(entityMappings: mappings), isDamaged: isDamaged,
      in: folder)
  }

  /// A store that is there, carried to `new` in one step.
  static func migrate(
    _ url: URL, from old: ManagedObjectModel, to new: ManagedObjectModel, _ mapping: MappingModel,
    isDamaged: Bool, in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let step = MigrationStep(
      from: old, named: "old", to: new, named: "new", mapping: mapping, isInferred: true)
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [step], to: output.path)
    return (report, try SQLiteConnection(output))
  }

  static func mapping(
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

  /// Items that have a kind and an owner.
  static let ownedItems = ManagedObjectModel(
    entities: [
      Entity(
        name: "Item", attributes: [attribute("kind", .integer16)],
        relationships: [relationship("owner", to: "Owner", "items")]),
      Entity(
        name: "Owner",
        relationships: [relationship("items", to: "Item", "owner", isToMany: true)]),
    ], versionIdentifiers: ["1"])

  /// A key that becomes a link is that of the object which the second of two mappings makes.
  @Test(arguments: [false, true]) func aLinkOfTheSecondOfTwoMappings(_ isDamaged: Bool) throws {
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
      Self.ownedItems, new,
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

  /// An object leads back to that of two objects of one whose mapping says so, and the order stays. If both say so, it
  /// leads to the first, and the report says that.
  @Test(arguments: [false, true], [false, true])
  func referencesToTwoObjectsOfOne(_ isDamaged: Bool, _ areBothSet: Bool) throws {
    let model = ManagedObjectModel(
      entities: [
        Entity(
          name: "Contact",
          relationships: [
            relationship("items", to: "Item", "owner", isToMany: true, isOrdered: true)
          ]),
        Entity(name: "Item", relationships: [relationship("owner", to: "Contact", "items")]),
      ], versionIdentifiers: ["1"])
    let items = ["items": #""ItemToItem", $source.items"#]
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      model, model,
      [
        Self.mapping("ContactToContact", "Contact", "Contact", areBothSet ? items : [:]),
        Self.mapping("ContactToCopy", "Contact", "Contact", items),
        Self.mapping("ItemToItem", "Item", "Item"),
      ],
      """
      INSERT INTO ZCONTACT (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZOWNER, Z_FOK_OWNER) VALUES
        (1, 2, 1, 1, 2048), (2, 2, 1, 1, 1024), (3, 2, 1, NULL, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_NAME WHEN 'Item' THEN 3 ELSE 1 END;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK FROM ZCONTACT ORDER BY 1") == "1, 2")
    #expect(
      try database.text("SELECT Z_PK, ZOWNER FROM ZITEM ORDER BY Z_FOK_OWNER IS NULL, Z_FOK_OWNER")
        == (areBothSet ? "2 1, 1 1, 3 -" : "2 2, 1 2, 3 -"))
    #expect(report.cutCount == 0)
    #expect(
      report.steps[0].notes.contains {
        $0.contains("Item.owner leads to the object of the first one")
          && $0.contains("ContactToContact, ContactToCopy")
      } == areBothSet)
  }

  /// Two entities with equal relationships become one, and their objects lead back: of two owners the first stays.
  @Test(arguments: [false, true]) func equalRelationshipsBecomeAReference(_ isDamaged: Bool) throws
  {
    let items = Relationship(
      name: "items", destinationEntityName: "Item", maxCount: 0, isOptional: true)
    let old = ManagedObjectModel(
      entities: [
        Entity(name: "A", relationships: [items]), Entity(name: "B", relationships: [items]),
        Entity(name: "Item"),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(
          name: "Crate",
          relationships: [relationship("items", to: "Item", "holder", isToMany: true)]
        ),
        Entity(name: "Item", relationships: [relationship("holder", to: "Crate", "items")]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("AToCrate", "A", "Crate", ["items": #""ItemToItem", $source.items"#]),
        Self.mapping("BToCrate", "B", "Crate", ["items": #""ItemToItem", $source.items"#]),
        Self.mapping("ItemToItem", "Item", "Item"),
      ],
      """
      INSERT INTO ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZB (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, Z1ITEMS, Z2ITEMS) VALUES
        (1, 3, 1, 1, NULL), (2, 3, 1, NULL, 1), (3, 3, 1, 1, 1), (4, 3, 1, NULL, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_NAME WHEN 'Item' THEN 4 ELSE 1 END;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_PK, ZHOLDER FROM ZITEM ORDER BY 1") == "1 1, 2 2, 3 1, 4 -")
    #expect(
      report.steps.flatMap(\.cut).map { "\($0.entity).\($0.property) \($0.count) \($0.keys)" }
        == ["Item.holder 1 [3]"])
  }

  /// An object that is made of another entity gets no owner, although the owner leads to an old object with its key.
  @Test(arguments: [false, true]) func aKeyOfAnotherTableIsNoLink(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(name: "Gadget", attributes: [attribute("name")]),
        Entity(
          name: "Owner",
          relationships: [relationship("things", to: "Thing", "owner", isToMany: true)]),
        Entity(name: "Thing", relationships: [relationship("owner", to: "Owner", "things")]),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Item", relationships: [relationship("owner", to: "Owner", "items")]),
        Entity(
          name: "Owner", relationships: [relationship("items", to: "Item", "owner", isToMany: true)]
        ),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("ThingToItem", "Thing", "Item"),
        Self.mapping("GadgetToItem", "Gadget", "Item"),
        Self.mapping(
          "OwnerToOwner", "Owner", "Owner", ["items": #""ThingToItem", $source.things"#]),
      ],
      """
      INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT) VALUES (5, 2, 1);
      INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZOWNER) VALUES (1, 3, 1, 5);
      INSERT INTO ZGADGET (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_NAME WHEN 'Owner' THEN 5 ELSE 1 END;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZOWNER FROM ZITEM ORDER BY 1") == "1 5, 2 -")
    #expect(report.cutCount == 0)
  }

  /// A relationship that names a mapping of other objects leads nowhere, and not to the object with the same key.
  @Test(arguments: [false, true]) func aMappingOfOtherObjectsIsTold(_ isDamaged: Bool) throws {
    func owner(_ name: String, _ destination: String) -> Entity {
      Entity(
        name: "Owner",
        relationships: [
          Relationship(name: name, destinationEntityName: destination, isOptional: true)
        ])
    }
    let folder = try TemporaryFolder()
    let database = try Self.befriend(
      ManagedObjectModel(
        entities: [owner("pet", "Pet"), Entity(name: "Pet"), Entity(name: "Toy")],
        versionIdentifiers: ["1"]),
      ManagedObjectModel(
        entities: [Entity(name: "Friend"), owner("friend", "Friend")], versionIdentifiers: ["2"]),
      "pet", "friend", "UPDATE ZOWNER SET ZPET = 1;", isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT ZFRIEND FROM ZOWNER") == "-")
  }

  /// Migrates an owner, a pet and a toy that have the same key. Pets and toys become friends. The owner's relationship
  /// `friends` is made from `pets`, but names the mapping of the toys, which the report must tell.
  private static func befriend(
    _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ pets: String, _ friends: String,
    _ sql: String, isDamaged: Bool, in folder: TemporaryFolder
  ) throws -> SQLiteConnection {
    let (report, database) = try migrate(
      old, new,
      [
        mapping("OwnerToOwner", "Owner", "Owner", [friends: "\"ToyToFriend\", $source.\(pets)"]),
        mapping("PetToFriend", "Pet", "Friend"), mapping("ToyToFriend", "Toy", "Friend"),
      ],
      """
      INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZPET (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
      INSERT INTO ZTOY (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
      """ + sql, isDamaged: isDamaged, in: folder)
    #expect(
      report.steps[0].leftOut.contains {
        $0.contains("OwnerToOwner.\(friends)") && $0.contains("makes no Friend from Pet")
      })
    return database
  }

  /// The same holds where the inverse names a mapping of other objects.
  @Test(arguments: [false, true]) func anInverseOfOtherObjectsIsTold(_ isDamaged: Bool) throws {
    func model(_ name: String, _ destination: String, _ more: [Entity]) -> ManagedObjectModel {
      ManagedObjectModel(
        entities: [
          Entity(
            name: destination, relationships: [relationship("owner", to: "Owner", name)]),
          Entity(
            name: "Owner",
            relationships: [relationship(name, to: destination, "owner", isToMany: true)]),
        ] + more, versionIdentifiers: [name])
    }
    let folder = try TemporaryFolder()
    let database = try Self.befriend(
      model("pets", "Pet", [Entity(name: "Toy")]), model("friends", "Friend", []), "pets",
      "friends", "UPDATE ZPET SET ZOWNER = 1;", isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZOWNER FROM ZFRIEND ORDER BY 1") == "1 -, 2 -")
  }

  /// An object leads to its twin if the twin's mapping says so, although its own mapping names another relationship.
  @Test(arguments: [false, true]) func aTwinCountsBesideARelationship(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(
          name: "Book",
          relationships: [relationship("recipes", to: "Recipe", "book", isToMany: true)]
        ),
        Entity(
          name: "Recipe", attributes: [attribute("kind", .integer16)],
          relationships: [relationship("book", to: "Book", "recipes")]),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(
          name: "Cuisine",
          relationships: [relationship("recipes", to: "Recipe", "cuisine", isToMany: true)]),
        Entity(name: "Recipe", relationships: [relationship("cuisine", to: "Cuisine", "recipes")]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("BookToCuisine", "Book", "Cuisine"),
        Self.mapping(
          "RecipeToCuisine", "Recipe", "Cuisine", ["recipes": #""RecipeToRecipe", $source"#],
          where: "kind == 1"),
        Self.mapping(
          "RecipeToRecipe", "Recipe", "Recipe", ["cuisine": #""BookToCuisine", $source.book"#]),
      ],
      """
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZRECIPE (Z_PK, Z_ENT, Z_OPT, ZKIND, ZBOOK) VALUES
        (1, 2, 1, 2, 1), (2, 2, 1, 1, NULL), (3, 2, 1, 2, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_NAME WHEN 'Book' THEN 1 ELSE 3 END;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK FROM ZCUISINE ORDER BY 1") == "1, 3")
    #expect(
      try database.text("SELECT Z_PK, ZCUISINE FROM ZRECIPE ORDER BY 1") == "1 1, 2 3, 3 -")
    #expect(report.cutCount == 0)
  }

  /// The two references of a one-to-one relationship agree, whether a mapping or the inverse sets them.
  @Test(arguments: [false, true]) func partnersOfTwoMappings(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(
          name: "Guest",
          relationships: [relationship("passes", to: "Pass", "guest", isToMany: true)]
        ),
        Entity(name: "Pass", relationships: [relationship("guest", to: "Guest", "passes")]),
        Entity(name: "Worker"),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Badge", relationships: [relationship("owner", to: "Person", "badge")]),
        Entity(name: "Person", relationships: [relationship("badge", to: "Badge", "owner")]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping(
          "GuestToPerson", "Guest", "Person", ["badge": #""PassToBadge", $source.passes"#]),
        Self.mapping("PassToBadge", "Pass", "Badge"),
        Self.mapping("WorkerToBadge", "Worker", "Badge"),
        Self.mapping("WorkerToPerson", "Worker", "Person", ["badge": #""WorkerToBadge", $source"#]),
      ],
      """
      INSERT INTO ZGUEST (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZPASS (Z_PK, Z_ENT, Z_OPT, ZGUEST) VALUES (1, 2, 1, 1);
      INSERT INTO ZWORKER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZBADGE FROM ZPERSON ORDER BY 1") == "1 1, 2 2")
    #expect(try database.text("SELECT Z_PK, ZOWNER FROM ZBADGE ORDER BY 1") == "1 1, 2 2")
    #expect(report.cutCount == 0)
  }

  /// Rows of one table keep their order, although rows of another table that have none join them.
  @Test(arguments: [false, true]) func rowsWithoutOrderJoinOrderedOnes(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(name: "Book", relationships: [relationship("shelf", to: "Shelf", "books")]),
        Entity(name: "Leaflet", relationships: [relationship("shelf", to: "Shelf", "leaflets")]),
        Entity(
          name: "Shelf",
          relationships: [
            relationship("books", to: "Book", "shelf", isToMany: true, isOrdered: true),
            relationship("leaflets", to: "Leaflet", "shelf", isToMany: true),
          ]),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Book", relationships: [relationship("shelf", to: "Shelf", "books")]),
        Entity(
          name: "Shelf",
          relationships: [
            relationship("books", to: "Book", "shelf", isToMany: true, isOrdered: true)
          ]),
      ], versionIdentifiers: ["2"])
    let shelf = ["shelf": #""ShelfToShelf", $source.shelf"#]
    let folder = try TemporaryFolder()
    let (_, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("BookToBook", "Book", "Book", shelf),
        Self.mapping("LeafletToBook", "Leaflet", "Book", shelf),
        Self.mapping("ShelfToShelf", "Shelf", "Shelf"),
      ],
      """
      INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1);
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZSHELF, Z_FOK_SHELF) VALUES (1, 1, 1, 1, 2048), (2, 1, 1, 1, 1024);
      INSERT INTO ZLEAFLET (Z_PK, Z_ENT, Z_OPT, ZSHELF) VALUES (1, 2, 1, 1), (2, 2, 1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = CASE Z_NAME WHEN 'Shelf' THEN 1 ELSE 2 END;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_PK FROM ZBOOK WHERE ZSHELF = 1 ORDER BY Z_FOK_SHELF")
        == "2, 1, 3, 4")
    #expect(
      try database.text("SELECT Z_FOK_SHELF FROM ZBOOK WHERE Z_PK < 3 ORDER BY 1") == "1024, 2048")
  }

  /// Of two objects that a path leads to one partner, the first stays, and both sides agree.
  @Test(arguments: [false, true]) func aPathToOnePartner(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(name: "Chief"),
        Entity(name: "Item", relationships: [relationship("owner", to: "Owner", "items")]),
        Entity(
          name: "Owner",
          relationships: [
            Relationship(name: "chief", destinationEntityName: "Chief", isOptional: true),
            relationship("items", to: "Item", "owner", isToMany: true),
          ]),
      ], versionIdentifiers: ["1"])
    let new = ManagedObjectModel(
      entities: [
        Entity(name: "Chief", relationships: [relationship("item", to: "Item", "chief")]),
        Entity(name: "Item", relationships: [relationship("chief", to: "Chief", "item")]),
      ], versionIdentifiers: ["2"])
    let folder = try TemporaryFolder()
    let (report, database) = try Self.migrate(
      old, new,
      [
        Self.mapping("ChiefToChief", "Chief", "Chief"),
        Self.mapping(
          "ItemToItem", "Item", "Item", ["chief": #""ChiefToChief", $source.owner.chief"#]),
      ],
      """
      INSERT INTO ZCHIEF (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZOWNER) VALUES (1, 2, 1, 1), (2, 2, 1, 1);
      INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT, ZCHIEF) VALUES (1, 3, 1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZCHIEF FROM ZITEM ORDER BY 1") == "1 1, 2 -")
    #expect(try database.text("SELECT ZITEM FROM ZCHIEF") == "1")
    #expect(
      report.steps.flatMap(\.cut).map { "\($0.entity).\($0.property) \($0.keys)" }
        == ["Item.chief [2]"])
  }

  /// A key that was handed out in one of two tables is not handed out again in the table that both become.
  @Test(arguments: [false, true]) func keysGoOnInASharedTable(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (_, database) = try Self.migrate(
      ManagedObjectModel(
        entities: [Entity(name: "A"), Entity(name: "B")], versionIdentifiers: ["1"]),
      ManagedObjectModel(entities: [Entity(name: "T")], versionIdentifiers: ["2"]),
      [Self.mapping("AToT", "A", "T"), Self.mapping("BToT", "B", "T")],
      """
      INSERT INTO ZA (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9 WHERE Z_NAME = 'A';
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK FROM ZT") == "1")
    #expect(try database.text("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY") == "T 9")
  }
}
