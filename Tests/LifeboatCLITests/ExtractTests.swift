import Fixtures
import Foundation
import Testing

/// `lifeboat extract`
@Suite struct ExtractTests {
  @Test(arguments: ["csv", "ndjson"]) func aFileForEachEntity(_ format: String) throws {
    let demo = try Demonstration()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows")
    let outcome = try Program.run(
      "extract", demo.kept.path, "--format", format, "-o", output.path, "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.extract")
    #expect(report["rowCount"]?.integer == 11)
    #expect(
      report["sourceSHA256"]?["Notes.sqlite"]?.string == hex(of: try Data(contentsOf: demo.kept)))
    for (entity, count) in [("Folder", 2), ("Note", 6), ("Tag", 3)] {
      let part = report["parts"]?.array?.first { $0["name"]?.string == entity }
      #expect(part?["rowCount"]?.integer == Int64(count))
      #expect(part?["target"]?.string == "\(entity).\(format)")
      let written = try Data(contentsOf: output.appendingPathComponent("\(entity).\(format)"))
      let printed = try Program.run(
        "rows", demo.kept.path, "--entity", entity, "--format", format)
      #expect(written == printed.stdout)
    }
    #expect(treeState(of: demo.folder) == before)
  }

  @Test func oneCleanSQLiteFile() throws {
    let demo = try Demonstration()
    let before = treeState(of: demo.folder)
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows.sqlite")
    let outcome = try Program.run(
      "extract", demo.kept.path, "--format", "sqlite", "-o", output.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("11 rows saved in"))
    let names = try FileManager.default.contentsOfDirectory(atPath: place.url.path)
    #expect(names == ["Rows.sqlite"])
    let database = try SQLiteConnection(output)
    defer { database.close() }
    #expect(try database.integrityCheck() == ["ok"])
    #expect(try database.string("SELECT title FROM Note WHERE body LIKE '%mast'") == "Boat")
    #expect(try database.integer("SELECT count(*) FROM Folder") == 2)
    #expect(
      try database.integer("SELECT count(*) FROM _links WHERE relationship = 'tags'") == 5)
    #expect(
      try database.integer("SELECT length(picture) FROM Note WHERE title = 'Trip'") == 200_000)
    #expect(treeState(of: demo.folder) == before)
  }

  @Test func aPlainDatabaseComesOutEqual() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let output = folder.url.appendingPathComponent("clean.sqlite")
    let outcome = try Program.run(
      "extract", store.path, "--format", "sqlite", "-o", output.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let wanted = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store)
    let given = try SQLiteConnection.rowsOfEveryTable(inCopyOf: output)
    for (table, rows) in wanted {
      #expect(given[table]?.map(\.values) == rows.map(\.values), "\(table)")
    }
  }

  @Test(arguments: ["csv", "ndjson", "sqlite"])
  func anOutputThatExistsStaysAsItIs(_ format: String) throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("taken")
    if format == "sqlite" {
      try Data("mine".utf8).write(to: output)
    } else {
      try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
      try Data("mine".utf8).write(to: output.appendingPathComponent("mine"))
    }
    let before = treeState(of: folder.url)
    let outcome = try Program.run(
      "extract", demo.kept.path, "--format", format, "-o", output.path)
    #expect(outcome.status == 73)
    #expect(outcome.errorCode == (format == "sqlite" ? "writer.exists" : "output.exists"))
    #expect(treeState(of: folder.url) == before)
    // The store itself is an output that exists, too.
    let kept = treeState(of: demo.folder)
    #expect(
      try Program.run("extract", demo.kept.path, "--format", format, "-o", demo.kept.path).status
        == 73)
    #expect(treeState(of: demo.folder) == kept)
  }

  @Test func chosenEntitiesAndLimit() throws {
    let demo = try Demonstration()
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows")
    let outcome = try Program.run(
      "export", demo.kept.path, "-o", output.path, "--entity", "Note", "--limit", "2", "--json")
    #expect(outcome.status == 0)
    #expect(try outcome.json()["rowCount"]?.integer == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["Note.csv"])
    let unknown = try Program.run(
      "extract", demo.kept.path, "-o", place.url.path + "/other", "--entity", "Nothing")
    #expect(unknown.status == 64)
    #expect(unknown.errorCode == "input.unknownName")
    #expect(!FileManager.default.fileExists(atPath: place.url.path + "/other"))
  }

  @Test(arguments: ["sqlite -journal", "sqlite -wal", "csv /.Notes_SUPPORT/rows"])
  func noOutputBecomesEvidence(_ form: String) throws {
    let demo = try Demonstration()
    let before = treeState(of: demo.folder)
    let parts = form.split(separator: " ").map(String.init)
    let output =
      parts[1].hasPrefix("/")
      ? demo.kept.deletingLastPathComponent().path + parts[1] : demo.kept.path + parts[1]
    let outcome = try Program.run(
      "extract", demo.kept.path, "--format", parts[0], "-o", output)
    #expect(outcome.status == 73)
    #expect(outcome.errorCode == "output.isEvidence")
    #expect(treeState(of: demo.folder) == before)
  }

  /// An interruption takes back what the run made, and nothing that others put beside it.
  @Test func anInterruptionLeavesWhatOthersMade() throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("large.sqlite")
    try smallRows(megabytes: 60, at: store)
    let output = folder.url.appendingPathComponent("rows")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    let script = """
      "$1" extract "$2" --format csv -o "$3" &
      running=$!
      tries=0
      while [ -z "$(ls "$3")" ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
      echo mine > "$3/notes.txt"
      kill -INT $running
      wait $running
      echo $?
      """
    let result = try run("/bin/sh", ["-c", script, "sh", program, store.path, output.path])
    #expect(String(decoding: result.stdout, as: UTF8.self).hasSuffix("130\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["notes.txt"])
  }
}
