import Fixtures
import Foundation
import Testing

/// `lifeboat check` and `lifeboat pages`
@Suite struct CheckTests {
  @Test func aSoundStoreIsCalledSound() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let outcome = try Program.run("check", "--depth", "full", demo.kept.path)
    #expect(outcome.status == 0)
    #expect(outcome.errors == "")
    let words = outcome.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for part in [
      "sound", "Core Data's rules on keys", "compared with the rows", "lifeboat inspect",
    ] {
      #expect(words.contains(part), "\(part)")
    }
    let report = try Program.run("check", "--json", demo.kept.path).json()
    #expect(report["schema"]?.string == "lifeboat.check")
    #expect(report["isSound"]?.boolean == true)
    // What the default depth leaves out is named, and nothing is called sound that was not looked at.
    #expect(
      report["notChecked"]?.array?.compactMap { $0["id"]?.string } == [
        "index.entries", "index.order",
      ])
    let quick = try Program.run("check", demo.kept.path).text
    #expect(
      quick.contains("no damage found in the parts that were checked")
        && quick.contains("Not checked"))
    #expect(report["counts"]?["checkedPages"] == report["counts"]?["pages"])
    #expect(treeState(of: demo.folder) == before)
  }

  /// Rules that the store gives nothing to hold against are not said to hold.
  @Test func rulesThatWereNotLookedAtAreNamed() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    // With its log and its external files.
    let copy = folder.url.appendingPathComponent("copy")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: copy)
    let store = copy.appendingPathComponent(demo.kept.lastPathComponent)
    let connection = try SQLiteConnection(store)
    try connection.exec("DELETE FROM Z_METADATA")
    try connection.exec("INSERT INTO Z_METADATA VALUES (1, 'A', NULL)")
    connection.close()
    let outcome = try Program.run("check", "--depth", "full", store.path)
    #expect(outcome.status == 0, "\(outcome.text)")
    #expect(!outcome.text.contains("rules hold"))
    #expect(outcome.text.contains("no damage found in the parts that were checked"))
    #expect(outcome.text.contains("version hashes, because none are recorded"))
    let screen = try Program.run("inspect", store.path).text
    #expect(screen.contains("version hashes not compared"), "\(screen)")
  }

  @Test func damageIs1AndNamesThePage() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    try overwrite(store, at: 512 * 4, bytes: [99])
    let outcome = try Program.run("check", store.path)
    #expect(outcome.status == 1)
    for part in ["damaged: ", "page 5, offset 2,048 (page.badType)", "lifeboat pages --page"] {
      #expect(outcome.text.contains(part), "\(part)")
    }
    #expect(try Program.run("check", "--exit-zero", store.path).status == 0)
    let lines = try Program.run("check", "--format", "ndjson", store.path).lines()
    #expect(lines.contains { $0["id"]?.string == "page.badType" && $0["page"]?.integer == 5 })
    let report = try Program.run("check", "--json", store.path)
    #expect(report.status == 1)
    #expect(try report.json()["findingCount"]?.integer == Int64(lines.count))
  }

  /// A table of 25 pages: a root and 24 leaves, in a file with the schema on page 1.
  private static func manyPages(in folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("many.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024;
      CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
      INSERT INTO note SELECT i, 'note ' || i || hex(zeroblob(20)) FROM n;
      """)
    connection.close()
    return url
  }

  @Test func rowsOnSkippedPagesAreSaidToBeUncounted() throws {
    let folder = try TemporaryFolder()
    let store = try Self.manyPages(in: folder)
    let sound = try Program.run("check", store.path)
    #expect(sound.text.contains("400 rows of 1 table,"), "\(sound.text)")
    try overwrite(store, at: 4 * 1024, bytes: [0])
    let outcome = try Program.run("check", store.path)
    let part = "of 1 table (without the rows on pages that could not be checked, of note), "
    #expect(outcome.text.replacing(/\s+/, with: " ").contains(part), "\(outcome.text)")
    let counts = try Program.run("check", "--json", store.path).json()["counts"]
    #expect(counts?["partlyCountedTables"] == .array([.string("note")]))
    #expect(counts?["rows"]?.integer ?? 400 < 400)
  }

  @Test func pagesThatTheFileLacksAreToldApart() throws {
    let folder = try TemporaryFolder()
    let store = try Self.manyPages(in: folder)
    try overwrite(store, at: 4 * 1024, bytes: [0])
    let size = try bytes(of: store).count
    let file = try FileHandle(forWritingTo: store)
    try file.truncate(atOffset: UInt64(size - 3 * 1024))
    try file.close()
    let places = "on 1 page and on 3 pages that the file does not have"
    let outcome = try Program.run("check", store.path)
    #expect(outcome.text.contains(places), "\(outcome.text)")
    let inspected = try Program.run("inspect", store.path).text
    let counted = places.replacing("1 page ", with: "1 page (of \(size / 1024)) ")
    #expect(inspected.contains(counted), "\(inspected)")
  }

  @Test func notesAloneAreNoDamage() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let size = try bytes(of: store).count
    try overwrite(store, at: size, bytes: [1, 2, 3])
    let outcome = try Program.run("check", store.path)
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("1 note"))
    #expect(outcome.text.contains("note: 3 bytes follow the last"))
    #expect(!(try Program.run("check", "--quiet", store.path)).text.contains("file.trailing"))
  }

  /// An encrypted file is called that, with its header in the clear too; a ruined start is not.
  @Test func encryptionIsToldFromRuin() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let sound = try bytes(of: store)
    try #require(sound.count > 200_000)
    var generator = SplitMix64(seed: 9)
    for clear in [0, 32, 100] {
      try Data(sound[..<clear] + generator.bytes(sound.count - clear)).write(to: store)
      let outcome = try Program.run("check", store.path)
      #expect(outcome.status == 65, "\(clear)")
      #expect(outcome.errorCode == "file.looksEncrypted", "\(clear): \(outcome.errors)")
    }
    try Data(generator.bytes(65_536) + sound[65_536...]).write(to: store)
    #expect(try Program.run("inspect", store.path).text.contains("Header  "))
    #expect(
      try Program.run("rows", store.path).errors.contains("hint: the header of the file is damaged")
    )
    #expect(try Program.run("check", store.path).status == 1)
  }

  @Test func aLostHeaderIsAFindingAndTheNextStepIsNamed() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let sound = try Program.run("check", "--json", store.path).json()
    try overwrite(store, at: 0, bytes: [UInt8](repeating: 0, count: 100))
    let before = treeState(of: folder.url)
    let outcome = try Program.run("check", store.path)
    #expect(outcome.status == 1)
    for part in ["(header.unreadable)", "lifeboat rows --all", "lifeboat recover"] {
      #expect(outcome.text.contains(part), "\(part)")
    }
    let report = try Program.run("check", "--json", store.path).json()
    #expect(report["counts"]?["rows"] == sound["counts"]?["rows"])
    let pages = try Program.run("pages", store.path)
    #expect(pages.status == 0)
    #expect(pages.text.contains("the database header is not valid"))
    #expect(treeState(of: folder.url) == before)
  }

  @Test func aLostSchemaLeavesPagesByKind() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let pageSize = try #require(
      try Program.run("pages", "--json", store.path).json()["pageSizeBytes"]?.integer)
    try overwrite(store, at: 0, bytes: [UInt8](repeating: 0, count: Int(pageSize)))
    let outcome = try Program.run("check", store.path)
    #expect(outcome.status == 1)
    for part in ["(schema.lost)", "without a schema entry", "lifeboat recover"] {
      #expect(outcome.text.contains(part), "\(part)")
    }
    let kinds = try Program.run("pages", "--json", store.path).json()["kinds"]
    #expect((kinds?["leafTable"]?.integer ?? 0) > 10)
    #expect((kinds?["interiorTable"]?.integer ?? 0) > 0)
    let leaf = try #require(
      try Program.run("pages", "--format", "ndjson", store.path).lines()
        .first { $0["kind"]?.string == "leafTable" }?["page"]?.integer)
    let detail = try Program.run("pages", "--page", "\(leaf)", store.path)
    #expect(detail.status == 0 && detail.text.contains("a table leaf"))
  }

  @Test func progressIsOnStandardError() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let outcome = try Program.run("check", "--progress", "json", store.path)
    let lines = outcome.errors.split(separator: "\n")
    #expect(lines.last?.contains(#""type":"finished""#) == true)
    #expect(lines.last?.contains(#""unit":"pages""#) == true)
    #expect(try Program.run("pages", "--progress", "none", store.path).errors == "")
  }

  @Test func pagesAreListed() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("auto-vacuum-full").make(folder.url)
    let report = try Program.run("pages", "--json", store.path).json()
    #expect(report["schema"]?.string == "lifeboat.pages")
    let runs = try #require(report["runs"]?.array)
    let lines = try Program.run("pages", "--format", "ndjson", store.path).lines()
    #expect(Int64(lines.count) == report["pageCount"]?.integer)
    #expect(runs.reduce(0) { $0 + ($1["pageCount"]?.integer ?? 0) } == Int64(lines.count))
    for (index, line) in lines.enumerated() { #expect(line["page"]?.integer == Int64(index + 1)) }
    #expect(lines[1]["kind"]?.string == "pointerMap")
    let text = try Program.run("pages", store.path).text
    #expect(text.contains("pointerMap") && text.contains("Owner") && text.contains("Overflow"))
  }

  @Test func onePageIsShownDamagedOrNot() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let first = try Program.run("pages", "--page", "1", store.path)
    #expect(first.status == 0)
    #expect(first.text.contains("|SQLite format 3.|"))
    #expect(
      first.text.contains("a table leaf of sqlite_schema")
        || first.text.contains("an interior table page"))
    #expect(first.text.utf8.allSatisfy { $0 == 10 || $0 >= 32 })
    try overwrite(store, at: 512 * 4, bytes: [0x1b, 0x5b, 0x33, 0x31, 0x6d])
    let ruined = try Program.run("pages", "--page", "5", store.path)
    #expect(ruined.status == 0)
    #expect(ruined.text.contains("a page that is not readable"))
    #expect(ruined.text.contains("0000000800  1b 5b 33 31 6d"))
    #expect(ruined.text.contains("|.[31m"))
    #expect(!ruined.text.contains("\u{1b}"))
    let report = try Program.run("pages", "--page", "5", "--json", store.path).json()
    #expect(report["hex"]?.string?.hasPrefix("1b5b33316d") == true)
    #expect(report["hex"]?.string?.count == 1024)
    let none = try Program.run("pages", "--page", "999999", store.path)
    #expect(none.status == 64 && none.errorCode == "usage.noSuchPage")
  }

  @Test func runsAreRecorded() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let log = folder.url.appendingPathComponent("custody.ndjson")
    for command in ["check", "pages"] {
      #expect(try Program.run(command, "--custody-log", log.path, store.path).status == 0)
    }
    #expect(try bytes(of: log).count { $0 == 10 } == 2)
  }

  /// What is suggested next opens the store, too.
  @Test func suggestionsNameTheKey() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let key = folder.url.appendingPathComponent("key").path
    try Data("the sea is calm\n".utf8).write(to: URL(fileURLWithPath: key))
    let store = demo.kept.path
    for (arguments, command) in [
      (["inspect"], "lifeboat rows"), (["check"], "lifeboat inspect"),
      (["recover", "--dry-run"], "lifeboat recover"),
    ] {
      let outcome = try Program.run(arguments + [store, "--key-file", key], columns: 400)
      #expect(
        outcome.text.contains("\(command) \(store) --key-file \(key)"),
        "\(arguments): \(outcome.text)\(outcome.errors)")
    }
  }
}
