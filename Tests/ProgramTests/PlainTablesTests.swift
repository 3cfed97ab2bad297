import Fixtures
import Foundation
import Testing

/// Tables that an app made beside those of its model: their rows are the user's, too, so no command leaves them out
/// without a word.
@Suite struct PlainTablesTests {
  private let place: TemporaryFolder
  private let store: URL
  private let path: String
  private let rowsOfEntities: Int64

  init() throws {
    let demo = try Demonstration.shared.get()
    place = try TemporaryFolder()
    let folder = place.url.appendingPathComponent("kept")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: folder)
    store = folder.appendingPathComponent(demo.kept.lastPathComponent)
    path = store.path
    rowsOfEntities = try Self.inspection(path)["liveRowCount"]?.integer ?? 0
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      CREATE TABLE shopping (amount, what);
      INSERT INTO shopping VALUES (1, 'green tea'), (2.5, NULL), (3, x'00ff');
      CREATE TABLE barren (a);
      """)
    connection.close()
  }

  private static func inspection(_ path: String) throws -> JSON {
    try JSONDecoder().decode(JSON.self, from: Program.run("inspect", "--json", path).stdout)
  }

  private func output(_ name: String) -> URL { place.url.appendingPathComponent(name) }

  /// SQLite computes a VIRTUAL column when it reads a row: the file has no value of it to show.
  @Test func columnsThatTheFileDoesNotHoldAreNamed() throws {
    let url = output("computed.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE note (body TEXT, length INT AS (length(body)) VIRTUAL, upper TEXT AS (upper(body)) STORED);
      INSERT INTO note VALUES ('five');
      CREATE TABLE other (a);
      INSERT INTO other VALUES (1);
      """)
    connection.close()
    let note =
      "note: columns that SQLite computes when it reads a row are left empty here: note.length"
    for arguments in [
      ["rows", url.path], ["rows", "--all", url.path], ["rows", "--format", "ndjson", url.path],
      ["extract", url.path, "-o", output("rows").path],
    ] {
      let outcome = try Program.run(arguments)
      #expect(outcome.errors.contains(note), "\(arguments): \(outcome.errors)")
    }
    let other = try Program.run("rows", url.path, "--entity", "other")
    #expect(other.status == 0 && !other.errors.contains(note), "\(other.errors)")
  }

  @Test func anInspectionCountsThem() throws {
    let inspection = try Self.inspection(path)
    #expect(
      inspection["plainTables"]
        == .array([.object(["name": .string("shopping"), "rowCount": .integer(3)])]))
    // What the app sees is what it was.
    #expect(inspection["liveRowCount"]?.integer == rowsOfEntities)
    let text = try Program.run("inspect", path).text
    #expect(text.contains(", 3 in 1 table outside the model"), "\(text)")
    #expect(text.contains("shopping (a table)"))
  }

  @Test(arguments: ["text", "json", "ndjson", "csv"]) func rowsSaySo(_ format: String) throws {
    for more in [[], ["--all"]] {
      let rows = try Program.run(["rows", path, "--format", format] + more)
      #expect(rows.status == 0)
      #expect(!rows.text.contains("green tea"))
      #expect(
        rows.errors.contains("left out: shopping; see them with --raw --entity shopping"),
        "\(format) \(more): \(rows.errors)")
      // Asked for by name, too.
      let named = try Program.run(
        ["rows", path, "--format", format, "--entity", "shopping"] + more)
      if more.isEmpty {
        #expect(named.status == 64 && named.errors.contains("add --raw"), "\(named.errors)")
      } else {
        // There an entity or a table may be named.
        #expect(named.status == 0 && named.text.contains("green tea"), "\(named.errors)")
      }
      let raw = try Program.run(
        ["rows", path, "--format", format, "--entity", "shopping", "--raw"] + more)
      #expect(raw.status == 0 && raw.text.contains("green tea"), "\(raw.errors)")
    }
    let one = try Program.run("rows", path, "--format", format, "--entity", "Note")
    #expect(one.errors.isEmpty, "\(one.errors)")
    let chosen = try Program.run(
      "rows", path, "--format", format, "--entity", "shopping", "--where", "amount < 2")
    #expect(chosen.text.contains("green tea") && !chosen.text.contains("2.5"), "\(chosen.errors)")
  }

  @Test func anExtractHasThem() throws {
    for format in ["csv", "ndjson"] {
      let made = try Program.run(
        "extract", path, "--format", format, "-o", output(format).path, "--json")
      #expect(made.status == 0, "\(made.errors)")
      let file = output(format).appendingPathComponent("shopping." + format)
      // The same lines as those of a file that has no entities.
      let raw = try Program.run(
        "rows", path, "--raw", "--format", format, "--entity", "shopping")
      #expect(try Data(contentsOf: file) == raw.stdout)
      #expect(
        !FileManager.default.fileExists(
          atPath: output(format).appendingPathComponent("barren." + format).path))
    }
    let made = try Program.run("extract", path, "-o", output("all.sqlite").path)
    #expect(made.text.contains("\(rowsOfEntities + 3) rows saved"), "\(made.text)")
    let copy = try SQLiteConnection(output("all.sqlite"))
    #expect(
      try copy.integer(
        "SELECT count(*) FROM shopping WHERE (amount, what) IN ((1, 'green tea'), (3, x'00ff'))")
        == 2)
    #expect(try copy.integer("SELECT count(*) FROM shopping") == 3)
    #expect(try copy.integer("SELECT count(*) FROM Note") ?? 0 > 0)
    copy.close()
    let book = try Program.run("extract", path, "-o", output("all.xlsx").path)
    #expect(book.text.contains("shopping"), "\(book.text)")
    let only = try Program.run(
      "extract", path, "--entity", "shopping", "-o", output("only.sqlite").path)
    #expect(only.text.contains("3 rows saved"), "\(only.text) \(only.errors)")
  }

  @Test func aBundleHasThem() throws {
    func bundled(_ name: String, _ more: [String]) throws -> [[String: JSON]] {
      let made = try Program.run(
        ["bundle", "create", path, "--include", "rows", "-o", output(name).path] + more)
      try #require(made.status == 0, "\(made.errors)")
      let rows = try #require(BundleTests.unpack(output(name))["rows.ndjson"])
      return try rows.split(separator: 0x0a).map {
        try JSONDecoder().decode([String: JSON].self, from: Data($0))
      }.filter { $0["table"] == .string("shopping") }
    }
    let redacted = try bundled("redacted.zip", [])
    #expect(redacted.count == 3)
    #expect(!"\(redacted)".contains("green tea"))
    let plain = try bundled("plain.zip", ["--redact", "none"])
    #expect(plain.first?["values"]?[1] == .string("green tea"))
    let list = output("allow.txt")
    try Data("lifeboat-allow 1\nshopping.what\n".utf8).write(to: list)
    let listed = try bundled("listed.zip", ["--redact", "listed", "--allow", list.path])
    #expect(listed.first?["values"]?["what"] == .string("green tea"))
    #expect(listed.first?["values"]?["amount"] != .integer(1))
  }

  /// A name with a dot or quotes in it is listed in quotes.
  @Test func anAllowListQuotesNames() throws {
    let connection = try SQLiteConnection(store)
    try connection.exec(
      #"""
      CREATE TABLE "v1.notes" ("a ""title""" TEXT, "*" TEXT);
      INSERT INTO "v1.notes" VALUES ('black tea', 'white tea');
      """#)
    connection.close()
    let list = output("allow.txt")
    for (line, shown) in [
      (##""v1.notes"."a ""title""""##, ["black tea"]), (#""v1.notes"."*""#, ["white tea"]),
      (#""v1.notes".*"#, ["black tea", "white tea"]), (#"shopping."what""#, ["green tea"]),
    ] {
      try Data("lifeboat-allow 1\n\(line)\n".utf8).write(to: list)
      let bundle = output("\(shown.count)\(line.utf8.count).zip")
      let made = try Program.run(
        "bundle", "create", path, "--include", "rows", "--redact", "listed", "--allow", list.path,
        "-o", bundle.path)
      try #require(made.status == 0, "\(line): \(made.errors)")
      let rows = String(
        decoding: try #require(BundleTests.unpack(bundle)["rows.ndjson"]), as: UTF8.self)
      for text in ["black tea", "white tea", "green tea"] {
        #expect(rows.contains(text) == shown.contains(text), "\(text) with \(line)")
      }
    }
    for line in [
      #""v1.notes".""#, #""v1.notes"#, #""".a"#, #""v1.notes"x."a""#, "a.b.c", #"a."b"c"#, "*.a",
      ".a", "a.",
    ] {
      try Data("lifeboat-allow 1\n\(line)\n".utf8).write(to: list)
      let refused = try Program.run(
        "bundle", "create", path, "--include", "rows", "--redact", "listed", "--allow", list.path,
        "-o", output("no.zip").path)
      #expect(
        refused.errorCode == "bundle.badAllowList" && refused.errors.contains("line 2"),
        "\(line): \(refused.errors)")
    }
  }

  /// What is chosen of the model leaves them out, and says so; what is allowed of an entity is of no table.
  @Test func anAllowListIsOfTheModel() throws {
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE Note (title); INSERT INTO Note VALUES ('green tea again')")
    connection.close()
    let list = output("allow.txt")
    try Data("lifeboat-allow 1\nNote.title\n".utf8).write(to: list)
    let made = try Program.run("extract", path, "--allow", list.path, "-o", output("some").path)
    #expect(
      made.errors.contains("rows of 2 tables outside the model are left out"), "\(made.errors)")
    let bundled = try Program.run(
      "bundle", "create", path, "--include", "rows", "--redact", "listed", "--allow", list.path,
      "-o", output("b.zip").path)
    try #require(bundled.status == 0, "\(bundled.errors)")
    let entries = try BundleTests.unpack(output("b.zip"))
    let rows = String(decoding: try #require(entries["rows.ndjson"]), as: UTF8.self)
    #expect(rows.contains("Boat") && !rows.contains("green tea"))
    // The names of tables are the same everywhere.
    let inspection = String(decoding: try #require(entries["inspection.json"]), as: UTF8.self)
    #expect(inspection.contains("\"plainTables\"") && !inspection.contains("name-"))
  }

  /// Its rows are not shown among those of the entity.
  @Test func aTableNamedAsAnEntity() throws {
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE Note (title); INSERT INTO Note VALUES ('green tea again')")
    connection.close()
    let made = try Program.run(
      "bundle", "create", path, "--include", "rows", "--redact", "none", "-o",
      output("same.zip").path)
    try #require(made.status == 0, "\(made.errors)")
    let shown = try Program.run("rows", output("same.zip").path).text
    #expect(shown.contains("Note, 6 rows\n") && shown.contains("Note, 1 row\n"), "\(shown)")
  }

  /// A join table is known by its columns: an app's table may be named like one.
  @Test func aTableNamedAsAJoinTable() throws {
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      DROP TABLE shopping;
      CREATE TABLE Z_1notes (amount, what);
      INSERT INTO Z_1notes VALUES (1, 'green tea');
      CREATE TABLE Z_1 (Z_1A);
      INSERT INTO Z_1 VALUES ('black tea');
      """)
    connection.close()
    let inspection = try Self.inspection(path)
    let names = inspection["plainTables"]?.array?.map { $0["name"]?.string }
    #expect(names == ["Z_1notes", "Z_1"])
    for more in [[], ["--all"]] {
      let rows = try Program.run(["rows", path] + more)
      #expect(
        rows.errors.contains("left out: Z_1notes, Z_1; see them with --raw"), "\(rows.errors)")
    }
    let made = try Program.run("extract", path, "-o", output("all.sqlite").path)
    let copy = try SQLiteConnection(output("all.sqlite"))
    #expect(
      try copy.integer("SELECT count(*) FROM Z_1notes JOIN Z_1 WHERE what = 'green tea'") == 1,
      "\(made.errors)")
    copy.close()
  }

  /// The states of a log name the changes of such a table.
  @Test func aStateNamesIt() throws {
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      PRAGMA journal_mode = WAL;
      PRAGMA wal_autocheckpoint = 0;
      CREATE TABLE Z_1notes (what);
      BEGIN;
      INSERT INTO Z_1notes VALUES ('green tea');
      UPDATE ZNOTE SET ZTITLE = 'tea';
      INSERT INTO Z_2TAGS VALUES (1000, 1000);
      COMMIT;
      """)
    defer { connection.close() }
    let text = try Program.run("states", path).text
    #expect(text.contains("Z_1notes +1"), "\(text)")
    #expect(!text.contains("Z_2TAGS"), "\(text)")
  }

  /// A table whose entity is lost from Z_PRIMARYKEY is such a table.
  @Test func anEntityThatNothingNames() throws {
    let connection = try SQLiteConnection(store)
    let count = try connection.integer("SELECT count(*) FROM ZNOTE") ?? 0
    try connection.exec("DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note'; DROP TABLE shopping")
    connection.close()
    let made = try Program.run("extract", path, "-o", output("all.sqlite").path)
    let copy = try SQLiteConnection(output("all.sqlite"))
    #expect(try copy.integer("SELECT count(*) FROM ZNOTE") == count, "\(made.errors)")
    copy.close()
  }
}
