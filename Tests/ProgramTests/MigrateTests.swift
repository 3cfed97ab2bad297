import Fixtures
import Foundation
import Testing

/// `lifeboat migrate`, `salvage` and `return`
@Suite struct MigrateTests {
  /// The store that was set aside goes to the model of the fresh one, to the user, and into the app.
  @Test func theWholeWayBack() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let current = demo.folder.appendingPathComponent("Stores/Notes.sqlite")
    let saved = folder.url.appendingPathComponent("Saved.sqlite")
    let log = folder.url.appendingPathComponent("log.ndjson")
    let before = treeState(of: demo.folder)
    let outcome = try Program.run(
      "migrate", demo.kept.path, "--to", current.path, "-o", saved.path, "--json",
      "--custody-log", log.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.migration")
    #expect(report["output"]?.string == saved.path)
    #expect(report["rejects"] == nil)
    let step = try #require(report["steps"]?[0])
    let notes = try #require(step["entities"]?.array?.first { $0["name"]?.string == "Note" })
    #expect(notes["readCount"]?.integer == 6)
    #expect(notes["writtenCount"]?.integer == 6)
    let record = try JSONDecoder().decode(
      JSON.self, from: Data(contentsOf: log).prefix { $0 != UInt8(ascii: "\n") })
    #expect(record["outputs"]?[saved.path]?.string == hex(of: try Data(contentsOf: saved)))
    #expect(treeState(of: demo.folder) == before)
    #expect(try Program.run("check", "-q", saved.path).status == 0)

    let sent = folder.url.appendingPathComponent("Notes.lifeboat-return")
    let made = try Program.run("return", "make", demo.incident.path, saved.path, "-o", sent.path)
    #expect(made.status == 0, "\(made.errors)")
    #expect(made.text.contains("lifeboat return accept"))
    #expect(
      try Program.run("return", "make", demo.incident.path, saved.path, "-o", sent.path).errorCode
        == "return.cannotCreate")
    #expect(
      try Program.run("return", "verify", sent.path, "--incident", demo.incident.path).status == 0)
    let accepted = try Program.run(
      "return", "accept", sent.path, demo.incident.path, "--model", saved.path)
    #expect(accepted.status == 0, "\(accepted.errors)")
    #expect(accepted.text.contains("to go back, run: lifeboat incidents restore"))
    let database = try SQLiteConnection(current)
    #expect(try database.integer("SELECT count(*) FROM ZNOTE") == 6)
    database.close()
    // What is in place already is not accepted once more.
    let stores = current.deletingLastPathComponent().path
    let incidents = try Program.run("incidents", "list", stores).text
    let twice = try Program.run(
      "return", "accept", sent.path, demo.incident.path, "--model", saved.path)
    #expect(twice.status == 73 && twice.errorCode == "return.alreadyAccepted", "\(twice.errors)")
    #expect(try Program.run("incidents", "list", stores).text == incidents)
    // Each of the three steps says what it did in JSON, too, here with a store that was changed since.
    let changed = try SQLiteConnection(saved)
    try changed.exec("UPDATE ZNOTE SET ZTITLE = 'changed'")
    changed.close()
    let other = folder.url.appendingPathComponent("Other.lifeboat-return")
    let steps = [
      ["return", "make", demo.incident.path, saved.path, "-o", other.path],
      ["return", "verify", other.path],
      ["return", "accept", other.path, demo.incident.path, "--model", saved.path],
    ]
    let objects = try steps.map { try Program.run($0 + ["--json"]).json() }
    #expect(
      objects.compactMap { $0["schema"]?.string } == [
        "lifeboat.returnMade", "lifeboat.returnVerification", "lifeboat.returnAccepted",
      ])
    #expect(objects.allSatisfy { $0["version"]?.integer == 1 })
    #expect(objects[0]["output"]?.string == other.path)
    let incident = try #require(objects[0]["incident"]?.string)
    #expect(objects[1]["incident"]?.string == incident)
    #expect(objects[2]["restored"]?.strings?.isEmpty == false)
    #expect(objects[2]["replaced"]?.string != nil)
    // The bytes of a changed file are told.
    var bytes = try Data(contentsOf: sent)
    bytes[bytes.count / 2] ^= 4
    try bytes.write(to: sent)
    #expect(try Program.run("return", "verify", sent.path).errorCode == "return.damaged")
  }

  /// A user who has worked on with the fresh store gets both: its rows, and those of the store that was set aside.
  @Test func aWeekOfWorkStays() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let present = demo.folder.appendingPathComponent("Stores/Notes.sqlite")
    let database = try SQLiteConnection(present)
    let picture = "11111111-2222-4333-8444-555555555555"
    try database.exec(
      """
      INSERT INTO ZFOLDER (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'Work'), (2, 1, 1, 'New');
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZBODY, ZCREATED, ZISPINNED, ZFOLDER, ZPICTURE)
      VALUES (1, 2, 1, 'This week', 'written since', 800000000, 0, 2, CAST(x'02' || '\(picture)' || x'00' AS BLOB));
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_ENT = 1;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_ENT = 2;
      """)
    database.close()
    let files = demo.folder.appendingPathComponent("Stores/.Notes_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    try Data("a picture".utf8).write(to: files.appendingPathComponent(picture))
    let before = treeState(of: demo.folder)

    let merged = folder.url.appendingPathComponent("Merged.sqlite")
    let log = folder.url.appendingPathComponent("log.ndjson")
    let arguments = ["salvage", demo.incident.path, "--into", present.path, "-o", merged.path]
    let outcome = try Program.run(
      arguments + ["--equal-content", "--json", "--custody-log", log.path])
    #expect(outcome.status == 0, "\(outcome.errors)")
    let merge = try #require(try outcome.json()["merge"])
    #expect(merge["duplicates"]?.string == "keep")
    let entities = try #require(merge["entities"]?.array)
    #expect(entities.map { $0["name"]?.string } == ["Folder", "Note", "Tag"])
    #expect(entities.map { $0["presentCount"]?.integer } == [2, 1, 0])
    #expect(entities.map { $0["addedCount"]?.integer } == [1, 6, 3])
    #expect(entities.map { $0["sameContentCount"]?.integer } == [1, 0, 0])
    // Both stores are evidence, and are as before.
    #expect(treeState(of: demo.folder) == before)
    let record = try JSONDecoder().decode(
      JSON.self, from: Data(contentsOf: log).prefix { $0 != UInt8(ascii: "\n") })
    #expect(record["inputs"]?.array?.map { $0["path"]?.string } == [demo.kept.path, present.path])
    // The files of both are there, with their bytes.
    let copies = folder.url.appendingPathComponent(".Merged_SUPPORT/_EXTERNAL_DATA")
    #expect(try FileManager.default.contentsOfDirectory(atPath: copies.path).count == 2)
    #expect(
      try Data(contentsOf: copies.appendingPathComponent(picture)) == Data("a picture".utf8))
    #expect(try Program.run("check", "-q", merged.path).status == 0)

    let sent = folder.url.appendingPathComponent("Notes.lifeboat-return")
    #expect(
      try Program.run("return", "make", demo.incident.path, merged.path, "-o", sent.path).status
        == 0)
    let accepted = try Program.run(
      "return", "accept", sent.path, demo.incident.path, "--model", merged.path)
    #expect(accepted.status == 0, "\(accepted.errors)")
    let new = try SQLiteConnection(present)
    defer { new.close() }
    #expect(
      try new.integer(
        "SELECT count(*) FROM ZNOTE JOIN ZFOLDER ON ZFOLDER.Z_PK = ZNOTE.ZFOLDER WHERE ZNAME = 'Work'"
      ) == 3)
    #expect(try new.integer("SELECT ZFOLDER FROM ZNOTE WHERE ZTITLE = 'This week'") == 2)
  }

  /// A store whose metadata are gone is of the model that it carries, or of the one that is given.
  @Test func aStoreWithoutHashes() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let current = demo.folder.appendingPathComponent("Stores/Notes.sqlite")
    let old = folder.url.appendingPathComponent("Old.sqlite")
    for end in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: demo.kept.path + end, toPath: old.path + end)
    }
    let database = try SQLiteConnection(old)
    try database.exec("PRAGMA journal_mode = DELETE; DELETE FROM Z_METADATA")
    func migrate(_ name: String, _ more: [String] = []) throws -> Outcome {
      try Program.run(
        ["migrate", old.path, "--to", current.path, "-o", folder.url.path + "/" + name] + more)
    }
    #expect(try migrate("1.sqlite").status == 1, "the UUID is lost")
    try database.exec("DELETE FROM Z_MODELCACHE")
    database.close()
    let refused = try migrate("2.sqlite")
    #expect(refused.status == 65)
    #expect(refused.errorCode == "coredata.noHashes")
    #expect(refused.errors.contains("--from-model"))
    #expect(try migrate("2.sqlite", ["--from-model", demo.kept.path]).status == 1)
    for name in ["1.sqlite", "2.sqlite"] {
      let new = try SQLiteConnection(folder.url.appendingPathComponent(name))
      defer { new.close() }
      #expect(try new.integer("SELECT count(*) FROM ZNOTE") == 6)
    }
  }

  /// A model or an example that cannot be read is an error, also where the store is damaged.
  @Test(arguments: ["--model", "--like"], [false, true])
  func modelsThatCannotBeRead(_ option: String, _ isDamaged: Bool) throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let old = folder.url.appendingPathComponent("Old.sqlite")
    for end in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: demo.kept.path + end, toPath: old.path + end)
    }
    let database = try SQLiteConnection(old)
    try database.exec("PRAGMA journal_mode = DELETE")
    database.close()
    if isDamaged { try overwrite(old, at: 2 * 4096, bytes: Array(repeating: 0xa5, count: 4096)) }
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let wrong = folder.url.appendingPathComponent("Wrong.xcdatamodel")
    try FileManager.default.createDirectory(at: wrong, withIntermediateDirectories: true)
    try Data("<model><entity name=\"a\"b\"/></model>".utf8).write(
      to: wrong.appendingPathComponent("contents"))
    for (path, status) in [(folder.url.path + "/none.momd", Int32(66)), (wrong.path, 65)] {
      let arguments = ["salvage", old.path, option, path, "-o", output]
      for more in isDamaged || option == "--model" ? [[], ["--deleted"]] : [["--deleted"]] {
        let outcome = try Program.run(arguments + more)
        #expect(outcome.status == status, "\(arguments + more): \(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: output))
      }
    }
  }

  /// The set of an incident that was brought back is not there any more, which is said.
  @Test func anIncidentThatWasRestored() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let stores = demo.folder.appendingPathComponent("Stores").path
    let id = demo.incident.lastPathComponent
    #expect(try Program.run("incidents", "restore", stores, id).status == 0)
    let outcome = try Program.run(
      "salvage", demo.incident.path, "-o", folder.url.path + "/New.sqlite")
    #expect(outcome.status == 66)
    #expect(outcome.errorCode == "restore.nothingKept")
  }

  @Test func mergingAsksForTwoStores() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let salvage = ["salvage", demo.incident.path, "-o", output]
    #expect(try Program.run(salvage + ["--duplicates", "fill"]).status == 64)
    #expect(try Program.run(salvage + ["--equal-content"]).status == 64)
    #expect(try Program.run(salvage + ["--into", folder.url.path + "/none"]).status == 66)
    // The present store is evidence, too.
    let present = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    #expect(
      try Program.run("salvage", demo.incident.path, "--into", present, "-o", present).errorCode
        == "output.isEvidence")
    // The old store has another model than the present one.
    let other = try Program.run(
      salvage + ["--into", demo.kept.path, "--model", present])
    #expect(other.status == 65)
    #expect(other.errorCode == "migration.presentStore")
    let trial = try Program.run("salvage", demo.incident.path, "--into", present, "--dry-run")
    #expect(trial.status == 0)
    #expect(trial.text.contains("into the rows of"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
  }

  @Test func usageAndOutputs() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let current = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let trial = try Program.run("migrate", demo.kept.path, "--to", current, "--dry-run")
    #expect(trial.status == 0)
    #expect(trial.text.contains("1 step"))
    #expect(try Program.run("migrate", demo.kept.path, "--to", current).status == 64)
    #expect(
      try Program.run(
        "migrate", demo.kept.path, "--to", current, "--to-version", "None", "-o", output
      )
      .errorCode == "usage.noSuchVersion")
    #expect(
      try Program.run("migrate", demo.kept.path, "--to", current, "-o", demo.kept.path).status == 73
    )
    try Data("mine".utf8).write(to: URL(fileURLWithPath: output))
    for command in [["migrate", demo.kept.path, "--to", current], ["salvage", demo.kept.path]] {
      #expect(try Program.run(command + ["-o", output]).status == 73)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == Data("mine".utf8))
    // A folder of rejects that is in the way is as good as the store.
    let other = folder.url.appendingPathComponent("Other.sqlite").path
    try Data("mine".utf8).write(to: URL(fileURLWithPath: other + ".rejects.ndjson"))
    #expect(try Program.run("salvage", demo.kept.path, "-o", other).status == 73)
    #expect(!FileManager.default.fileExists(atPath: other))
  }

  /// A row that lacks a demanded value, one with a value of another kind, and one that refers to a row that is not there.
  @Test func whatDoesNotFitIsInTheFileOfRejects() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(demo.kept, into: folder.url)
    let database = try SQLiteConnection(store)
    try database.exec("UPDATE ZNOTE SET ZCREATED = x'0102' WHERE Z_PK = 2")
    try database.exec("UPDATE ZNOTE SET ZFOLDER = 999 WHERE Z_PK = 3")
    try database.exec("UPDATE ZNOTE SET Z_ENT = 77 WHERE Z_PK = 4")
    database.close()
    let output = folder.url.appendingPathComponent("New.sqlite")
    let outcome = try Program.run("salvage", store.path, "-o", output.path, "--json")
    #expect(outcome.status == 1)
    let report = try outcome.json()
    let cut = try #require(report["steps"]?[0]?["cut"]?[0])
    #expect(cut["property"]?.string == "folder")
    #expect(cut["keys"] == .array([.integer(3)]))
    let rejects = try String(contentsOfFile: output.path + ".rejects.ndjson", encoding: .utf8)
      .split(separator: "\n").map { try JSONDecoder().decode(JSON.self, from: Data($0.utf8)) }
    #expect(rejects.count == 2)
    let incomplete = try #require(rejects.first { $0["pk"]?.integer == 2 })
    #expect(incomplete["isWritten"]?.boolean == true)
    #expect(incomplete["reason"]?.string?.contains("ZCREATED") == true)
    #expect(incomplete["values"]?["ZCREATED"]?["hex"]?.string == "0102")
    let unknown = try #require(rejects.first { $0["pk"]?.integer == 4 })
    #expect(unknown["isWritten"] == nil)
    let made = try SQLiteConnection(output)
    defer { made.close() }
    #expect(try made.integer("SELECT count(*) FROM ZNOTE") == 5)
    #expect(
      try made.integer("SELECT count(*) FROM ZNOTE WHERE Z_PK = 2 AND ZCREATED IS NULL") == 1)
    #expect(try made.integer("SELECT count(*) FROM ZNOTE WHERE Z_PK = 3 AND ZFOLDER IS NULL") == 1)
  }

  /// An interruption takes back what the run made.
  @Test func anInterruptionLeavesNothing() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try SQLiteConnection.copyStore(demo.kept, into: folder.url)
    let database = try SQLiteConnection(store)
    try database.exec(
      """
      WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZCREATED) SELECT i, (SELECT Z_ENT FROM ZNOTE LIMIT 1), 1, \
      'a title of some length, so that the file is large', 1.5 FROM n
      """)
    database.close()
    let output = folder.url.appendingPathComponent("out")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    // Each signal once; in long rounds, with and without another store.
    for (turn, signal) in [("INT", 130), ("TERM", 143), ("HUP", 129)].enumerated() {
      for merges in [false, true] where Rounds.areLong || merges == (turn % 2 == 1) {
        try interrupt(signal, merges, demo, store, output)
      }
    }
  }

  private func interrupt(
    _ signal: (name: String, status: Int), _ merges: Bool, _ demo: Demonstration, _ store: URL,
    _ output: URL
  ) throws {
    let program = try #require(Program.path)
    // A run that ended before the signal came is begun again.
    let script = """
      for round in 1 2 3 4 5; do
        "$1" salvage "$2" \(merges ? "--into \"$4\"" : "") -o "$3/new.sqlite" &
        running=$!
        while [ "$(ls -A "$3" | wc -l)" -lt \(merges ? 2 : 1) ] && kill -0 $running; do
          sleep 0.02
        done
        kill -\(signal.name) $running
        wait $running
        status=$?
        if [ $status -gt 1 ] || [ $round -eq 5 ]; then break; fi
        rm -r "$3"/*
      done
      echo $status
      """
    let result = try run(
      "/bin/sh",
      [
        "-c", script, "sh", program, store.path, output.path,
        demo.folder.path + "/Stores/Notes.sqlite",
      ])
    #expect(String(decoding: result.stdout, as: UTF8.self).hasSuffix("\(signal.status)\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path).isEmpty)
  }

  /// A signal during `return make` leaves no part of the user's store behind.
  @Test func aReturnThatIsInterrupted() throws {
    let program = try #require(Program.path)
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }
    let store = try demo.copyOfStore(in: folder)
    let connection = try SQLiteConnection(store)
    // A large text, so that the work takes a while.
    try connection.exec("UPDATE ZNOTE SET ZBODY = printf('%.*c', 40000000, 'x') WHERE Z_PK = 1")
    connection.close()
    try FileManager.default.createDirectory(atPath: path("out"), withIntermediateDirectories: false)
    // A run that ended before the signal came is begun again.
    let script = """
      for round in 1 2 3 4 5; do
        "$1" return make "$2" "$3" -o "$4/new.lifeboat-return" &
        running=$!
        while [ -z "$(ls -A "$4")" ] && kill -0 $running; do sleep 0.01; done
        kill -TERM $running
        wait $running
        status=$?
        if [ $status -gt 1 ] || [ $round -eq 5 ]; then break; fi
        rm "$4"/*
      done
      echo $status
      """
    let result = try run(
      "/bin/sh", ["-c", script, "sh", program, demo.incident.path, store.path, path("out")])
    #expect(String(decoding: result.stdout, as: UTF8.self).hasSuffix("143\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: path("out")).isEmpty)
  }

  /// Wherever the room ends, nothing is left of what was made, and the stores are as before. A limit on the size of
  /// files stands for a full disk: a write beyond it fails, and the signal that comes with it ends no run.
  @Test(arguments: ["salvage", "merge", "return"]) func noRoom(_ what: String) throws {
    let program = try #require(Program.path)
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("out")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    let present = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let new = output.path + "/New.sqlite"
    let arguments =
      switch what {
      case "merge": ["salvage", demo.incident.path, "--into", present, "-o", new]
      case "return": ["return", "make", demo.incident.path, demo.kept.path, "-o", new]
      default: ["salvage", demo.incident.path, "-o", new]
      }
    let before = treeState(of: demo.folder)
    var failed = 0
    var isDone = false
    for kibibytes in stride(from: 4, through: 400, by: Rounds.areLong ? 12 : 36) where !isDone {
      let outcome = try run(
        "/bin/bash",
        ["-c", "ulimit -f \(kibibytes); \"$@\"", "bash", program] + arguments)
      let left = try FileManager.default.contentsOfDirectory(atPath: output.path)
      if outcome.status == 0 {
        isDone = true
        #expect(left.contains("New.sqlite"))
      } else {
        failed += 1
        #expect([73, 74].contains(outcome.status), "\(kibibytes): \(outcome.status)")
        #expect(!outcome.stderr.isEmpty)
        #expect(left.isEmpty, "\(kibibytes): \(left)")
      }
    }
    #expect(isDone)
    #expect(failed > 3)
    #expect(treeState(of: demo.folder) == before)
  }

  /// Each table says which step it is of.
  @Test(.enabled(if: Shared.isThere)) func theTablesOfSeveralStepsNameTheirSteps() throws {
    let store = try RealStores.named("Moody 2.moody").url
    let models = store.deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Migrations")
    let folder = try TemporaryFolder()
    let outcome = try Program.run(
      "migrate", store.path, "--to", models.appendingPathComponent("Moody.xcdatamodeld").path,
      "--mapping", models.path, "-o", folder.url.appendingPathComponent("New.sqlite").path)
    let titles = outcome.text.split(separator: "\n").filter { $0.hasPrefix("Step ") }
    #expect(
      titles == [
        "Step 1 of 3: Moody 2 → Moody 3", "Step 2 of 3: Moody 3 → Moody 4",
        "Step 3 of 3: Moody 4 → Moody 6",
      ], "\(outcome.text)\(outcome.errors)")
  }

  /// The manifest of a returned store is not that of a bundle.
  @Test func aReturnedStoreIsNamedWithTheCommandThatReadsIt() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let sent = folder.url.appendingPathComponent("Notes.lifeboat-return").path
    let made = try Program.run("return", "make", demo.incident.path, demo.kept.path, "-o", sent)
    #expect(made.status == 0, "\(made.errors)")
    for arguments in [["inspect", sent], ["inspect", folder.url.path], ["check", sent]] {
      let outcome = try Program.run(arguments)
      #expect(outcome.status == 65 && outcome.errorCode == "bundle.isReturn", "\(outcome.errors)")
      #expect(outcome.errors.contains("lifeboat return verify \(sent)"), "\(outcome.errors)")
    }
    let verified = try Program.run("bundle", "verify", sent)
    #expect(verified.status == 65 && verified.errorCode == "bundle.isReturn", "\(verified.errors)")
    #expect(verified.errors.contains("run: lifeboat return verify \(sent);"), "\(verified.errors)")
    let lines = try Program.run("triage", sent).lines()
    #expect(lines.count == 1 && lines[0]["kind"]?.string == "archive", "\(lines)")
    #expect(lines.first?["failed"]?["code"]?.string == "bundle.isReturn")
    // A file that is whole is not asked for once more.
    #expect(lines.first?["fix"] == nil)
    #expect(try Program.run("return", "verify", sent).status == 0)
  }

  /// What the app would refuse is refused where support can still mend it.
  @Test func whatTheAppWouldRefuseIsNotSent() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let sent = folder.url.appendingPathComponent("Notes.lifeboat-return").path
    func make(_ store: String) throws -> Outcome {
      try Program.run("return", "make", demo.incident.path, store, "-o", sent)
    }
    let damaged = try demo.copyOfStore(in: folder)
    // Nothing brings back the external file.
    try FileManager.default.removeItem(
      at: damaged.deletingLastPathComponent().appendingPathComponent(".Notes_SUPPORT"))
    let lacking = try make(damaged.path)
    #expect(lacking.status == 1, "\(lacking.errors)")
    #expect(lacking.errors.contains("external files of the store are missing"))
    try FileManager.default.removeItem(atPath: sent)
    let size = try Data(contentsOf: damaged).count
    try overwrite(damaged, at: 4096, bytes: [UInt8](repeating: 0xA5, count: size - 4096))
    let refused = try make(damaged.path)
    #expect(refused.status == 65 && refused.errorCode == "return.unfit", "\(refused.errors)")
    #expect(refused.errors.contains("lifeboat check \(damaged.path)"), "\(refused.errors)")
    #expect(!FileManager.default.fileExists(atPath: sent))
    let unchanged = try make(demo.kept.path)
    #expect(unchanged.status == 0, "\(unchanged.errors)")
    #expect(
      unchanged.errors.contains("lifeboat salvage \(demo.kept.path) --model MODEL"),
      "\(unchanged.errors)")
  }

  /// No row is said to be brought back into the store of another app.
  @Test(.enabled(if: Shared.isThere)) func aPresentStoreOfAnotherAppIsRefused() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("New.sqlite").path
    let shared = try #require(Shared.require("the store of another app"))
    let project = shared.appendingPathComponent("stores/real/objcio-core-data/Migrations")
    let other = project.appendingPathComponent("MigrationsTests/Moody.moody").path
    for more in [["-o", output], ["-n"]] {
      let outcome = try Program.run(["salvage", demo.kept.path, "--into", other] + more)
      #expect(outcome.status == 65 && outcome.errorCode == "migration.noWay", "\(outcome.errors)")
      #expect(outcome.errors.contains("no entity in common"), "\(outcome.errors)")
      #expect(!FileManager.default.fileExists(atPath: output))
    }
  }

  @Test(arguments: [["--to-version", "No such"], ["--mapping", "/nonexistent"]])
  func whatHasNoEffectIsRefused(_ option: [String]) throws {
    let store = try Demonstration.shared.get().kept.path
    #expect(try Program.run(["salvage", store, "-n"] + option).status == 64)
  }

  /// A model that cannot be read is not called one that the store does not fit.
  @Test func aReturnedStoreAndAnUnreadableModel() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let sent = folder.url.appendingPathComponent("Notes.lifeboat-return").path
    // Nothing is added to what an incident has sealed.
    let inside = demo.incident.appendingPathComponent("store/Notes.lifeboat-return").path
    let copy = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let refused = try Program.run("return", "make", demo.incident.path, copy, "-o", inside)
    #expect(refused.status == 73 && refused.errorCode == "output.isEvidence", "\(refused.text)")
    #expect(!FileManager.default.fileExists(atPath: inside))
    let made = try Program.run("return", "make", demo.incident.path, demo.kept.path, "-o", sent)
    #expect(made.status == 0, "\(made.errors)")
    let models = folder.url.appendingPathComponent("G.momd")
    try FileManager.default.createDirectory(at: models, withIntermediateDirectories: false)
    try Data("garbage".utf8).write(to: models.appendingPathComponent("G.mom"))
    let list = try PropertyListSerialization.data(
      fromPropertyList: [
        "NSManagedObjectModel_CurrentVersionName": "G",
        "NSManagedObjectModel_VersionHashes": ["G": [String: Data]()],
      ] as [String: Any], format: .binary, options: 0)
    try list.write(to: models.appendingPathComponent("VersionInfo.plist"))
    let before = treeState(of: demo.folder)
    let unread = try Program.run(
      "return", "accept", sent, demo.incident.path, "--model", models.path)
    #expect(unread.status == 65)
    #expect(unread.errorCode?.hasPrefix("model.") == true, "\(unread.errors)")
    #expect(treeState(of: demo.folder) == before)
  }

  /// The version that wrote the store is that of the state which `--wal` chooses.
  @Test func theVersionOfTheChosenState() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let current = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let work = folder.url.appendingPathComponent("Work.sqlite").path
    let store = folder.url.appendingPathComponent("Notes.sqlite").path
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: demo.kept.path + suffix, toPath: work + suffix)
    }
    let connection = try SQLiteConnection(work)
    try connection.exec(
      """
      PRAGMA wal_checkpoint(TRUNCATE);
      PRAGMA wal_autocheckpoint = 0;
      ATTACH '\(current)' AS current;
      UPDATE main.Z_METADATA SET Z_PLIST = (SELECT Z_PLIST FROM current.Z_METADATA);
      """)
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: work + suffix, toPath: store + suffix)
    }
    connection.close()
    func steps(_ view: String) throws -> Int? {
      try Program.run("migrate", store, "--to", current, "--dry-run", "--json", "--wal", view)
        .json()["steps"]?.array?.count
    }
    #expect(try steps("committed") == 0)
    #expect(try steps("ignore") == 1)
  }
}
