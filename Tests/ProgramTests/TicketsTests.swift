import Fixtures
import Foundation
import Testing

/// Twelve tickets of a support desk, each answered by one command that the help names, on one screen of 80 columns.
@Suite struct TicketsTests {
  /// Runs a command as a newcomer would, and holds its text against the screen.
  private static func answer(
    _ arguments: [String], status: Int32 = 0, lines: Int = 24,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let outcome = try Program.run(arguments, columns: 80)
    #expect(outcome.status == status, "\(outcome.errors)", sourceLocation: sourceLocation)
    let text = outcome.text + outcome.errors
    let all = outcome.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(all.count <= lines + 1, "\(text)", sourceLocation: sourceLocation)
    // Commands to copy and paths are not broken.
    for line in all
    where !line.contains("lifeboat ") && !line.contains("https://") && !line.contains(" /")
      && !line.hasPrefix("/")
    {
      #expect(line.count <= 80, "\(line)", sourceLocation: sourceLocation)
    }
    let help = try Program.run("--help").text
    #expect(
      [" ", ","].contains { help.contains("\n  \(arguments[0])\($0)") },
      sourceLocation: sourceLocation)
    return text
  }

  @Test(.enabled(if: Shared.isThere)) func whichAppWroteIt() throws {
    let store = try RealStores.named("ios17-mastodon/shared.sqlite")
    let text = try Self.answer(["inspect", store.url.path])
    #expect(text.contains("Core Data store"))
    #expect(text.contains("iOS 17"))
  }

  @Test(.enabled(if: Shared.isThere)) func rowsForASpreadsheet() throws {
    let place = try TemporaryFolder()
    let store = try RealStores.named("RecipeData/Recipes.sqlite")
    let output = place.url.appendingPathComponent("Recipes.xlsx").path
    let text = try Self.answer(["extract", store.url.path, "-o", output])
    #expect(text.contains("rows saved in"))
    #expect(FileManager.default.fileExists(atPath: output))
  }

  @Test func aDeletedMessage() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("chat.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA secure_delete = OFF;
      CREATE TABLE message(id INTEGER PRIMARY KEY, body TEXT);
      INSERT INTO message VALUES (1, 'see you at the station'), (2, 'the key is under the mat'), (3, 'ok');
      DELETE FROM message WHERE id = 2;
      """)
    connection.close()
    let text = try Self.answer(["search", "under the mat", url.path])
    #expect(text.contains("message"))
    #expect(text.contains("deleted"))
    #expect(text.contains("key is under the mat"))
  }

  @Test func pageOneIsGone() throws {
    let place = try TemporaryFolder()
    let store = try Self.notes(in: place.url, named: "Notes.sqlite")
    try Self.wipe(store, 0..<4096)
    let text = try Self.answer(["inspect", store.path])
    #expect(text.contains("lifeboat recover"))
    let output = place.url.appendingPathComponent("New.sqlite").path
    let saved = try Self.answer(["recover", store.path, "-o", output], status: 1)
    #expect(saved.contains("300"))
  }

  @Test func theLogIsGone() throws {
    let place = try TemporaryFolder()
    let url = place.url.appendingPathComponent("a.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1); PRAGMA wal_checkpoint"
    )
    for suffix in ["", "-shm"] {
      try FileManager.default.copyItem(
        atPath: url.path + suffix, toPath: place.url.path + "/copy.sqlite" + suffix)
    }
    connection.close()
    let text = try Self.answer(["check", place.url.path + "/copy.sqlite"])
    #expect(text.contains("the log was probably not copied"))
    #expect(text.contains("-wal"))
  }

  @Test func nothingPrivateLeaves() throws {
    let place = try TemporaryFolder()
    let store = try Self.notes(in: place.url, named: "Notes.sqlite")
    let text = try Self.answer(["bundle", "create", store.path, "--dry-run"])
    #expect(text.contains("This would leave the machine"))
    #expect(text.contains("left out: The rows of the store."))
    #expect(!text.contains("Shopping"))
  }

  @Test(.enabled(if: Shared.isThere)) func whenDidItHappen() throws {
    let store = try #require(
      RealStores.all.first { store in
        (try? Program.run("timeline", store.url.path, "--limit", "1").text.contains("inserted"))
          ?? false
      })
    let text = try Self.answer(["timeline", store.url.path, "--limit", "5"])
    #expect(text.contains("events shown; --limit shows more") || text.contains("inserted"))
  }

  @Test func beforeAndAfter() throws {
    let place = try TemporaryFolder()
    let old = try Self.notes(in: place.url, named: "Old.sqlite")
    let new = place.url.appendingPathComponent("New.sqlite")
    try FileManager.default.copyItem(at: old, to: new)
    let connection = try SQLiteConnection(new)
    try connection.exec(
      "UPDATE note SET title = 'Shopping done' WHERE id = 7; DELETE FROM note WHERE id = 8")
    connection.close()
    let text = try Self.answer(["compare", old.path, new.path], status: 1)
    #expect(text.contains("~ note 7  title: \"Shopping list 7\" → \"Shopping done\""))
    #expect(text.contains("- note 8  \"Shopping list 8\""))
  }

  @Test func putItBack() throws {
    let quarantines = try Quarantines()
    let text = try Self.answer(
      ["incidents", "restore", quarantines.stores + "/Incompatible/" + quarantines.id])
    #expect(text.contains("restored:"))
    #expect(text.contains("to go back, run: lifeboat incidents restore"))
    #expect(text.contains("next: open the app"))
  }

  @Test(.enabled(if: Shared.isThere)) func whatTheModelChanged() throws {
    let models = try #require(Shared.folder).appendingPathComponent(
      "stores/real/objcio-core-data/Migrations/Migrations/Moody.xcdatamodeld")
    let text = try Self.answer(
      ["model", "diff", models.path, "--from", "2", "--to", "3"], status: 1)
    #expect(text.contains("lightweight migration can do all of it"))
    #expect(text.contains("Continent.moods"))
  }

  /// One file of binary data is gone, and of another only zeroes are left.
  @Test func externalFilesAreMissingOrDamaged() throws {
    let demo = try Demonstration()
    let support = demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: support.path).first)
    let place = try TemporaryFolder()
    for (fault, word) in [("zeroed", "zeroes"), ("gone", "missing")] {
      let file = support.appendingPathComponent(name)
      try FileManager.default.removeItem(at: file)
      if fault == "zeroed" { try Data(repeating: 0, count: 300_000).write(to: file) }
      let output = place.url.appendingPathComponent(fault).path
      let text = try Self.answer(["extract", demo.kept.path, "-o", output], status: 1)
      #expect(text.contains(name) && text.contains("external"), "\(word): \(text)")
    }
  }

  /// Five files of which one has lost its first page, one is empty with a log beside it, and one is no store.
  @Test func aFolderOfFive() throws {
    let place = try TemporaryFolder()
    for name in ["a.sqlite", "b.sqlite", "c.sqlite"] {
      _ = try Self.notes(in: place.url, named: name)
    }
    try Self.wipe(place.url.appendingPathComponent("b.sqlite"), 0..<4096)
    try Data().write(to: place.url.appendingPathComponent("d.sqlite"))
    try Data(repeating: 7, count: 40_000).write(
      to: place.url.appendingPathComponent("d.sqlite-wal"))
    try Data("a text".utf8).write(to: place.url.appendingPathComponent("readme.txt"))
    let text = try Self.answer(["inspect", place.url.path], status: 1)
    for name in ["a.sqlite", "b.sqlite", "c.sqlite", "d.sqlite"] {
      #expect(text.contains(name), "\(text)")
    }
    #expect(!text.contains("readme.txt"))
    #expect(text.contains("4 files"))
  }

  private static func notes(in folder: URL, named name: String) throws -> URL {
    let url = folder.appendingPathComponent(name)
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT);
      WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 300)
        INSERT INTO note SELECT i, 'Shopping list ' || i, hex(randomblob(60)) FROM i;
      """)
    connection.close()
    return url
  }

  private static func wipe(_ url: URL, _ range: Range<Int>) throws {
    var bytes = try Data(contentsOf: url)
    bytes.replaceSubrange(range, with: Data(count: range.count))
    try bytes.write(to: url)
  }
}
