import Fixtures
import Foundation
import Testing

/// `lifeboat recover`, and the rows of damaged stores
@Suite struct RecoverTests {
  /// A demo store whose first page is lost.
  private static func damaged(_ demo: Demonstration, in folder: TemporaryFolder) throws -> URL {
    let url = try SQLiteConnection.copyStore(demo.kept, into: folder.url)
    // Its rows are in the log; now they are in the file itself.
    let database = try SQLiteConnection(url)
    try database.exec("PRAGMA journal_mode = DELETE")
    database.close()
    try overwrite(url, at: 0, bytes: [UInt8](repeating: 0, count: 4096))
    return url
  }

  /// Texts that SQLite changes when it converts UTF-8 are written as UTF-16.
  @Test(arguments: ["UTF-16le", "UTF-16be"]) func everyUnitOfUTF16IsKept(_ encoding: String) throws
  {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("old.sqlite")
    let old = try SQLiteConnection(store)
    defer { old.close() }
    // U+FFFE and U+FFFF in either order of bytes, a lone surrogate, and an ordinary text.
    try old.exec(
      """
      PRAGMA encoding = '\(encoding)'; CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT);
      INSERT INTO t VALUES (1, CAST(x'6100feff' AS TEXT)), (2, CAST(x'0061fffe' AS TEXT)),
        (3, CAST(x'ffff6161' AS TEXT)), (4, CAST(x'd8006100' AS TEXT)), (5, 'tea');
      """)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let outcome = try Program.run("recover", store.path, "-o", output.path)
    // A lone surrogate may be told.
    #expect(outcome.status <= 1, "\(outcome.errors)")
    let new = try SQLiteConnection(output)
    defer { new.close() }
    let sql = "SELECT id, hex(CAST(x AS BLOB)) FROM t ORDER BY id"
    #expect(try new.rows(sql) == old.rows(sql))
  }

  /// What was saved after a broken frame of the log is left out unless it is asked for, and the report says so.
  @Test func commitsBehindABrokenFrameAreTold() throws {
    let folder = try TemporaryFolder()
    let work = folder.url.appendingPathComponent("work.sqlite")
    let connection = try SQLiteConnection(work)
    try connection.exec(
      "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)")
    for number in 1...10 { try connection.exec("INSERT INTO t VALUES (\(number))") }
    let store = folder.url.appendingPathComponent("store.sqlite")
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: work.path + suffix, toPath: store.path + suffix)
    }
    connection.close()
    let log = URL(fileURLWithPath: store.path + "-wal")
    var bytes = try Data(contentsOf: log)
    bytes[32 + 4 * 4120 + 124] ^= 1
    try bytes.write(to: log)
    func recovered(_ name: String, _ options: String...) throws -> (text: String, count: Int64?) {
      let output = folder.url.appendingPathComponent(name)
      let outcome = try Program.run(["recover", store.path, "-o", output.path] + options)
      let made = try SQLiteConnection(output)
      defer { made.close() }
      return (outcome.text, try made.integer("SELECT count(*) FROM t"))
    }
    let some = try recovered("some.sqlite")
    #expect(some.count ?? 10 < 10 && some.text.contains("recover --wal all"), "\(some)")
    let all = try recovered("all.sqlite", "--wal", "all")
    #expect(all.count == 10 && !all.text.contains("--wal all"), "\(all)")
    for command in [["check"], ["rows", "--raw"]] {
      let told = try Program.run(command + [store.path])
      #expect((told.text + told.errors).contains("recover --wal all"), "\(told)")
    }
  }

  @Test func aWholeStoreIsRecoveredWhole() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("new.sqlite")
    let log = folder.url.appendingPathComponent("log.ndjson")
    let outcome = try Program.run(
      "recover", demo.kept.path, "-o", output.path, "--json", "--custody-log", log.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.errors == "")
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.recover")
    #expect(report["output"]?.string == output.path)
    let database = try SQLiteConnection(output)
    defer { database.close() }
    #expect(try database.integrityCheck() == ["ok"])
    #expect(try database.integer("SELECT count(*) FROM ZNOTE") == 6)
    let line = try #require(String(contentsOf: log, encoding: .utf8).split(separator: "\n").first)
    let record = try JSONDecoder().decode(JSON.self, from: Data(line.utf8))
    #expect(record["outputs"]?[output.path]?.string == hex(of: try Data(contentsOf: output)))
    #expect(treeState(of: demo.folder) == before)
    let rows = try Program.run("rows", "--format", "ndjson", output.path)
    #expect(try rows.lines().count == 11)
    let text = try Program.run(
      "recover", demo.kept.path, "-o", folder.url.appendingPathComponent("other").path)
    #expect(text.text.contains("lifeboat inspect"))
  }

  @Test func aTrialMakesNothing() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try Self.damaged(demo, in: folder)
    let before = treeState(of: folder.url)
    for arguments in [["-n"], ["--dry-run", "--deleted"], ["-n", "--json"]] {
      let outcome = try Program.run(["recover", store.path] + arguments)
      #expect(outcome.status == 1)
      #expect(outcome.text.contains("ZNOTE"))
    }
    #expect(try Program.run("recover", store.path, "-n", "--exit-zero").status == 0)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func anotherStoreTellsTheSchema() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try Self.damaged(demo, in: folder)
    let output = folder.url.appendingPathComponent("new.sqlite")
    let outcome = try Program.run(
      "recover", store.path, "--like", demo.kept.path, "-o", output.path)
    #expect(outcome.status == 1)
    let database = try SQLiteConnection(output)
    defer { database.close() }
    let healthy = try SQLiteConnection(
      SQLiteConnection.copyStore(demo.kept, into: try TemporaryFolder.kept(folder)))
    defer { healthy.close() }
    #expect(
      try database.rows("SELECT ZTITLE FROM ZNOTE ORDER BY 1")
        == healthy.rows("SELECT ZTITLE FROM ZNOTE ORDER BY 1"))
    #expect(
      try database.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL ORDER BY 1")
        == healthy.rows(
          "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL ORDER BY 1"))
  }

  @Test func refusals() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let taken = folder.url.appendingPathComponent("taken")
    try Data("mine".utf8).write(to: taken)
    let before = treeState(of: folder.url)
    func status(_ arguments: String...) throws -> (Int32, String?) {
      let outcome = try Program.run(["recover"] + arguments)
      return (outcome.status, outcome.errorCode)
    }
    #expect(try status(demo.kept.path, "-o", taken.path) == (73, "writer.exists"))
    #expect(
      try status(demo.kept.path, "-o", demo.kept.path + "-wal") == (73, "output.isEvidence"))
    #expect(try status(demo.kept.path, "-o", demo.kept.path).0 == 73)
    #expect(
      try status(demo.kept.path, "-o", folder.url.path + "/no/where") == (73, "writer.cannotCreate")
    )
    #expect(try status(folder.url.path + "/none", "-o", folder.url.path + "/x").0 == 66)
    #expect(try status(taken.path, "-o", folder.url.path + "/x").0 == 65)
    #expect(
      try status(demo.kept.path, "-o", folder.url.path + "/x", "--like", taken.path + "no").0 == 66)
    #expect(try Program.run("recover", demo.kept.path).status == 64)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func aTrialWithAnOutputIsRefusedForWhatItIs() throws {
    let demo = try Demonstration.shared.get()
    let outcome = try Program.run("recover", "-n", "-o", demo.kept.path + ".new", demo.kept.path)
    #expect(outcome.status == 64)
    #expect(outcome.errors.contains("leave out --dry-run or --output"))
    #expect(!outcome.errors.contains("Name the new file"))
  }

  /// One of a thing is told as one.
  @Test func oneOfEachIsSingular() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("one.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      "CREATE TABLE t(a INTEGER PRIMARY KEY, b CHECK(b > 1)); INSERT INTO t VALUES(1, 2)")
    // The row is there, and then the constraint is another.
    try database.exec("PRAGMA writable_schema = ON")
    try database.exec("UPDATE sqlite_schema SET sql = replace(sql, 'b > 1', 'b > 2')")
    database.close()
    let outcome = try Program.run(
      "recover", store.path, "-o", folder.url.appendingPathComponent("new").path)
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("0 in 1 table; 1 kept in separate tables"))
    let conflict = "1 row breaks a constraint of its table and is kept in a separate table"
    #expect(outcome.errors.contains(conflict))
    for text in [outcome.text, outcome.errors] {
      #expect(!text.contains("1 rows") && !text.contains("1 tables") && !text.contains("1 pages"))
    }
  }

  /// A row without a row id has no number to tell.
  @Test func aRowWithoutARowIDIsNoQuestionMark() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("key.sqlite")
    let database = try SQLiteConnection(store)
    try database.exec(
      """
      CREATE TABLE t(k TEXT PRIMARY KEY, b BLOB) WITHOUT ROWID;
      INSERT INTO t VALUES('one', 'begin' || hex(zeroblob(20000)) || 'end');
      """)
    database.close()
    let content = try bytes(of: store)
    // The last page of the value's chain.
    try overwrite(
      store, at: content.count - 4096, bytes: [UInt8](repeating: 0, count: 4096))
    let outcome = try Program.run("recover", store.path, "-n", "--json")
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("missing or in doubt in a row"))
    #expect(!outcome.text.contains("row ?"))
  }

  @Test func externalFilesAreToldAndCopied() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("Notes.sqlite")
    let names = ["6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2A01", "6A4C0F5E-0B71-4F0C-9E0B-1D6B0F1F2A02"]
    let database = try SQLiteConnection(store)
    try database.exec(
      """
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPICTURE BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      """)
    for name in names {
      try database.exec(
        "INSERT INTO ZNOTE(Z_ENT, ZPICTURE) VALUES(1, x'02' || CAST('\(name)' AS BLOB) || x'00')")
    }
    try database.exec("UPDATE ZNOTE SET ZPICTURE = CAST(ZPICTURE AS BLOB)")
    database.close()
    let support = folder.url.appendingPathComponent(".Notes_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
    try Data("picture".utf8).write(to: support.appendingPathComponent(names[0]))
    let trial = try Program.run("recover", store.path, "-n")
    #expect(trial.status == 1)
    #expect(trial.text.contains("1 external file of 7 bytes; 1 missing"))
    #expect(trial.errors.contains("recover.externalMissing"))
    let output = folder.url.appendingPathComponent("Saved.sqlite")
    let outcome = try Program.run("recover", store.path, "-o", output.path, "--json")
    #expect(outcome.status == 1)
    let files = try outcome.json()["externalFiles"]
    #expect(files?["fileCount"]?.integer == 1)
    #expect(files?["missingCount"]?.integer == 1)
    let copies = folder.url.appendingPathComponent(".Saved_SUPPORT/_EXTERNAL_DATA")
    #expect(files?["output"]?.string == copies.deletingLastPathComponent().path)
    #expect(
      try Data(contentsOf: copies.appendingPathComponent(names[0])) == Data("picture".utf8))
    let again = try Program.run(
      "recover", store.path, "-o", folder.url.appendingPathComponent("Saved.store").path)
    #expect(again.status == 73)
    #expect(again.errorCode == "output.exists")
  }

  /// A limit on the size of files ends the run with an error, and nothing stays.
  @Test func aFileSizeLimitLeavesNothing() throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("large.sqlite")
    try smallRows(megabytes: 6, at: store)
    let output = folder.url.appendingPathComponent("out")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    let script = #"ulimit -f 4000; "$1" recover "$2" -o "$3/new.sqlite"; echo $?"#
    let result = try run("/bin/sh", ["-c", script, "sh", program, store.path, output.path])
    #expect(String(decoding: result.stdout, as: UTF8.self).hasSuffix("74\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path).isEmpty)
  }

  /// An interruption takes back what the run made.
  @Test func anInterruptionLeavesNothing() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("large.sqlite")
    try smallRows(megabytes: 30, at: store)
    let output = folder.url.appendingPathComponent("out")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    // The next test sends SIGTERM.
    for (signal, status) in [("INT", 130), ("TERM", 143), ("HUP", 129)]
    where Rounds.areLong || signal != "TERM" {
      try interrupt(signal, status, store, output)
    }
  }

  private func interrupt(_ signal: String, _ status: Int, _ store: URL, _ output: URL) throws {
    let program = try #require(Program.path)
    // A run that ended before the signal came is begun again.
    let script = """
      for round in 1 2 3 4 5; do
        "$1" recover "$2" -o "$3/new.sqlite" &
        running=$!
        while [ -z "$(ls -A "$3")" ] && kill -0 $running; do sleep 0.02; done
        kill -\(signal) $running
        wait $running
        status=$?
        if [ $status -gt 1 ] || [ $round -eq 5 ]; then break; fi
        rm -r "$3"/*
      done
      echo $status
      """
    let result = try run("/bin/sh", ["-c", script, "sh", program, store.path, output.path])
    #expect(String(decoding: result.stdout, as: UTF8.self).hasSuffix("\(status)\n"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: output.path).isEmpty)
  }

  /// So does one of a run that reads a bundle: what it unpacked goes, too.
  @Test func anInterruptionRemovesWhatWasUnpacked() throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    func path(_ name: String) -> String { folder.url.appendingPathComponent(name).path }
    try smallRows(megabytes: 20, at: folder.url.appendingPathComponent("large.sqlite"))
    let packed = try Program.run(
      "bundle", "create", path("large.sqlite"), "-o", path("b.zip"), "--include", "store",
      "--level", "1")
    try #require(packed.status == 0, "\(packed.errors)")
    for name in ["out", "tmp"] {
      try FileManager.default.createDirectory(
        atPath: path(name), withIntermediateDirectories: false)
    }
    // A run that ended before the signal came is begun again.
    let script = """
      for round in 1 2 3 4 5; do
        TMPDIR="$4" "$1" recover "$2" -o "$3/new.sqlite" &
        running=$!
        while [ -z "$(ls -A "$3")" ] && kill -0 $running; do sleep 0.02; done
        unpacked=$(ls -A "$4")
        kill -TERM $running
        wait $running
        status=$?
        if [ $status -gt 1 ] || [ $round -eq 5 ]; then break; fi
        rm -r "$3"/*
      done
      echo "$unpacked"
      echo $status
      """
    let result = try run(
      "/bin/sh", ["-c", script, "sh", program, path("b.zip"), path("out"), path("tmp")])
    let lines = String(decoding: result.stdout, as: UTF8.self).split(separator: "\n")
    #expect(
      lines.count == 2 && lines.first?.hasPrefix("lifeboat-") == true && lines.last == "143",
      "\(lines) \(String(decoding: result.stderr, as: UTF8.self))")
    for name in ["out", "tmp"] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: path(name)).isEmpty)
    }
  }

  // MARK: - rows --all

  @Test func rowsOfADamagedStoreHaveTheirNames() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let store = try Self.damaged(demo, in: folder)
    let before = treeState(of: folder.url)
    let outcome = try Program.run(
      "rows", "--all", "--format", "ndjson", store.path, "--like", demo.kept.path)
    let rows = try outcome.lines().filter { $0["state"] == nil }
    let notes = rows.filter { $0["entity"]?.string == "Note" }
    #expect(notes.count == 6)
    let boat = try #require(notes.first { $0["pk"]?.integer == 2 })
    #expect(boat["values"]?["title"] == .string("Boat"))
    #expect(boat["values"]?["created"] == .string("2025-11-29T05:20:00.25Z"))
    #expect(boat["values"]?["folder"]?["entity"] == .string("Folder"))
    for name in ["Note", "ZNOTE"] {
      let chosen = try Program.run(
        "rows", "--all", "--format", "ndjson", store.path, "--entity", name, "--limit", "2")
      #expect(try chosen.lines().map { $0["entity"]?.string } == ["Note", "Note"])
      let raw = try Program.run(
        "rows", "--all", "--raw", "--format", "ndjson", store.path, "--entity", name, "--limit", "2"
      )
      #expect(try raw.lines().map { $0["table"]?.string } == ["ZNOTE", "ZNOTE"])
    }
    let text = try Program.run("rows", "--all", store.path, "--entity", "Note")
    #expect(text.text.contains("Boat"))
    #expect(try Program.run("rows", "--all", "--raw", store.path).text.contains("ZNOTE"))
    let several = try Program.run("rows", "--all", store.path, "--format", "csv")
    let lines = several.text.split(separator: "\r\n")
    #expect(lines.first?.hasPrefix("_entity,_pk,") ?? false)
    #expect(
      lines.first?.hasSuffix("_state,_attribution,_confidence,_file,_page,_offset,_partial")
        ?? false)
    #expect(lines.dropFirst().contains { $0.hasPrefix("Folder,") })
    let columns = lines.first.map { $0.filter { $0 == "," }.count }
    #expect(lines.allSatisfy { $0.contains("\"") || $0.filter { $0 == "," }.count == columns })
    let table = try Program.run(
      "rows", "--all", store.path, "--format", "csv", "--entity", "ZNOTE")
    #expect(table.errorCode == "usage.oneEntity")
    let unknown = try Program.run("rows", "--all", store.path, "--entity", "Nothing")
    #expect(unknown.errorCode == "input.unknownName")
    #expect(try Program.run("rows", store.path, "--like", demo.kept.path).status == 64)
    #expect(treeState(of: folder.url) == before)
  }

  /// Every form tells the same of the same rows: deleted ones, and a long value that has lost an overflow page.
  @Test(arguments: [true, false]) func allFormsTellWhatIsNotWhole(_ raw: Bool) throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("note.sqlite")
    let connection = try SQLiteConnection(store)
    try connection.exec(
      """
      PRAGMA page_size = 1024; PRAGMA secure_delete = 0; VACUUM;
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Note', 0, 9);
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZNOTE(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR, ZBODY VARCHAR);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
        INSERT INTO ZNOTE SELECT i, 1, 1, 'a "title", ' || i, printf('%.*c', i * 300, 'x') FROM n;
      DELETE FROM ZNOTE WHERE Z_PK = 2;
      """)
    connection.close()
    // An overflow page full of the text goes.
    let content = try bytes(of: store)
    let starts = Array(stride(from: 1024, to: content.count, by: 1024))
    let last = starts.last { start in
      content[start + 4..<start + 1024].allSatisfy { $0 == UInt8(ascii: "x") }
    }
    let page = try #require(last)
    try overwrite(store, at: page, bytes: [UInt8](repeating: 0, count: 1024))
    func rows(_ format: String) throws -> Outcome {
      let outcome = try Program.run(
        ["rows", "--all", store.path, "--format", format, "--entity", "Note"]
          + (raw ? ["--raw"] : []))
      #expect(outcome.status == 1, "\(outcome.errors)")
      return outcome
    }
    let lines = try rows("ndjson").lines()
    #expect(lines.contains { $0["partial"] != nil })
    #expect(lines.contains { $0["state"]?.string == "deleted" })
    guard case .array(let objects)? = try rows("json").json()["rows"] else {
      Issue.record("no rows")
      return
    }
    #expect(objects == lines)
    // Python's reader takes the lines apart, and the JSON in them.
    let script = """
      import csv, io, json, sys
      for row in csv.DictReader(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", newline="")):
          print(json.dumps({"pk": row.get("_pk") or row.get("_rowid") or "", "state": row["_state"] or None,
            "title": row.get("title") or row.get("ZTITLE") or None,
            "attribution": row["_attribution"],
            "partial": json.loads(row["_partial"]) if row["_partial"] else None}))
      """
    let file = folder.url.appendingPathComponent("rows.csv")
    try rows("csv").stdout.write(to: file)
    let read = try run("/bin/sh", ["-c", "python3 -c \"$1\" < \"$2\"", "sh", script, file.path])
    let told = try read.stdout.split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode(JSON.self, from: Data($0))
    }
    #expect(told.count == lines.count)
    for (csv, line) in zip(told, lines) {
      let key = raw ? line["rowid"]?.integer : line["pk"]?.integer
      #expect(csv["pk"]?.string == key.map { String($0) } ?? "")
      #expect(csv["state"]?.string == line["state"]?.string)
      #expect(csv["attribution"] == line["attribution"])
      #expect(csv["partial"] == line["partial"] ?? .null)
      let title: JSON? =
        if raw, case .array(let values)? = line["values"] { values[3] } else {
          line["values"]?["ZTITLE"] ?? line["values"]?["title"]
        }
      #expect(csv["title"] == title)
    }
  }

  /// A store that describes lost tables is only read, and gets no file of its set.
  @Test func noOutputIsAPartOfAnExample() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    let example = folder.url.appendingPathComponent("Healthy.sqlite").path
    try FileManager.default.copyItem(
      atPath: demo.folder.appendingPathComponent("Stores/Notes.sqlite").path, toPath: example)
    for command in ["recover", "salvage"] {
      let refused = try Program.run(
        command, demo.kept.path, "--like", example, "-o", example + "-journal")
      #expect(refused.status == 73 && refused.errorCode == "output.isEvidence", "\(refused.text)")
      #expect(!FileManager.default.fileExists(atPath: example + "-journal"))
    }
  }
}

extension TemporaryFolder {
  /// A folder within another.
  fileprivate static func kept(_ folder: TemporaryFolder) throws -> URL {
    let url = folder.url.appendingPathComponent("kept")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }
}
