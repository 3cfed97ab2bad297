import StoreExtraction
import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreMigration
import Testing

/// Expressions of mapping models, each against a result worked out by hand.
@Suite struct ExpressionTests {
  /// Countries with continents and towns with countries, before.
  static let old = ManagedObjectModel(entities: [
    Entity(
      name: "Continent",
      attributes: [
        Attribute(name: "code", type: .integer16, isOptional: true),
        Attribute(name: "name", type: .string, isOptional: true),
      ],
      relationships: [
        Relationship(
          name: "countries", destinationEntityName: "Country", inverseName: "continent",
          inverseEntityName: "Country", maxCount: 0, isOptional: true)
      ]),
    Entity(
      name: "Country",
      attributes: [Attribute(name: "name", type: .string, isOptional: true)],
      relationships: [
        Relationship(
          name: "continent", destinationEntityName: "Continent", inverseName: "countries",
          inverseEntityName: "Continent", isOptional: true),
        Relationship(
          name: "towns", destinationEntityName: "Town", inverseName: "country",
          inverseEntityName: "Town", maxCount: 0, isOptional: true),
      ]),
    Entity(
      name: "Town",
      attributes: [
        Attribute(name: "name", type: .string, isOptional: true),
        Attribute(name: "height", type: .double, isOptional: true),
        Attribute(name: "people", type: .integer32, isOptional: true),
      ],
      relationships: [
        Relationship(
          name: "country", destinationEntityName: "Country", inverseName: "towns",
          inverseEntityName: "Country", isOptional: true)
      ]),
  ])

  /// Towns know their continent; low towns are ports, too.
  static let new = ManagedObjectModel(entities: [
    Entity(
      name: "Continent",
      attributes: [Attribute(name: "name", type: .string, isOptional: true)],
      relationships: [
        Relationship(
          name: "towns", destinationEntityName: "Town", inverseName: "continent",
          inverseEntityName: "Town", maxCount: 0, isOptional: true)
      ]),
    Entity(
      name: "Port",
      attributes: [Attribute(name: "name", type: .string, isOptional: true)],
      relationships: [
        Relationship(
          name: "town", destinationEntityName: "Town", inverseName: "port",
          inverseEntityName: "Town", isOptional: true)
      ]),
    Entity(
      name: "Town",
      attributes: [
        Attribute(name: "continentCode", type: .integer16, isOptional: true),
        Attribute(name: "feet", type: .double, isOptional: true),
        Attribute(name: "kind", type: .string, isOptional: true),
        Attribute(name: "name", type: .string, isOptional: true),
        Attribute(name: "pairs", type: .integer32, isOptional: true),
        Attribute(name: "rank", type: .integer16, isOptional: false, defaultValue: .integer(7)),
      ],
      relationships: [
        Relationship(
          name: "continent", destinationEntityName: "Continent", inverseName: "towns",
          inverseEntityName: "Continent", isOptional: true),
        Relationship(
          name: "port", destinationEntityName: "Port", inverseName: "town",
          inverseEntityName: "Port", isOptional: true),
      ]),
  ])

  private static func expression(_ text: String) throws -> ModelExpression {
    try ModelExpression(parsing: text)
  }

  private static func mapping() throws -> MappingModel {
    func fetch(_ entity: String, _ predicate: String) throws -> ModelExpression {
      try expression(
        #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "\#(entity)", "\#(predicate)"), $manager.sourceContext, NO)"#
      )
    }
    return MappingModel(entityMappings: [
      EntityMapping(
        name: "ContinentToContinent", kind: .transform, sourceEntityName: "Continent",
        destinationEntityName: "Continent",
        attributeMappings: [
          PropertyMapping(name: "name", valueExpression: try expression("$source.name"))
        ]),
      EntityMapping(
        name: "TownToTown", kind: .transform, sourceEntityName: "Town",
        destinationEntityName: "Town",
        attributeMappings: [
          PropertyMapping(
            name: "continentCode",
            valueExpression: try expression("$source.country.continent.code")),
          PropertyMapping(
            name: "feet", valueExpression: try expression("$source.height * 3.25 + 1")),
          PropertyMapping(name: "kind", valueExpression: try expression("\"it's a town\"")),
          PropertyMapping(name: "name", valueExpression: try expression("$source.name")),
          PropertyMapping(
            name: "pairs",
            valueExpression: try expression("TERNARY($source.people > 10, $source.people / 2, 0)")),
          PropertyMapping(name: "rank"),
        ],
        relationshipMappings: [
          PropertyMapping(
            name: "continent",
            valueExpression: try expression(
              #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "ContinentToContinent", $source.country.continent)"#
            ))
        ]),
      EntityMapping(
        name: "TownToPort", kind: .transform, sourceEntityName: "Town",
        destinationEntityName: "Port",
        attributeMappings: [
          PropertyMapping(name: "name", valueExpression: try expression("$source.name"))
        ],
        relationshipMappings: [
          PropertyMapping(
            name: "town",
            valueExpression: try expression(
              #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "TownToTown", $source)"#
            ))
        ], sourceExpression: try fetch("Town", "$source.height < 100")),
    ])
  }

  private static func store(in folder: URL) throws -> URL {
    let url = folder.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    defer { database.close() }
    try database.exec(
      """
      INSERT INTO ZCONTINENT (Z_PK, Z_ENT, Z_OPT, ZCODE, ZNAME) VALUES (5, 1, 1, 150, 'Europe'), (9, 1, 1, 2, 'Africa');
      INSERT INTO ZCOUNTRY (Z_PK, Z_ENT, Z_OPT, ZCONTINENT, ZNAME) VALUES (3, 2, 1, 5, 'Norge'), (4, 2, 1, NULL, 'Nowhere');
      INSERT INTO ZTOWN (Z_PK, Z_ENT, Z_OPT, ZPEOPLE, ZCOUNTRY, ZHEIGHT, ZNAME) VALUES
        (1, 3, 4, 21, 3, 4.0, 'Bergen'), (2, 3, 1, 9, 4, 640.0, 'Røros'), (7, 3, 1, NULL, NULL, NULL, 'Utopia');
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9;
      """)
    return url
  }

  /// Key paths over several relationships, arithmetic, a condition, a constant with a quote, a default, a filter on the
  /// objects, a second object of each, and a relationship to what another mapping made: from a sound and from a damaged
  /// store.
  @Test(arguments: [false, true]) func byHand(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(in: folder.url)
    let (report, database) = try MappedReferenceTests.migrate(
      url, from: Self.old, to: Self.new, Self.mapping(), isDamaged: isDamaged, in: folder)
    defer { database.close() }
    let towns = try database.rows(
      "SELECT Z_PK, Z_OPT, ZNAME, ZCONTINENTCODE, ZCONTINENT, ZFEET, ZKIND, ZPAIRS, ZRANK FROM ZTOWN ORDER BY 1"
    )
    let kind = FixtureValue.string("it's a town")
    #expect(
      towns == [
        [
          .integer(1), .integer(4), .string("Bergen"), .integer(150), .integer(5), .real(14),
          kind, .integer(10), .integer(7),
        ],
        [
          .integer(2), .integer(1), .string("Røros"), .null, .null, .real(2081), kind,
          .integer(0), .integer(7),
        ],
        [
          .integer(7), .integer(1), .string("Utopia"), .null, .null, .null, kind, .integer(0),
          .integer(7),
        ],
      ])
    // A height that is nil is not below 100.
    let ports = try database.rows("SELECT ZNAME, ZTOWN FROM ZPORT")
    #expect(ports == [[.string("Bergen"), .integer(1)]])
    // Both sides of a one-to-one relationship agree, although the mapping sets only one.
    #expect(try database.text("SELECT Z_PK, ZPORT FROM ZTOWN ORDER BY 1") == "1 1, 2 -, 7 -")
    #expect(
      try database.integer("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'lifeboat%'") == 0)
    #expect(report.steps[0].entities.first { $0.name == "Country" }?.leftBehindCount == 2)
    #expect(try database.integer("PRAGMA freelist_count") == 0)
  }

  /// A value at the end of a path is treated like a value of the row itself. A required attribute without a value gets
  /// its default, and a value that the new type cannot hold is reported.
  @Test(arguments: [false, true]) func valuesAtTheEndOfAPath(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(in: folder.url)
    let before = try SQLiteConnection(url)
    try before.exec("UPDATE ZCONTINENT SET ZCODE = 100000 WHERE Z_PK = 5")
    before.close()
    var old = Self.old
    old.entities["Continent"]?.attributes[0].type = .integer64
    var mapping = try Self.mapping()
    mapping.entityMappings[1].attributeMappings[5].valueExpression = try Self.expression(
      "$source.country.continent.code")
    let (report, database) = try MappedReferenceTests.migrate(
      url, from: old, to: Self.new, mapping, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_PK, ZCONTINENTCODE, ZRANK FROM ZTOWN ORDER BY 1")
        == "1 - 7, 2 - 7, 7 - 7")
    #expect(report.incompleteCount == 1)
    let rejects = try MergeTests.rejects(report)
    #expect(rejects.count == 1)
    #expect(rejects.first?.contains("cannot hold the value: continentCode, rank") == true)
  }

  /// A value at the end of a path that Core Data never stores there is told, and is not in the new store.
  @Test(arguments: [false, true]) func aWrongValueAtTheEndOfAPath(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(in: folder.url)
    let before = try SQLiteConnection(url)
    try before.exec("UPDATE ZCONTINENT SET ZCODE = 'x' WHERE Z_PK = 5")
    before.close()
    let (report, database) = try MappedReferenceTests.migrate(
      url, from: Self.old, to: Self.new, Self.mapping(), isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT ZCONTINENTCODE FROM ZTOWN ORDER BY Z_PK") == "-, -, -")
    #expect(
      report.steps[0].leftOut.contains {
        $0.hasPrefix("1 value of ZCONTINENT that key paths lead to is left out")
      })
  }

  /// Rows of one entity under one mapping.
  private static func migrate(
    _ old: Attribute..., to new: Attribute, by text: String? = nil, predicate: String? = nil,
    _ sql: String, isDamaged: Bool = false, in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let before = ManagedObjectModel(entities: [Entity(name: "E", attributes: old)])
    let after = ManagedObjectModel(entities: [Entity(name: "E", attributes: [new])])
    let url = folder.url.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: before)
    let database = try SQLiteConnection(url)
    try database.exec(sql)
    database.close()
    let all = MappingModel(entityMappings: [
      EntityMapping(
        name: "EToE", kind: .transform, sourceEntityName: "E", destinationEntityName: "E",
        attributeMappings: [
          PropertyMapping(
            name: new.name, valueExpression: try expression(text ?? "$source.\(new.name)"))
        ],
        sourceExpression: try predicate.map {
          try expression(
            #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "E", "\#($0)"), $manager.sourceContext, NO)"#
          )
        })
    ])
    return try MappedReferenceTests.migrate(
      url, from: before, to: after, all, isDamaged: isDamaged, in: folder)
  }

  /// A row that a mapping takes is rejected when the new type cannot hold a required value of it; a row that the mapping
  /// does not take is passed over, whatever it lacks.
  @Test(arguments: [false, true]) func requiredValuesAndAPredicate(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      attribute("n", .integer64), attribute("flag", .integer16),
      to: Attribute(name: "n", type: .integer16), predicate: "flag == 1",
      """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZN, ZFLAG) VALUES
        (1, 1, 1, 5, 1), (2, 1, 1, 100000, 1), (3, 1, 1, NULL, 0), (4, 1, 1, NULL, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 4;
      """, isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZN FROM ZE") == "1 5")
    let counts = try #require(report.steps.first?.entities.first)
    #expect(counts.writtenCount == 1)
    #expect(counts.rejectedCount == 2)
    #expect(counts.passedOverCount == 1)
    let rejects = try MergeTests.rejects(report)
    #expect(rejects.count == 2)
    #expect(rejects.allSatisfy { $0.contains("gives no default for: n of E") }, "\(rejects)")
  }

  /// A default value that is not a number differs from itself, but the column of its attribute is found.
  @Test(arguments: [false, true]) func aDefaultThatIsNotANumber(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let amount = Attribute(
      name: "n", type: .double, isOptional: true, defaultValue: .real(.nan))
    let (_, new) = try Self.migrate(
      amount, to: amount,
      """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZN) VALUES (1, 1, 1, 2.5);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
      """, isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT CAST(ZN AS TEXT) FROM ZE") == "2.5")
  }

  /// The smallest integer has no absolute value.
  @Test func theSmallestIntegerOfADecimal() throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      attribute("n", .decimal), to: attribute("n", .integer64),
      """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZN) VALUES
        (1, 1, 1, -9223372036854775808), (2, 1, 1, 2.5), (3, 1, 1, 7);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
      """, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZN FROM ZE ORDER BY 1") == "1 -9223372036854775808, 2 -, 3 7")
    #expect(report.incompleteCount == 1)
  }

  /// A whole decimal that a float would round is told.
  @Test(arguments: [false, true]) func aWholeDecimalOfAFloat(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      attribute("n", .decimal), to: attribute("n", .double),
      """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZN) VALUES
        (1, 1, 1, 9007199254740993), (2, 1, 1, 2.5), (3, 1, 1, 7);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
      """, isDamaged: isDamaged, in: folder)
    defer { new.close() }
    #expect(
      try new.rows("SELECT ZN FROM ZE ORDER BY Z_PK") == [[.null], [.real(2.5)], [.real(7)]])
    #expect(report.incompleteCount == 1)
  }

  /// An external file that is too large for a row is told.
  @Test func aFileTooLargeForARow() throws {
    let folder = try TemporaryFolder()
    let name = "11111111-2222-4333-8444-555555555555"
    let part = folder.url.appendingPathComponent(".Old_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: part, withIntermediateDirectories: true)
    let file = part.appendingPathComponent(name)
    try Data().write(to: file)
    // The file is sparse.
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: 1_000_000_000)
    try handle.close()
    let (report, new) = try Self.migrate(
      attribute("data", .binary), to: Attribute(name: "data", type: .binary, isOptional: true),
      """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZDATA) VALUES (1, 1, 1, CAST(x'02' || '\(name)' || x'00' AS BLOB));
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
      """, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT ZDATA IS NULL FROM ZE") == "1")
    #expect(report.incompleteCount == 1)
    #expect(try MergeTests.rejects(report).first?.contains("is too large for a row") == true)
  }

  /// What is not understood is refused before anything is written.
  @Test(arguments: [
    "FUNCTION($entityPolicy, \"nameOf:\", $source)", "$source.towns.name",
    "FUNCTION($source.name, \"uppercaseString\")",
  ])
  func whatIsNotUnderstoodIsRefused(_ text: String) throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(in: folder.url)
    let before = treeState(of: folder.url)
    var mapping = try Self.mapping()
    mapping.entityMappings[0].attributeMappings[0].valueExpression = try Self.expression(text)
    let step = MigrationStep(
      from: Self.old, named: "old", to: Self.new, named: "new", mapping: mapping,
      isInferred: true)
    let error = #expect(throws: MigrationError.self) {
      try Migration().run(
        .sound(try CoreDataStore(path: url.path)), [step],
        to: folder.url.appendingPathComponent("New.sqlite").path)
    }
    #expect([.unsupportedExpression, .mappingMismatch].contains(error?.code))
    #expect(treeState(of: folder.url) == before)
  }

  @Test func aPolicyThatIsNotThereIsRefusedOrCopied() throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(in: folder.url)
    var mapping = try Self.mapping()
    mapping.entityMappings[0].migrationPolicyClassName = "App.ContinentPolicy"
    mapping.entityMappings[0].attributeMappings = []
    let step = MigrationStep(
      from: Self.old, named: "old", to: Self.new, named: "new", mapping: mapping,
      isInferred: true)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    var migration = Migration()
    let error = #expect(throws: MigrationError.self) {
      try migration.run(.sound(try CoreDataStore(path: url.path)), [step], to: output)
    }
    #expect(error?.code == .missingPolicy)
    #expect(error?.reasons.first?.contains("App.ContinentPolicy") == true)
    migration.missingPolicy = .copy
    let report = try migration.run(.sound(try CoreDataStore(path: url.path)), [step], to: output)
    #expect(report.steps[0].notes.contains { $0.contains("App.ContinentPolicy") })
    let database = try SQLiteConnection(URL(fileURLWithPath: output))
    defer { database.close() }
    #expect(
      try database.rows("SELECT ZNAME FROM ZCONTINENT ORDER BY Z_PK") == [
        [.string("Europe")], [.string("Africa")],
      ])
  }

  /// A computed number that the new attribute cannot hold is told, and so is text in place of a number.
  @Test(arguments: [
    ("TERNARY($source.n > 0, $source.n * 2, 0)", AttributeType.integer16, "1 10, 2 -, 3 -, 4 0", 2),
    (
      "abs:($source.n)", AttributeType.integer64, "1 5, 2 20000, 3 9223372036854775807, 4 -", 1
    ),
    (
      "TERNARY($source.n == 5, $source.name, $source.n)", AttributeType.integer32,
      "1 -, 2 20000, 3 -, 4 -", 3
    ),
  ])
  func aComputedNumberThatDoesNotFit(
    _ text: String, _ type: AttributeType, _ expected: String, _ count: Int
  ) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      attribute("n", .integer64), attribute("name"), to: attribute("n", type), by: text,
      """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZN, ZNAME) VALUES (1, 1, 1, 5, 'five'),
        (2, 1, 1, 20000, NULL), (3, 1, 1, 9223372036854775807, NULL),
        (4, 1, 1, -9223372036854775808, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 4;
      """, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZN FROM ZE ORDER BY 1") == expected)
    #expect(report.incompleteCount == count)
    let rejects = try MergeTests.rejects(report)
    #expect(rejects.allSatisfy { $0.contains("cannot hold the value: n") }, "\(rejects)")
  }

  private static let nested = String(repeating: "abs:(", count: 12) + "$source.n))))))))))))"
  private static let kinds = """
    INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZN, ZNAME) VALUES (1, 1, 1, 7, '12abc'), (2, 1, 1, 1, 'x');
    UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
    """

  /// Foundation calculates with numbers only, and has no order for values of different kinds. So nothing is calculated
  /// from the digits of a text, or from the seconds of a date. Deeply nested calls would need SQL without end.
  @Test(arguments: [
    ("$source.name + 1", AttributeType.integer64), ("1 - $source.name", .double),
    ("abs:($source.name)", .double), ("now() + 60", .double), ("now()", .integer64),
    ("$source.n * 2", .date), ("$source.n * 2", .string),
    ("TERNARY($source.n > 5, $source.n, $source.name) * 2", .integer64),
    ("TERNARY($source.name > 5, 1, 0)", .integer64), (Self.nested, .integer64),
  ])
  func valuesOfOtherKindsAreRefused(_ text: String, _ type: AttributeType) throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Self.migrate(
        attribute("n", .integer64), attribute("name"), to: attribute("value", type), by: text,
        Self.kinds, in: folder)
    }
    #expect(error?.code == .unsupportedExpression)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Old.sqlite"])
  }

  /// The refusal says what is wrong.
  @Test func arithmeticOfATextIsNamed() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Self.migrate(
        attribute("n", .integer64), attribute("name"), to: attribute("n", .integer64),
        by: "$source.name + 1", Self.kinds, in: folder)
    }
    #expect(
      error?.reasons.first?.contains("calculates with values that are not numbers") == true)
  }

  /// A number in place of a text is told, and does not become a text.
  @Test(arguments: [false, true]) func aComputedNumberOfAText(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(
      attribute("n", .integer64), attribute("name"), to: attribute("name"),
      by: "TERNARY($source.n > 5, $source.n, $source.name)", Self.kinds, isDamaged: isDamaged,
      in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZNAME FROM ZE ORDER BY 1") == "1 -, 2 x")
    #expect(report.incompleteCount == 1)
  }

  /// The bytes of a computed value are those of the old value; one that may be in a file of its own is refused.
  @Test func aComputedValueOfBytes() throws {
    let folder = try TemporaryFolder()
    let plain = Attribute(name: "data", type: .binary, isOptional: true)
    let sql = """
      INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT, ZDATA) VALUES (1, 1, 1, x'0203'), (2, 1, 1, NULL);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """
    let text = "TERNARY($source.data == $source.data, $source.data, $source.data)"
    let (report, new) = try Self.migrate(
      plain, to: attribute("data", .binary), by: text, sql, in: folder)
    defer { new.close() }
    #expect(try new.rows("SELECT ZDATA FROM ZE ORDER BY Z_PK") == [[.blob([1, 2, 3])], [.null]])
    #expect(report.isLossless)
    let other = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Self.migrate(
        attribute("data", .binary), to: attribute("data", .binary), by: text, sql, in: other)
    }
    #expect(error?.code == .unsupportedExpression)
  }

  /// Values for which the new model has no property are in the old store only, and the report says so.
  @Test func whatTheNewModelDoesNotHaveIsTold() throws {
    let old = ManagedObjectModel(entities: [
      Entity(name: "E", attributes: [attribute("name"), attribute("kept")])
    ])
    let new = ManagedObjectModel(entities: [
      Entity(name: "E", attributes: [attribute("label"), attribute("kept")])
    ])
    let folder = try TemporaryFolder()
    let path = folder.url.appendingPathComponent("Old.sqlite").path
    try FreshStore.create(at: path, for: old)
    let report = try Migration().run(
      storeAt: path, to: new, output: folder.url.appendingPathComponent("New.sqlite").path)
    #expect(
      report.steps[0].notes.contains(
        "values of E.name are not carried over; they are in the old store only"))
    let same = try Migration().run(
      storeAt: path, to: old, output: folder.url.appendingPathComponent("Same.sqlite").path)
    #expect(!same.steps.flatMap(\.notes).contains { $0.contains("not carried over") })
  }

  /// A default value is stored to its last bit, although SQLite does not read each decimal as the nearest number.
  @Test func aDefaultValueToItsLastBit() throws {
    let values: [Double] = [
      0.6245301835968879, -2.60704669, 8.433826033787748e-308, .leastNonzeroMagnitude,
      -.greatestFiniteMagnitude, 0.1, -3, 1e22,
    ]
    let old = ManagedObjectModel(entities: [Entity(name: "E", attributes: [attribute("name")])])
    let new = ManagedObjectModel(entities: [
      Entity(
        name: "E",
        attributes: [attribute("name")]
          + values.enumerated().map { place, value in
            Attribute(
              name: "v\(place)", type: .double, isOptional: false, defaultValue: .real(value))
          })
    ])
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("Old.sqlite")
    let output = folder.url.appendingPathComponent("New.sqlite")
    try FreshStore.create(at: url.path, for: old)
    var database = try SQLiteConnection(url)
    try database.exec(
      "INSERT INTO ZE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1); UPDATE Z_PRIMARYKEY SET Z_MAX = 1")
    database.close()
    _ = try Migration().run(storeAt: url.path, to: new, output: output.path)
    database = try SQLiteConnection(output)
    defer { database.close() }
    let names = values.indices.map { "ZV\($0)" }.joined(separator: ", ")
    #expect(
      try database.rows("SELECT \(names) FROM ZE") == [values.map { FixtureValue.real($0) }])
  }

  /// Where properties of the same name are copied, a mapping without a class that is not understood is told.
  @Test func whatIsNotUnderstoodIsTold() throws {
    let folder = try TemporaryFolder()
    let url = try Self.store(in: folder.url)
    var mapping = try Self.mapping()
    mapping.entityMappings[0].attributeMappings[0].valueExpression = try Self.expression(
      "FUNCTION($source.name, \"uppercaseString\")")
    let step = MigrationStep(
      from: Self.old, named: "old", to: Self.new, named: "new", mapping: mapping,
      isInferred: true)
    var migration = Migration()
    migration.missingPolicy = .copy
    let report = try migration.run(
      .sound(try CoreDataStore(path: url.path)), [step],
      to: folder.url.appendingPathComponent("New.sqlite").path)
    #expect(
      report.steps[0].leftOut.contains {
        $0.contains("ContinentToContinent.name") && $0.contains("uppercaseString")
      })
    #expect(!report.isLossless)
  }
}
