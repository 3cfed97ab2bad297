import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// Merging where keys, files and references of the two stores meet: trees that are unique within a parent, values in files,
/// references in both directions, positions at their limit, and tables of many columns.
@Suite struct MergeHazardTests {
  /// Folders whose names are unique within their parent, items with files, and people with passports.
  private static let tree = ManagedObjectModel(
    entities: [
      Entity(
        name: "Folder", attributes: [attribute("name"), attribute("uid")],
        relationships: [
          relationship("children", to: "Folder", "parent", isToMany: true, isOrdered: true),
          relationship("parent", to: "Folder", "children"),
        ], uniquenessConstraints: [["uid"], ["parent", "name"]]),
      Entity(
        name: "Item", attributes: [attribute("data", .binary), attribute("mark")],
        uniquenessConstraints: [["mark"]]),
      Entity(
        name: "Passport", attributes: [attribute("number")],
        relationships: [relationship("person", to: "Person", "passport")]),
      Entity(
        name: "Person", attributes: [attribute("name")],
        relationships: [relationship("passport", to: "Passport", "person")]),
    ], versionIdentifiers: ["1"])

  private static func merge(
    tree old: String, _ present: String, _ policy: MergePolicy = MergePolicy(),
    in folder: TemporaryFolder, files: (URL, URL) throws -> Void = { _, _ in }
  ) throws -> (MigrationReport, SQLiteConnection) {
    var urls: [URL] = []
    for (name, sql) in [("Old", old), ("Present", present)] {
      let part = folder.url.appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: part.appendingPathComponent(".S_SUPPORT/_EXTERNAL_DATA"),
        withIntermediateDirectories: true)
      let url = part.appendingPathComponent("S.sqlite")
      try FreshStore.create(at: url.path, for: tree)
      let database = try SQLiteConnection(url)
      try database.exec(sql)
      database.close()
      urls.append(url)
    }
    let parts = urls.map {
      $0.deletingLastPathComponent().appendingPathComponent(".S_SUPPORT/_EXTERNAL_DATA")
    }
    try files(parts[0], parts[1])
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      storeAt: urls[0].path, to: tree, output: output.path, into: urls[1].path, policy: policy)
    let new = try SQLiteConnection(output)
    #expect(try new.integrityCheck() == ["ok"])
    return (report, new)
  }

  private static let branch = """
    INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZUID, ZNAME, ZPARENT, Z_FOK_PARENT) VALUES
    (1, 1, 1, 'R', 'root', NULL, NULL), (2, 1, 1, NULL, 'a', 1, 1024), (3, 1, 1, NULL, 'b', 2, 1024),
    (4, 1, 1, NULL, 'c', 3, 1024);
    UPDATE Z_PRIMARYKEY SET Z_MAX = 4 WHERE Z_NAME = 'Folder';
    """

  /// A constraint that contains a relationship is followed down a tree.
  @Test func uniqueWithinAParent() throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.merge(tree: Self.branch, Self.branch, in: folder)
    defer { new.close() }
    #expect(try new.text("SELECT count(*), max(Z_PK) FROM ZFOLDER") == "4 4")
    #expect(report.merge?.entities.first?.sameValuesCount == 4)
    #expect(report.isLossless)
  }

  private static let uuid = "11111111-2222-4333-8444-555555555555"

  private static func item(_ mark: String) -> String {
    "INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZMARK, ZDATA) VALUES (1, 2, 1, \(mark), CAST(x'02' || '\(uuid)' || x'00' AS BLOB)); UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Item';"
  }

  /// The contents of the files that rows of the merged store name, by key; `-` for a missing one.
  private static func contents(_ new: SQLiteConnection, in folder: TemporaryFolder) throws
    -> [String]
  {
    try new.rows("SELECT ZDATA FROM ZITEM ORDER BY Z_PK").map { row in
      guard case .blob(let bytes)? = row.first, bytes.count == 38 else { return "none" }
      let name = String(decoding: bytes[1..<37], as: UTF8.self)
      let file = folder.url.appendingPathComponent(".New_SUPPORT/_EXTERNAL_DATA/" + name)
      return (try? String(contentsOf: file, encoding: .utf8)) ?? "-"
    }
  }

  /// Each row keeps its own file, whatever its name is; nil stands for a file that is missing.
  @Test(
    arguments: [
      ("AAAA", "BBBB"), ("same", "same"), ("AAAA", nil), (nil, "BBBB"), ("AAAA", ""),
    ] as [(String?, String?)], [false, true])
  func aFileNameInBothStores(_ texts: (old: String?, present: String?), _ isOne: Bool) throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.duplicates = .replace
    policy.matchesEqualContent = true
    let (report, new) = try Self.merge(
      tree: Self.item(isOne ? "'m'" : "'o'"), Self.item(isOne ? "'m'" : "'p'"), policy, in: folder
    ) { one, other in
      for (part, text) in [(one, texts.old), (other, texts.present)] {
        try text.map { try Data($0.utf8).write(to: part.appendingPathComponent(Self.uuid)) }
      }
    }
    defer { new.close() }
    let wanted = isOne ? [texts.old ?? "-"] : [texts.present ?? "-", texts.old ?? "-"]
    #expect(try Self.contents(new, in: folder) == wanted)
    let names = try? FileManager.default.contentsOfDirectory(
      atPath: folder.url.appendingPathComponent(".New_SUPPORT/_EXTERNAL_DATA").path)
    #expect((names ?? []).count == wanted.count { $0 != "-" })
    if wanted.contains("-") || wanted.contains("") { #expect(!report.isLossless) }
  }

  /// Values in external files are not compared.
  @Test func externalValuesAreNoContent() throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.matchesEqualContent = true
    let (report, new) = try Self.merge(
      tree: Self.item("NULL"), Self.item("NULL"), policy, in: folder
    ) { one, other in
      for part in [one, other] {
        try Data("same".utf8).write(to: part.appendingPathComponent(Self.uuid))
      }
    }
    defer { new.close() }
    #expect(try Self.contents(new, in: folder) == ["same", "same"])
    #expect(report.merge?.entities.map(\.sameContentCount) == [0])
  }

  /// People are one only if their passports are.
  @Test func contentGoesBothWays() throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.matchesEqualContent = true
    func people(_ number: String) -> String {
      """
      INSERT INTO ZPASSPORT (Z_PK, Z_ENT, Z_OPT, ZNUMBER, ZPERSON) VALUES (1, 3, 1, '\(number)', 1), (2, 3, 1, 'both', 2);
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPASSPORT) VALUES (1, 4, 1, 'Ada', 1), (2, 4, 1, 'Eve', 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_ENT > 2;
      """
    }
    let (report, new) = try Self.merge(tree: people("old"), people("new"), policy, in: folder)
    defer { new.close() }
    #expect(
      try new.text(
        "SELECT ZNAME, ZNUMBER FROM ZPERSON JOIN ZPASSPORT ON ZPASSPORT.Z_PK = ZPERSON.ZPASSPORT AND ZPASSPORT.ZPERSON = ZPERSON.Z_PK ORDER BY ZPERSON.Z_PK"
      ) == "Ada new, Eve both, Ada old")
    #expect(report.cutCount == 0)
    #expect(report.isLossless)
  }

  /// Positions go on however high they are, also behind many.
  @Test func highPositions() throws {
    let folder = try TemporaryFolder()
    let (_, new) = try Self.merge(
      tree: """
        INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZUID) VALUES (1, 1, 1, 'R');
        WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPARENT, Z_FOK_PARENT) SELECT i, 1, 1, 'o' || i, 1, i FROM n;
        """,
      """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZUID) VALUES (1, 1, 1, 'R');
      WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPARENT, Z_FOK_PARENT) SELECT i, 1, 1, 'p' || i, 1, 9007199254740992 + i FROM n;
      """, in: folder)
    defer { new.close() }
    #expect(
      try new.text(
        "SELECT (SELECT max(Z_FOK_PARENT) FROM ZFOLDER WHERE ZNAME LIKE 'p%') < (SELECT min(Z_FOK_PARENT) FROM ZFOLDER WHERE ZNAME LIKE 'o%')"
      ) == "1")
    #expect(try new.text("SELECT count(*) FROM ZFOLDER WHERE ZPARENT = 1") == "39998")
  }

  /// A row that no rule lets in is counted as such.
  @Test func rejectedRowsAreNotAdded() throws {
    let folder = try TemporaryFolder()
    // Two folders in each other: each waits for the other to be recognised, and only one of them has the old parent's key.
    let circle = """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPARENT) VALUES (1, 1, 1, 'x', 2), (2, 1, 1, 'y', 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME = 'Folder';
      """
    let (report, new) = try Self.merge(tree: circle, circle, in: folder)
    defer { new.close() }
    let counts = try #require(report.merge?.entities.first)
    #expect(
      try new.text("SELECT count(*) FROM ZFOLDER")
        == String(counts.presentCount + counts.addedCount))
    #expect(counts.addedCount + counts.rejectedCount == 2)
  }

  /// More columns than one statement can compare.
  @Test func manyColumns() throws {
    let folder = try TemporaryFolder()
    let model = ManagedObjectModel(
      entities: [
        Entity(
          name: "Wide",
          attributes: (0..<1_100).map {
            Attribute(name: "a\($0)", type: .string, isOptional: true)
          }, uniquenessConstraints: [["a0"]])
      ], versionIdentifiers: ["1"])
    var paths: [String] = []
    for name in ["Old", "Present"] {
      let url = folder.url.appendingPathComponent(name + ".sqlite")
      try FreshStore.create(at: url.path, for: model)
      let database = try SQLiteConnection(url)
      try database.exec(
        "INSERT INTO ZWIDE (Z_PK, Z_ENT, Z_OPT, ZA0, ZA1099) VALUES (1, 1, 1, 'same', '\(name)')")
      database.close()
      paths.append(url.path)
    }
    let report = try Migration().run(
      storeAt: paths[0], output: folder.url.appendingPathComponent("New.sqlite").path,
      into: paths[1])
    #expect(report.merge?.differingCount == 1)
    let line = try #require(try MergeTests.rejects(report).first)
    #expect(line.contains(#""store":"old""#))
    #expect(line.contains("differs in: ZA1099"))
  }

  /// Albums and folders have equal relationships to photos, and a photo stays in what it was in.
  @Test func equalRelationshipsOfTwoEntities() throws {
    let photos = Relationship(
      name: "photos", destinationEntityName: "Photo", maxCount: 0, isOptional: true)
    let model = ManagedObjectModel(
      entities: [
        Entity(name: "Album", relationships: [photos]),
        Entity(name: "Folder", relationships: [photos]), Entity(name: "Photo"),
      ], versionIdentifiers: ["1"])
    let folder = try TemporaryFolder()
    var paths: [String] = []
    for (name, sql) in [
      (
        "Old",
        "INSERT INTO ZFOLDER VALUES (2, 2, 1); INSERT INTO ZPHOTO (Z_PK, Z_ENT, Z_OPT, Z2PHOTOS) VALUES (1, 3, 1, 2);"
      ),
      (
        "Present",
        "INSERT INTO ZALBUM VALUES (5, 1, 1); INSERT INTO ZPHOTO (Z_PK, Z_ENT, Z_OPT, Z1PHOTOS) VALUES (4, 3, 1, 5);"
      ),
    ] {
      let url = folder.url.appendingPathComponent(name + ".sqlite")
      try FreshStore.create(at: url.path, for: model)
      let database = try SQLiteConnection(url)
      try database.exec(sql + "UPDATE Z_PRIMARYKEY SET Z_MAX = 5;")
      database.close()
      paths.append(url.path)
    }
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      storeAt: paths[0], output: output.path, into: paths[1])
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, Z1PHOTOS, Z2PHOTOS FROM ZPHOTO ORDER BY 1") == "4 5 -, 6 - 6")
    #expect(report.isLossless)
  }

  @Test func aStoreIsNotMergedIntoItself() throws {
    let folder = try TemporaryFolder()
    let store = try MergeTests.store("Old.sqlite", "", in: folder)
    let link = folder.url.appendingPathComponent("Link.sqlite").path
    try FileManager.default.linkItem(atPath: store, toPath: link)
    let error = #expect(throws: MigrationError.self) {
      _ = try Migration().run(
        storeAt: store, output: folder.url.appendingPathComponent("New").path, into: link)
    }
    #expect(error?.code == .presentStore)
  }
}
