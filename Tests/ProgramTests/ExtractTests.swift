import CLibrary
import Fixtures
import Foundation
import Testing

/// `lifeboat extract`
@Suite struct ExtractTests {
  @Test(arguments: ["csv", "ndjson"]) func aFileForEachEntity(_ format: String) throws {
    let demo = try Demonstration.shared.get()
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
    let demo = try Demonstration.shared.get()
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
    let demo = try Demonstration.shared.get()
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
    let demo = try Demonstration.shared.get()
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
    let demo = try Demonstration.shared.get()
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

  /// SQLite may delete or change a file that is named like the log or journal of a database. That holds for every database
  /// in the folder, not only for the one that the command reads. Each command has one of the suffixes, and in long rounds
  /// all.
  @Test(arguments: ["-wal", "-journal", "-shm"].enumerated().map { ($0, $1) })
  func noOutputBecomesAPartOfAnotherDatabase(_ turn: Int, _ suffix: String) throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let other = place.url.appendingPathComponent("other")
    let database = try SQLiteConnection(other)
    try database.exec("CREATE TABLE t(a)")
    database.close()
    try Data("no database".utf8).write(to: place.url.appendingPathComponent("words"))
    let before = treeState(of: place.url)
    let incident = demo.incident.path
    let (folder, bundle, _) = try BundleTests.create(demo.incident)
    defer { withExtendedLifetime(folder) {} }
    let model = folder.url.appendingPathComponent("model").path
    #expect(try Program.run("bundle", "extract", bundle.path, "-o", model).status == 0)
    let commands = [
      ["extract", demo.kept.path, "--format", "sqlite"], ["recover", demo.kept.path],
      ["bundle", "create", incident], ["bundle", "keygen"],
      ["return", "make", incident, demo.kept.path], ["demo"],
      ["bundle", "extract", bundle.path], ["model", "convert", model, "--to", "mom"],
    ]
    for command in Rounds.part(of: commands, every: 3, from: turn) {
      let outcome = try Program.run(command + ["-o", other.path + suffix])
      #expect(outcome.status == 73, "\(command): \(outcome.text)")
      #expect(outcome.errorCode == "output.isEvidence", "\(command): \(outcome.errors)")
    }
    let triage = try Program.run("triage", incident, "--journal", other.path + suffix)
    #expect(triage.status == 73 && triage.errorCode == "output.isEvidence", "\(triage.errors)")
    #expect(treeState(of: place.url) == before)
    let words = place.url.appendingPathComponent("words").path + suffix
    #expect(try Program.run("bundle", "create", incident, "-o", words).status == 0)
  }

  /// Every cell and every name of a column, in every form of CSV; numbers stay numbers.
  @Test(arguments: [
    ["rows", "--format", "csv"], ["rows", "--raw", "--format", "csv"],
    ["rows", "--all", "--format", "csv"], ["extract"],
  ])
  func noCellIsAFormula(_ command: [String]) throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("formulas.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec("CREATE TABLE \"=t\"(id INTEGER PRIMARY KEY, \"=H1\" TEXT, n)")
    let texts = [
      "=cmd|'/c calc'!A1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", " =1", "\u{FF1D}1", "\u{A0}=1",
      "=1,2", "=\"x\"", "plain",
    ]
    try database.insert(
      "INSERT INTO \"=t\" VALUES(?, ?, -5)",
      texts.enumerated().map { [.integer(Int64($0.offset)), .string($0.element)] })
    database.close()
    let output = folder.url.appendingPathComponent("rows")
    let outcome = try Program.run(
      command + ["--spreadsheet-safe", store.path]
        + (command == ["extract"] ? ["-o", output.path] : []))
    #expect(outcome.status == 0, "\(outcome.errors)")
    let csv = folder.url.appendingPathComponent("rows.csv")
    try
      (command == ["extract"]
      ? Data(contentsOf: output.appendingPathComponent("_t.csv")) : outcome.stdout).write(to: csv)
    let script = """
      import csv, io, json, sys
      with open(sys.argv[1], encoding="utf-8", newline="") as file:
          print(json.dumps([row[:3] for row in csv.reader(file)]))
      """
    let python = try #require(findTool("python3"))
    let read = try run(python, ["-c", script, csv.path])
    let rows = try JSONDecoder().decode([[String]].self, from: read.stdout)
    #expect(rows.first == ["id", "'=H1", "n"])
    #expect(rows.dropFirst().map { $0[1] } == texts.map { $0 == "plain" ? $0 : "'" + $0 })
    #expect(rows.dropFirst().allSatisfy { $0[2] == "-5" })
  }

  @Test(.enabled(if: Shared.isThere)) func theFoundFormulas() throws {
    guard let shared = Shared.require("formulas in CSV") else { return }
    let folder = try TemporaryFolder()
    let archive = shared.appendingPathComponent("stores/found/hostile.tar.xz").path
    let unpacked = try run(
      "/bin/sh", ["-c", #"tar -xJf "$1" -C "$2""#, "sh", archive, folder.url.path])
    guard unpacked.status == 0 else { return print("skipped: formulas in CSV: cannot be unpacked") }
    let store = folder.url.appendingPathComponent("hostile/formulas.sqlite").path
    for flags in [["--raw"], ["--all"], []] {
      let outcome = try Program.run(
        ["rows", store, "--format", "csv", "--spreadsheet-safe"] + flags)
      #expect(outcome.status == 0)
      let csv = folder.url.appendingPathComponent("rows.csv")
      try outcome.stdout.write(to: csv)
      let script = """
        import csv, sys
        with open(sys.argv[1], encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        print(len(rows), [c for r in rows for c in r if c.strip()[:1] in list("=+-@\\uff1d\\uff0b")])
        """
      let python = try #require(findTool("python3"))
      let read = try run(python, ["-c", script, csv.path])
      #expect(String(decoding: read.stdout, as: UTF8.self) == "19 []\n")
    }
  }

  /// The files that rows name lie beside the rows.
  @Test(arguments: ["csv", "ndjson"]) func externalFilesComeAlong(_ format: String) throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows")
    let support = demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    let names = try FileManager.default.contentsOfDirectory(atPath: support.path)
    let name = try #require(names.first)
    let outcome = try Program.run(
      "extract", demo.kept.path, "--format", format, "-o", output.path, "--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(try outcome.json()["externalFiles"]?["fileCount"]?.integer == Int64(names.count))
    #expect(try outcome.json()["externalFiles"]?["output"]?.string == "_EXTERNAL_DATA")
    let copies = output.appendingPathComponent("_EXTERNAL_DATA")
    #expect(try FileManager.default.contentsOfDirectory(atPath: copies.path) == names)
    #expect(
      try Data(contentsOf: copies.appendingPathComponent(name))
        == Data(contentsOf: support.appendingPathComponent(name)))
    let rows = try String(
      contentsOf: output.appendingPathComponent("Note.\(format)"), encoding: .utf8)
    #expect(rows.utf8.firstRange(of: name.utf8) != nil)
  }

  /// Each fault in one of two forms by turns; in long rounds, in both.
  private static let faults = ["missing", "empty", "zeroed", "stray", "link"].enumerated().flatMap {
    (turn: Int, fault: String) in
    Rounds.part(of: ["csv", "sqlite"], every: 2, from: turn % 2).map { (fault, $0) }
  }

  /// What is wrong with one of them is said, whatever the form.
  @Test(arguments: faults)
  func whatIsWrongWithExternalFiles(_ fault: String, _ format: String) throws {
    let demo = try Demonstration()
    let place = try TemporaryFolder()
    let output = place.url.appendingPathComponent("Rows")
    let support = demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: support.path).first)
    let file = support.appendingPathComponent(name)
    switch fault {
    case "empty": try Data().write(to: file)
    case "zeroed": try Data(repeating: 0, count: 300_000).write(to: file)
    case "stray":
      try Data("x".utf8).write(
        to: support.appendingPathComponent("6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2AFF"))
    default: try FileManager.default.removeItem(at: file)
    }
    if fault == "link" {
      try FileManager.default.createSymbolicLink(
        atPath: file.path, withDestinationPath: "/etc/passwd")
    }
    let outcome = try Program.run(
      "extract", demo.kept.path, "--format", format, "-o", output.path)
    #expect(outcome.status == 1)
    let id = [
      "missing": "externalMissing", "empty": "externalEmpty", "zeroed": "externalZeroed",
      "stray": "externalStray", "link": "externalMissing",
    ][fault]
    #expect(outcome.errors.contains("(recover.\(id ?? ""))\n"), "\(outcome.errors)")
    #expect(outcome.errors.split(separator: "\n").filter { $0.hasPrefix("finding: ") }.count == 1)
    #expect(!outcome.errors.contains("lifeboat recover"))
    if fault == "link" || fault == "missing" {
      #expect(!FileManager.default.fileExists(atPath: output.path + "/_EXTERNAL_DATA"))
    }
  }

  /// The names of what an interruption takes back are nobody else's.
  @Test(arguments: ["csv", "sqlite"]) func anInterruptionTakesOnlyItsOwn(_ format: String) throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("many.sqlite")
    let database = try SQLiteConnection(store)
    for number in 0..<1500 {
      try database.exec("CREATE TABLE t\(number)(a); INSERT INTO t\(number) VALUES(\(number))")
    }
    database.close()
    // A file of that name is in the way of a database, and none of a folder's business.
    let journal = folder.url.appendingPathComponent("out-journal")
    if format == "csv" { try Data("mine".utf8).write(to: journal) }
    let script = """
      "$1" extract "$2" --format "$4" -o "$3" &
      running=$!
      tries=0
      while [ ! -e "$3" ] && [ -z "$(ls -A "${3%/*}" | grep '^[.]out')" ] && [ $tries -lt 12000 ]; do
        sleep 0.01; tries=$((tries + 1))
      done
      kill -TERM $running
      wait $running
      echo $?
      """
    let result = try run(
      "/bin/sh",
      ["-c", script, "sh", program, store.path, folder.url.path + "/out", format])
    // On a fast machine the work may have ended.
    if String(decoding: result.stdout, as: UTF8.self).hasSuffix("143\n") {
      #expect(!FileManager.default.fileExists(atPath: folder.url.path + "/out"))
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
      .filter { $0 != "out" }.sorted()
    #expect(left == (format == "csv" ? ["many.sqlite", "out-journal"] : ["many.sqlite"]))
    if format == "csv" { #expect(try Data(contentsOf: journal) == Data("mine".utf8)) }
  }

  /// A link in the place of the output is not followed.
  @Test func aLinkIsNoFolderForOutput() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let target = folder.url.appendingPathComponent("target")
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: false)
    let output = folder.url.path + "/out"
    try FileManager.default.createSymbolicLink(atPath: output, withDestinationPath: "target")
    let outcome = try Program.run("extract", demo.kept.path, "-o", output)
    #expect(outcome.status == 73)
    #expect(outcome.errorCode == "output.exists")
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path).isEmpty)
  }

  /// Work on a file of nothing but holes ends when it is asked to.
  @Test(arguments: [
    ["inspect", "STORE"], ["rows", "--all", "STORE"], ["extract", "STORE", "-o", "OUTPUT"],
    ["recover", "STORE", "-o", "OUTPUT"], ["bundle", "create", "STORE", "-o", "OUTPUT"],
    ["bundle", "create", "STORE", "--include", "store", "-o", "OUTPUT"], ["pages", "STORE"],
  ])
  func aSignalEndsEveryWork(_ command: [String]) throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    guard unsafe truncate(store.path, 1 << 40) == 0 else {
      return print("skipped: a signal ends every work: no file of a terabyte")
    }
    let output = folder.url.path + "/out"
    let words = command.map { $0 == "STORE" ? store.path : $0 == "OUTPUT" ? output : $0 }
    // The work has begun when the store is open. Where there is no /proc, two seconds have to do.
    let script = """
      store=$1
      shift
      "$@" >/dev/null 2>&1 &
      running=$!
      tries=0
      while kill -0 $running && ! ls -l /proc/$running/fd | grep -qF "$store" && [ $tries -lt 100 ]; do
        sleep 0.02; tries=$((tries + 1))
      done
      sleep 0.2
      kill -TERM $running
      wait $running
      echo $?
      """
    // Without the signal it would read for minutes: the limit is only there to stop a hang.
    let result = try run("/bin/sh", ["-c", script, "sh", store.path, program] + words, timeout: 60)
    let status = String(decoding: result.stdout, as: UTF8.self)
    #expect(["143\n", "130\n", "0\n", "1\n"].contains(status))
    #expect(!FileManager.default.fileExists(atPath: output) || status == "0\n" || status == "1\n")
  }

  /// An interruption takes back what the run made, and nothing that others put beside it.
  @Test func anInterruptionLeavesWhatOthersMade() throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("large.sqlite")
    try smallRows(megabytes: 30, at: store)
    let output = folder.url.appendingPathComponent("rows")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    // A run that ended before the signal came is begun again.
    let script = """
      for round in 1 2 3 4 5; do
        "$1" extract "$2" --format csv -o "$3" &
        running=$!
        while [ -z "$(ls "$3")" ] && kill -0 $running; do sleep 0.02; done
        echo mine > "$3/notes.txt"
        kill -INT $running
        wait $running
        status=$?
        if [ $status -gt 1 ] || [ $round -eq 5 ]; then break; fi
        rm -r "$3"/*
      done
      echo $status
      """
    let result = try run("/bin/sh", ["-c", script, "sh", program, store.path, output.path])
    #expect(String(decoding: result.stdout, as: UTF8.self).hasSuffix("130\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path) == ["notes.txt"])
  }
}
