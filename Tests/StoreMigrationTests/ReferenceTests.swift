import CoreDataForensics
import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// References of objects when a relationship changes its form, each against what SQL finds in the new store.
@Suite struct ReferenceTests {
  /// One side of a pair of relationships between the entities P and C.
  enum Side: Sendable { case one, many, ordered }

  /// Entities P, with `kids`, and C, with `fans`; D is a subentity of C.
  private static func model(
    kids: Side, fans: Side?, isOptional: Bool = true, version: String
  ) -> ManagedObjectModel {
    let name = Attribute(name: "name", type: .string, isOptional: true)
    func relationship(
      _ name: String, _ side: Side, to entity: String, inverse: String?, isOptional: Bool = true
    ) -> Relationship {
      Relationship(
        name: name, destinationEntityName: entity, inverseName: inverse,
        inverseEntityName: inverse.map { _ in entity }, maxCount: side == .one ? 1 : 0,
        isOrdered: side == .ordered, isOptional: isOptional)
    }
    return ManagedObjectModel(
      entities: [
        Entity(
          name: "C", attributes: [name],
          relationships: fans.map {
            [relationship("fans", $0, to: "P", inverse: "kids")]
          } ?? []),
        Entity(
          name: "D", superentityName: "C",
          attributes: [Attribute(name: "extra", type: .string, isOptional: true)]),
        Entity(
          name: "P", attributes: [name],
          relationships: [
            relationship(
              "kids", kids, to: "C", inverse: fans.map { _ in "fans" }, isOptional: isOptional)
          ]),
      ], versionIdentifiers: [version])
  }

  /// A store of `old`, filled by SQL, carried to `new`, read as sound or as damaged.
  private static func migrate(
    _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ sql: String, isDamaged: Bool,
    in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let url = folder.url.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      INSERT INTO ZC (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'c1'), (2, 2, 1, 'd2'), (3, 1, 1, 'c3');
      INSERT INTO ZP (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 3, 1, 'p1'), (2, 3, 1, 'p2');
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
      """ + sql)
    database.close()
    return try MappedReferenceTests.migrate(
      url, from: old, to: new, MappingModel.inferred(from: old, to: new), isDamaged: isDamaged,
      in: folder)
  }

  /// A join table becomes a key with the number of its entity; the first reference stays and the others are told.
  @Test(arguments: [false, true]) func manyToManyBecomesToOne(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .many, fans: .many, version: "1"),
      Self.model(kids: .one, fans: .many, version: "2"),
      "INSERT INTO Z_1FANS (Z_1KIDS, Z_3FANS) VALUES (2, 1), (1, 2), (3, 2);",
      isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZKIDS, Z1_KIDS FROM ZP ORDER BY 1") == "1 2 2, 2 1 1")
    #expect(
      report.steps.flatMap(\.cut).map { "\($0.entity).\($0.property) \($0.count)" } == ["P.kids 1"])
  }

  /// Of several references, the first that leads to a row stays; one that leads nowhere is cut and takes no room.
  @Test(arguments: [false, true], [Side.many, .one]) func aReferenceThatLeadsNowhereTakesNoRoom(
    _ isDamaged: Bool, _ fans: Side
  ) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .many, fans: .many, version: "1"),
      Self.model(kids: .one, fans: fans, version: "2"),
      "DELETE FROM ZC WHERE Z_PK = 1; INSERT INTO Z_1FANS (Z_1KIDS, Z_3FANS) VALUES (1, 1), (2, 1), (1, 2);",
      isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZKIDS, Z1_KIDS FROM ZP ORDER BY 1") == "1 2 2, 2 - -")
    #expect(
      report.steps.flatMap(\.cut).map { "\($0.entity).\($0.property) \($0.count)" } == ["P.kids 2"])
  }

  /// A key becomes a row of a join table, positions included.
  @Test(arguments: [false, true]) func toOneBecomesManyToMany(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .one, fans: .ordered, version: "1"),
      Self.model(kids: .many, fans: .ordered, version: "2"),
      "UPDATE ZP SET ZKIDS = 2, Z1_KIDS = 2, Z_FOK_KIDS = 2048 - 1024 * Z_PK;",
      isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_1KIDS, Z_3FANS FROM Z_1FANS ORDER BY Z_FOK_3FANS") == "2 2, 2 1")
    #expect(report.cutCount == 0)
  }

  /// The positions in a join table become those of the rows.
  @Test(arguments: [false, true]) func anOrderedJoinBecomesToOne(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .many, fans: .ordered, version: "1"),
      Self.model(kids: .one, fans: .ordered, version: "2"),
      "INSERT INTO Z_1FANS (Z_1KIDS, Z_3FANS, Z_FOK_3FANS) VALUES (3, 1, 2048), (3, 2, 1024);",
      isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZKIDS, Z_FOK_KIDS FROM ZP ORDER BY Z_FOK_KIDS")
        == "2 3 1024, 1 3 2048")
    #expect(report.cutCount == 0)
  }

  /// A key that two rows share cannot stay in both when its inverse becomes to-one.
  @Test(arguments: [false, true]) func aSharedKeyOfOneToOneIsCut(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .one, fans: .many, version: "1"),
      Self.model(kids: .one, fans: .one, version: "2"),
      "UPDATE ZP SET ZKIDS = 3, Z1_KIDS = 1;", isDamaged: isDamaged, in: folder)
    defer { new.close() }
    // Both ends say the same.
    #expect(
      try new.text(
        "SELECT c.Z_PK, p.Z_PK FROM ZC c JOIN ZP p ON p.ZKIDS = c.Z_PK AND c.ZFANS = p.Z_PK")
        == "3 1")
    #expect(try new.integer("SELECT count(*) FROM ZP WHERE ZKIDS NOTNULL") == 1)
    #expect(try new.integer("SELECT count(*) FROM ZC WHERE ZFANS NOTNULL") == 1)
    #expect(report.cutCount >= 1)
  }

  /// The key of the destination, which holds a to-many relationship, becomes a key of the owner when the two swap sides.
  @Test(arguments: [false, true]) func theSidesSwap(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .one, fans: .many, version: "1"),
      Self.model(kids: .many, fans: .one, version: "2"),
      "UPDATE ZP SET ZKIDS = 2, Z1_KIDS = 2 WHERE Z_PK = 2;", isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZFANS FROM ZC ORDER BY 1") == "1 -, 2 2, 3 -")
    #expect(report.cutCount == 0)
  }

  /// A relationship that the new model demands is empty in a row: the row stays, and the report says so.
  @Test(arguments: [false, true]) func aDemandedReferenceThatIsEmptyIsTold(_ isDamaged: Bool) throws
  {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .one, fans: .many, version: "1"),
      Self.model(kids: .one, fans: .many, isOptional: false, version: "2"),
      "UPDATE ZP SET ZKIDS = 2, Z1_KIDS = 2 WHERE Z_PK = 2;", isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.integer("SELECT count(*) FROM ZP") == 2)
    let left = report.steps.flatMap(\.leftOut)
    #expect(left.contains { $0.hasPrefix("1 row of P in the new store has no kids") }, "\(left)")
  }

  /// A relationship from an entity to itself keeps the name of its table, whichever of the two sides the store took.
  @Test(arguments: ["FOLLOWERS", "FOLLOWING"]) func aTableIsNamedAsInTheOldStore(_ side: String)
    throws
  {
    func model(_ version: String, _ attributes: [Attribute]) -> ManagedObjectModel {
      ManagedObjectModel(
        entities: [
          Entity(
            name: "User", attributes: attributes,
            relationships: [
              Relationship(
                name: "followers", destinationEntityName: "User", inverseName: "following",
                inverseEntityName: "User", maxCount: 0, isOptional: true),
              Relationship(
                name: "following", destinationEntityName: "User", inverseName: "followers",
                inverseEntityName: "User", maxCount: 0, isOptional: true),
            ])
        ], versionIdentifiers: [version])
    }
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    let old = model("1", [])
    let new = model("2", [Attribute(name: "name", type: .string, isOptional: true)])
    try FreshStore.create(at: url.path, for: old)
    var database = try SQLiteConnection(url)
    try database.exec(
      """
      DROP TABLE Z_1FOLLOWERS;
      CREATE TABLE Z_1\(side) ( Z_1FOLLOWERS INTEGER, Z_1FOLLOWING INTEGER, PRIMARY KEY (Z_1FOLLOWERS, Z_1FOLLOWING) );
      INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1);
      INSERT INTO Z_1\(side) (Z_1FOLLOWERS, Z_1FOLLOWING) VALUES (1, 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """)
    database.close()
    let step = try MigrationStep.inferred(from: old, named: "old", to: new, named: "new")
    _ = try Migration().run(.sound(try CoreDataStore(path: url.path)), [step], to: output.path)
    database = try SQLiteConnection(output)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_1FOLLOWERS, Z_1FOLLOWING FROM Z_1\(side)") == "1 2")
    #expect(
      try database.integer(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z\\_1%' ESCAPE '\\'"
      ) == 1)
  }

  /// Two old tables become one. A key that leads to no row of its own table is cut, although a row of the other table
  /// has that key now; one row with a huge key is rejected and does not stop the others.
  @Test(arguments: [false, true], [3, 1 << 50] as [Int64]) func twoTablesBecomeOne(
    _ isDamaged: Bool, _ lastKey: Int64
  ) throws {
    func entity(_ name: String, hasMate: Bool) -> Entity {
      Entity(
        name: name, attributes: [Attribute(name: "name", type: .string, isOptional: true)],
        relationships: hasMate
          ? [Relationship(name: "mate", destinationEntityName: name, isOptional: true)] : [])
    }
    func mapping(_ name: String, _ from: String, mate: String? = nil) throws -> EntityMapping {
      EntityMapping(
        name: name, kind: .transform, sourceEntityName: from, destinationEntityName: "T",
        attributeMappings: [
          PropertyMapping(
            name: "name", valueExpression: try ModelExpression(parsing: "$source.name"))
        ],
        relationshipMappings: try mate.map {
          [PropertyMapping(name: "mate", valueExpression: try ModelExpression(parsing: $0))]
        } ?? [])
    }
    let old = ManagedObjectModel(entities: [
      entity("A", hasMate: true), entity("B", hasMate: false),
    ])
    let new = ManagedObjectModel(entities: [entity("T", hasMate: true)])
    let both = MappingModel(entityMappings: [
      try mapping(
        "AToT", "A",
        mate:
          #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "AToT", $source.mate)"#
      ), try mapping("BToT", "B"),
    ])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: old)
    var database = try SQLiteConnection(url)
    try database.exec(
      """
      INSERT INTO ZA (Z_PK, Z_ENT, Z_OPT, ZMATE, ZNAME) VALUES (1, 1, 1, 2, 'a1'), (2, 1, 1, 5, 'a2'), (\(lastKey), 1, 1, 1, 'a3');
      INSERT INTO ZB (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'b1'), (2, 2, 1, 'b2');
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
      """)
    database.close()
    let step = MigrationStep(
      from: old, named: "old", to: new, named: "new", mapping: both, isInferred: false)
    let report = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [step], to: output.path)
    database = try SQLiteConnection(output)
    defer { database.close() }
    let hasRoom = lastKey == 3
    #expect(report.rejectedCount == (hasRoom ? 0 : 1))
    #expect(
      report.steps.flatMap(\.cut).map { "\($0.entity).\($0.property) \($0.count)" } == ["T.mate 1"])
    let names = try database.rows(
      "SELECT t.ZNAME, m.ZNAME FROM ZT t LEFT JOIN ZT m ON m.Z_PK = t.ZMATE ORDER BY t.ZNAME")
    var expected: [[FixtureValue]] = [
      [.string("a1"), .string("a2")], [.string("a2"), .null], [.string("a3"), .string("a1")],
      [.string("b1"), .null], [.string("b2"), .null],
    ]
    if !hasRoom { expected.remove(at: 2) }
    #expect(names == expected)
    #expect(try database.integer("SELECT count(*) FROM ZT WHERE ZMATE < 0") == 0)
  }

  /// Albums and folders have equal relationships to photos, and cats and dogs to beds: each has columns of its own.
  @Test(arguments: [false, true]) func equalRelationshipsOfTwoEntities(_ isDamaged: Bool) throws {
    let photos = Relationship(
      name: "photos", destinationEntityName: "Photo", maxCount: 0, isOrdered: true,
      isOptional: true)
    let bed = Relationship(name: "bed", destinationEntityName: "Bed", isOptional: true)
    let model = ManagedObjectModel(
      entities: [
        Entity(name: "Album", relationships: [photos]), Entity(name: "Animal"),
        Entity(name: "Cat", superentityName: "Animal", relationships: [bed]),
        Entity(name: "Dog", superentityName: "Animal", relationships: [bed]), Entity(name: "Bed"),
        Entity(name: "Box", superentityName: "Bed"),
        Entity(name: "Folder", relationships: [photos]), Entity(name: "Photo"),
      ], versionIdentifiers: ["1"])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: model)
    var database = try SQLiteConnection(url)
    try database.exec(
      """
      INSERT INTO ZALBUM (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT) VALUES (9, 7, 1);
      INSERT INTO ZPHOTO (Z_PK, Z_ENT, Z_OPT, Z1PHOTOS, Z_FOK_1PHOTOS, Z7PHOTOS, Z_FOK_7PHOTOS) VALUES
        (1, 8, 1, 1, 1024, NULL, NULL), (2, 8, 1, NULL, NULL, 9, 2048), (3, 8, 1, NULL, NULL, 9, 1024);
      INSERT INTO ZBED (Z_PK, Z_ENT, Z_OPT) VALUES (1, 5, 1), (2, 6, 1);
      INSERT INTO ZANIMAL (Z_PK, Z_ENT, Z_OPT, ZBED, Z5_BED, ZBED1, Z5_BED1) VALUES
        (1, 3, 1, 1, 5, NULL, NULL), (2, 4, 1, NULL, NULL, 2, 6);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9;
      """)
    database.close()
    let report = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [.same(model, named: "own")],
      to: output.path)
    database = try SQLiteConnection(output)
    defer { database.close() }
    #expect(
      try database.text(
        "SELECT Z_PK, Z1PHOTOS, Z_FOK_1PHOTOS, Z7PHOTOS, Z_FOK_7PHOTOS FROM ZPHOTO ORDER BY 1")
        == "1 1 1024 - -, 2 - - 9 2048, 3 - - 9 1024")
    #expect(
      try database.text("SELECT Z_PK, ZBED, Z5_BED, ZBED1, Z5_BED1 FROM ZANIMAL ORDER BY 1")
        == "1 1 5 - -, 2 - - 2 6")
    #expect(report.isLossless)
  }

  /// Of two objects that are made of one, only that of the mapping which the relationship names is in it.
  @Test(arguments: [false, true]) func aRelationshipToOneOfTwoMappings(_ isDamaged: Bool) throws {
    let model = ManagedObjectModel(
      entities: [
        Entity(
          name: "A", attributes: [attribute("name")],
          relationships: [relationship("items", to: "B", "owner", isToMany: true)]),
        Entity(
          name: "B", attributes: [attribute("name")],
          relationships: [relationship("owner", to: "A", "items")]),
      ], versionIdentifiers: ["1"])
    func mapping(_ name: String, _ entity: String, items: String? = nil) throws -> EntityMapping {
      EntityMapping(
        name: name, kind: .transform, sourceEntityName: entity, destinationEntityName: entity,
        attributeMappings: [
          PropertyMapping(
            name: "name", valueExpression: try ModelExpression(parsing: "$source.name"))
        ],
        relationshipMappings: try items.map {
          [PropertyMapping(name: "items", valueExpression: try ModelExpression(parsing: $0))]
        } ?? [])
    }
    let all = MappingModel(entityMappings: [
      try mapping(
        "AToA", "A",
        items:
          #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "BToB", $source.items)"#
      ), try mapping("BToB", "B"), try mapping("BToCopy", "B"),
    ])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: model)
    var database = try SQLiteConnection(url)
    try database.exec(
      """
      INSERT INTO ZA (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (3, 1, 1, 'a');
      INSERT INTO ZB (Z_PK, Z_ENT, Z_OPT, ZOWNER, ZNAME) VALUES (1, 2, 1, 3, 'b');
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'A';
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'B';
      """)
    database.close()
    let step = MigrationStep(
      from: model, named: "old", to: model, named: "new", mapping: all, isInferred: true)
    _ = try Migration().run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [step], to: output.path)
    database = try SQLiteConnection(output)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZOWNER FROM ZB ORDER BY 1") == "1 3, 2 -")
  }

  /// Names of entities that differ only in their case cannot have two tables; that is a refusal, and no file is left.
  @Test func namesThatCollideAreRefused() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("New.sqlite")
    let model = ManagedObjectModel(entities: [Entity(name: "Note"), Entity(name: "NOTE")])
    #expect(throws: FreshStoreSchema.Failure.self) {
      try FreshStore.create(at: url.path, for: model)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
  }

  /// A link whose key is none is cut and counted; the others stay.
  @Test(arguments: [false, true], ["'x'", "1.5", "x'00'", "''", "NULL"])
  func aLinkWithoutKey(_ isDamaged: Bool, _ value: String) throws {
    let folder = try TemporaryFolder()
    let model = Self.model(kids: .many, fans: .many, version: "1")
    let (report, new) = try Self.migrate(
      model, model,
      "INSERT INTO Z_1FANS (Z_1KIDS, Z_3FANS) VALUES (\(value), 1), (2, 1), (1, 2);",
      isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_1KIDS, Z_3FANS FROM Z_1FANS ORDER BY 1") == "1 2, 2 1")
    #expect(report.cutCount == 1)
    #expect(report.rejectedCount == 0)
  }

  /// The same holds where a relationship becomes to-one.
  @Test(arguments: [false, true], ["'x'", "1.5", "x'00'", "''", "NULL"])
  func aLinkWithoutKeyOfAReference(_ isDamaged: Bool, _ value: String) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      Self.model(kids: .many, fans: .many, version: "1"),
      Self.model(kids: .one, fans: .many, version: "2"),
      "INSERT INTO Z_1FANS (Z_1KIDS, Z_3FANS) VALUES (\(value), 1), (2, 1), (1, 2);",
      isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZKIDS FROM ZP ORDER BY 1") == "1 2, 2 1")
    #expect(
      report.steps.flatMap(\.cut).map { "\($0.entity).\($0.property) \($0.count)" } == ["P.kids 1"])
  }
}
