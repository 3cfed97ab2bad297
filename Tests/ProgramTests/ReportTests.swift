import Fixtures
import Foundation
import Testing

/// `lifeboat report`
@Suite struct ReportTests {
  /// A copy of the demo's store, with changes in its log.
  private static func changedStore(of demo: Demonstration, in folder: URL) throws -> URL {
    let work = folder.appendingPathComponent("work")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: work)
    let connection = try SQLiteConnection(work.appendingPathComponent("Notes.sqlite"))
    // A picture of one pixel.
    let png =
      "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
      + "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
    try connection.exec(
      """
      PRAGMA wal_autocheckpoint = 0;
      UPDATE ZNOTE SET ZPICTURE = x'01\(png)' WHERE Z_PK = 1;
      PRAGMA wal_checkpoint(TRUNCATE);
      UPDATE ZNOTE SET ZTITLE = 'Groceries <b>', ZPICTURE = NULL WHERE Z_PK = 1;
      DELETE FROM ZNOTE WHERE Z_PK = 3;
      DELETE FROM Z_2TAGS WHERE Z_2NOTES = 3;
      """)
    let store = folder.appendingPathComponent("Notes.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(
        at: work.appendingPathComponent("Notes.sqlite" + suffix),
        to: URL(fileURLWithPath: store.path + suffix))
    }
    connection.close()
    return store
  }

  /// Older versions of rows beside what they are now: what was changed is what the statements changed.
  @Test func rowsBeforeAndAfter() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let store = try Self.changedStore(of: demo, in: place.url)
    func page(_ name: String, _ options: String...) throws -> String {
      let output = place.url.appendingPathComponent(name + ".html")
      let outcome = try Program.run(["report", store.path, "-o", output.path] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      return try String(decoding: Data(contentsOf: output), as: UTF8.self)
    }
    let closed = try page("closed")
    #expect(!closed.contains("Before and after") && !closed.contains("img-src"))
    for value in ["Shopping", "Groceries", "loses anything"] { #expect(!closed.contains(value)) }

    let open = try page("open", "--values")
    func row(_ fate: String, _ name: String, _ attribute: String, _ before: String, _ now: String)
      -> Bool
    {
      open.contains(
        "<tr class=\"\(fate)\"><th scope=\"row\">\(name)</th><td>\(attribute)</td><td>\(before)</td><td>\(now)</td>"
      )
    }
    #expect(row("changed", "Note 1", "title", "Shopping", "Groceries &lt;b&gt;"))
    #expect(row("deleted", "Note 3", "body", "an app that never loses anything", "the row is gone"))
    #expect(
      open.contains("image/png, 1 by 1 pixels (67 bytes)<img alt=\"\" src=\"data:image/png;base64,")
    )
    #expect(open.contains("; img-src data:\""))
    // Nothing else has changed.
    let changed = open.matches(of: /<tr class="changed"><th scope="row">([^<]*)<\/th><td>([^<]*)</)
      .map { "\($0.output.1).\($0.output.2)" }
    #expect(Set(changed) == ["Note 1.title", "Note 1.picture"])
    #expect(
      Set(open.matches(of: /<tr class="deleted"><th scope="row">([^<]*)</).map(\.output.1)) == [
        "Note 3"
      ])

    let list = place.url.appendingPathComponent("allow")
    try Data("lifeboat-allow 1\nNote.title\n".utf8).write(to: list)
    let listed = try page("listed", "--allow", list.path)
    #expect(listed.contains("Shopping") && !listed.contains("loses anything"))
    #expect(!listed.contains("<img "))
  }

  /// The same for tables of no entity: of a plain file, and beside a model.
  @Test(arguments: [false, true]) func tableRowsBeforeAndAfter(besideAModel: Bool) throws {
    let place = try TemporaryFolder()
    let work = try TemporaryFolder()
    let path = work.url.appendingPathComponent("Shop.sqlite").path
    if besideAModel {
      let demo = try Demonstration.shared.get()
      try withExtendedLifetime(demo) {
        for suffix in ["", "-wal"] {
          try FileManager.default.copyItem(atPath: demo.kept.path + suffix, toPath: path + suffix)
        }
      }
    }
    let connection = try SQLiteConnection(URL(fileURLWithPath: path))
    try connection.exec(
      """
      PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE shopping (id INTEGER PRIMARY KEY, what TEXT, amount REAL, photo BLOB);
      CREATE TABLE pairs (a TEXT PRIMARY KEY, b TEXT) WITHOUT ROWID;
      INSERT INTO shopping VALUES (1, 'green tea', 2, x'00ff'), (2, 'bread', 1.5, NULL), (3, 'salt', 1, NULL);
      INSERT INTO pairs VALUES ('x', 'y');
      PRAGMA wal_checkpoint;
      UPDATE shopping SET what = '<b>black</b> tea' WHERE id = 1; DELETE FROM shopping WHERE id = 2;
      UPDATE pairs SET b = 'z';
      """)
    let store = place.url.appendingPathComponent("Shop.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: store.path + suffix)
    }
    connection.close()
    func rows(_ name: String, _ options: String...) throws -> Set<[String]> {
      let output = place.url.appendingPathComponent(name + ".html")
      let outcome = try Program.run(["report", store.path, "-o", output.path] + options)
      try #require(outcome.status == 0, "\(outcome.errors)")
      let page = try String(decoding: Data(contentsOf: output), as: UTF8.self)
      let row =
        /<tr class="(changed|deleted)"><th scope="row">([^<]*)<\/th><td>([^<]*)<\/td><td>([^<]*)<\/td><td>([^<]*)</
      return Set(
        page.matches(of: row).map {
          [$0.1, $0.2, $0.3, $0.4, $0.5].map(String.init)
        }.filter { $0[1].hasPrefix("shopping") || $0[1].hasPrefix("pairs") })
    }
    let changed = ["changed", "shopping 1", "what", "green tea", "&lt;b&gt;black&lt;/b&gt; tea"]
    let deleted: [[String]] = [("id", "2"), ("what", "bread"), ("amount", "1.5")].map {
      ["deleted", "shopping 2", $0.0, $0.1, "the row is gone"]
    }
    #expect(try rows("all", "--values") == Set([changed] + deleted))
    #expect(try rows("none").isEmpty)
    let list = place.url.appendingPathComponent("allow")
    try Data("lifeboat-allow 1\nshopping.amount\n".utf8).write(to: list)
    #expect(try rows("listed", "--allow", list.path) == [deleted[2]])
  }

  /// An entity and a table of one name have rows of their own.
  @Test func aTableNamedLikeAnEntity() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let work = place.url.appendingPathComponent("work")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: work)
    let made = work.appendingPathComponent("Notes.sqlite")
    let connection = try SQLiteConnection(made)
    try connection.exec(
      """
      PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE Note (title); INSERT INTO Note VALUES ('green tea');
      PRAGMA wal_checkpoint(TRUNCATE);
      UPDATE ZNOTE SET ZTITLE = 'Groceries' WHERE Z_PK = 1; UPDATE Note SET title = 'black tea';
      """)
    let store = place.url.appendingPathComponent("Notes.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: made.path + suffix, toPath: store.path + suffix)
    }
    connection.close()
    let output = place.url.appendingPathComponent("page.html")
    let outcome = try Program.run("report", store.path, "--values", "-o", output.path)
    try #require(outcome.status == 0, "\(outcome.errors)")
    let page = try String(decoding: Data(contentsOf: output), as: UTF8.self)
    let row = "<th scope=\"row\">Note 1</th><td>title</td>"
    #expect(page.contains(row + "<td>Shopping</td><td>Groceries</td>"))
    #expect(page.contains(row + "<td>green tea</td><td>black tea</td>"))
  }

  /// Rows of a page that was overwritten are lost, and an index still names them.
  @Test func lostRowsAreCounted() throws {
    let place = try TemporaryFolder()
    let store = place.url.appendingPathComponent("Shop.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE shopping (id INTEGER PRIMARY KEY, what TEXT, shelf INTEGER);
      CREATE INDEX by_shelf ON shopping (shelf);
      CREATE TABLE other (id INTEGER PRIMARY KEY, what TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
      INSERT INTO shopping SELECT i, 'thing number ' || i, i % 40 FROM n;
      INSERT INTO other VALUES (1, 'x');
      """)
    let leaf =
      "FROM dbstat WHERE name = 'shopping' AND pagetype = 'leaf' ORDER BY path LIMIT 1 OFFSET 5"
    guard let page = try? connection.integer("SELECT pageno \(leaf)") else {
      print("skipped: lost rows: SQLite is built without dbstat")
      return
    }
    let count = try #require(try connection.integer("SELECT ncell \(leaf)"))
    connection.close()
    let file = try FileHandle(forUpdating: store)
    try file.seek(toOffset: UInt64(page - 1) * 4096)
    try file.write(contentsOf: Data(count: 4096))
    try file.close()
    let output = place.url.appendingPathComponent("page.html")
    try #require(try Program.run("report", store.path, "-o", output.path).status == 0)
    let html = try String(decoding: Data(contentsOf: output), as: UTF8.self)
    let text = html.replacing(/(<[^>]*>\s*)+/, with: "|")
    #expect(text.contains("|Table|Rows|Partial|Deleted|Lost|"))
    #expect(text.contains("|shopping|2,\(3000 - count - 2000)|0|0|\(count)|"), "\(count)")
    #expect(text.contains("|other|1|0|0|0|"))
    #expect(text.contains("only an index still names them"))
  }

  @Test func aStoreAnIncidentAndAFolder() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    let folder = demo.incident.deletingLastPathComponent().deletingLastPathComponent()
    for (name, input, words) in [
      ("store", demo.kept, "Report on Notes.sqlite"), ("incident", demo.incident, "Set aside:"),
      ("folder", folder, "<th scope=\"col\">Verdict"),
    ] {
      let output = place.url.appendingPathComponent(name + ".html")
      let outcome = try Program.run("report", input.path, "-o", output.path)
      #expect(outcome.status == 0, "\(name): \(outcome.errors)")
      let html = try String(decoding: Data(contentsOf: output), as: UTF8.self)
      #expect(html.contains(words), "\(name)")
      #expect(try Program.run("report", input.path, "-o", output.path).status == 73)
    }
    #expect(treeState(of: demo.folder) == before)
    // Of a bundle, with the files of the store or without.
    for (flags, words) in [
      (["--include", "store"], "class=\"strip\""), ([], "made from the records of a bundle"),
    ] {
      let name = UUID().uuidString
      let bundle = place.url.appendingPathComponent(name + ".zip").path
      let output = place.url.appendingPathComponent(name + ".html")
      #expect(
        try Program.run(["bundle", "create", demo.incident.path, "-o", bundle] + flags).status == 0)
      let outcome = try Program.run("report", bundle, "-o", output.path)
      #expect(outcome.status == 0, "\(outcome.errors)")
      let html = try String(decoding: Data(contentsOf: output), as: UTF8.self)
      #expect(html.contains(words) && html.contains("Report on Notes.sqlite"), "\(flags)")
      // The record of a bundle rounds the size of the external file.
      #expect(html.contains("at least 131,072") == flags.isEmpty, "\(flags)")
    }
    // Nothing is written into the evidence.
    for output in [
      demo.kept.path + "-wal", demo.incident.path + "/page.html",
      demo.incident.path + "/store/page.html",
    ] {
      for input in [demo.kept.path, demo.incident.path] {
        #expect(try Program.run("report", input, "-o", output).status == 73, "\(output)")
      }
    }
    #expect(
      try Program.run("extract", demo.kept.path, "-o", demo.incident.path + "/store/rows").status
        == 73)
    #expect(try Program.run("report", place.url.path + "/none", "-o", "x").status == 66)
    #expect(treeState(of: demo.folder) == before)
  }

  /// With a key, too, no page becomes a part of the store.
  @Test func noPageIsAPartOfTheStore() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let key = place.url.appendingPathComponent("key")
    try Data("the sea is calm\n".utf8).write(to: key)
    let store = try Self.changedStore(of: demo, in: place.url)
    for ending in ["-journal", "-shm"] {
      let refused = try Program.run(
        "report", store.path, "--key-file", key.path, "-o", store.path + ending)
      #expect(refused.status == 73 && refused.errorCode == "output.isEvidence", "\(refused.text)")
      #expect(!FileManager.default.fileExists(atPath: store.path + ending))
    }
    let inside = try Program.run(
      "report", demo.incident.path, "-o", demo.incident.path + "/store/page.html")
    #expect(inside.status == 73 && inside.errorCode == "output.isEvidence", "\(inside.text)")
  }
}
