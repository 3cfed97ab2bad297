import CLibrary
import Crypto
import Fixtures
import Foundation
import StoreTriage
import Testing

/// `lifeboat triage` as a run: its workers, its journal, its catalogue. What one run says of all inputs is the truth.
@Suite struct TriageRunTests {
  private let place: TemporaryFolder
  private let paths: [String]

  init() throws {
    place = try TemporaryFolder()
    let store = place.url.appendingPathComponent("base.sqlite")
    // The smallest one: what is compared are runs, and they read it hundreds of times.
    try smallRows(megabytes: 0, at: store)
    let content = try bytes(of: store)
    let inputs = place.url.appendingPathComponent("inputs")
    try FileManager.default.createDirectory(at: inputs, withIntermediateDirectories: false)
    var paths: [String] = []
    for index in 0..<24 {
      let url = inputs.appendingPathComponent("\(10 + index).sqlite")
      var bytes = content
      if index % 3 == 1 { bytes.replaceSubrange(0..<4096, with: repeatElement(0, count: 4096)) }
      if index % 4 != 3 { try Data(bytes).write(to: url) }
      paths.append(url.path)
    }
    self.paths = paths
  }

  private func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }

  private func run(_ arguments: [String], stdin: Data? = nil) throws -> Outcome {
    let program = try #require(Program.path)
    let result = try Fixtures.run(program, ["triage"] + arguments, stdin: stdin)
    return Outcome(status: result.status, stdout: result.stdout, stderr: result.stderr)
  }

  @Test func theOrderIsThatOfTheInputs() throws {
    let one = try run(paths + ["--workers", "1"])
    #expect(one.status == 1)
    #expect(try one.lines().map { $0["path"]?.string } == paths)
    #expect(try run(paths + ["--workers", "4"]).stdout == one.stdout)
    let list = Data(paths.map { $0 + "\n" }.joined().utf8)
    #expect(try run(["-"], stdin: list).stdout == one.stdout)
    // The last line may lack its end, and empty ones do not count.
    #expect(try run(["-"], stdin: Data("\n\n".utf8) + list.dropLast()).stdout == one.stdout)
    let zeros = Data(paths.joined(separator: "\0").utf8)
    #expect(try run(["-", "-0"], stdin: zeros).stdout == one.stdout)
    #expect(try run(["-"], stdin: Data()).status == 0)
    // A folder has what is there; it stands where it was named.
    let there = paths.filter { FileManager.default.fileExists(atPath: $0) }
    let folder = try run(["nowhere", path("inputs"), "nowhere"])
    #expect(
      try folder.lines().map { $0["path"]?.string } == ["nowhere"] + there + ["nowhere"])
    // Only what was asked for makes two runs differ.
    let timed = try run([paths[0], "--timing"]).lines()
    #expect(timed[0]["seconds"] != nil)
    #expect(try one.lines()[0]["seconds"] == nil)
  }

  @Test func anyNameIsALine() throws {
    let strange = place.url.path + "/a\nb.sqlite"
    try FileManager.default.copyItem(atPath: paths[0], toPath: strange)
    var list = Data((strange + "\0").utf8)
    list += Data([0x2f, 0xE9, 0x2f]) + Data([0])
    list += Data(repeating: 0x61, count: 100_000) + Data([0])
    list += Data((paths[0] + "\0").utf8)
    let outcome = try run(["-", "-0"], stdin: list)
    let lines = try outcome.lines()
    #expect(lines.count == 4)
    #expect(lines[0]["path"]?.string == strange && lines[0]["failed"] == nil)
    #expect(lines[1]["path"]?.string == "/\\xE9/")
    #expect(lines[1]["failed"]?["code"]?.string == "input.nameNotText")
    #expect(lines[2]["failed"]?["code"]?.string == "file.missing")
    #expect(lines[3]["failed"] == nil)
  }

  // MARK: - Workers

  #if os(Linux)
    @Test func aWorkerThatIsKilledCostsOneLine() throws {
      let live = try LiveTriage(["-", "--workers", "1"])
      let first = try live.line(for: paths[0])
      #expect(first["failed"] == nil)
      let worker = try live.stopWorker()
      live.send(paths[1])
      try LiveTriage.waitForRequest(worker)
      kill(worker, SIGKILL)
      let lost = try live.line()
      #expect(lost["path"]?.string == paths[1])
      #expect(lost["failed"]?["code"]?.string == "triage.workerEnded", "\(lost)")
      #expect(lost["failed"]?["message"]?.string?.contains("signal 9") == true)
      #expect(try live.line(for: paths[2])["failed"] == nil)
      // One that dies between two inputs costs nothing.
      let idle = try #require(try live.workers().first)
      kill(idle, SIGKILL)
      // Once it is waited for, it is known to be gone.
      while LiveTriage.state(idle) != nil { usleep(1000) }
      #expect(try live.line(for: paths[4])["failed"] == nil)
      #expect(try live.end() == 1)
    }

    @Test func aWorkerThatHangsCostsOneLine() throws {
      let live = try LiveTriage(["-", "--workers", "1", "--timeout", "3"])
      #expect(try live.line(for: paths[0])["failed"] == nil)
      let worker = try live.stopWorker()
      let late = try live.line(for: paths[1])
      #expect(late["failed"]?["code"]?.string == "triage.timeout", "\(late)")
      #expect(late["path"]?.string == paths[1])
      #expect(kill(worker, 0) != 0)
      #expect(try live.line(for: paths[2])["failed"] == nil)
      #expect(try live.end() == 1)
    }

    @Test func anInterruptionLeavesNothing() throws {
      for signal in [SIGTERM, SIGINT] {
        let live = try LiveTriage(["-", "--workers", "2"])
        _ = try live.line(for: paths[0])
        let workers = try live.workers()
        #expect(!workers.isEmpty)
        // One that hangs is ended, too.
        _ = try live.stopWorker()
        live.signal(signal)
        #expect(live.wait() == 128 + signal)
        for worker in workers { #expect(kill(worker, 0) != 0) }
        #expect(try live.privateFolders() == [])
      }
    }

    /// A run that is killed leaves workers that see the end of their requests.
    @Test func aKillLeavesNoWorker() throws {
      let live = try LiveTriage(["-", "--workers", "2"])
      _ = try live.line(for: paths[0])
      let workers = try live.workers()
      live.signal(SIGKILL)
      #expect(live.wait() == 128 + SIGKILL)
      for worker in workers {
        // A zombie is waited for by whoever takes in orphans.
        while kill(worker, 0) == 0, LiveTriage.state(worker) != "Z" { usleep(10_000) }
      }
      while try live.privateFolders() != [] { usleep(10_000) }
    }
  #endif

  /// A worker that needs more memory than it may use is ended, and that costs one line.
  @Test func memoryIsBounded() throws {
    let demo = try Demonstration.shared.get()
    let made = try Program.run("bundle", "create", demo.kept.path, "-o", path("small.zip"))
    try #require(made.status == 0, "\(made.errors)")
    let script = """
      import hashlib, json, sys, zipfile
      with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], 'w', zipfile.ZIP_DEFLATED) as new:
        parts = {info.filename: old.read(info) for info in old.infolist()}
        record = json.loads(parts['inspection.json'])
        record['tables'] = [{'name': 'T%d' % number, 'rowCount': number} for number in range(250000)]
        data = parts['inspection.json'] = json.dumps(record).encode()
        manifest = json.loads(parts['manifest.json'])
        for entry in manifest['entries']:
          if entry['name'] == 'inspection.json':
            entry.update(sizeBytes=len(data), sha256=hashlib.sha256(data).hexdigest())
        parts['manifest.json'] = json.dumps(manifest).encode()
        for name, data in parts.items(): new.writestr(name, data)
      """
    let python = try #require(findTool("python3"))
    let big = try Fixtures.run(python, ["-c", script, path("small.zip"), path("big.zip")])
    try #require(big.status == 0, "\(String(decoding: big.stderr, as: UTF8.self))")
    let inputs = ["small.zip", "big.zip", "small.zip"].map(path)
    let truth = try run(inputs).lines()
    #expect(truth.map { $0["failed"] == nil } == [true, true, true])
    #if os(Linux)
      let lines = try run(inputs + ["--max-memory", "64MiB", "--workers", "1"]).lines()
      #expect(lines.map { $0["failed"] == nil } == [true, false, true])
      #expect(lines[1]["failed"]?["code"]?.string == "triage.workerEnded", "\(lines[1])")
      #expect(lines[0] == truth[0] && lines[2] == truth[2])
    #endif
  }

  // MARK: - Journal

  @Test func aJournalIsGoneOnWithFromAnyPlace() throws {
    // What is no input in a folder is a line that comes with the folder.
    try FileManager.default.createSymbolicLink(
      atPath: path("inputs/15link.sqlite"), withDestinationPath: path("base.sqlite"))
    let arguments = [paths[0], path("inputs"), "nowhere"] + paths
    let truth = try run(arguments)
    #expect(truth.text.contains("15link.sqlite"))
    let whole = try run(arguments + ["--journal", path("whole")])
    #expect(whole.stdout == truth.stdout && whole.status == truth.status)
    let journal = try bytes(of: URL(fileURLWithPath: path("whole")))
    let again = try run(arguments + ["--journal", path("whole")])
    #expect(again.stdout == truth.stdout && again.status == truth.status)
    #expect(again.errors.contains("taken from the journal"), "\(again.errors)")
    #expect(try bytes(of: URL(fileURLWithPath: path("whole"))) == journal)
    // A kill leaves a beginning of it, which may end anywhere.
    let head = try #require(journal.firstIndex(of: 0x0a)) + 1
    var generator = SplitMix64(seed: 22)
    let cuts = (0..<(Rounds.areLong ? 12 : 4)).map { _ in
      Int.random(in: head...journal.count, using: &generator)
    }
    for (round, cut) in ([0, 1, head - 1] + cuts).enumerated() {
      let name = path("cut\(round)")
      try Data(journal[..<cut]).write(to: URL(fileURLWithPath: name))
      let resumed = try run(arguments + ["--journal", name])
      #expect(resumed.stdout == truth.stdout, "cut at \(cut)")
      #expect(try bytes(of: URL(fileURLWithPath: name)) == journal, "cut at \(cut)")
    }
    // A byte that has changed: its record and what follows are read again.
    for round in 0..<(Rounds.areLong ? 6 : 2) {
      var damaged = journal
      damaged[Int.random(in: (head + 1)..<journal.count, using: &generator)] ^= 1
      let name = path("damaged\(round)")
      try Data(damaged).write(to: URL(fileURLWithPath: name))
      #expect(try run(arguments + ["--journal", name]).stdout == truth.stdout, "\(round)")
      #expect(try bytes(of: URL(fileURLWithPath: name)) == journal, "\(round)")
    }
    // Zeros, as a crash of the machine leaves them.
    try Data(journal[..<(head + 500)] + [UInt8](repeating: 0, count: 4096)).write(
      to: URL(fileURLWithPath: path("zeros")))
    #expect(try run(arguments + ["--journal", path("zeros")]).stdout == truth.stdout)
  }

  #if os(Linux)
    /// What failed for want of time is read again, and told in its place; the rest is not.
    @Test func aFailureOfTheMachineIsReadAgain() throws {
      let list = Array(paths[..<3])
      let live = try LiveTriage(
        ["-", "--workers", "1", "--timeout", "3", "--journal", path("j")])
      #expect(try live.line(for: list[0])["failed"] == nil)
      _ = try live.stopWorker()
      #expect(try live.line(for: list[1])["failed"]?["code"]?.string == "triage.timeout")
      #expect(try live.line(for: list[2])["failed"] == nil)
      #expect(try live.end() == 1)
      let journal = try bytes(of: URL(fileURLWithPath: path("j")))
      let stdin = Data(list.map { $0 + "\n" }.joined().utf8)
      let truth = try run(["-"], stdin: stdin)
      for workers in ["1", "4"] {
        let again = try run(["-", "--workers", workers, "--journal", path("j")], stdin: stdin)
        #expect(again.stdout == truth.stdout && again.status == truth.status)
        #expect(again.errors.contains("2 taken from the journal"), "\(again.errors)")
        // The record stays.
        #expect(try bytes(of: URL(fileURLWithPath: path("j"))) == journal)
      }
    }
  #endif

  /// What a folder holds that could not be searched before takes its place in the journal, too.
  @Test func aFolderThatCouldNotBeSearchedIsSearchedAgain() throws {
    let folder = path("inputs")
    let arguments = [folder, paths[0], "nowhere", paths[1]]
    let truth = try run(arguments)
    _ = try run(arguments + ["--journal", path("whole")])
    let whole = try bytes(of: URL(fileURLWithPath: path("whole")))
    let records = whole.split(separator: 0x0a).map { Array($0) }
    let failed = try TriageLine(
      path: folder, failed: .init(code: "file.permission", message: "permission denied")
    ).json()
    let record = Array("L=\(folder)\t".utf8) + failed
    let digest = SHA256.hash(data: Data(record)).prefix(8)
    let check = digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    let made = [records[0], Array("\(check) ".utf8) + record] + records.suffix(3)
    try Data(made.flatMap { $0 + [0x0a] }).write(to: URL(fileURLWithPath: path("made")))
    let again = try run(arguments + ["--journal", path("made")])
    #expect(again.stdout == truth.stdout, "\(again.errors)")
    #expect(try bytes(of: URL(fileURLWithPath: path("made"))) == whole)
  }

  @Test func killedAndResumedIsOneRun() throws {
    let arguments = [path("inputs")] + paths + paths + ["--workers", "2", "--journal"]
    let truth = try run(arguments + [path("whole")])
    var generator = SplitMix64(seed: 5)
    let program = try #require(Program.path)
    func written(_ journal: String) -> Int {
      (try? bytes(of: URL(fileURLWithPath: journal)).count) ?? 0
    }
    for round in 0..<(Rounds.areLong ? 3 : 1) {
      let journal = path("killed\(round)")
      for _ in 0..<6 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["triage"] + arguments + [journal]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let before = written(journal)
        try process.run()
        // It is killed after it has gone on with its journal, or else it has ended.
        while process.isRunning, written(journal) <= before { usleep(1000) }
        usleep(UInt32.random(in: 0...20_000, using: &generator))
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
      }
      let last = try run(arguments + [journal])
      #expect(last.stdout == truth.stdout, "\(last.errors)")
      #expect(
        try bytes(of: URL(fileURLWithPath: journal))
          == bytes(of: URL(fileURLWithPath: path("whole"))))
    }
  }

  @Test func aJournalOfAnotherRunIsRefused() throws {
    _ = try run([paths[0], "--journal", path("j")])
    let before = try bytes(of: URL(fileURLWithPath: path("j")))
    for other in [[paths[1]], [paths[0], "--survey"]] {
      let refused = try run(other + ["--journal", path("j")])
      #expect(refused.status == 64 && refused.errorCode == "triage.otherRun", "\(refused.errors)")
    }
    #expect(try bytes(of: URL(fileURLWithPath: path("j"))) == before)
    let text = String(decoding: before, as: UTF8.self)
    let old = text.replacingOccurrences(of: #""version":2}"#, with: #""version":1}"#)
    try Data(old.utf8).write(to: URL(fileURLWithPath: path("old")))
    let earlier = try run([paths[0], "--journal", path("old")])
    #expect(earlier.status == 64 && earlier.errorCode == "triage.otherRun", "\(earlier.errors)")
    #expect(earlier.errors.contains("an earlier version"), "\(earlier.errors)")
    // An input that has come between is read, and what follows it, too.
    let list = [paths[0], paths[1], paths[2], paths[4]]
    func stdin(_ paths: [String]) -> Data { Data(paths.map { $0 + "\n" }.joined().utf8) }
    _ = try run(["-", "--journal", path("l")], stdin: stdin(list))
    let changed = [paths[0], paths[5], paths[2], paths[4]]
    let outcome = try run(["-", "--journal", path("l")], stdin: stdin(changed))
    #expect(try outcome.stdout == run(["-"], stdin: stdin(changed)).stdout)
    #expect(outcome.errors.contains("1 taken from the journal"), "\(outcome.errors)")
  }

  /// A hash of a weak passphrase could be guessed. With another one, only what the former did not open is read.
  @Test func aJournalDependsOnNoPassphrase() throws {
    let demo = try Demonstration.shared.get()
    for (name, words) in [("right", "correct horse"), ("wrong", "wrong horse")] {
      try Data("\(words)\n".utf8).write(to: URL(fileURLWithPath: path(name)))
    }
    let made = try Program.run(
      "bundle", "create", demo.kept.path, "--passphrase-file", path("right"), "-o", path("b.age"))
    try #require(made.status == 0, "\(made.errors)")
    let inputs = [paths[0], path("b.age")]
    func run(_ name: String, _ journal: String) throws -> Outcome {
      try self.run(inputs + ["--passphrase-file", path(name), "--journal", path(journal)])
    }
    let truth = try run("right", "opened")
    #expect(try truth.lines().allSatisfy { $0["failed"] == nil }, "\(truth.text)")
    let locked = try run("wrong", "locked")
    #expect(try locked.lines()[1]["fix"]?.string == "key", "\(locked.text)")
    func head(_ name: String) throws -> ArraySlice<UInt8>? {
      try bytes(of: URL(fileURLWithPath: path(name))).split(separator: 0x0a).first
    }
    #expect(try head("opened") == head("locked"))
    let again = try run("right", "locked")
    #expect(again.stdout == truth.stdout && again.status == truth.status)
    #expect(again.errors.contains("1 taken from the journal"), "\(again.errors)")
    // Without any key it is another run.
    let none = try self.run(inputs + ["--journal", path("opened")])
    #expect(none.status == 64 && none.errorCode == "triage.otherRun", "\(none.errors)")
  }

  // MARK: - Catalogue

  @Test func otherAnalysersReadAllAgain() throws {
    let (folder, catalog) = (path("analysers"), path("cases.sqlite"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let arguments = [paths[0], paths[2], "--catalog", catalog]
    _ = try run(arguments)
    for id in ["team.one", "team.two"] {
      let analyser = """
        {"schema": "lifeboat.analyser", "version": 1, "id": "\(id)",
         "when": [{"fact": "kind", "exists": true}], "verdict": "v", "sentence": "s"}
        """
      try Data(analyser.utf8).write(to: URL(fileURLWithPath: folder + "/a.json"))
      let first = try run(arguments + ["--analysers", folder])
      #expect(!first.errors.contains("already"), "\(first.errors)")
      let second = try run(arguments + ["--analysers", folder])
      #expect(second.errors.contains("2 in the catalogue already"), "\(second.errors)")
      let connection = try SQLiteConnection(URL(fileURLWithPath: catalog))
      defer { connection.close() }
      let sql = "SELECT count(*) FROM input WHERE instr(line, '\(id)') > 0"
      #expect(try connection.integer(sql) == 2)
      // A journal is of the analysers that the folder had.
      let journaled = try run([paths[0], "--analysers", folder, "--journal", path("j")])
      #expect((journaled.status == 64) == (id == "team.two"), "\(journaled.errors)")
    }
  }

  @Test func aCatalogReadsOnlyWhatHasChanged() throws {
    let catalog = path("cases.sqlite")
    let inputs = path("inputs")
    let truth = try run([inputs])
    let count = try truth.lines().count
    let first = try run([inputs, "--catalog", catalog])
    #expect(first.status == 1 && first.stdout.isEmpty, "\(first.errors)")
    #expect(!first.errors.contains("already"))
    func lines() throws -> [String] {
      let connection = try SQLiteConnection(URL(fileURLWithPath: catalog))
      defer { connection.close() }
      return try connection.rows("SELECT line FROM input ORDER BY path").compactMap {
        if case .text(let bytes)? = $0.first { String(decoding: bytes, as: UTF8.self) } else { nil }
      }
    }
    #expect(try lines() == truth.text.split(separator: "\n").map(String.init))
    let second = try run([inputs, "--catalog", catalog])
    #expect(second.status == 1)
    #expect(second.errors.contains("\(count) in the catalogue already"), "\(second.errors)")
    // The same groups, without reading anything.
    #expect(
      try run([inputs, "--catalog", catalog, "--group", "--json"]).stdout
        == run([inputs, "--group", "--json"]).stdout)
    // A store that has changed, by one byte in its place.
    try overwrite(URL(fileURLWithPath: paths[0]), at: 0, bytes: [0])
    let third = try run([inputs, "--catalog", catalog])
    #expect(third.errors.contains("\(count - 1) in the catalogue already"), "\(third.errors)")
    #expect(try lines() == run([inputs]).text.split(separator: "\n").map(String.init))

    let frequent = try Program.run("triage", "query", "frequent", catalog, "--json").json()
    #expect(frequent["schema"]?.string == "lifeboat.triageQuery")
    #expect(frequent["rows"]?[0]?["inputs"]?.integer ?? 0 > 0)
    for name in [
      "new", "worse", "fixes", "unexplained", "frequent", "trend", "models", "places", "unread",
      "duplicates",
    ] {
      let text = try Program.run(["triage", "query", name, catalog], columns: 80)
      #expect(text.status == 0, "\(text.errors)")
      #expect(text.text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text.text)")
    }
    let none = try Program.run("triage", "query", "new", path("none"))
    #expect(none.status == 66 && none.errorCode == "triage.noCatalog")
    let other = try Program.run("triage", "query", "new", paths[2])
    #expect(other.status == 65 && other.errorCode == "triage.notACatalog")
  }

  /// An input that had a line, and is a folder of inputs now, no longer has a line.
  @Test func aPathThatIsAFolderNowHasNoRow() throws {
    let (folder, catalog) = (path("later"), path("cases.sqlite"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    func told() throws -> [String] {
      let connection = try SQLiteConnection(URL(fileURLWithPath: catalog))
      defer { connection.close() }
      return try connection.rows("SELECT path FROM input ORDER BY path").compactMap {
        if case .text(let bytes)? = $0.first { String(decoding: bytes, as: UTF8.self) } else { nil }
      }
    }
    _ = try run([folder, "--catalog", catalog])
    #expect(try told() == [folder])
    try FileManager.default.copyItem(atPath: paths[0], toPath: folder + "/a.sqlite")
    _ = try run([folder, "--catalog", catalog])
    #expect(try told() == [folder + "/a.sqlite"])
  }

  @Test func aDamagedCatalogIsSaidToBeOne() throws {
    let catalog = path("cases.sqlite")
    _ = try run(paths + ["--catalog", catalog])
    try truncate(URL(fileURLWithPath: catalog), to: 9000)
    for arguments in [["query", "frequent", catalog], [paths[0], "--catalog", catalog]] {
      let outcome = try run(arguments)
      #expect(outcome.status == 65, "\(outcome.errors)")
      #expect(outcome.errorCode == "triage.catalogDamaged", "\(outcome.errors)")
      #expect(outcome.errors.contains(catalog) && outcome.errors.contains("--catalog NEW"))
    }
  }

  @Test func aCatalogThatMayNotBeWrittenTo() throws {
    let folder = path("kept")
    let catalog = folder + "/cases.sqlite"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    _ = try run([paths[0], "--catalog", catalog])
    var command = [try #require(Program.path), "triage", paths[1], "--catalog", catalog]
    if geteuid() == 0 {
      guard let setpriv = findTool("setpriv"), let chown = findTool("chown") else {
        return print("skipped: root may do everything, and there is no setpriv")
      }
      _ = try Fixtures.run(chown, ["-R", "65534", place.url.path])
      command = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"] + command
    }
    unsafe _ = chmod(catalog, 0o444)
    unsafe _ = chmod(folder, 0o555)
    defer { unsafe _ = chmod(folder, 0o700) }
    let result = try Fixtures.run(command[0], Array(command.dropFirst()))
    guard result.status != 126, result.status != 127 else {
      return print("skipped: another user cannot run the program")
    }
    let outcome = Outcome(status: result.status, stdout: result.stdout, stderr: result.stderr)
    #expect(outcome.status == 77, "\(outcome.errors)")
    #expect(outcome.errorCode == "file.permission", "\(outcome.errors)")
    #expect(outcome.errors.contains(catalog))
  }

  /// In a file, and with `-v`, an answer is whole, whatever the width of the terminal.
  @Test func anAnswerIsCutOnlyWhereItHasToBe() throws {
    let catalog = path("cases.sqlite")
    _ = try run(paths + ["--catalog", catalog])
    let arguments = ["triage", "query", "unread", catalog]
    let rows = try #require(try Program.run(arguments + ["--json"]).json()["rows"]?.array)
    let input = try #require(rows.first?["path"]?.string)
    let message = try #require(rows.first?["failed_message"]?.string)
    let narrow = try Program.run(arguments, columns: 40).text
    #expect(!narrow.contains(message), "\(narrow)")
    let wide = try Program.run(arguments + ["-v"], columns: 40).text
    #expect(wide.contains(message) && wide.contains(input), "\(wide)")
    var environment = ProcessInfo.processInfo.environment
    environment["COLUMNS"] = nil
    let program = try #require(Program.path)
    let file = try Fixtures.run(
      program, ["triage", "query", "frequent", catalog], environment: environment)
    let cases = try Program.run("triage", "query", "frequent", catalog, "--json").json()["rows"]?
      .array?.compactMap { $0["words"]?.string }
    for words in try #require(cases) {
      #expect(String(decoding: file.stdout, as: UTF8.self).contains(words), "\(words)")
    }
  }

  /// A limit on the size of files is an error, and no part of a new catalogue stays.
  @Test func aCatalogThatCannotBeMade() throws {
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let catalog = folder.url.appendingPathComponent("cases.sqlite").path
    let script = #"ulimit -f 8; "$1" triage "$2" --catalog "$3"; echo $?"#
    let result = try Fixtures.run(
      "/bin/sh", ["-c", script, "sh", program, paths[0], catalog])
    #expect(String(decoding: result.stdout, as: UTF8.self) == "74\n")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
  }

  /// The catalogue opens in SQLite's own shell.
  @Test func twoRunsFillOneCatalog() throws {
    let catalog = path("cases.sqlite")
    let program = try #require(Program.path)
    let halves = [Array(paths[..<12]), Array(paths[12...])]
    let processes = try halves.map { half in
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = ["triage"] + half + ["--catalog", catalog, "--quiet"]
      try process.run()
      return process
    }
    for process in processes {
      process.waitUntilExit()
      #expect(process.terminationStatus == 1)
    }
    let connection = try SQLiteConnection(URL(fileURLWithPath: catalog))
    defer { connection.close() }
    #expect(try connection.integer("SELECT count(*) FROM input") == 24)
    #expect(try connection.integrityCheck() == ["ok"])
  }
}
