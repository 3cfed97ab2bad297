import CoreDataStore
import Fixtures
import Foundation
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreMigration
import Testing

/// Policies of an app, each against what SQL finds in the new store.
@Suite struct PolicyTests {
  private static func attribute(
    _ name: String, _ type: AttributeType = .string, isOptional: Bool = true
  ) -> Attribute {
    Attribute(name: name, type: type, isOptional: isOptional)
  }

  /// People with one name, who write letters.
  private static let old = ManagedObjectModel(
    entities: [
      Entity(
        name: "Letter", attributes: [attribute("text")],
        relationships: [relationship("author", to: "Person", "letters")]),
      Entity(
        name: "Person", attributes: [attribute("name"), attribute("age", .integer16)],
        relationships: [relationship("letters", to: "Letter", "author", isToMany: true)]),
    ], versionIdentifiers: ["1"])

  /// People with a first and a last name, and families.
  private static let new = ManagedObjectModel(
    entities: [
      Entity(
        name: "Family", attributes: [attribute("name")],
        relationships: [relationship("members", to: "Person", "family", isToMany: true)]),
      Entity(
        name: "Letter", attributes: [attribute("text")],
        relationships: [relationship("author", to: "Person", "letters")]),
      Entity(
        name: "Person",
        attributes: [
          attribute("age", .integer16), attribute("first", isOptional: false), attribute("last"),
        ],
        relationships: [
          relationship("family", to: "Family", "members"),
          relationship("letters", to: "Letter", "author", isToMany: true),
        ]),
    ], versionIdentifiers: ["2"])

  private static func mapping(
    policy: String = "PersonPolicy", first: String? = nil, predicate: String = "TRUEPREDICATE"
  ) throws -> MappingModel {
    func expression(_ text: String) throws -> ModelExpression { try ModelExpression(parsing: text) }
    func all(_ entity: String, _ predicate: String = "TRUEPREDICATE") throws -> ModelExpression {
      try expression(
        #"FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "\#(entity)", "\#(predicate)"), $manager.sourceContext, NO)"#
      )
    }
    return MappingModel(entityMappings: [
      EntityMapping(
        name: "LetterToLetter", kind: .copy, sourceEntityName: "Letter",
        destinationEntityName: "Letter",
        attributeMappings: [
          PropertyMapping(name: "text", valueExpression: try expression("$source.text"))
        ],
        relationshipMappings: [
          PropertyMapping(
            name: "author",
            valueExpression: try expression(
              #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "PersonToPerson", $source.author)"#
            ))
        ], sourceExpression: try all("Letter")),
      EntityMapping(
        name: "PersonToPerson", kind: .custom, sourceEntityName: "Person",
        destinationEntityName: "Person",
        attributeMappings: [
          PropertyMapping(name: "age", valueExpression: try expression("$source.age")),
          PropertyMapping(name: "first", valueExpression: try first.map { try expression($0) }),
        ],
        relationshipMappings: [
          PropertyMapping(
            name: "letters",
            valueExpression: try expression(
              #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "LetterToLetter", $source.letters)"#
            ))
        ], sourceExpression: try all("Person", predicate), migrationPolicyClassName: policy),
    ])
  }

  private static let rows = """
    INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE) VALUES
    (2, 2, 1, 'Ada Byron', 36), (4, 2, 1, 'Anne Byron', 76), (7, 2, 1, 'Karl Ritter', 80);
    INSERT INTO ZLETTER (Z_PK, Z_ENT, Z_OPT, ZTEXT, ZAUTHOR) VALUES
    (1, 1, 1, 'to Babbage', 2), (2, 1, 1, 'to Ada', 4), (3, 1, 1, 'nobody', NULL);
    UPDATE Z_PRIMARYKEY SET Z_MAX = 9 WHERE Z_NAME = 'Person';
    """

  private static func migrate(
    _ mapping: MappingModel, from old: ManagedObjectModel = PolicyTests.old,
    to new: ManagedObjectModel = PolicyTests.new, _ sql: String = PolicyTests.rows,
    isDamaged: Bool = false, in folder: TemporaryFolder,
    _ register: (inout Migration) -> Void
  ) throws -> (MigrationReport, SQLiteConnection) {
    let url = folder.url.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: old)
    let database = try SQLiteConnection(url)
    try database.exec(sql)
    database.close()
    var migration = Migration()
    register(&migration)
    let output = folder.url.appendingPathComponent("New.sqlite")
    let step = MigrationStep(
      from: old, named: "old", to: new, named: "new", mapping: mapping, isInferred: false)
    let report = try migration.run(
      isDamaged
        ? .damaged(try .init(path: url.path), deleted: false)
        : .sound(try CoreDataStore(path: url.path)), [step], to: output.path)
    let connection = try SQLiteConnection(output)
    #expect(try connection.integrityCheck() == ["ok"])
    return (report, connection)
  }

  // MARK: - Creating

  /// The parts of a name.
  private static func parts(_ source: ManagedObject) throws -> [PropertyValue] {
    guard case .string(let name) = try source.value(forKey: "name") else { return [] }
    return name.string.split(separator: " ").map { .string(StoredText(String($0))) }
  }

  /// Sets what the mapping model does not say, on the object that it makes.
  private final class Completing: MigrationPolicy {
    var families: [PropertyValue: ManagedObject] = [:]

    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      guard let person = try manager.createDestinationInstance(for: source, in: mapping) else {
        return
      }
      let parts = try PolicyTests.parts(source)
      try person.setValue(parts[0], forKey: "first")
      try person.setValue(parts[1], forKey: "last")
      if families[parts[1]] == nil {
        let family = try manager.destination.insertObject(ofEntity: "Family")
        try family.setValue(parts[1], forKey: "name")
        families[parts[1]] = family
      }
      try families[parts[1]]?.addObject(person, forKey: "members")
    }
  }

  @Test(arguments: [false, true]) func aPolicyCompletesObjects(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(Self.mapping(), isDamaged: isDamaged, in: folder) {
      $0.register("PersonPolicy") { Completing() }
    }
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZFIRST, ZLAST, ZAGE, ZFAMILY FROM ZPERSON ORDER BY 1")
        == "2 Ada Byron 36 1, 4 Anne Byron 76 1, 7 Karl Ritter 80 2")
    #expect(try new.text("SELECT Z_PK, ZNAME FROM ZFAMILY ORDER BY 1") == "1 Byron, 2 Ritter")
    #expect(try new.text("SELECT Z_PK, ZAUTHOR FROM ZLETTER ORDER BY 1") == "1 2, 2 4, 3 -")
    #expect(
      try new.text("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY ORDER BY 1")
        == "Family 2, Letter 3, Person 9")
    #expect(report.isLossless)
    #expect(report.writtenCount == 6)
  }

  /// A relationship that a function of the policy computes is left to the policy, and the report says so.
  @Test func aRelationshipIsLeftToThePolicy() throws {
    let folder = try TemporaryFolder()
    var mapping = try Self.mapping()
    mapping.entityMappings[1].relationshipMappings.append(
      PropertyMapping(
        name: "family",
        valueExpression: try ModelExpression(
          parsing: #"FUNCTION($entityPolicy, "familyOf:", $source)"#)))
    let (report, new) = try Self.migrate(mapping, in: folder) {
      $0.register("PersonPolicy") { Completing() }
    }
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK, ZFAMILY FROM ZPERSON ORDER BY 1") == "2 1, 4 1, 7 2")
    #expect(report.steps.last?.notes.contains { $0.hasPrefix("PersonToPerson.family") } == true)
  }

  /// Makes all objects itself; one old object becomes two or none.
  private final class Replacing: MigrationPolicy {
    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      let parts = try PolicyTests.parts(source)
      guard parts[0] != .string(StoredText("Karl")) else { return }
      for (turn, part) in parts.enumerated() {
        let person = try manager.destination.insertObject(ofEntity: "Person")
        try person.setValue(part, forKey: "first")
        if turn == 0 { try person.setValue(source.value(forKey: "age"), forKey: "age") }
        try manager.associate(source, withDestination: person, in: mapping)
      }
      // Both directions of an association.
      let made = try manager.destinationInstances(
        forEntityMappingNamed: mapping.name, sourceInstances: [source])
      #expect(made.count == 2)
      #expect(
        try manager.sourceInstances(
          forEntityMappingNamed: mapping.name, destinationInstances: made
        ).allSatisfy { $0 === source })
    }
  }

  /// What other mappings relate leads to the first object that a policy made in place of the mapping's own.
  @Test(arguments: [false, true]) func aPolicyMakesItsOwnObjects(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(Self.mapping(), isDamaged: isDamaged, in: folder) {
      $0.register("App.PersonPolicy") { Replacing() }
    }
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZFIRST, ZAGE FROM ZPERSON ORDER BY 1")
        == "10 Ada 36, 11 Byron -, 12 Anne 76, 13 Byron -")
    #expect(
      try new.text("SELECT Z_PK, ZAUTHOR FROM ZLETTER ORDER BY 1") == "1 10, 2 12, 3 -")
    let people = try #require(report.steps.last?.entities.first { $0.name == "Person" })
    #expect(people.writtenCount == 2)
    #expect(people.passedOverCount == 1)
    #expect(report.cutCount == 0)
  }

  // MARK: - Hooks

  /// Writes down each call.
  private final class Recording: MigrationPolicy {
    let calls: Calls
    init(_ calls: Calls) { self.calls = calls }

    func begin(_ mapping: PolicyMapping, with manager: MigrationManager) throws {
      calls.list.append("begin \(mapping.sourceEntityName) \(mapping.destinationEntityName)")
      manager.userInfo["count"] = 0
    }
    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      let letters = try source.objects(forKey: "letters").count
      calls.list.append("create \(source.reference?.primaryKey ?? 0) \(letters)")
      try manager.createDestinationInstance(for: source, in: mapping)?
        .setValue(.string(StoredText("x")), forKey: "first")
      manager.userInfo["count"] = (manager.userInfo["count"] as? Int ?? 0) + 1
    }
    func endInstanceCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws {
      calls.list.append("endInstances \(manager.userInfo["count"] as? Int ?? 0)")
    }
    func createRelationships(
      for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      // What the expressions relate is there.
      let letters = try destination.objects(forKey: "letters").count
      // A person was made from no letter, whatever its key is.
      #expect(
        try manager.sourceInstances(
          forEntityMappingNamed: "LetterToLetter", destinationInstances: [destination]
        ).isEmpty)
      calls.list.append("relate \(destination.reference?.primaryKey ?? 0) \(letters)")
    }
    func endRelationshipCreation(_ mapping: PolicyMapping, with manager: MigrationManager) throws {
      calls.list.append("endRelationships")
    }
    func performCustomValidation(_ mapping: PolicyMapping, with manager: MigrationManager) throws {
      calls.list.append("validate")
    }
    func end(_ mapping: PolicyMapping, with manager: MigrationManager) throws {
      calls.list.append("end")
      if calls.fails {
        throw FixtureError("the app says no")
      }
    }
  }

  private final class Calls: @unchecked Sendable {
    var list: [String] = []
    var fails = false
  }

  @Test func hooksRunInApplesOrder() throws {
    let folder = try TemporaryFolder()
    let calls = Calls()
    let (_, new) = try Self.migrate(Self.mapping(), in: folder) {
      $0.register("PersonPolicy") { Recording(calls) }
    }
    new.close()
    #expect(
      calls.list == [
        "begin Person Person", "create 2 1", "create 4 1", "create 7 0", "endInstances 3",
        "relate 2 1", "relate 4 1", "relate 7 0", "endRelationships", "validate", "end",
      ])
  }

  /// A relationship that was kept in a table of its own is there, too, before the policy relates and validates.
  @Test func referencesThatWaitComeBeforeHooks() throws {
    let folder = try TemporaryFolder()
    var old = Self.old
    old.entities["Letter"]?.relationships = [
      relationship("author", to: "Person", "letters", isToMany: true)
    ]
    let calls = Calls()
    let (_, new) = try Self.migrate(
      Self.mapping(), from: old,
      """
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (2, 2, 1, 'Ada'), (4, 2, 1, 'Anne');
      INSERT INTO ZLETTER (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1);
      INSERT INTO Z_1AUTHOR (Z_1LETTERS, Z_2AUTHOR) VALUES (1, 2), (2, 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9;
      """, in: folder
    ) { $0.register("PersonPolicy") { Recording(calls) } }
    defer { new.close() }
    #expect(calls.list.filter { $0.hasPrefix("relate") } == ["relate 2 2", "relate 4 0"])
    #expect(try new.text("SELECT Z_PK, ZAUTHOR FROM ZLETTER ORDER BY 1") == "1 2, 2 2")
  }

  /// Turns the order of letters around.
  private final class Reversing: MigrationPolicy {
    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      try manager.createDestinationInstance(for: source, in: mapping)?
        .setValue(source.value(forKey: "name"), forKey: "first")
    }
    func createRelationships(
      for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      let letters = try destination.objects(forKey: "letters")
      for letter in letters { try destination.removeObject(letter, forKey: "letters") }
      for letter in letters.reversed() { try destination.addObject(letter, forKey: "letters") }
    }
  }

  /// The order that a policy gives to a relationship without one stays.
  @Test func theOrderOfAPolicyStays() throws {
    let folder = try TemporaryFolder()
    var ordered = Self.new
    ordered.entities["Person"]?.relationships[1].isOrdered = true
    let (_, new) = try Self.migrate(
      Self.mapping(), to: ordered, Self.rows + "UPDATE ZLETTER SET ZAUTHOR = 2;", in: folder
    ) { $0.register("PersonPolicy") { Reversing() } }
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK FROM ZLETTER WHERE ZAUTHOR = 2 ORDER BY Z_FOK_AUTHOR")
        == "3, 2, 1")
  }

  /// Makes a person and three families of each old person.
  private final class Multiplying: MigrationPolicy {
    let calls: Calls
    init(_ calls: Calls) { self.calls = calls }

    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      for entity in ["Person", "Family", "Family", "Family"] {
        let object = try manager.destination.insertObject(ofEntity: entity)
        if entity == "Person" { try object.setValue(.string(StoredText("x")), forKey: "first") }
        try manager.associate(source, withDestination: object, in: mapping)
      }
    }
    func createRelationships(
      for destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      calls.list.append("\(destination.entityName) \(destination.reference?.primaryKey ?? 0)")
    }
  }

  /// Each new object is related once, although objects of two tables have the same keys.
  @Test func manyObjectsOfTwoTables() throws {
    let folder = try TemporaryFolder()
    let calls = Calls()
    let (_, new) = try Self.migrate(
      Self.mapping(),
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT i, 2, 1, 'Ada' FROM n;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 601 WHERE Z_NAME = 'Person';
      """, in: folder
    ) { $0.register("PersonPolicy") { Multiplying(calls) } }
    defer { new.close() }
    #expect(calls.list.count == 2_400)
    #expect(Set(calls.list).count == 2_400)
  }

  /// A mapping's own choice of objects holds for its policy, too.
  @Test func aPolicyGetsTheObjectsOfItsMapping() throws {
    let folder = try TemporaryFolder()
    let calls = Calls()
    let (report, new) = try Self.migrate(Self.mapping(predicate: "age > 40"), in: folder) {
      $0.register("PersonPolicy") { Recording(calls) }
    }
    defer { new.close() }
    #expect(calls.list.filter { $0.hasPrefix("create") } == ["create 4 1", "create 7 0"])
    // The letter of someone who was not taken lost its author.
    #expect(try new.text("SELECT ZAUTHOR FROM ZLETTER ORDER BY Z_PK") == "-, 4, -")
    #expect(report.cutCount == 1)
    #expect(report.steps.last?.entities.first { $0.name == "Person" }?.passedOverCount == 1)
  }

  /// An error of the app's code ends the migration, and nothing is left.
  @Test func anErrorLeavesNothing() throws {
    let folder = try TemporaryFolder()
    let calls = Calls()
    calls.fails = true
    #expect(throws: FixtureError.self) {
      _ = try Self.migrate(Self.mapping(), in: folder) {
        $0.register("PersonPolicy") { Recording(calls) }
      }
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Old.sqlite"])
  }

  // MARK: - Values

  private final class Functions: MigrationPolicy {
    func value(
      ofFunction selector: String, _ arguments: [PropertyValue], from source: ManagedObject,
      to destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws -> PropertyValue {
      #expect(selector == "part:of:")
      guard case .integer(let place)? = arguments.first, arguments.count == 2,
        case .string(let name) = arguments[1]
      else { return .null }
      return .string(StoredText(String(name.string.split(separator: " ")[Int(place)])))
    }
  }

  /// A function of the policy gives the value of an expression.
  @Test func functionsOfThePolicy() throws {
    let folder = try TemporaryFolder()
    let (_, new) = try Self.migrate(
      Self.mapping(first: #"FUNCTION($entityPolicy, "part:of:", 1, $source.name)"#), in: folder
    ) { $0.register("PersonPolicy") { Functions() } }
    defer { new.close() }
    #expect(
      try new.text("SELECT ZFIRST FROM ZPERSON ORDER BY Z_PK") == "Byron, Byron, Ritter")
  }

  private final class Asking: MigrationPolicy {
    func value(
      ofFunction selector: String, _ arguments: [PropertyValue], from source: ManagedObject,
      to destination: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws -> PropertyValue {
      let name = try source.value(forKey: "name")
      #expect(
        arguments == [
          .real(0.5), .date(ReferenceDate(seconds: 86_400)),
          .uuid(Array(repeating: 0x11, count: 16)), .binary([7]),
          .string(StoredText("x-test://a")), name,
        ])
      return .string(StoredText("asked"))
    }
  }

  /// A function gets constants of all types, each at its place.
  @Test func constantsAsArguments() throws {
    let folder = try TemporaryFolder()
    var mapping = try Self.mapping()
    mapping.entityMappings[1].attributeMappings[1].valueExpression = .function(
      target: .variable("entityPolicy"), selector: "of:",
      arguments: [
        .variable("source"), .constant(.decimal("0.5")), .constant(.date(86_400)),
        .constant(.uuid("11111111-1111-1111-1111-111111111111")), .constant(.data([7])),
        .constant(.url("x-test://a")), .keyPath("name", of: .variable("source")),
      ])
    let (_, new) = try Self.migrate(mapping, in: folder) {
      $0.register("PersonPolicy") { Asking() }
    }
    defer { new.close() }
    #expect(
      try new.text("SELECT ZFIRST FROM ZPERSON ORDER BY Z_PK") == "asked, asked, asked")
  }

  /// Makes its own objects, with the old pictures.
  private final class Picturing: MigrationPolicy {
    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      let person = try manager.destination.insertObject(ofEntity: "Person")
      try person.setValue(source.value(forKey: "name"), forKey: "first")
      try person.setValue(source.value(forKey: "picture"), forKey: "picture")
      try manager.associate(source, withDestination: person, in: mapping)
    }
  }

  /// The external file of a value that a policy sets is in the new store.
  @Test func aPolicySetsAnExternalValue() throws {
    let folder = try TemporaryFolder()
    let name = "11111111-2222-4333-8444-555555555555"
    let files = folder.url.appendingPathComponent(".Old_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try Data("picture".utf8).write(to: files.appendingPathComponent(name))
    let picture = Attribute(
      name: "picture", type: .binary, isOptional: true, allowsExternalBinaryDataStorage: true)
    var (old, changed) = (Self.old, Self.new)
    old.entities["Person"]?.attributes.append(picture)
    changed.entities["Person"]?.attributes.append(picture)
    let (report, new) = try Self.migrate(
      Self.mapping(), from: old, to: changed,
      Self.rows
        + "UPDATE ZPERSON SET ZPICTURE = CAST(x'02' || '\(name)' || x'00' AS BLOB) WHERE Z_PK = 2;",
      in: folder
    ) { $0.register("PersonPolicy") { Picturing() } }
    defer { new.close() }
    #expect(try new.text("SELECT length(ZPICTURE) FROM ZPERSON WHERE ZFIRST LIKE 'Ada%'") == "38")
    let copy = folder.url.appendingPathComponent(".New_SUPPORT/_EXTERNAL_DATA/" + name)
    #expect(try String(contentsOf: copy, encoding: .utf8) == "picture")
    #expect(report.damageCount == 0)
  }

  /// A person who breaks a rule of the new model is rejected, and not passed over as well.
  @Test func aRejectedRowCountsOnce() throws {
    let folder = try TemporaryFolder()
    var unique = Self.new
    unique.entities["Person"]?.uniquenessConstraints = [["age"]]
    let (report, new) = try Self.migrate(
      Self.mapping(), to: unique, Self.rows + "UPDATE ZPERSON SET ZAGE = 36;", in: folder
    ) { $0.register("PersonPolicy") { Completing() } }
    defer { new.close() }
    #expect(try new.text("SELECT Z_PK FROM ZPERSON") == "2")
    let people = try #require(report.steps.last?.entities.first { $0.name == "Person" })
    #expect(people.readCount == 3)
    #expect(people.writtenCount == 1)
    #expect(people.rejectedCount == 2)
    #expect(people.passedOverCount == 0)
  }

  private final class Forgetting: MigrationPolicy {}

  /// An object without a demanded value is in the file of rejects, and nothing leads to it.
  @Test func whatThePolicyForgets() throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.migrate(Self.mapping(), in: folder) {
      $0.register("PersonPolicy") { Forgetting() }
    }
    defer { new.close() }
    #expect(try new.text("SELECT count(*) FROM ZPERSON") == "0")
    #expect(try new.text("SELECT ZAUTHOR FROM ZLETTER") == "-, -, -")
    #expect(report.rejectedCount == 3)
    #expect(report.cutCount == 2)
    #expect(!report.isLossless)
    let rejects = try String(contentsOfFile: #require(report.rejects), encoding: .utf8)
    #expect(rejects.split(separator: "\n").count == 3)
    #expect(
      rejects.contains("the new model requires a value for ZFIRST, but the app's code gave none"))
  }

  /// Makes a person of a letter.
  private final class Confusing: MigrationPolicy {
    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      for letter in try source.objects(forKey: "letters") {
        try manager.createDestinationInstance(for: letter, in: mapping)
      }
    }
  }

  /// An object of another entity is refused: the person with its key is another object.
  @Test func anObjectOfAnotherEntityIsRefused() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Self.migrate(Self.mapping(first: "\"x\""), in: folder) {
        $0.register("PersonPolicy") { Confusing() }
      }
    }
    #expect(error?.code == .mappingMismatch)
  }

  /// A class of another module is not taken for the one of that name.
  @Test func theModuleCounts() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Self.migrate(Self.mapping(policy: "One.PersonPolicy"), in: folder) {
        $0.register("Other.PersonPolicy") { Completing() }
      }
    }
    #expect(error?.code == .missingPolicy)
  }
}
