import Fixtures
import Foundation
import Testing

/// What the commands tell of damaged stores and of files in their place, and that it leads to the rows.
@Suite struct DamageAdviceTests {
  /// 5,000 rows whose root page is zero, so that nothing leads to their leaves.
  private static func rootless(_ folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 4096; CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO note SELECT i, printf('note %d %0100d', i, i) FROM n
      """)
    connection.close()
    try overwrite(url, at: 4096, bytes: [UInt8](repeating: 0, count: 4096))
    return url
  }

  @Test func theNextStepOfADamagedStoreSavesItsRows() throws {
    let folder = try TemporaryFolder()
    let url = try Self.rootless(folder)
    let before = treeState(of: folder.url)
    for command in ["inspect", "check"] {
      let text = try Program.run(command, url.path).text
      #expect(text.contains("lifeboat recover \(url.path) -o NEW.sqlite"), "\(text)")
      #expect(text.contains("lifeboat rows --all \(url.path)"))
      #expect(!text.contains("extract"))
    }
    #expect(treeState(of: folder.url) == before)
    let output = folder.url.appendingPathComponent("rows").path
    let extract = try Program.run("extract", url.path, "-o", output)
    #expect(extract.status == 1 && extract.errors.contains("lifeboat recover \(url.path)"))
    #expect(try Program.run("rows", url.path).errors.contains("lifeboat rows --all \(url.path)"))
    let saved = folder.url.appendingPathComponent("saved.sqlite")
    _ = try Program.run("recover", url.path, "-o", saved.path)
    let connection = try SQLiteConnection(saved)
    #expect(try connection.integer("SELECT count(*) FROM note") == 5000)
    connection.close()
  }

  /// A recovered Core Data store may still have references to rows that are gone. A salvaged one has no damage left.
  @Test(arguments: [("ZFOLDER", ""), ("Z_MODELCACHE", " --model MODEL")])
  func theNextStepOfADamagedCoreDataStoreEndsItsDamage(_ table: String, _ option: String) throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let store = try demo.copyOfStore(in: folder)
    let connection = try SQLiteConnection(store)
    let page = try #require(
      try connection.integer("SELECT pageno FROM dbstat WHERE name = '\(table)'"))
    connection.close()
    try overwrite(store, at: Int(page - 1) * 4096, bytes: [UInt8](repeating: 0, count: 4096))
    let advice = "lifeboat salvage \(store.path)\(option) -o NEW.sqlite"
    for command in ["inspect", "check"] {
      let text = try Program.run([command, store.path], columns: 400).text
      #expect(text.contains(advice), "\(text)")
      #expect(!text.contains("lifeboat recover"))
    }
    let rows = try Program.run("rows", store.path)
    #expect(rows.errors.contains(advice), "\(rows.errors)")
    let saved = folder.url.appendingPathComponent("Saved.sqlite").path
    let model = demo.folder.appendingPathComponent("Stores/Notes.sqlite").path
    let given = table == "Z_MODELCACHE" ? ["--model", model] : []
    let outcome = try Program.run(["salvage", store.path, "-o", saved] + given)
    #expect([0, 1].contains(outcome.status), "\(outcome.errors)")
    #expect(try Program.run("check", saved).status == 0)
  }

  /// The model describes a table whose statement in the schema is damaged.
  @Test(arguments: [
    "UPDATE sqlite_master SET sql = replace(sql, 'CREATE', 'CRXATE') WHERE name = 'ZNOTE'",
    "UPDATE sqlite_master SET sql = substr(sql, 1, 60) WHERE name = 'ZNOTE'",
    "UPDATE sqlite_master SET sql = replace(sql, ', ZTITLE', ') ZTITLE') WHERE name = 'ZNOTE'",
    "UPDATE sqlite_master SET sql = NULL WHERE name = 'ZNOTE'",
  ])
  func aDamagedStatementLosesNoRow(_ damage: String) throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try demo.copyOfStore(in: folder)
    func salvaged(_ name: String) throws -> [[FixtureValue]] {
      let output = folder.url.appendingPathComponent(name)
      let outcome = try Program.run("salvage", store.path, "-o", output.path)
      #expect([0, 1].contains(outcome.status), "\(outcome.errors)")
      let connection = try SQLiteConnection(output)
      defer { connection.close() }
      return try connection.rows("SELECT Z_PK, ZTITLE, ZFOLDER FROM ZNOTE ORDER BY Z_PK")
    }
    let whole = try salvaged("whole.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec("PRAGMA writable_schema = ON; \(damage)")
    connection.close()
    #expect(try salvaged("damaged.sqlite") == whole)
    #expect(whole.count == 6)
  }

  /// A store of which the last key is said to be assigned cannot save another object.
  @Test func aDamagedRecordOfTheHighestKeyIsNotKept() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try demo.copyOfStore(in: folder)
    let connection = try SQLiteConnection(store)
    try connection.exec("UPDATE Z_PRIMARYKEY SET Z_MAX = \(Int64.max) WHERE Z_NAME = 'Note'")
    connection.close()
    let saved = folder.url.appendingPathComponent("Saved.sqlite")
    let outcome = try Program.run("salvage", store.path, "-o", saved.path)
    #expect([0, 1].contains(outcome.status), "\(outcome.errors)")
    let new = try SQLiteConnection(saved)
    let highest = try new.integer("SELECT max(Z_PK) FROM ZNOTE")
    #expect(try new.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Note'") == highest)
    new.close()
  }

  /// A dry run says what is lost, as far as it can be known without a new store.
  @Test func aDryRunOfSalvageNamesWhatIsLost() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let store = try demo.copyOfStore(in: folder)
    let sound = try Program.run("salvage", "-n", store.path)
    #expect(sound.status == 0 && !sound.text.contains("Lost"), "\(sound.text)")
    let connection = try SQLiteConnection(store)
    let page = try #require(
      try connection.integer("SELECT pageno FROM dbstat WHERE name = 'ZNOTE'"))
    connection.close()
    try overwrite(store, at: Int(page - 1) * 4096, bytes: [UInt8](repeating: 0, count: 4096))
    let trial = try Program.run("salvage", "-n", store.path)
    #expect(trial.status == 1, "\(trial.errors)")
    #expect(trial.text.contains("1 unreadable page of tables"), "\(trial.text)")
    #expect(trial.text.contains("nothing: this was a dry run"))
    let report = try Program.run("salvage", "-n", "--json", store.path).json()
    #expect(report["schema"]?.string == "lifeboat.migration")
    #expect(report["survey"]?["unreadablePageCount"]?.integer == 1)
    #expect(try Program.run("salvage", "-n", "--json", demo.kept.path).json()["survey"] == nil)
  }

  @Test func aPlainFileIsNotSalvaged() throws {
    let folder = try TemporaryFolder()
    let demo = try Demonstration.shared.get()
    let sound = try StoreFixtures.named("deep-table").make(folder.url)
    let output = folder.url.appendingPathComponent("New.sqlite").path
    for store in [sound, try Self.rootless(folder)] {
      for more in [[], ["--deleted"], ["--model", demo.kept.path], ["--into", demo.kept.path]] {
        let outcome = try Program.run(["salvage", store.path, "-o", output] + more)
        #expect(outcome.status == 65, "\(more): \(outcome.errors)")
        #expect(outcome.errors.contains("not a Core Data store"), "\(outcome.errors)")
        #expect(outcome.errors.contains("lifeboat recover \(store.path) -o NEW.sqlite"))
        #expect(!FileManager.default.fileExists(atPath: output))
      }
    }
  }

  /// Only a backup has the files, so no command is named that makes a new store without them.
  @Test func missingExternalFilesAreNotSaidToBeRepaired() throws {
    let demo = try Demonstration()
    let folder = try TemporaryFolder()
    let store = try demo.copyOfStore(in: folder)
    try FileManager.default.removeItem(
      at: store.deletingLastPathComponent().appendingPathComponent(".Notes_SUPPORT"))
    for command in ["inspect", "check"] {
      let text = try Program.run([command, store.path], columns: 400).text
      #expect(text.contains("lifeboat extract \(store.path) -o DIR"), "\(text)")
      #expect(!text.contains("lifeboat salvage") && !text.contains("lifeboat recover"))
    }
  }

  /// All rows are there, so the exit status is 0, but nothing contradicts `check`.
  @Test(arguments: [true, false]) func aDamagedFreelistIsNamed(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("t.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      PRAGMA page_size = 1024; CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT);
      CREATE TABLE gone(id INTEGER PRIMARY KEY, body TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
      INSERT INTO gone SELECT i, printf('gone %d %0100d', i, i) FROM n;
      INSERT INTO note VALUES (1, 'kept');
      DROP TABLE gone;
      """)
    connection.close()
    let header = try bytes(of: url).prefix(36)
    let trunk = header.suffix(4).reduce(0) { $0 << 8 | Int($1) }
    try #require(trunk > 1)
    // The first trunk names itself as the next one.
    if isDamaged { try overwrite(url, at: (trunk - 1) * 1024, bytes: Array(header.suffix(4))) }
    let check = try Program.run("check", url.path)
    #expect(check.status == (isDamaged ? 1 : 0), "\(check.text)")
    #expect(check.text.contains("freelist.cycle") == isDamaged, "\(check.text)")
    let output = folder.url.appendingPathComponent("out").path
    for arguments in [
      ["rows"], ["rows", "--raw"], ["rows", "--all"], ["rows", "--where", "id == 1"],
      ["recover", "--dry-run"], ["extract", "-o", output],
    ] {
      let outcome = try Program.run(arguments + [url.path])
      #expect(outcome.status == 0, "\(arguments) \(outcome.errors)")
      #expect(outcome.errors.contains("(freelist.cycle)") == isDamaged, "\(arguments)")
      let command = "run: lifeboat check \(url.path)\n"
      #expect(outcome.errors.contains(command) == isDamaged, "\(outcome.errors)")
    }
    guard isDamaged else { return }
    // The store of a bundle is read from a private copy, which is gone when the user runs the command.
    let bundle = folder.url.appendingPathComponent("t.zip").path
    let packed = try Program.run("bundle", "create", url.path, "--include", "store", "-o", bundle)
    try #require(FileManager.default.fileExists(atPath: bundle), "\(packed.errors)")
    for arguments in [[], ["--raw"], ["--all"], ["--where", "id == 1"]] {
      let outcome = try Program.run(["rows"] + arguments + [bundle])
      let command = "run: lifeboat check \(bundle)\n"
      #expect(outcome.errors.contains(command), "\(arguments) \(outcome.errors)")
    }
  }

  @Test func theNextStepOfASoundStoreIsExtract() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let text = try Program.run("inspect", store.path).text
    #expect(text.contains("lifeboat extract") && !text.contains("recover"))
    let outcome = try Program.run(
      "extract", store.path, "-o", folder.url.appendingPathComponent("rows").path)
    #expect(outcome.status == 0 && !outcome.errors.contains("recover"))
  }

  /// Page 1 in random bytes, its header in zeros, or cut off.
  @Test(arguments: ["zero", "random", "cut"])
  func aRuinedHeaderIsNamedAndTheCommandThatReadsIt(_ ruin: String) throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let pageSize = Int(try bytes(of: store)[16]) << 8 | Int(try bytes(of: store)[17])
    var generator = SplitMix64(seed: 3)
    switch ruin {
    case "zero": try overwrite(store, at: 0, bytes: [UInt8](repeating: 0, count: 100))
    case "random": try overwrite(store, at: 0, bytes: generator.bytes(pageSize))
    default: try Data(try bytes(of: store).dropFirst(pageSize - 100)).write(to: store)
    }
    let inspect = try Program.run("inspect", store.path)
    #expect(inspect.status == 0)
    #expect(inspect.text.contains("Header  ") && inspect.text.contains("lifeboat recover"))
    let json = try Program.run("inspect", "--json", store.path).json()
    #expect(json["file"]?["pageSizeBytes"]?.integer == Int64(pageSize == 1 ? 65_536 : pageSize))
    let output = folder.url.appendingPathComponent("rows").path
    for arguments in [
      ["rows", store.path], ["extract", store.path, "-o", output], ["timeline", store.path],
    ] {
      let outcome = try Program.run(arguments)
      #expect(outcome.status == 65)
      #expect(outcome.errors.contains("the header of the file is damaged"), "\(outcome.errors)")
      #expect(outcome.errors.contains("lifeboat recover \(store.path) -o NEW.sqlite"))
    }
  }

  @Test func aFileThatHasNothingOfADatabaseKeepsItsWords() throws {
    let folder = try TemporaryFolder()
    let url = folder.url.appendingPathComponent("text.sqlite")
    try Data(String(repeating: "plain text. ", count: 4000).utf8).write(to: url)
    for command in ["inspect", "rows", "timeline", "check"] {
      let outcome = try Program.run(command, url.path)
      #expect(outcome.status == 65)
      #expect(
        outcome.errors.contains("check that this is the main file of the store"),
        "\(outcome.errors)")
    }
  }

  @Test func whatIsBesideAStoreIsNotTakenForIt() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-holds-everything").make(folder.url)
    let truth = try SQLiteConnection.rowsOfEveryTable(inCopyOf: store).mapValues(\.count)
    let log = store.path + "-wal"
    for arguments in [["rows", "--all", log], ["recover", "-n", log], ["inspect", log]] {
      let outcome = try Program.run(arguments)
      #expect(outcome.errorCode == "file.isLog")
      #expect(outcome.errors.contains("name the main file: \(store.path)"))
    }
    try FileManager.default.removeItem(at: store)
    let outcome = try Program.run("recover", "-n", log)
    #expect(outcome.errors.contains("touch \(store.path) && lifeboat recover \(store.path)"))
    // As the hint says.
    try Data().write(to: store)
    let saved = folder.url.appendingPathComponent("saved.sqlite")
    let recovery = try Program.run("recover", store.path, "-o", saved.path)
    #expect(recovery.status == 1 && recovery.errors.contains("file.mainEmpty"))
    let rows = try SQLiteConnection.rowsOfEveryTable(inCopyOf: saved).mapValues(\.count)
    for (table, count) in truth { #expect(rows[table] == count, "\(table)") }
  }

  @Test func mistakesAreNamed() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    for command in ["recover", "extract"] {
      let outcome = try Program.run(command, store.path, "-o", "-")
      #expect(outcome.status == 64 && outcome.errorCode == "usage.noStandardOutput")
    }
    #expect(
      try Program.run("check", "").errors.hasPrefix("error: no such file: the path is empty ("))
    let text = folder.url.appendingPathComponent("words")
    try Data("not a model".utf8).write(to: text)
    let like = try Program.run("recover", "-n", "--like", text.path, store.path)
    #expect(like.status == 65 && like.errorCode == "input.noExample")
    #expect(like.errors.contains("the path leads to neither"))
    let none = try Program.run("recover", "-n", "--like", folder.url.path + "/none", store.path)
    #expect(none.status == 66 && !none.errors.contains(".,"), "\(none.errors)")
  }

  /// A finding is broken where the terminal ends, and `-v` names those that were left out.
  @Test func findingsFitTheTerminalAndAllCanBeSeen() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("deep-table").make(folder.url)
    let size = try bytes(of: store).count
    for offset in stride(from: 8192, to: min(size, 80_000), by: 4096) {
      try overwrite(store, at: offset, bytes: [UInt8](repeating: 0xee, count: 64))
    }
    let few = try Program.run("rows", store.path)
    #expect(few.errors.contains("more (-v names them)"))
    let all = try Program.run("rows", "-v", store.path)
    #expect(!all.errors.contains("more ("))
    #expect(all.errors.split(separator: "\n").count { $0.hasPrefix("finding: ") } > 5)
    let path = try #require(Program.path)
    var environment = ProcessInfo.processInfo.environment
    environment["NO_COLOR"] = "1"
    environment["COLUMNS"] = "72"
    let check = try Fixtures.run(path, ["check", "t"], environment: environment)
    #expect(check.status == 66)
    let narrow = try Fixtures.run(
      path, ["check", store.path], environment: environment)
    let text = String(decoding: narrow.stdout, as: UTF8.self)
    let findings = text.split(separator: "Findings\n").last ?? ""
    #expect(findings.split(separator: "\n").allSatisfy { $0.count <= 72 }, "\(findings)")
  }

  @Test(arguments: [
    "inspect", "check", "rows", "extract", "recover", "timeline", "compare", "pages", "rescue",
  ])
  func usageLinesAreShort(_ command: String) throws {
    let help = try Program.run(command, "--help").text
    let usage = try #require(help.split(separator: "\n").first { $0.hasPrefix("USAGE:") })
    #expect(usage.count <= 100, "\(usage)")
  }
}
