import Dispatch
import Fixtures
import Foundation
import Testing

/// `--custody-log`
@Suite struct CustodyTests {
  @Test func eachRunIsALineThatHoldsTheHashOfTheOneBefore() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let output = place.url.appendingPathComponent("Rows.sqlite").path
    let before = treeState(of: demo.folder)
    let runs = [
      ["inspect", demo.kept.path], ["rows", demo.kept.path, "--entity", "Nothing"],
      ["extract", demo.kept.path, "--format", "sqlite", "-o", output],
    ]
    for arguments in runs { _ = try Program.run(arguments + ["--custody-log", log.path]) }
    #expect(treeState(of: demo.folder) == before)

    let lines = try Data(contentsOf: log).split(separator: UInt8(ascii: "\n")).map { Data($0) }
    let records = try lines.map { try JSONDecoder().decode(JSON.self, from: $0) }
    #expect(records.map { $0["exitCode"]?.integer } == [0, 64, 0])
    #expect(records.allSatisfy { $0["schema"]?.string == "lifeboat.custody" })
    #expect(records[0]["previousSHA256"] == nil)
    #expect(records[1]["previousSHA256"]?.string == hex(of: lines[0]))
    #expect(records[2]["previousSHA256"]?.string == hex(of: lines[1]))
    #expect(records[2]["arguments"]?.strings?.first == "extract")
    #expect(
      records[2]["outputs"]?[output]?.string
        == hex(of: try Data(contentsOf: URL(fileURLWithPath: output))))
    for record in records {
      let input = record["inputs"]?[0]
      let main = try Data(contentsOf: demo.kept)
      #expect(input?["sha256Before"]?["Notes.sqlite"]?.string == hex(of: main))
      #expect(input?["sha256Before"]?.object?.count == 3)
      #expect(input?["sha256Before"] == input?["sha256After"])
    }
  }

  @Test func aLineOfMoreThanAMebibyteIsContinued() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    // A very long argument stands for very many outputs.
    let text = String(repeating: "x", count: 3 << 19)
    let long = Data("{\"arguments\":[\"\(text)\"],\"schema\":\"lifeboat.custody\"}".utf8)
    try (long + Data([0x0a])).write(to: log)
    for _ in 0..<2 {
      let outcome = try Program.run("inspect", demo.kept.path, "--custody-log", log.path)
      #expect(outcome.status == 0, "\(outcome.errors)")
    }
    let lines = try Data(contentsOf: log).split(separator: 0x0a).map { Data($0) }
    #expect(lines.count == 3)
    let records = try lines.dropFirst().map { try JSONDecoder().decode(JSON.self, from: $0) }
    #expect(
      records.compactMap { $0["previousSHA256"]?.string } == lines.dropLast().map { hex(of: $0) })
    #expect(try Program.run("custody", "verify", log.path).status == 0)
  }

  @Test func aChangedLogIsNoticed() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let output = place.url.appendingPathComponent("Rows.sqlite")
    _ = try Program.run("inspect", demo.kept.path, "--custody-log", log.path)
    _ = try Program.run(
      "extract", demo.kept.path, "--format", "sqlite", "-o", output.path, "--custody-log", log.path)
    _ = try Program.run("check", demo.kept.path, "--custody-log", log.path)
    let whole = try Program.run("custody", "verify", log.path)
    #expect(whole.status == 0 && whole.text.hasPrefix("whole: 3 lines"), "\(whole.errors)")
    let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
    func verified(_ lines: [String]) throws -> Outcome {
      let changed = place.url.appendingPathComponent("changed")
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: changed)
      return try Program.run("custody", "verify", "--json", changed.path)
    }
    func ids(_ outcome: Outcome) throws -> [String?] {
      try outcome.json()["problems"]?.array?.map { $0["id"]?.string } ?? []
    }
    for wrong in [
      [lines[0], lines[2]], [lines[1], lines[2]],
      [lines[0].replacingOccurrences(of: "inspect", with: "inspected"), lines[1], lines[2]],
      [lines[0], lines[2], lines[1]], [lines[0], lines[0], lines[1], lines[2]],
    ] {
      let outcome = try verified(wrong)
      #expect(outcome.status == 1)
      #expect(try ids(outcome).contains("custody.brokenChain"))
    }
    // Cutting off the end leaves no trace but the hash.
    let cut = try verified([lines[0], lines[1]])
    #expect(cut.status == 0)
    #expect(try cut.json()["lastSHA256"]?.string == hex(of: Data(lines[1].utf8)))
    #expect(
      try ids(verified([lines[0], "{\"half", lines[1]])) == [
        "custody.badLine", "custody.brokenChain",
      ])
    // An output that is another one now, and one that is gone.
    try Data("x".utf8).write(to: output)
    #expect(try ids(verified(lines)) == ["custody.outputChanged"])
    try FileManager.default.removeItem(at: output)
    let gone = try verified(lines)
    #expect(gone.status == 0)
    #expect(try gone.json()["absentOutputs"]?.strings == [output.path])
    #expect(try verified(["{}"]).status == 65)
    #expect(try Program.run("custody", "verify", log.path + "x").status == 66)
  }

  @Test func whatIsNoLogStaysAsItIs() throws {
    let demo = try Demonstration()
    let before = treeState(of: demo.folder)
    let kept = demo.kept.path
    let folder = demo.kept.deletingLastPathComponent().path
    for (target, code) in [
      (kept, "output.isEvidence"), (kept + "-wal", "output.isEvidence"),
      (kept + "-journal", "output.isEvidence"), (kept + "-shm", "output.isEvidence"),
      (folder + "/.Notes_SUPPORT/log", "output.isEvidence"),
      (demo.folder.path, "custody.notALog"),
    ] {
      let outcome = try Program.run("inspect", kept, "--custody-log", target)
      #expect(outcome.status == 73)
      #expect(outcome.errorCode == code, "\(target)")
      #expect(outcome.text == "")
    }
    #expect(treeState(of: demo.folder) == before)
  }

  @Test func runsAtTheSameTimeWaitForEachOther() throws {
    let demo = try Demonstration.shared.get()
    let program = try #require(Program.path)
    let folder = try TemporaryFolder()
    let log = folder.url.appendingPathComponent("custody.ndjson")
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      _ = try? run(program, ["inspect", demo.kept.path, "--custody-log", log.path])
    }
    let lines = try Data(contentsOf: log).split(separator: 0x0a)
    #expect(lines.count == 8)
    for (one, next) in zip(lines, lines.dropFirst()) {
      let record = try JSONSerialization.jsonObject(with: next) as? [String: Any]
      #expect(record?["previousSHA256"] as? String == hex(of: Data(one)))
    }
  }

  /// A log names what a run has made, not what was there before.
  @Test func anOutputThatWasThereIsNotRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let output = place.url.appendingPathComponent("there.zip")
    try Data("x".utf8).write(to: output)
    let runs = [
      ["bundle", "create", demo.kept.path, "--dry-run", "-o", output.path],
      ["recover", demo.kept.path, "-o", output.path],
    ]
    #expect(
      try runs.map { try Program.run($0 + ["--custody-log", log.path]).status } == [0, 73])
    let lines = try Data(contentsOf: log).split(separator: UInt8(ascii: "\n"))
    for line in lines {
      let record = try JSONDecoder().decode(JSON.self, from: Data(line))
      #expect(record["outputs"]?.object?.isEmpty == true, "\(record)")
    }
    try Data("y".utf8).write(to: output)
    #expect(try Program.run("custody", "verify", log.path).status == 0)
  }

  /// A run that fills an empty folder made the files in the folder.
  @Test func whatFillsAnEmptyFolderIsRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let output = place.url.appendingPathComponent("rows")
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    let run = try Program.run(
      "extract", demo.kept.path, "-o", output.path, "--custody-log", log.path)
    #expect(run.status == 0, "\(run.errors)")
    let line = try #require(try Data(contentsOf: log).split(separator: UInt8(ascii: "\n")).first)
    let record = try JSONDecoder().decode(JSON.self, from: Data(line))
    let made = try FileManager.default.contentsOfDirectory(atPath: output.path)
    #expect(!made.isEmpty && record["outputs"]?.object?.count == made.count, "\(record)")
  }

  @Test func noSecretKeyIsRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let output = place.url.appendingPathComponent("b.age").path
    let command = ["bundle", "create", demo.kept.path, "-o", output, "--custody-log", log.path]
    for options in [["--to", "AGE-SECRET-KEY-1ABC"], ["--to=age-secret-key-1abc"]] {
      #expect(try Program.run(command + options).status == 64)
    }
    let text = try String(contentsOf: log, encoding: .utf8)
    #expect(text.components(separatedBy: "(a secret key)").count == 3)
    #expect(!text.lowercased().contains("secret-key"), "\(text)")
  }

  /// Of a store in an archive, the archive is hashed; where nothing can be hashed, the log says so.
  @Test func everyInputIsHashedOrNamed() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let archive = place.url.appendingPathComponent("Crew.zip")
    let python = try #require(findTool("python3"))
    let script = """
      import sys, zipfile
      new = zipfile.ZipFile(sys.argv[2], 'w')
      for name in ['a.sqlite', 'b.sqlite']: new.write(sys.argv[1], name)
      new.close()
      """
    let made = try run(python, ["-c", script, demo.kept.path, archive.path])
    #expect(made.status == 0)
    _ = try Program.run("rows", archive.path + "/a.sqlite", "--custody-log", log.path)
    _ = try Program.run("rows", place.url.path + "/none.sqlite", "--custody-log", log.path)
    let lines = try Data(contentsOf: log).split(separator: UInt8(ascii: "\n"))
    let records = try lines.map { try JSONDecoder().decode(JSON.self, from: Data($0)) }
    #expect(
      records[0]["inputs"]?[0]?["sha256Before"]?["Crew.zip"]?.string
        == hex(of: try Data(contentsOf: archive)))
    #expect(records[0]["passedOver"] == nil)
    #expect(records[1]["passedOver"]?[0]?["code"]?.string == "file.missing")
  }

  /// A rescue moves the evidence, and the log has its hashes in both places. What the rescue made is in the log, too.
  @Test func aRescueIsRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let home = place.url.appendingPathComponent("store")
    try FileManager.default.copyItem(at: demo.kept.deletingLastPathComponent(), to: home)
    let store = home.appendingPathComponent("Notes.sqlite")
    let fresh = demo.folder.appendingPathComponent("Stores/Notes.sqlite")
    let outcome = try Program.run(
      "rescue", store.path, "--model", fresh.path, "--app", "Notes", "--custody-log", log.path)
    try #require(outcome.status == 0, "\(outcome.errors)")
    let record = try JSONDecoder().decode(JSON.self, from: Data(contentsOf: log))
    let input = record["inputs"]?[0]
    #expect(input?["sha256Before"]?.object?.count == 3)
    #expect(input?["sha256Before"] == input?["sha256After"], "\(record)")
    let kept = try #require(input?["movedTo"]?.string)
    #expect(
      input?["sha256After"]?["Notes.sqlite"]?.string
        == hex(of: try Data(contentsOf: URL(fileURLWithPath: kept))))
    let keptFolder = URL(fileURLWithPath: kept).deletingLastPathComponent()
    let folder = keptFolder.deletingLastPathComponent()
    let names = ["incident.json", "incident.txt"]
    let made = [store] + names.map { folder.appendingPathComponent($0) }
    let outputs = try #require(record["outputs"]?.object)
    #expect(Set(outputs.keys) == Set(made.map(\.path)))
    for file in made {
      #expect(outputs[file.path]?.string == hex(of: try Data(contentsOf: file)))
    }
    let verified = try Program.run("custody", "verify", log.path)
    #expect(verified.status == 0, "\(verified.text)")
  }

  /// The files beside a new database are outputs, as the database is.
  @Test func externalFilesOfANewDatabaseAreRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    for command in ["recover", "salvage"] {
      let output = place.url.appendingPathComponent(command + ".sqlite").path
      let outcome = try Program.run(
        command, demo.kept.path, "-o", output, "--custody-log", log.path)
      try #require(outcome.status == 0, "\(outcome.errors)")
      let line = try #require(try Data(contentsOf: log).split(separator: 0x0a).last)
      let record = try JSONDecoder().decode(JSON.self, from: Data(line))
      let names = record["outputs"]?.object?.keys.sorted() ?? []
      #expect(names.count == 2 && names.contains(output), "\(names)")
      let folder = "/.\(command)_SUPPORT/_EXTERNAL_DATA/"
      #expect(names.contains { $0.contains(folder) }, "\(names)")
    }
    #expect(try Program.run("custody", "verify", log.path).status == 0)
  }

  /// An output in whose place a folder is now is not one that is gone.
  @Test func anOutputThatCannotBeRead() throws {
    let demo = try Demonstration()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let output = place.url.appendingPathComponent("Saved.sqlite")
    _ = try Program.run("recover", demo.kept.path, "-o", output.path, "--custody-log", log.path)
    try FileManager.default.removeItem(at: output)
    try FileManager.default.createDirectory(at: output, withIntermediateDirectories: false)
    let outcome = try Program.run("custody", "verify", "--json", log.path)
    #expect(outcome.status == 1)
    let report = try outcome.json()
    #expect(report["problems"]?[0]?["id"]?.string == "custody.outputUnread")
    #expect(report["absentOutputs"]?.array?.isEmpty == true)
  }

  /// A reader that has seen enough, such as head(1), does not keep a run out of the log.
  @Test func aRunWhoseOutputIsClosedIsRecorded() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    let log = place.url.appendingPathComponent("custody.ndjson")
    let script = """
      import os, subprocess, sys
      reading, writing = os.pipe()
      os.close(reading)
      run = subprocess.run(sys.argv[1:], stdout=writing, stderr=subprocess.PIPE)
      print(run.returncode, run.stderr.decode())
      """
    let (python, program) = (try #require(findTool("python3")), try #require(Program.path))
    let arguments = [program, "rows", demo.kept.path, "--format", "ndjson"]
    for options in [[], ["--custody-log", log.path]] {
      let outcome = try run(python, ["-c", script] + arguments + options)
      #expect(String(decoding: outcome.stdout, as: UTF8.self) == "-\(SIGPIPE) \n")
    }
    let record = try JSONDecoder().decode(JSON.self, from: Data(contentsOf: log))
    #expect(record["inputs"]?.array?.count == 1 && record["exitCode"]?.integer != 0)
  }
}
