import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// The rows of a store that was set aside among those of the store that the app has used since.
@Suite struct MergeTests {
  // MARK: - Random stores of real models

  /// Two stores of a model, filled at random: each row of both is in the merged store, with its values and links.
  /// Outside the long rounds, with the model of each third real store.
  @Test(.enabled(if: Shared.isThere)) func rowsOfBothStores() throws {
    guard Shared.require("real stores") != nil else { return }
    var done = 0
    var sameCount = 0
    for (index, real) in Rounds.part(of: RealStores.all.enumerated(), every: 3, from: 1) {
      guard let model = try CoreDataStore(path: real.url.path).cachedModel,
        model.versionHashes().unknown.isEmpty
      else { continue }
      let folder = try TemporaryFolder()
      let stores = try ["Old", "Present"].enumerated().map { turn, name in
        let part = folder.url.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: part, withIntermediateDirectories: true)
        return try FilledStore(
          model, in: part, seed: UInt64(1_000 + 2 * index + turn), rowCount: 9
        ).url
      }
      let output = folder.url.appendingPathComponent("New.sqlite")
      let report = try Migration().run(
        .sound(try CoreDataStore(path: stores[0].path)), [.same(model, named: "own")],
        to: output.path,
        into: PresentStore(path: stores[1].path, policy: MergePolicy()))
      let expected = try ExpectedMerge(
        model, old: NamedRow.all(of: stores[0].path), present: NamedRow.all(of: stores[1].path),
        highest: CoreDataStore(path: stores[1].path).entities)
      let new = try NamedRow.all(of: output.path)
      let found = Dictionary(
        new.map { (ExpectedMerge.Place(model, $0), $0) }, uniquingKeysWith: { one, _ in one })
      #expect(new.count == expected.rows.count, "\(real)")
      for (place, row) in expected.rows {
        guard let there = found[place] else {
          Issue.record("\(real): \(place) is not there")
          break
        }
        let difference = expected.difference(row, there)
        guard difference == nil else {
          Issue.record("\(real): \(place) \(difference ?? ""): \(there), wanted \(row)")
          break
        }
      }
      let merge = try #require(report.merge)
      #expect(merge.entities.reduce(0) { $0 + $1.sameValuesCount } == expected.sameCount, "\(real)")
      #expect(
        merge.entities.reduce(0) { $0 + $1.addedCount + $1.presentCount } == expected.rows.count)
      done += 1
      sameCount += expected.sameCount
    }
    #expect(done >= (Rounds.areLong ? 30 : 8))
    #expect(sameCount > 0)
  }

  // MARK: - Small stores

  /// Note, with a unique `mark`, leads to its folder, which has its notes in order, and to its only cover; tags are many
  /// to many, in order.
  private static let model = ManagedObjectModel(
    entities: [
      Entity(
        name: "Cover", attributes: [attribute("color")],
        relationships: [relationship("note", to: "Note", "cover")]),
      Entity(
        name: "Folder", attributes: [attribute("name")],
        relationships: [
          relationship("notes", to: "Note", "folder", isToMany: true, isOrdered: true)
        ]),
      Entity(
        name: "Note",
        attributes: [attribute("mark"), attribute("text"), attribute("stars", .integer64)],
        relationships: [
          relationship("cover", to: "Cover", "note"),
          relationship("folder", to: "Folder", "notes"),
          relationship("tags", to: "Tag", "notes", isToMany: true, isOrdered: true),
        ], uniquenessConstraints: [["mark"]]),
      Entity(
        name: "Tag", attributes: [attribute("name")],
        relationships: [relationship("notes", to: "Note", "tags", isToMany: true)]),
    ], versionIdentifiers: ["1"])

  static func store(_ name: String, _ sql: String, in folder: TemporaryFolder) throws
    -> String
  {
    let url = folder.url.appendingPathComponent(name)
    try FreshStore.create(at: url.path, for: model)
    let database = try SQLiteConnection(url)
    try database.exec(sql)
    for (number, table) in ["ZCOVER", "ZFOLDER", "ZNOTE", "ZTAG"].enumerated() {
      try database.exec(
        "UPDATE Z_PRIMARYKEY SET Z_MAX = (SELECT ifnull(max(Z_PK), 0) FROM \(table)) WHERE Z_ENT = \(number + 1)"
      )
    }
    database.close()
    return url.path
  }

  private static func merge(
    _ old: String, _ present: String, _ policy: MergePolicy = MergePolicy(),
    salvages: Bool = false, in folder: TemporaryFolder
  ) throws -> (MigrationReport, SQLiteConnection) {
    let old = try store("Old.sqlite", old, in: folder)
    let present = try store("Present.sqlite", present, in: folder)
    let before = treeState(of: folder.url)
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      storeAt: old, to: model, output: output.path, salvages: salvages, into: present,
      policy: policy)
    // Only the new store and its rejects are new, and the sources are as before.
    let made = Set(treeState(of: folder.url).keys).subtracting(before.keys)
    #expect(made.subtracting(["New.sqlite", "New.sqlite.rejects.ndjson"]) == [])
    for (name, state) in before where !state.sha256.isEmpty {
      #expect(treeState(of: folder.url)[name] == state)
    }
    let new = try SQLiteConnection(output)
    #expect(try new.integrityCheck() == ["ok"])
    return (report, new)
  }

  static func rejects(_ report: MigrationReport) throws -> [String] {
    guard let path = report.rejects else { return [] }
    return try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  private static let note = "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZMARK, ZTEXT, ZSTARS) VALUES"

  /// Keys go on above those that the present store has handed out, also where their rows are gone.
  @Test(arguments: [false, true]) func keysGoOn(_ salvages: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.merge(
      "\(Self.note) (3, 3, 1, 'a', 'old', 1), (9, 3, 4, NULL, 'old too', 2);",
      "\(Self.note) (3, 3, 1, 'b', 'present', 5), (7, 3, 1, 'gone', '', 0); UPDATE ZNOTE SET ZMARK = NULL WHERE Z_PK = 7;",
      salvages: salvages, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, Z_OPT, ZMARK, ZTEXT FROM ZNOTE ORDER BY 1")
        == "3 1 b present, 7 1 - , 8 1 a old, 9 4 - old too")
    #expect(try new.text("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note'") == "9")
    #expect(report.isLossless)
    #expect(report.merge?.entities.map(\.addedCount) == [2])
  }

  /// The store keeps the identity of the present one.
  @Test func theIdentityIsThatOfThePresentStore() throws {
    let folder = try TemporaryFolder()
    let (_, new) = try Self.merge("", "", in: folder)
    let present = try SQLiteConnection(folder.url.appendingPathComponent("Present.sqlite"))
    defer {
      new.close()
      present.close()
    }
    let sql = "SELECT Z_UUID FROM Z_METADATA"
    #expect(try new.text(sql) == present.text(sql))
  }

  private static let oldSame = "\(note) (1, 3, 1, 'a', 'old', NULL), (2, 3, 1, 'z', 'alone', 2);"
  private static let presentSame =
    "\(note) (5, 3, 1, 'a', 'present', NULL), (6, 3, 1, 'b', NULL, 3);"

  /// Of two notes with one mark the present one stays, and the old one is in the file of rejects.
  @Test func theSameUniqueValuesAreKept() throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.merge(Self.oldSame, Self.presentSame, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZMARK, ZTEXT FROM ZNOTE ORDER BY 1")
        == "5 a present, 6 b -, 7 z alone")
    #expect(report.merge?.differingCount == 1)
    #expect(!report.isLossless)
    let rejects = try Self.rejects(report)
    #expect(rejects.count == 1)
    #expect(
      rejects.first?.hasPrefix(
        #"{"entity":"Note","pk":1,"reason":"a row of the present store has the same unique values, but differs in: ZTEXT (row 5)","store":"old","values":{"Z_PK":1,"#
      ) == true, "\(rejects)")
  }

  /// With `fill` the present note gets what it has no value for.
  @Test func emptyValuesAreFilled() throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.duplicates = .fill
    let (report, new) = try Self.merge(
      "\(Self.note) (1, 3, 1, 'a', 'old', 4), (2, 3, 1, 'b', 'filled', 9);", Self.presentSame,
      policy, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZMARK, ZTEXT, ZSTARS FROM ZNOTE ORDER BY 1")
        == "5 a present 4, 6 b filled 3")
    // What is in neither: the text of a, and the stars of b.
    #expect(report.merge?.differingCount == 2)
  }

  /// With `replace` the present note gets the old values, and its own are in the file of rejects.
  @Test func presentValuesAreReplaced() throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.duplicates = .replace
    let (report, new) = try Self.merge(
      "\(Self.note) (1, 3, 1, 'a', 'old', NULL), (2, 3, 1, 'b', 'filled', 9);", Self.presentSame,
      policy, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZMARK, ZTEXT, ZSTARS FROM ZNOTE ORDER BY 1")
        == "5 a old -, 6 b filled 9")
    #expect(report.merge?.differingCount == 0)
    let rejects = try Self.rejects(report)
    #expect(rejects.count == 2)
    #expect(
      rejects.allSatisfy {
        $0.contains("replaced by the values of row ") && $0.contains(" of the old store: ")
      })
    #expect(!report.isLossless)
  }

  /// Links to a note that both stores have lead to the present one; what the present one has stays.
  @Test func linksLeadToThePresentObject() throws {
    let folder = try TemporaryFolder()
    let (report, new) = try Self.merge(
      """
      \(Self.note) (1, 3, 1, 'a', 'same', 1), (2, 3, 1, 'n', 'new', 1), (3, 3, 1, 'c', 'same', 1);
      INSERT INTO ZFOLDER VALUES (1, 2, 1, 'old folder');
      UPDATE ZNOTE SET ZFOLDER = 1, Z_FOK_FOLDER = 1024 * Z_PK;
      INSERT INTO ZCOVER (Z_PK, Z_ENT, Z_OPT, ZNOTE, ZCOLOR) VALUES (1, 1, 1, 1, 'red'), (2, 1, 1, 2, 'blue'), (3, 1, 1, 3, 'green');
      UPDATE ZNOTE SET ZCOVER = Z_PK;
      INSERT INTO ZTAG VALUES (1, 4, 1, 'old tag');
      INSERT INTO Z_3TAGS (Z_3NOTES, Z_4TAGS, Z_FOK_4TAGS) VALUES (1, 1, 1024), (2, 1, 1024);
      """,
      """
      \(Self.note) (5, 3, 1, 'a', 'same', 1), (6, 3, 1, 'c', 'same', 1);
      INSERT INTO ZFOLDER VALUES (4, 2, 1, 'present folder');
      UPDATE ZNOTE SET ZFOLDER = 4, Z_FOK_FOLDER = 2048 WHERE Z_PK = 5;
      INSERT INTO ZCOVER (Z_PK, Z_ENT, Z_OPT, ZNOTE, ZCOLOR) VALUES (8, 1, 1, 5, 'white');
      UPDATE ZNOTE SET ZCOVER = 8 WHERE Z_PK = 5;
      INSERT INTO ZTAG VALUES (1, 4, 1, 'present tag');
      INSERT INTO Z_3TAGS (Z_3NOTES, Z_4TAGS, Z_FOK_4TAGS) VALUES (5, 1, 4096);
      """, in: folder)
    defer { new.close() }
    // The old note a is the present one: its folder stays. The new note has the old folder, under a new key.
    #expect(
      try new.text("SELECT Z_PK, ZMARK, ZFOLDER, ZCOVER FROM ZNOTE ORDER BY 1")
        == "5 a 4 8, 6 c - 11, 7 n 5 10")
    // Both sides of a one-to-one relationship agree: the red cover leads nowhere, and the green one has the free place.
    #expect(
      try new.text("SELECT Z_PK, ZNOTE, ZCOLOR FROM ZCOVER ORDER BY 1")
        == "8 5 white, 9 - red, 10 7 blue, 11 6 green")
    #expect(
      report.allCut.map { "\($0.entity).\($0.property) \($0.count) \($0.keys)" } == [
        "Cover.note 1 [9]"
      ])
    // Tags are united, the present ones first.
    #expect(
      try new.text("SELECT Z_3NOTES, Z_4TAGS FROM Z_3TAGS ORDER BY 1, Z_FOK_4TAGS")
        == "5 1, 5 2, 7 2")
    // The folder of the old notes a and c is in neither of them.
    #expect(report.merge?.differingCount == 2)
  }

  /// Notes that come into a folder of the present store follow those that are there, in their own order.
  @Test func addedPositionsFollow() throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.matchesEqualContent = true
    let (report, new) = try Self.merge(
      """
      INSERT INTO ZFOLDER VALUES (1, 2, 1, 'Inbox');
      \(Self.note) (1, 3, 1, 'x', 'second', 1), (2, 3, 1, 'y', 'first', 1);
      UPDATE ZNOTE SET ZFOLDER = 1, Z_FOK_FOLDER = -1024 * Z_PK;
      """,
      """
      INSERT INTO ZFOLDER VALUES (3, 2, 1, 'Inbox'), (4, 2, 1, 'Twice'), (5, 2, 1, 'Twice');
      \(Self.note) (1, 3, 1, 'p', 'there', 1);
      UPDATE ZNOTE SET ZFOLDER = 3, Z_FOK_FOLDER = 9000;
      """, policy, in: folder)
    defer { new.close() }
    #expect(
      try new.text("SELECT ZMARK FROM ZNOTE WHERE ZFOLDER = 3 ORDER BY Z_FOK_FOLDER") == "p, y, x")
    #expect(try new.text("SELECT count(*) FROM ZFOLDER") == "3")
    #expect(
      report.merge?.entities.first { $0.name == "Folder" }?.sameContentCount == 1)
    #expect(report.isLossless)
  }

  /// Equal content is one object only where each store has one, and where what it leads to is one object, too.
  @Test(arguments: [false, true]) func equalContent(_ isAsked: Bool) throws {
    let folder = try TemporaryFolder()
    var policy = MergePolicy()
    policy.matchesEqualContent = isAsked
    let old = """
      INSERT INTO ZFOLDER VALUES (1, 2, 1, 'one'), (2, 2, 1, 'other'), (3, 2, 1, 'twice'), (4, 2, 1, 'twice');
      \(Self.note) (1, 3, 1, NULL, 'in one', 1), (2, 3, 7, NULL, 'in other', 1), (3, 3, 1, NULL, 'nowhere', NULL);
      UPDATE ZNOTE SET ZFOLDER = Z_PK WHERE Z_PK < 3;
      """
    let (report, new) = try Self.merge(
      old,
      """
      INSERT INTO ZFOLDER VALUES (11, 2, 1, 'one'), (12, 2, 1, 'otherwise'), (13, 2, 1, 'twice'), (14, 2, 1, 'twice');
      \(Self.note) (11, 3, 1, NULL, 'in one', 1), (12, 3, 7, NULL, 'in other', 1), (13, 3, 5, NULL, 'nowhere', NULL);
      UPDATE ZNOTE SET ZFOLDER = Z_PK WHERE Z_PK < 13;
      """, policy, in: folder)
    defer { new.close() }
    // "in other" is in folders of different names; the folders "twice" cannot be told apart.
    #expect(try new.text("SELECT count(*) FROM ZFOLDER") == (isAsked ? "7" : "8"))
    #expect(try new.text("SELECT count(*) FROM ZNOTE") == (isAsked ? "4" : "6"))
    #expect(
      report.merge?.entities.map(\.sameContentCount) == (isAsked ? [1, 2] : [0, 0]))
    #expect(report.isLossless)
  }

  /// A damaged present store gives what it has, and the report says so.
  @Test func aDamagedPresentStore() throws {
    let folder = try TemporaryFolder()
    let old = try Self.store("Old.sqlite", "\(Self.note) (1, 3, 1, 'o', 'old', 1);", in: folder)
    let present = try Self.store(
      "Present.sqlite", "\(Self.note) (4, 3, 1, 'p', 'present', 1);", in: folder)
    // Without its first page a file has no schema any more.
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: present))
    try file.seek(toOffset: 100)
    try file.write(contentsOf: Data(repeating: 0x77, count: 900))
    try file.close()
    let output = folder.url.appendingPathComponent("New.sqlite")
    let report = try Migration().run(
      storeAt: old, to: Self.model, output: output.path, into: present)
    #expect(report.damageCount > 0)
    let new = try SQLiteConnection(output)
    defer { new.close() }
    #expect(
      try new.text("SELECT Z_PK, ZTEXT FROM ZNOTE ORDER BY 1") == "4 present, 5 old")
  }

  /// A store of another model takes nothing in.
  @Test func anotherModelTakesNothingIn() throws {
    let folder = try TemporaryFolder()
    let old = try Self.store("Old.sqlite", "", in: folder)
    var other = Self.model
    other.entities["Tag"]?.attributes.append(
      Attribute(name: "more", type: .string, isOptional: true))
    let present = folder.url.appendingPathComponent("Present.sqlite").path
    try FreshStore.create(at: present, for: other)
    let before = treeState(of: folder.url)
    let error = #expect(throws: MigrationError.self) {
      _ = try Migration().run(
        storeAt: old, to: Self.model, output: folder.url.appendingPathComponent("New").path,
        into: present)
    }
    #expect(error?.code == .presentStore)
    #expect(error?.reasons.first?.hasSuffix("the two differ in Tag") == true)
    #expect(treeState(of: folder.url) == before)
  }

  /// Keys that the present store has used up are refused, not wrapped.
  @Test func noRoomForKeys() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Self.merge(
        "INSERT INTO ZTAG VALUES (1, 4, 1, 'tag');",
        "INSERT INTO ZTAG VALUES (9223372036854775807, 4, 1, 'last');", in: folder)
    }
    #expect(error?.code == .presentStore)
  }
}
