import Fixtures
import Foundation
import Testing

/// Records that say what cannot be, and commands that are stopped.
@Suite struct IncidentsHostileTests {
  /// Two files of 2^63 - 1 bytes each made `list` trap.
  @Test func sizesThatOverflow() throws {
    let quarantines = try Quarantines()
    let record = quarantines.demo.incident.appendingPathComponent("incident.json")
    let text = try String(contentsOf: record, encoding: .utf8)
    let huge = text.replacing(/"sizeBytes" : [0-9]+/, with: "\"sizeBytes\" : 9223372036854775807")
    #expect(huge != text)
    try Data(huge.utf8).write(to: record)
    for command in ["list", "show", "verify", "prune", "restore"] {
      let arguments =
        ["incidents", command, quarantines.stores]
        + (["show", "restore"].contains(command) ? [quarantines.id] : [])
        + (command == "prune" ? ["--keep-count", "0", "-n"] : [])
      for json in [[], ["--json"]] {
        let outcome = try Program.run(arguments + json)
        #expect(
          [0, 1, 65].contains(outcome.status), "\(command): \(outcome.status) \(outcome.errors)")
      }
    }
    let list = try Program.run("incidents", "list", quarantines.stores)
    #expect(list.status == 0)
  }

  /// A system call that fails says what was not done, where, and what is next.
  @Test func aLeaseThatCannotBeTaken() throws {
    let quarantines = try Quarantines()
    let lease = quarantines.demo.incident.deletingLastPathComponent()
      .appendingPathComponent(".lease")
    try? FileManager.default.removeItem(at: lease)
    try FileManager.default.createDirectory(at: lease, withIntermediateDirectories: false)
    for (arguments, notDone) in [
      (["restore", quarantines.stores, quarantines.id], "the incident was not restored: "),
      (["prune", "--keep-count", "0", quarantines.stores], "the incidents were not pruned: "),
    ] {
      let outcome = try Program.run(["incidents"] + arguments)
      #expect(outcome.status == 74 && outcome.errorCode == "file.io", "\(outcome.errors)")
      for part in [notDone, lease.path, "hint: nothing was lost"] {
        #expect(outcome.errors.contains(part), "\(part): \(outcome.errors)")
      }
    }
  }

  /// A missing report is a missing input, and no trouble with the output.
  @Test func aReportThatIsMissing() throws {
    let quarantines = try Quarantines()
    let output = quarantines.demo.folder.appendingPathComponent("Notes.lifeboat-return").path
    let outcome = try Program.run(
      "return", "make", quarantines.demo.incident.path, quarantines.demo.kept.path, "-o", output,
      "--report", quarantines.stores + "/none.json")
    #expect(outcome.status == 66 && outcome.errorCode == "file.missing", "\(outcome.errors)")
    #expect(outcome.errors.contains("/none.json"))
  }

  /// After a restoration nothing is counted as kept.
  @Test func listCountsOnlyWhatIsKept() throws {
    let quarantines = try Quarantines()
    let before = try Program.run("incidents", "list", quarantines.stores).text
    let unit = try Regex("[0-9] (bytes|kB|KB|MB|KiB|MiB|B)")
    func row(_ text: String) -> Substring? {
      text.split(separator: "\n").first { $0.contains(quarantines.id) && !$0.contains("-replaced") }
    }
    #expect(row(before)?.contains(unit) == true, "\(before)")
    #expect(
      try Program.run("incidents", "restore", quarantines.stores, quarantines.id).status == 0)
    let after = try Program.run("incidents", "list", quarantines.stores).text
    #expect(row(after)?.contains("restored") == true, "\(after)")
    #expect(row(after)?.contains(unit) == false, "\(after)")
    let shown = try Program.run("incidents", "show", quarantines.stores, quarantines.id).text
    #expect(shown.contains("Was kept"), "\(shown)")
    #expect(!shown.contains("\(quarantines.stores)/Incompatible"))
  }

  /// A terabyte of holes keeps a restoration busy for longer than anybody waits; SIGTERM ends it with nothing moved.
  @Test func restoreObeysSIGTERM() throws {
    let quarantines = try Quarantines()
    let support = quarantines.demo.kept.deletingLastPathComponent()
      .appendingPathComponent(".Notes_SUPPORT")
    try FileManager.default.createDirectory(at: support, withIntermediateDirectories: true)
    let file = support.appendingPathComponent("holes")
    #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    do { try handle.truncate(atOffset: 1 << 40) } catch {
      print("skipped: the volume has no files with holes")
      return
    }
    let before = try FileManager.default.contentsOfDirectory(atPath: quarantines.stores).sorted()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(Program.path))
    process.arguments = ["incidents", "restore", quarantines.stores, quarantines.id]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    Thread.sleep(forTimeInterval: 1)
    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal || process.terminationStatus == 75)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: quarantines.stores).sorted() == before)
    #expect(FileManager.default.fileExists(atPath: file.path))
    let list = try Program.run("incidents", "list", quarantines.stores)
    #expect(list.text.contains("kept"), "\(list.text)")
  }
}
