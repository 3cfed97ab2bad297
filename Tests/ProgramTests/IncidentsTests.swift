import Fixtures
import Foundation
import Testing

/// A folder with the demo's quarantine, and copies of it under other dates.
struct Quarantines {
  let demo: Demonstration
  let stores: String
  let id: String

  init() throws {
    demo = try Demonstration()
    stores = demo.folder.appendingPathComponent("Stores").path
    id = demo.incident.lastPathComponent
  }

  /// A second quarantine with the same content, as if the store had been set aside once more.
  @discardableResult
  func copy(as name: String) throws -> String {
    let folder = demo.incident.deletingLastPathComponent().appendingPathComponent(name)
    try FileManager.default.copyItem(at: demo.incident, to: folder)
    let record = folder.appendingPathComponent("incident.json")
    let text = try String(contentsOf: record, encoding: .utf8)
    try Data(text.replacingOccurrences(of: id, with: name).utf8).write(to: record)
    return name
  }

  var state: [String: TreeEntry] { treeState(of: demo.folder) }
}

/// `lifeboat incidents verify` and `prune`
@Suite struct IncidentsTests {
  /// A folder that came from elsewhere is shown where it is.
  @Test func showNamesTheFolderOfNow() throws {
    let quarantines = try Quarantines()
    let folder = try TemporaryFolder()
    let stores = folder.url.appendingPathComponent("Stores").path
    try FileManager.default.copyItem(atPath: quarantines.stores, toPath: stores)
    let shown = try Program.run("incidents", "show", stores, quarantines.id).text
    #expect(shown.contains("\(stores)/Incompatible/\(quarantines.id)/store"))
    #expect(!shown.contains(quarantines.stores))
  }

  /// The files are there although nobody knows any more what they are.
  @Test func aRecordThatCannotBeReadNamesTheFiles() throws {
    let quarantines = try Quarantines()
    let (stores, id) = (quarantines.stores, quarantines.id)
    let record = quarantines.demo.incident.appendingPathComponent("incident.json")
    try FileManager.default.removeItem(at: record)
    try Data("{}".utf8).write(to: record)
    let before = quarantines.state
    for json in [[], ["--json"]] {
      let list = try Program.run(["incidents", "list", stores] + json)
      #expect(list.status == 1 && list.text.contains(id), "\(list.text)")
      let quiet = try Program.run(["incidents", "list", "--exit-zero", stores] + json)
      #expect(quiet.status == 0 && quiet.stdout == list.stdout)
    }
    for command in ["show", "restore"] {
      let outcome = try Program.run("incidents", command, stores, id)
      #expect(outcome.status == 65)
      #expect(outcome.errorCode == "incident.unreadable")
      #expect(outcome.errors.contains("/Incompatible/\(id)/store"), "\(outcome.errors)")
    }
    #expect(quarantines.state == before)
  }

  @Test func verifyFindsWhatChanged() throws {
    let quarantines = try Quarantines()
    let (stores, id) = (quarantines.stores, quarantines.id)
    let before = quarantines.state
    let sound = try Program.run("incidents", "verify", stores)
    #expect(sound.status == 0, "\(sound.errors)")
    #expect(sound.text == "\(id): unchanged since it was set aside\n")
    #expect(try Program.run("incidents", "verify", "-v", stores, id).text.contains("  ok: Notes"))
    #expect(try Program.run("incidents", "verify", "-q", stores).text == "")
    let report = try Program.run("incidents", "verify", "--json", stores).json()
    #expect(report["schema"]?.string == "lifeboat.incidentCheck")
    #expect(report["isSound"]?.boolean == true)
    #expect(report["incidents"]?[0]?["finding"]?.string == "intact")
    #expect(quarantines.state == before)

    try overwrite(quarantines.demo.kept, at: 3000, bytes: [1, 2, 3])
    let changed = quarantines.state
    let outcome = try Program.run("incidents", "verify", stores, id)
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("changed: the bytes of Notes.sqlite differ from those recorded"))
    #expect(try Program.run("incidents", "verify", "--exit-zero", stores).status == 0)
    let json = try Program.run("incidents", "verify", "--json", stores)
    #expect(json.status == 1)
    #expect(try json.json()["incidents"]?[0]?["finding"]?.string == "different")
    #expect(quarantines.state == changed)

    let unknown = try Program.run("incidents", "verify", stores, "../..")
    #expect(unknown.status == 66)
    #expect(unknown.errorCode == "incident.missing")
    let folder = try TemporaryFolder()
    let none = try Program.run("incidents", "verify", folder.url.path)
    #expect(none.status == 0 && none.text == "nothing was set aside here\n")
  }

  @Test func pruneRemovesSecondCopies() throws {
    let quarantines = try Quarantines()
    let stores = quarantines.stores
    let old = try quarantines.copy(as: "2026-01-02-03-04-05Z")
    let new = try quarantines.copy(as: "2999-01-02-03-04-05Z")
    let before = quarantines.state
    let arguments = ["incidents", "prune", "--keep-count", "2", stores]
    let promised = try Program.run(arguments + ["--dry-run"])
    #expect(promised.status == 0, "\(promised.errors)")
    #expect(promised.text.contains("would remove \(old): the same content is kept in \(new), "))
    #expect(quarantines.state == before)
    let report = try Program.run(arguments + ["-n", "--json"]).json()
    #expect(report["schema"]?.string == "lifeboat.prune")
    #expect(report["isDryRun"]?.boolean == true)
    #expect(report["limits"]?["maximumCount"]?.integer == 2)
    #expect(report["removed"]?.array?.map { $0["id"]?.string } == [old])
    #expect(report["removed"]?[0]?["sameAs"]?.string == new)
    #expect(report["kept"]?.array?.map { $0["why"]?.string } == ["withinLimits", "withinLimits"])
    #expect(quarantines.state == before)

    let done = try Program.run(arguments)
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.text.contains("removed \(old): "))
    #expect(done.text.contains("kept \(new): no limit requires its removal\n"))
    let rest = quarantines.state
    #expect(rest.count < before.count)
    #expect(rest.allSatisfy { $0.value == before[$0.key] || $0.key.hasSuffix("Incompatible") })

    // The last copy stays, whatever is asked.
    for limit in [["--keep-bytes", "1kB"], ["--keep-count", "0"], ["--keep-days", "0"]] {
      let outcome = try Program.run(["incidents", "prune", stores] + limit)
      #expect(outcome.status == 0)
      #expect(outcome.text.contains(new))
    }
    let last = try Program.run("incidents", "prune", "--json", "--keep-count", "0", stores).json()
    #expect(last["removed"]?.array?.isEmpty == true)
    #expect(last["kept"]?.array?.map { $0["why"]?.string } == ["onlyCopy"])
    #expect(try Program.run("incidents", "verify", stores, new).status == 0)
    #expect(try Program.run("incidents", "prune", "-q", "--keep-count", "0", stores).text == "")
  }

  @Test func pruneWithoutALimit() throws {
    let quarantines = try Quarantines()
    try quarantines.copy(as: "2026-01-02-03-04-05Z")
    let before = quarantines.state
    for limits in [
      [], ["--keep-count", "-1"], ["--keep-count=-1"], ["--keep-days=-1"],
      ["--keep-bytes", "many"], ["--keep-bytes=-5"], ["--keep-bytes", "1.5"],
      ["--keep-bytes", "99999999999TB"], ["--keep-bytes", "1e9GB"], ["--keep-bytes", ""],
      ["--keep-count", "1e3"], ["--keep-count", "99999999999999999999"],
    ] {
      let outcome = try Program.run(["incidents", "prune", quarantines.stores] + limits)
      #expect(outcome.status == 64, "\(limits)")
      #expect(quarantines.state == before, "\(limits)")
    }
  }

  @Test(arguments: ["0", "4096", "500MB", "1.5 GB", "2gib", "9223372036854775807", "7.5TB"])
  func sizes(_ size: String) throws {
    let folder = try TemporaryFolder()
    let outcome = try Program.run(
      "incidents", "prune", "--json", "--keep-bytes", size, folder.url.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let wanted: [String: Int64] = [
      "0": 0, "4096": 4096, "500MB": 500_000_000, "1.5 GB": 1_500_000_000, "2gib": 2 << 30,
      "7.5TB": 7_500_000_000_000,
    ]
    if let bytes = wanted[size] {
      #expect(try outcome.json()["limits"]?["maximumBytes"]?.integer == bytes)
    }
  }

  @Test func hugeLimits() throws {
    let quarantines = try Quarantines()
    let outcome = try Program.run(
      "incidents", "prune", "--keep-days", "9223372036854775807", "--keep-count",
      "9223372036854775807", quarantines.stores)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("0 removed, 1 kept"))
  }

  /// The path of an incident's folder says where it is, as it does for `bundle create`.
  @Test func anIncidentByItsFolder() throws {
    let quarantines = try Quarantines()
    let (stores, id) = (quarantines.stores, quarantines.id)
    let path = stores + "/Incompatible/" + id
    for command in ["show", "verify"] {
      #expect(
        try Program.run("incidents", command, path + "/").text
          == Program.run("incidents", command, stores, id).text)
    }
    let without = try Program.run("incidents", "restore", stores)
    #expect(without.status == 64 && without.errorCode == "usage.noIncident", "\(without.errors)")
    let outcome = try Program.run("incidents", "restore", path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(
      try Program.run("incidents", "show", stores, id).text.contains("brought back"))
  }

  /// A command that is given a part of an incident, or the current folder, does not say that nothing was set aside.
  @Test func whatIsGivenIsRecognised() throws {
    let quarantines = try Quarantines()
    let (stores, id) = (quarantines.stores, quarantines.id)
    let other = try quarantines.copy(as: "2026-01-02-03-04-05Z")
    let incompatible = stores + "/Incompatible"
    let own = incompatible + "/" + id
    let before = quarantines.state
    let list = try Program.run("incidents", "list", own)
    #expect(list.status == 0 && list.text.contains(id), "\(list.errors)")
    #expect(!list.text.contains(other))
    let json = try Program.run("incidents", "list", "--json", own + "/").json()
    #expect(json["incidents"]?.array?.map { $0["id"]?.string } == [id])
    #expect(try Program.run("incidents", "show", own, id).status == 0)
    for arguments in [
      ["list", own + "/store"], ["verify", own + "/store"], ["show", own + "/store"],
      ["prune", "--keep-count", "0", own], ["prune", "--keep-count", "0", own + "/store"],
    ] {
      let outcome = try Program.run(["incidents"] + arguments)
      #expect(outcome.status == 64, "\(arguments): \(outcome.text)")
      #expect(outcome.errorCode == "usage.noIncident", "\(outcome.errors)")
      #expect(outcome.errors.contains("Incompatible"), "\(outcome.errors)")
    }
    let file = try Program.run("incidents", "list", stores + "/Notes.sqlite")
    #expect(file.status == 66 && file.errors.contains("this is a file"), "\(file.errors)")

    let program = try #require(Program.path)
    for (folder, argument) in [(incompatible, "."), (own, ".."), (own, "."), (incompatible, id)] {
      let result = try run(
        "/bin/sh",
        ["-c", "cd \"$1\" && exec \"$2\" incidents list \"$3\"", "sh", folder, program, argument])
      let text = String(decoding: result.stdout, as: UTF8.self)
      #expect(result.status == 0 && text.contains(id), "\(folder) \(argument): \(text)")
    }
    #expect(quarantines.state == before)
  }

  /// A link in the place of the folder of the incidents is an error of every command, and no promise is made about it.
  @Test func theFolderOfTheIncidentsIsALink() throws {
    let quarantines = try Quarantines()
    let (stores, id) = (quarantines.stores, quarantines.id)
    let incompatible = stores + "/Incompatible"
    let away = quarantines.demo.folder.appendingPathComponent("Away").path
    try FileManager.default.moveItem(atPath: incompatible, toPath: away)
    try FileManager.default.createSymbolicLink(
      atPath: incompatible, withDestinationPath: away)
    for arguments in [
      ["list", stores], ["list", incompatible], ["verify", stores], ["show", stores, id],
      ["restore", stores, id], ["restore", incompatible + "/" + id],
      ["prune", "--keep-count", "0", stores],
    ] {
      let outcome = try Program.run(["incidents"] + arguments)
      #expect(outcome.status == 66, "\(arguments): \(outcome.text)")
      #expect(outcome.errorCode == "input.noFolder", "\(outcome.errors)")
      #expect(outcome.errors.contains("\(incompatible): this is a symbolic link"))
      #expect(!outcome.errors.contains("finishes or undoes"), "\(outcome.errors)")
    }
  }

  /// A copy outside of a folder `Incompatible`, as it comes by mail.
  @Test func aCopiedIncidentIsNotCalledEmpty() throws {
    let quarantines = try Quarantines()
    let mail = try TemporaryFolder()
    let copy = mail.url.appendingPathComponent("case").path
    try FileManager.default.copyItem(atPath: quarantines.demo.incident.path, toPath: copy)
    for arguments in [
      ["incidents", "list", copy], ["incidents", "show", copy], ["incidents", "verify", copy],
      ["return", "make", copy, quarantines.demo.kept.path, "-o", mail.url.path + "/new"],
    ] {
      let outcome = try Program.run(arguments)
      #expect(outcome.status == 64, "\(arguments): \(outcome.text)")
      #expect(outcome.errorCode == "usage.noIncident", "\(outcome.errors)")
      #expect(outcome.errors.contains("lifeboat inspect \(copy)"), "\(outcome.errors)")
    }
  }

  /// A command in a hint can be run as it is: it names the folder, quoted, and the option that helps.
  @Test func hintsNameWhatIsThere() throws {
    let quarantines = try Quarantines()
    let folder = try TemporaryFolder()
    let stores = folder.url.appendingPathComponent("My Stores").path
    let (id, incompatible) = (quarantines.id, stores + "/Incompatible")
    try FileManager.default.copyItem(atPath: quarantines.stores, toPath: stores)

    let missing = try Program.run("incidents", "show", stores, "2020-01-01-00-00-00Z")
    #expect(missing.status == 66 && missing.errorCode == "incident.missing")
    #expect(
      missing.errors.contains("lifeboat incidents list '\(incompatible)'"), "\(missing.errors)")

    let main = URL(fileURLWithPath: "\(incompatible)/\(id)/store/Notes.sqlite")
    let header = try Data(contentsOf: main).prefix(16)
    try overwrite(main, at: 0, bytes: [UInt8](repeating: 7, count: 16))
    let refused = try Program.run("incidents", "restore", stores, id)
    #expect(refused.status == 65 && refused.errorCode == "restore.notAStore")
    for part in ["lifeboat incidents show '\(incompatible)/\(id)'", "add --force"] {
      #expect(refused.errors.contains(part), "\(refused.errors)")
    }
    #expect(!refused.errors.contains("use force"))

    try overwrite(main, at: 0, bytes: [UInt8](header))
    #expect(try Program.run("incidents", "restore", stores, id).status == 0)
    let gone = try Program.run("incidents", "restore", stores, id)
    #expect(gone.status == 66 && gone.errorCode == "restore.nothingKept", "\(gone.errors)")
    #expect(gone.errors.contains("lifeboat incidents show '\(incompatible)/\(id)'"))
    let packed = try Program.run(
      "bundle", "create", "\(incompatible)/\(id)", "-o", folder.url.path + "/new.zip")
    #expect(packed.status == 66 && packed.errors.contains("incidents show '\(incompatible)/\(id)'"))
  }

  @Test func restoreSaysWhatComesNext() throws {
    let quarantines = try Quarantines()
    let (stores, id) = (quarantines.stores, quarantines.id)
    let outcome = try Program.run("incidents", "restore", stores, id)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("next: open the app, in a version that has the model"))
    // Not the words of that day: what they point to is no longer there.
    let shown = try Program.run("incidents", "show", stores, id).text
    #expect(shown.contains("brought back") && !shown.contains("/store"))
    let back = try #require(
      outcome.text.split(separator: "\n").first { $0.hasPrefix("to go back, run: ") })
    let replaced = try #require(back.split(separator: " ").last)
    let again = try Program.run("incidents", "restore", "--json", stores, String(replaced))
    #expect(try again.json()["nextStep"]?.string == "open")
    // The record of what went back goes by a limit, and nothing else.
    let pruned = try Program.run("incidents", "prune", "--keep-count", "1", "--json", stores)
    #expect(
      try pruned.json()["removed"]?.array?.allSatisfy { $0["why"]?.string == "restored" } == true)
    #expect(try Program.run("incidents", "verify", stores).status == 0)
  }
}
