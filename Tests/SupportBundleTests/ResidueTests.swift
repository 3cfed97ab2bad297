import AgeFiles
import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import Testing

@testable import SupportBundle

/// What a finished bundle must not hold.
@Suite struct ResidueTests {
  /// A store whose texts are secrets in many places.
  private static func store(in folder: URL) throws -> CoreDataStore {
    let url = folder.appendingPathComponent("secrets.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR DEFAULT 'schema sëcret');
      CREATE TRIGGER kept AFTER DELETE ON ZNOTE BEGIN UPDATE ZNOTE SET ZTITLE = 'zqna''s gem'; END;
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 6);
      INSERT INTO ZNOTE VALUES(1, 1, 1, 'zanzibar'), (2, 1, 1, 'Müller''s "Plan" & <more>'),
        (3, 1, 1, 'the store key'), (4, 1, 1, '48151623'), (5, 1, 1, 'ZTITLE'),
        (6, 1, 1, 'a long text of which only the first words are compared, which is enough to know it');
      """)
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["NSStoreType": "SQLite", "app.token": ["deep": "mëtadata-secret"]],
      format: .binary, options: 0)
    try connection.insert(
      "INSERT INTO Z_METADATA VALUES(1, 'A6E3F0D1-5B0C-4E0A-9C6B-7D1E2F3A4B5C', ?)",
      [[.blob([UInt8](list))]])
    connection.close()
    return try CoreDataStore(path: url.path)
  }

  private static func packed(
    _ bytes: [UInt8], _ space: Workspace, named name: String = "findings.ndjson"
  ) throws -> PackedBundle {
    try Sample.plan([(name, bytes)]).measured().packed(for: space.path(UUID().uuidString))
  }

  /// The secret as it can stand in a file.
  private static func forms(_ secret: String) -> [String: [UInt8]] {
    let bytes = Array(secret.utf8)
    let json = secret.utf16.map { String(format: "\\u%04X", $0) }.joined()
    let percent = bytes.map { String(format: "%%%02x", $0) }.joined()
    let hex = bytes.map { String(format: "%02X", $0) }.joined()
    let base64 = { (lead: String) in
      Array(Data((lead + secret + "!").utf8).base64EncodedString().utf8)
    }
    return [
      "plain": bytes, "json": Array(json.utf8), "percent": Array(percent.utf8),
      "hex": Array(hex.utf8), "hex at an odd place": Array("a\(hex)".utf8),
      "base64 at 0": base64(""), "base64 at 1": base64("="), "base64 at 2": base64("=="),
      "utf16": secret.utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] },
      "utf16 the other way": secret.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] },
    ]
  }

  @Test(arguments: [
    "zanzibar", "Müller's \"Plan\" & <more>", "schema sëcret", "mëtadata-secret",
    "a long text of which only the first words are compared",
    // A literal with a doubled quote, as SQLite reads it and as the statement has it.
    "zqna's gem", "zqna''s gem",
  ])
  func aTextOfTheStoreIsFoundInEveryForm(_ secret: String) throws {
    let space = try Workspace()
    let scan = ResidueScan(
      try Self.store(in: space.folder), .rows, .values(except: .nothing))
    for (form, bytes) in Self.forms(secret) {
      for lead in ["{\"message\":\" ", "\n"] {
        let bundle = try Self.packed(Array(lead.utf8) + bytes + Array(" \"}\n".utf8), space)
        let error = #expect(throws: BundleError.self, "\(form)") { try scan.check(bundle) }
        #expect(error?.code == .residue)
        #expect(error?.entry == "findings.ndjson")
        // The message does not hold what it is about.
        #expect(error?.message.contains(secret) == false)
      }
    }
  }

  /// A model has texts in more places than in its attributes.
  @Test func aTextOfTheModelIsFoundWhereverItIs() throws {
    let space = try Workspace()
    _ = try Self.store(in: space.folder)
    func predicate(_ text: String) -> ModelPredicate {
      .not(.and([.compare(.path("title"), .equal, .constant(.string(text)))]))
    }
    var street = Attribute(name: "street", type: .string)
    street.defaultValue = .string("zq element")
    street.userInfo = ["street": .string("zq info of an element")]
    street.validations = [
      AttributeValidation(predicate: predicate("zq validation"), warning: .string("zq warning"))
    ]
    var address = Attribute(name: "address", type: .composite)
    address.elements = [street]
    let fetched = FetchedProperty(
      name: "others",
      request: FetchRequest(entityName: "Note", predicate: predicate("zq fetched")),
      userInfo: ["others": .string("zq info of a fetched property")])
    let index = FetchIndex(
      name: "byTitle", elements: [.init(propertyName: "address")],
      partialPredicate: predicate("zq index"))
    var model = ManagedObjectModel(entities: [
      Entity(
        name: "Note", attributes: [address], fetchedProperties: [fetched], fetchIndexes: [index])
    ])
    model.fetchRequestTemplates = [
      FetchRequestTemplate(
        name: "all",
        request: FetchRequest(entityName: "Note", predicate: predicate("zq template")))
    ]
    let url = space.folder.appendingPathComponent("secrets.sqlite")
    let scan = ResidueScan(
      try CoreDataStore(path: url.path, model: model), .rows, .values(except: .nothing))
    for secret in [
      "zq element", "zq info of an element", "zq validation", "zq warning", "zq fetched",
      "zq info of a fetched property", "zq index", "zq template",
    ] {
      let bundle = try Self.packed(Array("{\"message\":\"\(secret)\"}".utf8), space)
      #expect(throws: BundleError.self, "\(secret)") { try scan.check(bundle) }
    }
    try scan.check(try Self.packed(Array("{\"message\":\"zq other\"}".utf8), space))
  }

  /// Words of our own sentences, names of the schema, numbers of JSON, and parts of other words.
  @Test func whatMayStandThereIsNotFound() throws {
    let space = try Workspace()
    let scan = ResidueScan(
      try Self.store(in: space.folder), .rows, .values(except: .nothing))
    for text in [
      "{\"message\":\"the store key is at byte 48151623 of ZTITLE\"}", "{\"bytes\":48151623}",
      "xzanzibars", "zanzibara", "{\"a\":\"ZTITLE\"}",
    ] {
      try scan.check(try Self.packed(Array(text.utf8), space))
    }
    #expect(throws: BundleError.self) {
      try scan.check(try Self.packed(Array("{\"a\":\"48151623\"}".utf8), space))
    }
  }

  /// What ordinary stores have in common with the words of a bundle.
  @Test func ordinaryStoresAreNotRefused() throws {
    let space = try Workspace()
    let url = space.folder.appendingPathComponent("Inventory.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, -- the note's id
        kind TEXT DEFAULT 'memo', "owner's" TEXT, [it's] TEXT, /* don't */ status TEXT NOT NULL DEFAULT 'opened', title TEXT);
      INSERT INTO note(title) VALUES('Inventory'), ('2026-11-26'), ('26 November 2026'), ('Inventory.sqlite'),
        ('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'), ('the version'), ('comments');
      INSERT INTO note(title) SELECT sql FROM sqlite_schema;
      """)
    connection.close()
    for contents in BundleManifest.Contents.allCases {
      let output = space.path(contents.rawValue + ".zip")
      _ = try BundleRequest(contents).make(of: url.path, nil, to: output)
      #expect(try BundleVerification.verify(path: output).outcome == .intact)
    }
    // Nothing is left in the folder but the bundles, and a dry run makes none.
    _ = try BundleRequest(.rows).make(of: url.path, nil, to: nil)
    #expect(try space.names.count == 4)
  }

  /// Versions and renaming identifiers are in a bundle by design, and a row may have the same text.
  @Test func textsOfMetadataAndModelMayBeInRows() throws {
    let space = try Workspace()
    _ = try Self.store(in: space.folder)
    let url = space.folder.appendingPathComponent("secrets.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      DELETE FROM Z_METADATA;
      INSERT INTO ZNOTE VALUES(7, 1, 1, 'QuarziteModel7'), (8, 1, 1, 'Waypoints');
      """)
    let list = try PropertyListSerialization.data(
      fromPropertyList: ["NSStoreModelVersionIdentifiers": ["QuarziteModel7"]], format: .binary,
      options: 0)
    try connection.insert("INSERT INTO Z_METADATA VALUES(1, NULL, ?)", [[.blob([UInt8](list))]])
    connection.close()
    let model = ManagedObjectModel(entities: [
      Entity(name: "Note", renamingIdentifier: "Waypoints")
    ])
    let scan = ResidueScan(
      try CoreDataStore(path: url.path, model: model), .rows, .values(except: .nothing))
    for text in ["QuarziteModel7", "Waypoints"] {
      try scan.check(try Self.packed(Array("{\"a\":\"\(text)\"}".utf8), space))
    }
    #expect(throws: BundleError.self) {
      try scan.check(try Self.packed(Array("{\"a\":\"zanzibar\"}".utf8), space))
    }
  }

  /// Across the borders of what is searched together.
  @Test func aTextIsFoundWhereverItStands() throws {
    let space = try Workspace()
    let scan = ResidueScan(
      try Self.store(in: space.folder), .structure, .values(except: .nothing))
    for place in [0, (1 << 20) - 4, (1 << 20) - 1, 2 << 20, (3 << 20) + 17] {
      var bytes = [UInt8](repeating: UInt8(ascii: " "), count: (3 << 20) + 40)
      bytes.replaceSubrange(place..<place + 8, with: Array("zanzibar".utf8))
      #expect(throws: BundleError.self, "\(place)") {
        try scan.check(try Self.packed(bytes, space))
      }
    }
  }

  @Test func whatWasAskedForMayBeThere() throws {
    let space = try Workspace()
    let store = try Self.store(in: space.folder)
    let row = Array("{\"entity\":\"Note\",\"pk\":1,\"values\":{\"ZTITLE\":\"zanzibar\"}}\n".utf8)
    let rows = try Self.packed(row, space, named: "rows.ndjson")
    try ResidueScan(store, .rows, .none).check(rows)
    #expect(throws: BundleError.self) {
      try ResidueScan(store, .rows, .values(except: .nothing)).check(rows)
    }
    let allowed = try AllowList(Array("lifeboat-allow 1\nNote.ZTITLE\n".utf8))
    try ResidueScan(store, .rows, .values(except: allowed)).check(rows)
    let other = try AllowList(Array("lifeboat-allow 1\nNote.other\n".utf8))
    #expect(throws: BundleError.self) {
      try ResidueScan(store, .rows, .values(except: other)).check(rows)
    }
    try ResidueScan(store, .store, .none).check(
      try Self.packed(Array("zanzibar".utf8), space, named: "store/x"))
  }

  /// The store's own files may have any names, however long the manifest is.
  @Test func namesOfTheStoresFilesMayBeThere() throws {
    let space = try Workspace()
    let store = try Self.store(in: space.folder)
    let long = "store/" + String(repeating: "x", count: 900)
    let entries = (0..<1200).map { (name: "\(long)\($0)@quarzite.example", bytes: [UInt8]()) }
    let bundle = try Sample.plan(entries).measured().packed(for: nil)
    try ResidueScan(store, .store, .none).check(bundle)
    #expect(throws: BundleError.self) {
      try ResidueScan(store, .structure, .none).check(bundle)
    }
  }

  @Test(arguments: [
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":{\"text\":\"zanzibarzanzibar\",\"length\":\"4-7\",\"script\":\"Latin\"}}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":{\"text\":\"0123456789abcdef\",\"length\":\"four\",\"script\":\"Latin\"}}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":{\"date\":\"in spring\"}}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":5}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":true}}",
    "{\"entity\":\"my note\",\"pk\":1,\"values\":{}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"my secret\":null}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{}} zanzibar", "", "{",
    "{\"table\":\"t\",\"values\":{\"a\":{\"integer\":\"0123456789abcdef\",\"range\":\"1..9\"}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":[{\"entity\":\"Note\",\"pk\":\"x\"}]}}",
    "{\"entity\":\"Note\",\"pk\":1,\"values\":{\"a\":{\"integer\":\"0123456789abcdef\",\"range\":\"1..9\",\"value\":3}}}",
  ])
  func aRowThatIsNotOfTokensIsFound(_ line: String) throws {
    var rows = TokenRows { _ in false }
    let isClean = rows.isClean(Array(line.utf8)[...])
    #expect(!isClean)
  }

  // MARK: - Persons

  @Test(arguments: [
    ("write to jane.doe+x@mail.example.org now", PersonalTexts.Kind.mail),
    ("<müller@bücher.example>", .mail), ("jane.@example.org", .mail), ("a@max.example", .mail),
    ("call +49 (170) 123-4567!", .phone),
    ("\"+4917012345678\"", .phone), ("ghp_0123456789abcdefghijABCDEFGHIJ0123", .key),
    ("-----BEGIN RSA PRIVATE KEY-----", .key),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", .key), ("key=AKIAIOSFODNN7EXAMPLE;", .key),
    ("AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6", .key),
    ("in /home/zqjane/Library", .home), ("by zqjane.", .user), ("on zqhost", .host),
  ])
  func aTextThatBelongsToSomebodyIsFound(_ text: String, _ kind: PersonalTexts.Kind) throws {
    let texts = PersonalTexts(
      home: "/home/zqjane", user: "zqjane", host: "zqhost.local", PublicWords())
    #expect(texts.kinds(in: Array(text.utf8)).contains(kind), "\(text)")
  }

  @Test(arguments: [
    "2026-11-26T02:19:42Z +1", "a@b", "eyJhbGciOiJIUzI1NiJ9Zm9vYmFyYmF6cXV4",
    "eyJhbGciOiJIUzI1NiJ9.foo", "@objc", "1 + 23456789 x", "x+4917012345678",
    "W3siYSI6Ikx+0123456789", "zqjanes", "root", "sk-short", "1.0+4917012345678",
    "derivationExpression=\"pages.@sum.words\"", "pages.@max.chapter.words",
  ])
  func whatLooksAlikeIsNot(_ text: String) throws {
    let texts = PersonalTexts(home: "/root", user: "root", host: "ab", PublicWords())
    #expect(texts.kinds(in: Array(text.utf8)).isEmpty, "\(text)")
  }
}
