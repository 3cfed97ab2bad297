import Fixtures
import Foundation
import Testing

/// `lifeboat rows`
@Suite struct RowsTests {
  /// All bytes of a value may be there, and none of them certain.
  @Test(.enabled(if: Shared.isThere)) func aDoubtfulValueIsSaidToBeInDoubt() throws {
    guard let shared = Shared.require("a value in doubt") else { return }
    let store = shared.appendingPathComponent("stores/corrupt/fuzzdata3/01229.db").path
    let rows = try Program.run("rows", "--all", "--raw", "--format", "ndjson", store).lines()
    let partial = rows.compactMap { $0["partial"]?.object?.values.first }
    let value = try #require(partial.first { $0["doubtful"] == .boolean(true) })
    #expect(value["have"] == value["of"])
    let text = try Program.run("rows", "--all", "--raw", store).text
    let size = try #require(value["of"]?.integer)
    #expect(text.contains("(\(size) byte\(size == 1 ? "" : "s"), in doubt)"))
    #expect(!text.contains("(\(size) of \(size) byte"))
  }

  /// Rows are written under the names of their columns if nothing names their entities.
  @Test func csvOfAStoreThatNamesNoEntities() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("Notes.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        atPath: demo.kept.path + suffix, toPath: store.path + suffix)
    }
    let connection = try SQLiteConnection(store)
    try connection.exec("DELETE FROM Z_PRIMARYKEY")
    connection.close()
    let outcome = try Program.run("rows", "--format", "csv", store.path)
    #expect(outcome.status == 1, "\(outcome.errors)")
    #expect(outcome.errors.contains("--all") && outcome.errors.contains("--raw"))
    #expect(outcome.text.hasPrefix("_entity,_pk,Z"), "\(outcome.text)")
    #expect(outcome.text.contains("call the yard about the mast"), "\(outcome.text)")
    let named = try Program.run("rows", "--entity", "Note", store.path)
    #expect(named.status == 64 && named.errors.contains("nothing in the store names its entities"))
  }

  /// A table that the schema names without a statement, and that the history of every store has, is one table.
  @Test func aTableThatIsKnownTwiceGivesItsRowsOnce() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("history.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024;
      CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER,
        ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
      INSERT INTO ACHANGE
      SELECT i, 16001, NULL, i % 3, 2, i * 7 % 50, i / 5, CASE i % 4 WHEN 0 THEN randomblob(3) END FROM n;
      """)
    connection.close()
    var bytes = try Data(contentsOf: url)
    let statement = try #require(bytes.firstRange(of: Data("CREATE TABLE ACHANGE".utf8)))
    bytes[statement.lowerBound + 5] = UInt8(ascii: "X")
    try bytes.write(to: url)
    let rows = try Program.run("rows", "--all", "--raw", "--format", "ndjson", url.path).lines()
    #expect(rows.count == 300)
    #expect(rows.allSatisfy { $0["state"] == nil && $0["table"] == .string("ACHANGE") })
  }

  /// The same file gives the same rows and findings each time, also where two b-trees seem to be one table's.
  @Test func aDamagedFileReadsTheSameEachTime() throws {
    let folder = try TemporaryFolder()
    var files: [(url: URL, bytes: Data)] = []
    for name in ["own", "other"] {
      let url = folder.url.appendingPathComponent("\(name).sqlite")
      let connection = try SQLiteConnection(url)
      try connection.exec(
        """
        PRAGMA page_size = 1024;
        CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT, weight REAL, size INTEGER);
        INSERT INTO tag VALUES (1, '\(name)'), (2, 'second'), (3, 'third');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
        INSERT INTO note SELECT i, '\(name) ' || i, hex(randomblob(i % 40)), i * 1.5, i % 7 FROM n;
        CREATE INDEX note_size ON note(size);
        """)
      connection.close()
      files.append((url, try Data(contentsOf: url)))
    }
    // The root of `tag`, the first table, is page 2; leaves of `note` are behind.
    var bytes = files[0].bytes
    for (page, source) in [(2, 12), (9, 14), (15, 9)] {
      bytes.replaceSubrange(
        (page - 1) * 1024..<page * 1024, with: files[1].bytes[(source - 1) * 1024..<source * 1024])
    }
    try bytes.write(to: files[0].url)
    let runs = try (0..<8).map { _ in
      try Program.run("rows", "--all", "--raw", "-v", "--format", "ndjson", files[0].url.path)
    }
    #expect(runs[0].errors.contains("page.misplaced"), "\(runs[0].errors)")
    #expect(Set(runs.map(\.stdout)).count == 1)
    #expect(Set(runs.map(\.stderr)).count == 1)
  }

  // MARK: - Raw rows against SQLite

  @Test(arguments: [
    "page-512", "reserved-32-of-512", "auto-vacuum-full", "free-blocks", "wal-committed",
    "wal-uncommitted-tail", "wal-restarted", "wal-big-endian", "deep-index",
  ])
  func rawRowsOfFixturesAreSQLites(_ name: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named(name).make(folder.url)
    let before = treeState(of: folder.url)
    try Self.compare(store)
    #expect(treeState(of: folder.url) == before)
  }

  /// In long rounds, also a store with 10,950 rows.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      "MigrationsTests/Moody.moody", "MigrationsTests/Moody 3.moody", "CoreDataBooks.CDBStore",
      "Bookmarks_V3.sqlite", "SyncMetadata_V3.sqlite", "Recipes.sqlite",
    ] + (Rounds.areLong ? ["SampleModel2_V1.sqlite"] : []))
  func rawRowsOfRealStoresAreSQLites(_ ending: String) throws {
    guard Shared.require("raw rows of real stores") != nil else { return }
    try Self.compare(try RealStores.named(ending).url)
  }

  /// A line of `rows --raw`. It is decoded faster than a `JSON` of any form.
  private struct RawRow: Decodable {
    let table: String
    let rowid: Int64?
    let values: [JSON]?
  }

  private static func compare(_ store: URL) throws {
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store)
    let outcome = try Program.run("rows", "--raw", "--format", "ndjson", store.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    var rows: [String: [RawRow]] = [:]
    for line in outcome.stdout.split(separator: UInt8(ascii: "\n")) {
      let row = try JSONDecoder().decode(RawRow.self, from: Data(line))
      rows[row.table, default: []].append(row)
    }
    #expect(Set(rows.keys) == Set(truth.filter { !$0.value.isEmpty }.keys))
    for (table, wanted) in truth {
      let given = rows[table] ?? []
      #expect(given.count == wanted.count, "\(table)")
      for (row, expected) in zip(given, wanted) {
        if let rowID = expected.rowid { #expect(row.rowid == rowID, "\(table)") }
        let values = row.values ?? []
        let isEqual =
          values.count == expected.values.count
          && zip(values, expected.values).allSatisfy { isSame($0, $1) }
        guard !isEqual else { continue }
        Issue.record("\(table): \(row) is not \(expected)")
        break
      }
    }
  }

  private static func isSame(_ value: JSON, _ wanted: FixtureValue) -> Bool {
    switch (value, wanted) {
    case (.null, .null): true
    case (.integer(let number), .integer(let expected)): number == expected
    case (.real(let number), .real(let expected)): number == expected
    case (.integer(let number), .real(let expected)): Double(number) == expected
    case (.string(let text), .text(let bytes)): Array(text.utf8) == bytes
    case (.object(let members), .blob(let bytes)):
      members == ["hex": .string(bytes.map { hexByte($0) }.joined())]
    default: false
    }
  }

  private static func hexByte(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  // MARK: - Rows of entities

  @Test func entitiesHaveTheirNamesAndTypes() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let outcome = try Program.run("rows", "--format", "ndjson", demo.kept.path)
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    let rows = try outcome.lines()
    #expect(rows.count == 11)
    func row(_ entity: String, _ key: Int64) throws -> JSON {
      let found = rows.first { $0["entity"]?.string == entity && $0["pk"]?.integer == key }
      return try #require(found?["values"])
    }
    let boat = try row("Note", 2)
    #expect(boat["title"] == .string("Boat"))
    #expect(boat["isPinned"] == .boolean(true))
    #expect(boat["created"] == .string("2025-11-29T05:20:00.25Z"))
    #expect(boat["identifier"] == .string("08101820-2830-3840-4850-586068707880"))
    #expect(boat["folder"] == .object(["entity": .string("Folder"), "pk": .integer(2)]))
    #expect(
      boat["tags"]
        == .array([
          .object(["entity": .string("Tag"), "pk": .integer(1)]),
          .object(["entity": .string("Tag"), "pk": .integer(3)]),
        ]))
    #expect(boat["picture"] == .null)
    #expect(try row("Note", 1)["picture"] == .object(["hex": .string("89504e47")]))
    #expect(try row("Note", 4)["body"] == .string("Tromsø in March, 東京 in May"))

    let picture = try #require(try row("Note", 4)["picture"])
    #expect(picture["sizeBytes"] == .integer(200_000))
    let name = try #require(picture["external"]?.string)
    let file = demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA/\(name)")
    let digits = try bytes(of: file).map { Self.hexByte($0) }.joined()
    #expect(picture["hex"] == .string(digits))
    #expect(try row("Tag", 1)["notes"]?.array?.count == 2)
    #expect(treeState(of: demo.folder) == before)
  }

  @Test func summaryGivesSizeAndHash() throws {
    let demo = try Demonstration.shared.get()
    let outcome = try Program.run(
      "rows", "--format", "ndjson", "--blobs", "summary", "--entity", "Note", demo.kept.path)
    let rows = try outcome.lines()
    #expect(rows.count == 6)
    let inside = rows[0]["values"]?["picture"]
    #expect(inside?["sizeBytes"] == .integer(4))
    #expect(inside?["sha256"] == .string(hex(of: Data([0x89, 0x50, 0x4e, 0x47]))))
    #expect(rows[3]["values"]?["picture"]?["sha256"]?.string?.count == 64)
    #expect(rows[3]["values"]?["picture"]?["hex"] == nil)
  }

  @Test func aMissingFileIsSaid() throws {
    let demo = try Demonstration()
    let support = demo.kept.deletingLastPathComponent().appendingPathComponent(".Notes_SUPPORT")
    try FileManager.default.removeItem(at: support)
    let outcome = try Program.run("rows", "--format", "ndjson", "--entity", "Note", demo.kept.path)
    let picture = try outcome.lines()[3]["values"]?["picture"]
    #expect(picture?["missing"] == .boolean(true))
    #expect(picture?["unreadable"] == nil)
  }

  /// What stands in the place of a file is not missing, and no pipe is waited for.
  @Test(arguments: ["folder", "link", "pipe"]) func whatIsNoFileIsSaid(_ kind: String) throws {
    let demo = try Demonstration()
    let support = demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: support.path).first)
    let path = support.path + "/" + name
    try FileManager.default.removeItem(atPath: path)
    let reason: String
    switch kind {
    case "folder":
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      reason = "a folder, not a file"
    case "link":
      try FileManager.default.createSymbolicLink(
        atPath: path, withDestinationPath: demo.kept.path)
      reason = "a symbolic link, not the file that it leads to"
    default:
      try #require(unsafe mkfifo(path, 0o600) == 0)
      reason = "a pipe, not an ordinary file"
    }
    for form in ["hex", "summary"] {
      let outcome = try Program.run(
        "rows", "--format", "ndjson", "--blobs", form, "--entity", "Note", demo.kept.path)
      let picture = try outcome.lines()[3]["values"]?["picture"]
      #expect(picture?["external"] == .string(name))
      #expect(picture?["unreadable"] == .string(reason))
      for key in ["missing", "sizeBytes", "hex", "sha256"] { #expect(picture?[key] == nil) }
    }
    let text = try Program.run("rows", "--entity", "Note", demo.kept.path).text
    #expect(!text.contains("is missing"), "\(text)")

    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows.sqlite")
    _ = try Program.run("extract", demo.kept.path, "--format", "sqlite", "-o", output.path)
    let database = try SQLiteConnection(output)
    defer { database.close() }
    let told = try database.rows("SELECT file, problem FROM _missing_files")
    #expect(told == [[.text(Array(name.utf8)), .text(Array(reason.utf8))]])
  }

  @Test func jsonIsOneObject() throws {
    let demo = try Demonstration.shared.get()
    for flags in [["--json"], ["--format", "json"]] {
      let report = try Program.run(["rows", demo.kept.path] + flags).json()
      #expect(report["schema"]?.string == "lifeboat.rows")
      #expect(report["rows"]?.array?.count == 11)
    }
    let none = try Program.run("rows", demo.kept.path, "--json", "--limit", "0").json()
    #expect(none["rows"]?.array?.isEmpty == true)
    let raw = try Program.run("rows", demo.kept.path, "--raw", "--json", "--limit", "2").json()
    #expect(raw["rows"]?.array?.count == 2)
  }

  @Test func csvOfEntities() throws {
    let demo = try Demonstration.shared.get()
    let outcome = try Program.run("rows", demo.kept.path, "--entity", "Note", "--format", "csv")
    #expect(outcome.status == 0)
    let lines = outcome.text.components(separatedBy: "\r\n")
    #expect(lines.count == 8)
    #expect(lines[0] == "_pk,body,created,folder,identifier,isPinned,picture,title,tags")
    #expect(
      lines[2]
        == "2,call the yard about the mast,2025-11-29T05:20:00.25Z,2,08101820-2830-3840-4850-586068707880,true,,Boat,1 3"
    )
    #expect(lines[6].hasPrefix("6,\"the sea, the \"\"sea\"\", the sea\","))
    #expect(lines[5].hasPrefix("5,=SUM"))
    let safe = try Program.run(
      "rows", demo.kept.path, "--entity", "Note", "--format", "csv", "--spreadsheet-safe")
    #expect(safe.text.contains("\r\n5,'=SUM"))
    let all = try Program.run("rows", demo.kept.path, "--format", "csv")
    #expect(all.status == 0)
    let shared = all.text.split(separator: "\r\n", omittingEmptySubsequences: false)
    #expect(
      shared[0]
        == "_entity,_pk,name,body,created,folder,identifier,isPinned,picture,title,tags,notes")
    #expect(shared[1] == "Folder,1,Private,,,,,,,,,")
    #expect(
      shared[4]
        == "Note,2,,call the yard about the mast,2025-11-29T05:20:00.25Z,2,08101820-2830-3840-4850-586068707880,true,,Boat,1 3,"
    )
    #expect(shared[9] == "Tag,1,urgent,,,,,,,,,1 2")
    #expect(shared.count == 13)
    let two = try Program.run(
      "rows", demo.kept.path, "--format", "csv", "--entity", "Tag", "--entity", "Folder",
      "--limit", "3")
    #expect(
      two.text
        == "_entity,_pk,name,notes\r\nFolder,1,Private,\r\nFolder,2,Work,\r\nTag,1,urgent,1 2\r\n")
    let raw = try Program.run("rows", demo.kept.path, "--raw", "--format", "csv")
    #expect(raw.errorCode == "usage.oneTable")
  }

  @Test func limitAndEntityChoose() throws {
    let demo = try Demonstration.shared.get()
    let limited = try Program.run("rows", demo.kept.path, "--format", "ndjson", "--limit", "3")
    #expect(try limited.lines().count == 3)
    for form in ["ndjson", "csv"] {
      for (raw, name) in [([], "Note"), (["--raw"], "ZNOTE")] {
        let outcome = try Program.run(
          ["rows", demo.kept.path, "--format", form, "--limit", "2", "--entity", name] + raw)
        let count = outcome.stdout.split(separator: UInt8(ascii: "\n")).count
        #expect(count == (form == "csv" ? 3 : 2), "\(form) \(raw)")
      }
    }
    let two = try Program.run(
      "rows", demo.kept.path, "--format", "ndjson", "--entity", "Tag", "--entity", "Folder")
    #expect(Set(try two.lines().compactMap { $0["entity"]?.string }) == ["Tag", "Folder"])
    let table = try Program.run(
      "rows", demo.kept.path, "--raw", "--format", "ndjson", "--entity", "ZTAG")
    #expect(try table.lines().count == 3)
    let text = try Program.run("rows", demo.kept.path, "--entity", "Note", "--limit", "1")
    #expect(text.text.contains("Note, 6 rows"))
    #expect(text.text.contains("1 of 6 rows shown"))
    for flags in [
      ["--entity", "Nothing"], ["--raw", "--entity", "Nothing"],
      ["--all", "--format", "json", "--entity", "Nothing"],
      ["--deleted", "--format", "ndjson", "--entity", "Nothing"],
    ] {
      let unknown = try Program.run(["rows", demo.kept.path] + flags)
      #expect(unknown.status == 64)
      #expect(unknown.errorCode == "input.unknownName")
      #expect(unknown.text == "")
    }
  }

  /// The command that the hint of an unknown attribute names shows the attributes.
  @Test func anUnknownAttributeHasAHintThatListsAttributes() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let plain = try StoreFixtures.named("deep-table").make(folder.url)
    let store = demo.kept.path
    for (arguments, hint, known) in [
      (["--where", "titel == 'x'"], "model show \(store)", "title"),
      (["--columns", "titel"], "model show \(store)", "title"),
      (["--order", "-titel", "--entity", "Note"], "model show \(store) --entity Note", "title"),
      (["--where", "folder.nam == 'x'"], "model show \(store) --entity Folder", "name"),
    ] {
      let outcome = try Program.run(["rows", store] + arguments)
      #expect(outcome.status == 64 && outcome.errors.contains("did you mean \(known)?"))
      #expect(outcome.errors.contains("lifeboat \(hint)\n"), "\(outcome.errors)")
      let list = try Program.run(hint.split(separator: " ").map(String.init))
      #expect(list.status == 0 && list.text.contains("  \(known) "), "\(list.text)")
    }
    let outcome = try Program.run("rows", plain.path, "--where", "idd == 1")
    #expect(outcome.errors.contains("lifeboat rows --limit 1 \(plain.path) --entity numbered\n"))
    let list = try Program.run("rows", "--limit", "1", plain.path, "--entity", "numbered")
    #expect(list.status == 0 && list.text.contains("id"), "\(list.text)")
  }

  @Test func theLogCanBeLeftOut() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-uncommitted-tail").make(folder.url)
    func values(_ view: String) throws -> Data {
      try Program.run("rows", "--raw", "--format", "ndjson", "--wal", view, store.path).stdout
    }
    let alone = try TemporaryFolder()
    try FileManager.default.copyItem(at: store, to: alone.url.appendingPathComponent("x"))
    let main = try Program.run(
      "rows", "--raw", "--format", "ndjson", alone.url.appendingPathComponent("x").path)
    #expect(try values("ignore") == main.stdout)
    #expect(try values("committed") != main.stdout)
    #expect(try values("all") != values("committed"))
  }

  @Test func aPlainDatabaseIsReadAsItIs() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    let plain = try Program.run("rows", "--format", "ndjson", store.path)
    let raw = try Program.run("rows", "--raw", "--format", "ndjson", store.path)
    #expect(plain.stdout == raw.stdout)
    #expect(plain.errors.contains("not a Core Data store"))
  }

  /// Tables like Core Data's in a file that has lost what names their entities: they are not left out in silence.
  @Test func tablesWithoutEntities() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE TEXT);
      CREATE TABLE other(a);
      INSERT INTO ZNOTE VALUES (1, 1, 1, 'anchor'); INSERT INTO other VALUES ('sail');
      """)
    connection.close()
    let outcome = try Program.run("rows", url.path)
    #expect(
      outcome.status == 0 && outcome.errors.contains("nothing in the store names its entities"))
    #expect(outcome.text.contains("anchor") && outcome.text.contains("sail"))
  }

  /// `--indexed` knows the names of entities, tables and full-text tables, and no others.
  @Test func anUnknownNameAmongIndexedRows() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("plain.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT);
      CREATE INDEX byTitle ON note(title);
      CREATE VIRTUAL TABLE docs USING fts4(body);
      INSERT INTO note VALUES (1, 'a');
      """)
    connection.close()
    for format in ["text", "json", "ndjson"] {
      let unknown = try Program.run(
        "rows", "--indexed", "--entity", "nots", "--format", format, store.path)
      #expect(unknown.status == 64 && unknown.text.isEmpty, "\(unknown.text)")
      #expect(unknown.errorCode == "input.unknownName" && unknown.errors.contains("note"))
    }
    for name in ["note", "NOTE", "docs"] {
      let known = try Program.run("rows", "--indexed", "--entity", name, store.path)
      #expect(known.status == 0, "\(name): \(known.errors)")
    }
    let demo = try Demonstration.shared.get()
    let entity = try Program.run("rows", "--indexed", "--entity", "Note", demo.kept.path)
    #expect(entity.status == 0, "\(entity.errors)")
  }
}
