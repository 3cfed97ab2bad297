import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreFiles
import StoreRecovery
import Testing

@testable import SupportBundle

/// Each rule of the redactor, turned off: the entry is what it would be without the rule, and the scan refuses the archive.
@Suite struct RedactorRulesTests {
  private static let folderName = "The Ottoline Papers"

  /// A store with something for each rule.
  private static func store(in place: URL) throws -> CoreDataStore {
    let folder = place.appendingPathComponent(folderName)
    let external = folder.appendingPathComponent(".Ottoline diary_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: external, withIntermediateDirectories: true)
    try Data("x".utf8).write(to: external.appendingPathComponent("wedding picture.jpg"))
    let url = folder.appendingPathComponent("Ottoline diary.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_MODELCACHE(Z_CONTENT BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR, ZBORN TIMESTAMP);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 2), (2, 'Entity of Ottoline', 0, 0);
      INSERT INTO ZNOTE VALUES(1, 1, 1, 'zanzibar lantern', 700000000.25), (2, 1, 1, 'quarzite', 700000001.5);
      CREATE TABLE "letters to Ottoline"("first kiss" TEXT DEFAULT 'purple heather' /* heather beneath the comment */);
      CREATE TRIGGER fires AFTER DELETE ON ZNOTE BEGIN UPDATE ZNOTE SET ZTITLE = 'trigger heather'; END;
      """)
    let attribute = Attribute(
      name: "title", type: .string, defaultValue: .string("default heather"),
      userInfo: ["k": .string("user info heather")])
    let model = ManagedObjectModel(entities: [
      Entity(
        name: "Note", attributes: [attribute, Attribute(name: "born", type: .date)],
        relationships: [])
    ])
    try connection.insert(
      "INSERT INTO Z_MODELCACHE VALUES(?)",
      [[.blob(try ModelCache.deflate(model.archive(form: .modelCache).bytes))]])
    let hashes = model.versionHashes().hashes.mapValues { Data($0.bytes) }
    let list = try PropertyListSerialization.data(
      fromPropertyList: [
        "NSStoreType": "SQLite", "app.token": ["deep": "metadata heather"],
        "NSStoreModelVersionIdentifiers": ["version of Ottoline"],
        "NSStoreModelVersionHashes": hashes,
        "NSPersistenceFrameworkVersion": 1344, "NSStoreModelVersionHashesVersion": 3,
      ], format: .binary, options: 0)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES(1, 'the uuid of Ottoline', ?)", [[.blob([UInt8](list))]])
    connection.close()
    return try CoreDataStore(path: url.path)
  }

  /// What an entry would be without a rule.
  enum Rule: String, CaseIterable {
    case rowsAreTokens, datesAreShifted, literalsAreLeftOut, commentsAreLeftOut
    case namesOfTheSchema, namesOfEntities, namesOfVersions, identifierOfTheStore
    case nameOfTheFile, namesOfExternalFiles, foldersAreLeftOut
    case valuesOfMetadata, defaultValues, userInfo, messagesOfFindings
    case addressesOfPersons
  }

  /// The name of an entry and its bytes with the rule turned off.
  private static func entry(
    without rule: Rule, _ store: CoreDataStore
  ) throws -> (name: String, bytes: [UInt8]) {
    func json(_ value: some Encodable) throws -> [UInt8] {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return [UInt8](try encoder.encode(value))
    }
    func sql(_ names: String...) -> [UInt8] {
      let entries = store.database.schema.entries.filter { names.contains($0.name) }
      return Array(entries.map { ($0.sql ?? "") + ";\n" }.joined().utf8)
    }
    let inspection = try StoreInspection(path: store.database.path)
    func model(_ attribute: Attribute) -> [UInt8] {
      ManagedObjectModel(entities: [
        Entity(name: "Note", attributes: [attribute], relationships: [])
      ]).contentsXML().bytes
    }
    switch rule {
    case .rowsAreTokens:
      return (
        StoreBundle.rowsName,
        Array(#"{"entity":"Note","pk":1,"values":{"title":"zanzibar lantern"}}"#.utf8) + [0x0a]
      )
    case .datesAreShifted:
      let date = ReferenceDate(seconds: 700_000_000.25).iso8601 ?? ""
      return (
        StoreBundle.rowsName,
        Array(#"{"entity":"Note","pk":1,"values":{"born":{"date":"\#(date)"}}}"#.utf8) + [0x0a]
      )
    case .literalsAreLeftOut: return ("schema.sql", sql("fires"))
    case .commentsAreLeftOut:
      return ("schema.sql", Array("CREATE TABLE t(a) /* heather beneath the comment */;\n".utf8))
    case .namesOfTheSchema:
      return ("counts.json", try json(inspection.tables))
    case .namesOfEntities:
      return ("counts.json", try json(inspection.entities))
    case .namesOfVersions:
      return ("metadata.json", try json(["i": inspection.metadata?.versionIdentifiers ?? []]))
    case .identifierOfTheStore:
      return ("metadata.json", try json(["uuid": inspection.metadata?.uuid]))
    case .nameOfTheFile:
      return ("inspection.json", try json(["name": PathName.last(inspection.path)]))
    case .namesOfExternalFiles:
      return (
        "inspection.json", try json(inspection.members.map(\.name).filter { $0.contains("/") })
      )
    case .foldersAreLeftOut:
      return ("inspection.json", try json(["path": PathName.folder(inspection.path)]))
    case .valuesOfMetadata:
      return ("metadata.json", try json(["app.token": ["deep": "metadata heather"]]))
    case .defaultValues:
      return (
        "model.xcdatamodel/contents",
        model(Attribute(name: "title", type: .string, defaultValue: .string("default heather")))
      )
    case .userInfo:
      return (
        "model.xcdatamodel/contents",
        model(
          Attribute(name: "title", type: .string, userInfo: ["k": .string("user info heather")]))
      )
    case .messagesOfFindings:
      return (
        "findings.ndjson", try json(["message": "the value \"zanzibar lantern\" is no number"])
      )
    case .addressesOfPersons:
      return ("incident.txt", Array("ask ottoline@quarzite.example".utf8))
    }
  }

  private enum PathName {
    static func last(_ path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }
    static func folder(_ path: String) -> String {
      URL(fileURLWithPath: path).deletingLastPathComponent().path
    }
  }

  @Test(arguments: Rule.allCases) func withoutARuleTheArchiveIsRefused(_ rule: Rule) throws {
    let space = try Workspace()
    let store = try Self.store(in: space.folder)
    let (name, bytes) = try Self.entry(without: rule, store)
    let bundle = try Sample.plan([(name, bytes)]).measured().packed(for: space.path("b.zip"))
    let scan = ResidueScan(store, .rows, .values(except: .nothing))
    let error = #expect(throws: BundleError.self, "\(String(decoding: bytes, as: UTF8.self))") {
      try scan.check(bundle)
    }
    #expect(error?.code == .residue && error?.entry == name)
  }

  /// The row id of a table beside the model may be a value of the user, such as a telephone number.
  @Test func rowIDsOfOtherTablesAreLeftOut() throws {
    let space = try Workspace()
    let path = try Self.store(in: space.folder).database.path
    let connection = try SQLiteConnection(path)
    try connection.exec(
      """
      CREATE TABLE contact(phone INTEGER PRIMARY KEY, name TEXT);
      INSERT INTO contact VALUES(491701234567, NULL);
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE TABLE contact(phone INTEGER PRIMARY KEY, name TEXT NOT NULL)'
        WHERE name = 'contact';
      """)
    connection.close()
    let receipt = try BundleRequest(.structure).make(of: path, nil, to: space.path("b.zip"))
    #expect(receipt.findings.contains { $0.message.contains("row 491701234567") })
    let reader = try ZipReader(path: space.path("b.zip"))
    for entry in reader.entries {
      let text = String(decoding: try reader.bytes(of: entry, limit: 1 << 20), as: UTF8.self)
      #expect(!text.contains("491701234567"), "\(entry.name)")
    }
  }

  /// With all of them, the same store goes into a bundle.
  @Test(arguments: [BundleManifest.Contents.structure, .rows, .store])
  func withAllRulesThereIsABundle(_ contents: BundleManifest.Contents) throws {
    let space = try Workspace()
    let store = try Self.store(in: space.folder)
    let receipt = try BundleRequest(contents).make(
      of: store.database.path, nil, to: space.path("b.zip"))
    #expect(receipt.manifest.entries.count > 5)
    #expect(try BundleVerification.verify(path: space.path("b.zip")).outcome == .intact)
  }
}
