import CoreDataStore
import Fixtures
import Foundation
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreFiles
import StoreMigration
import Testing

/// Staged migrations, with the app's code before and after a step, against what SQL finds in the new store.
@Suite struct StagedMigrationTests {
  /// Four versions of a person: with a name; with a unique mail; with a first and a last name beside the name; without
  /// the name.
  private static func models(in folder: TemporaryFolder) throws -> String {
    let bundle = folder.url.appendingPathComponent("People.xcdatamodeld")
    func attribute(_ name: String) -> String {
      "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\"/>"
    }
    let pet =
      "<entity name=\"Pet\" syncable=\"YES\">\(attribute("name"))<relationship name=\"owner\" optional=\"YES\" maxCount=\"1\" deletionRule=\"Nullify\" destinationEntity=\"Person\" inverseName=\"pets\" inverseEntity=\"Person\"/></entity>"
    let pets =
      "<relationship name=\"pets\" optional=\"YES\" toMany=\"YES\" deletionRule=\"Cascade\" destinationEntity=\"Pet\" inverseName=\"owner\" inverseEntity=\"Pet\"/>"
    let unique =
      "<uniquenessConstraints><uniquenessConstraint><constraint value=\"mail\"/></uniquenessConstraint></uniquenessConstraints>"
    for (name, attributes, more) in [
      ("V1", ["mail", "name"], ""), ("V2", ["mail", "name"], unique),
      ("V3", ["first", "last", "mail", "name"], unique), ("V4", ["first", "last", "mail"], unique),
      ("V5", ["mail"], "<attribute name=\"name\" attributeType=\"String\"/>"),
    ] {
      let version = bundle.appendingPathComponent("\(name).xcdatamodel")
      try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
      try Data(
        "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\" userDefinedModelVersionIdentifier=\"\(name)\"><entity name=\"Person\" syncable=\"YES\">\(attributes.map(attribute).joined())\(pets)\(more)</entity>\(pet)</model>"
          .utf8
      ).write(to: version.appendingPathComponent("contents"))
    }
    return bundle.path
  }

  private static func store(_ models: String, _ version: String, in folder: TemporaryFolder) throws
    -> String
  {
    let model = try #require(
      try ModelCollection(searching: models).versions.first { $0.name == version }?.model)
    let url = folder.url.appendingPathComponent("Old.sqlite")
    try FreshStore.create(at: url.path, for: model)
    let database = try SQLiteConnection(url)
    try database.exec(
      """
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZMAIL, ZNAME) VALUES
      (1, 1, 1, 'ada@x', 'Ada Byron'), (2, 1, 1, 'ada@x', 'Ada Twice'), (3, 1, 1, 'karl@x', 'Karl Ritter');
      INSERT INTO ZPET (Z_PK, Z_ENT, Z_OPT, ZNAME, ZOWNER) VALUES (1, 2, 1, 'cat', 1), (2, 2, 1, 'dog', 2), (3, 2, 1, 'fish', 3);
      """)
    database.close()
    return url.path
  }

  private static func text(_ path: String, _ sql: String) throws -> String {
    let database = try SQLiteConnection(URL(fileURLWithPath: path))
    defer { database.close() }
    #expect(try database.integrityCheck() == ["ok"])
    return try database.text(sql)
  }

  /// Deletes all but the first person with a mail.
  private static let withoutDoubles: MigrationStage.Handler = { objects in
    var met: Set<PropertyValue> = []
    try objects.forEachObject(ofEntity: "Person") { person in
      if !met.insert(try person.value(forKey: "mail")).inserted { try objects.delete(person) }
    }
  }

  /// Splits the name.
  private static let splitNames: MigrationStage.Handler = { objects in
    try objects.forEachObject(ofEntity: "Person") { person in
      guard case .string(let name) = try person.value(forKey: "name") else { return }
      let parts = name.string.split(separator: " ").map { StoredText(String($0)) }
      try person.setValue(.string(parts[0]), forKey: "first")
      try person.setValue(.string(parts[1]), forKey: "last")
    }
  }

  @Test(arguments: [false, true]) func customStagesAmongLightweightOnes(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let models = try Self.models(in: folder)
    let store = try Self.store(models, "V1", in: folder)
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(
      storeAt: store,
      stages: [
        .lightweight(["V1"]),
        .custom(from: "V1", to: "V2", willMigrate: Self.withoutDoubles),
        .custom(from: "V2", to: "V3", didMigrate: Self.splitNames),
        .lightweight(["V4"]),
      ], modelsAt: models, output: output, salvages: isDamaged)
    #expect(
      try Self.text(output, "SELECT Z_PK, ZMAIL, ZFIRST, ZLAST FROM ZPERSON ORDER BY 1")
        == "1 ada@x Ada Byron, 3 karl@x Karl Ritter")
    // The dog went with its owner, as the delete rule says.
    #expect(try Self.text(output, "SELECT ZNAME, ZOWNER FROM ZPET ORDER BY 1") == "cat 1, fish 3")
    #expect(report.steps.map { "\($0.from) \($0.to)" } == ["V1 V1", "V1 V2", "V2 V3", "V3 V4"])
    #expect(report.isLossless)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
  }

  /// Without the app's code the double is in the file of rejects.
  @Test func lightweightStagesAreOneStep() throws {
    let folder = try TemporaryFolder()
    let models = try Self.models(in: folder)
    let store = try Self.store(models, "V1", in: folder)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(
      storeAt: store, stages: [.lightweight(["V1", "V2", "V3"]), .lightweight(["V4"])],
      modelsAt: models, output: output)
    #expect(report.steps.map { "\($0.from) \($0.to)" } == ["V1 V4"])
    #expect(report.rejectedCount == 1)
    #expect(
      try Self.text(output, "SELECT ZNAME, ZOWNER FROM ZPET ORDER BY 1") == "cat 1, dog -, fish 3")
  }

  /// An object from which the app's code takes a required value is rejected, and counted so.
  @Test func aRequiredValueIsTaken() throws {
    let folder = try TemporaryFolder()
    let models = try Self.models(in: folder)
    let store = try Self.store(models, "V1", in: folder)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(
      storeAt: store,
      stages: [
        .custom(
          from: "V1", to: "V5",
          didMigrate: { objects in
            try objects.forEachObject(ofEntity: "Person") { person in
              guard person.reference?.primaryKey == 1 else { return }
              try person.setValue(.null, forKey: "name")
            }
          })
      ], modelsAt: models, output: output)
    #expect(try Self.text(output, "SELECT Z_PK FROM ZPERSON ORDER BY 1") == "2, 3")
    #expect(report.rejectedCount == 1)
    #expect(report.writtenCount == 5)
  }

  /// A store of a later version begins at its own stage; versions may be named by their checksums.
  @Test func aLaterStoreBeginsLater() throws {
    let folder = try TemporaryFolder()
    let models = try Self.models(in: folder)
    let store = try Self.store(models, "V1", in: folder)
    let checksums = try ["V1", "V3"].map { name in
      try #require(
        try ModelCollection(searching: models).versions.first { $0.name == name }?.model?
          .versionHashes().checksum)
    }
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let report = try Migration().run(
      storeAt: store,
      stages: [
        .lightweight(["V2"]), .lightweight([checksums[0]]),
        .custom(from: checksums[0], to: checksums[1], didMigrate: Self.splitNames),
      ], modelsAt: models, output: output)
    #expect(report.steps.count == 1)
    #expect(report.steps.first?.from == checksums[0])
    #expect(try Self.text(output, "SELECT ZLAST FROM ZPERSON ORDER BY Z_PK") == "Byron, Ritter")
  }

  @Test func whatIsNoPlan() throws {
    let folder = try TemporaryFolder()
    let models = try Self.models(in: folder)
    let store = try Self.store(models, "V1", in: folder)
    let before = Set(treeState(of: folder.url).keys)
    for stages: [MigrationStage] in [
      [.lightweight(["V1", "V2", "V1"])], [.lightweight(["V1", "V2"]), .lightweight(["V1"])],
      [.lightweight(["V2", "V3"])], [.lightweight(["V1", "V9"])], [],
    ] {
      let error = #expect(throws: MigrationError.self) {
        _ = try Migration().run(
          storeAt: store, stages: stages, modelsAt: models,
          output: folder.url.appendingPathComponent("New.sqlite").path)
      }
      #expect(error?.code == .noWay)
    }
    // An error of the app's code leaves nothing, too.
    #expect(throws: FixtureError.self) {
      _ = try Migration().run(
        storeAt: store,
        stages: [.custom(from: "V1", to: "V3", didMigrate: { _ in throw FixtureError("no") })],
        modelsAt: models, output: folder.url.appendingPathComponent("New.sqlite").path)
    }
    #expect(Set(treeState(of: folder.url).keys) == before)
  }
}
