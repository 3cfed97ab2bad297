import Fixtures
import Foundation
import Testing

/// A private copy of Moody's store, and its models.
struct Moody {
  let folder = try? TemporaryFolder()
  let original: URL
  let models: URL
  let store: URL

  /// nil where the shared folder is absent.
  init?(_ what: String) throws {
    guard let shared = Shared.require(what), let folder else { return nil }
    let project = shared.appendingPathComponent("stores/real/objcio-core-data/Migrations")
    original = project.appendingPathComponent("MigrationsTests/Moody.moody")
    models = project.appendingPathComponent("Migrations/Moody.xcdatamodeld")
    store = folder.url.appendingPathComponent("Moody.moody")
    for suffix in ["", "-wal", "-shm"] {
      try FileManager.default.copyItem(atPath: original.path + suffix, toPath: store.path + suffix)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o644], ofItemAtPath: store.path + suffix)
    }
  }

  var state: [String: TreeEntry] { folder.map { treeState(of: $0.url) } ?? [:] }
  var home: String { store.deletingLastPathComponent().path }

  func rescue(_ flags: String...) throws -> Outcome {
    try Program.run(
      ["rescue", store.path, "--model", models.path, "--app", "Moody"] + flags)
  }
}

/// `lifeboat rescue` and `lifeboat incidents`
@Suite struct RescueTests {
  /// A store in an archive is not set aside, and what the hint says leads to a store that is.
  @Test func aStoreInAnArchive() throws {
    let demo = try Demonstration.shared.get()
    let place = try TemporaryFolder()
    func path(_ name: String) -> String { place.url.appendingPathComponent(name).path }
    let script = """
      import os, sys, zipfile
      with zipfile.ZipFile(sys.argv[2], 'w') as archive:
        for suffix in ['', '-wal']:
          if os.path.exists(sys.argv[1] + suffix):
            archive.write(sys.argv[1] + suffix, 'Documents/Notes.sqlite' + suffix)
      """
    let packed = try Fixtures.run(
      try #require(findTool("python3")), ["-c", script, demo.kept.path, path("Crew.zip")])
    try #require(packed.status == 0, "\(String(decoding: packed.stderr, as: UTF8.self))")
    let before = treeState(of: place.url)
    let options = ["--model", demo.kept.path, "--app", "Notes", "-n"]
    let inner = path("Crew.zip/Documents/Notes.sqlite")
    for (store, status, code) in [
      (inner, 64, "usage.packedStore"), (path("Crew.zip"), 65, "store.foreign"),
    ] as [(String, Int32, String)] {
      let refused = try Program.run(["rescue", store] + options)
      #expect(refused.status == status && refused.errorCode == code, "\(refused.errors)")
      #expect(refused.errors.contains("lifeboat bundle create \(store) --include store -o NEW.zip"))
    }
    #expect(treeState(of: place.url) == before)
    let made = try Program.run("bundle", "create", inner, "--include", "store", "-o", path("N.zip"))
    #expect(made.status < 2, "\(made.errors)")
    let unpacked = try Program.run("bundle", "extract", path("N.zip"), "-o", path("New"))
    #expect(unpacked.status == 0, "\(unpacked.errors)")
    let rescued = try Program.run(["rescue", path("New/store/Notes.sqlite")] + options)
    #expect(rescued.status == 0, "\(rescued.errors)")
  }

  /// The store of another app stays where it is, with `--dry-run` and without.
  @Test(.enabled(if: Shared.isThere), arguments: [["-n"], [], ["--policy", "report"]])
  func theStoreOfAnotherAppStays(_ flags: [String]) throws {
    guard let moody = try Moody("rescue of another app's store") else { return }
    let model = try TemporaryFolder()
    let version = model.url.appendingPathComponent("Done.xcdatamodel")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    try Data("<model><entity name=\"Task\"/></model>".utf8)
      .write(to: version.appendingPathComponent("contents"))
    let before = moody.state
    let arguments = ["rescue", moody.store.path, "--model", version.path, "--app", "Done"] + flags
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 65)
    #expect(outcome.errorCode == "store.foreign")
    #expect(outcome.text.contains("is left alone"))
    #expect(
      outcome.text.contains("foreign: the store and the app's model have no entity in common"))
    #expect(!outcome.text.contains("Next"))
    let report = try Program.run(arguments + ["--json"]).json()
    #expect(report["verdict"]?["rule"]?.string == "model.foreign")
    #expect(report["verdict"]?["action"]?.string == "refuse")
    #expect(report["evidence"]?["sharesEntities"] == .boolean(false))
    #expect(moody.state == before)
  }

  /// SwiftData's composites and relationships that are their own inverse have hashes that are known.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      ("composite/default-5-entities.store", ["Cocktail", "IngredientBase"]),
      ("self-inverse/Sample.sqlite", ["AircraftEntity", "FlightRecord"]),
    ])
  func storesThatCarryTheirOwnModel(_ name: String, _ entities: [String]) throws {
    guard let shared = Shared.require("stores with composites and self-inverses") else { return }
    let path = shared.appendingPathComponent("stores/found/models/" + name).path
    let report = try Program.run("model", "hash", "--json", path).json()
    for entity in entities {
      let hash = report["versions"]?[0]?["hashes"]?[entity]?.string
      #expect(hash != nil && hash == report["recorded"]?["hashes"]?[entity]?.string, "\(entity)")
    }
    let folder = try TemporaryFolder()
    let copy = folder.url.appendingPathComponent("Copy.store")
    try FileManager.default.copyItem(atPath: path, toPath: copy.path)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
    let outcome = try Program.run("rescue", copy.path, "--model", path, "--app", "Done", "-n")
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("nothing to do"))
  }

  @Test(.enabled(if: Shared.isThere)) func anIncompatibleStoreIsSetAsideAndReplaced() throws {
    guard let moody = try Moody("rescue of Moody") else { return }
    let outcome = try moody.rescue("--json")
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.rescue")
    #expect(report["verdict"]?["finding"]?.string == "incompatible")
    #expect(report["verdict"]?["action"]?.string == "quarantine")
    #expect(report["freshStore"]?.string == moody.store.path)
    let incident = try #require(report["incident"])
    let model = try #require(incident["model"])
    #expect(model["writtenBy"]?.string == "Moody")
    #expect(model["expected"]?.string == "Moody 6")
    #expect(model["differing"]?.strings == ["Continent", "Country", "Mood"])
    #expect(model["onlyInStore"]?.strings == ["GeographicRegion"])
    #expect(model["onlyInModel"]?.strings == [])
    #expect(incident["app"]?["name"]?.string == "Moody")

    // The old store is whole, and the note to the user names the app and the folder.
    let kept = try #require(incident["folder"]?.string) + "/store/"
    for suffix in ["", "-wal", "-shm"] {
      #expect(
        FileManager.default.contentsEqual(
          atPath: kept + "Moody.moody" + suffix, andPath: moody.original.path + suffix))
    }
    let id = try #require(incident["id"]?.string)
    let note = try String(
      contentsOfFile: moody.home + "/Incompatible/\(id)/incident.txt", encoding: .utf8)
    #expect(note.contains("Moody") && note.contains(id))

    // The fresh one is sound for SQLite, and is the current model's.
    let sqlite = try #require(findTool("sqlite3"), "sqlite3 is not installed")
    let scratch = try TemporaryFolder()
    let copy = try SQLiteConnection.copyStore(moody.store, into: scratch.url)
    let check = try run(sqlite, [copy.path, "PRAGMA integrity_check; SELECT count(*) FROM ZMOOD"])
    #expect(String(decoding: check.stdout, as: UTF8.self) == "ok\n0\n")
    let identity = try Program.run(
      "model", "identify", "--json", moody.store.path, moody.models.path)
    #expect(identity.status == 0)
    #expect(try identity.json()["matches"]?.array?.map { $0["name"]?.string } == ["Moody 6"])
    let old = try Program.run(
      "model", "identify", kept + "Moody.moody", moody.models.path)
    #expect(old.text.hasPrefix("written by Moody, "))

    // The second run has nothing to do.
    let before = moody.state
    let second = try moody.rescue()
    #expect(second.status == 0)
    #expect(second.text.contains("nothing to do"))
    #expect(moody.state == before)
  }

  /// The commands that rescue names work over a link to the store's folder, too.
  @Test(.enabled(if: Shared.isThere)) func aFolderThatIsALink() throws {
    guard let moody = try Moody("rescue over a linked folder") else { return }
    let before = try bytes(of: moody.store)
    let elsewhere = try TemporaryFolder()
    let link = elsewhere.url.appendingPathComponent("link").path
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: moody.home)
    let rescued = try Program.run(
      "rescue", link + "/Moody.moody", "--model", moody.models.path, "--app", "Moody", "--json")
    let id = try #require(try rescued.json()["incident"]?["id"]?.string)
    #expect(try Program.run("incidents", "list", link).text.contains(id))
    #expect(try Program.run("incidents", "show", link, id).status == 0)
    #expect(try Program.run("incidents", "verify", link).status == 0)
    #expect(try Program.run("incidents", "restore", link, id).status == 0)
    #expect(try bytes(of: moody.store) == before)
    // What the incidents are in is never followed.
    let other = elsewhere.url.appendingPathComponent("Incompatible").path
    try FileManager.default.createSymbolicLink(
      atPath: other, withDestinationPath: moody.home + "/Incompatible")
    #expect(try Program.run("incidents", "list", other).errorCode == "input.noFolder")
  }

  @Test(.enabled(if: Shared.isThere)) func aStoreThatFitsIsLeftAlone() throws {
    guard let moody = try Moody("rescue with a model that fits") else { return }
    let before = moody.state
    let outcome = try moody.rescue("--model-version", "Moody")
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("fits Moody; nothing to do"))
    #expect(outcome.text.contains("lifeboat check "), "indexes are not looked at")
    #expect(moody.state == before)
  }

  @Test(.enabled(if: Shared.isThere), arguments: ["-n", "--dry-run"]) func aDryRunChangesNothing(
    _ flag: String
  ) throws {
    guard let moody = try Moody("dry run") else { return }
    let before = moody.state
    let outcome = try moody.rescue(flag)
    #expect(outcome.status == 0)
    #expect(outcome.text.contains("would be set aside"))
    #expect(outcome.text.contains("Continent, Country, Mood"))
    #expect(outcome.text.contains("--app Moody"), "the command that does it")
    #expect(try moody.rescue(flag, "--quiet").text == outcome.text, "the report is all there is")
    let report = try moody.rescue(flag, "--json").json()
    #expect(report["dryRun"]?.boolean == true)
    #expect(report["incident"] == nil)
    #expect(moody.state == before)
  }

  @Test(.enabled(if: Shared.isThere)) func versionsWithoutAMarkerAreCandidates() throws {
    guard let moody = try Moody("models without a marker") else { return }
    let models = try TemporaryFolder()
    for name in try FileManager.default.contentsOfDirectory(atPath: moody.models.path)
    where name.hasSuffix(".xcdatamodel") {
      try FileManager.default.copyItem(
        atPath: moody.models.path + "/" + name, toPath: models.url.path + "/" + name)
    }
    let before = moody.state
    let arguments = ["rescue", moody.store.path, "--model", models.url.path, "--app", "Moody"]
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 64)
    #expect(outcome.errorCode == "usage.whichVersion")
    for name in ["Moody", "Moody 2", "Moody 3", "Moody 4", "Moody 5", "Moody 6"] {
      #expect(outcome.errors.contains(name))
    }
    #expect(outcome.errors.contains("--model-version"))
    let unknown = try Program.run(arguments + ["--model-version", "Moody 7"])
    #expect(unknown.status == 64)
    #expect(unknown.errorCode == "usage.noSuchVersion")
    #expect(moody.state == before)
    let named = try Program.run(arguments + ["--model-version", "Moody 6", "-n"])
    #expect(named.status == 0)
    #expect(moody.state == before)
  }

  @Test(.enabled(if: Shared.isThere)) func incidentsComeBack() throws {
    guard let moody = try Moody("restoring an incident") else { return }
    let report = try moody.rescue("--json").json()
    let id = try #require(report["incident"]?["id"]?.string)

    let list = try Program.run("incidents", "list", "--json", moody.home)
    #expect(list.status == 0)
    let incidents = try #require(try list.json()["incidents"]?.array)
    #expect(incidents.map { $0["id"]?.string } == [id])
    let show = try Program.run("incidents", "show", "--json", moody.home, id)
    #expect(try show.json() == incidents[0])
    let byFolder = try Program.run("incidents", "list", moody.home + "/Incompatible")
    #expect(byFolder.text.contains(id))
    #expect(try Program.run("incidents", "show", moody.home, id).text.contains("GeographicRegion"))

    let restored = try Program.run("incidents", "restore", "--json", moody.home, id)
    #expect(restored.status == 0, "\(restored.errors)")
    let result = try restored.json()
    #expect(result["restored"]?.array?.count == 3)
    #expect(result["differences"]?.array?.isEmpty == true)
    for suffix in ["", "-wal", "-shm"] {
      #expect(
        FileManager.default.contentsEqual(
          atPath: moody.store.path + suffix, andPath: moody.original.path + suffix))
    }
    let after = try Program.run("incidents", "list", "--json", moody.home).json()
    let kinds = after["incidents"]?.array?.map { $0["incident"]?["kind"]?.string }
    #expect(kinds == ["setAside", "replaced"])
    #expect(after["incidents"]?[0]?["outcome"]?["kind"]?.string == "restored")
    #expect(after["incidents"]?[1]?["id"]?.string == result["replaced"]?.string)

    // There is nothing to restore twice.
    let before = moody.state
    let again = try Program.run("incidents", "restore", moody.home, id)
    #expect(again.status == 66)
    #expect(again.errorCode == "restore.nothingKept")
    #expect(moody.state == before)
  }

  @Test func changedFilesComeBackOnlyByForce() throws {
    let demo = try Demonstration()
    let stores = demo.folder.appendingPathComponent("Stores").path
    let id = demo.incident.lastPathComponent
    try overwrite(demo.kept, at: 3000, bytes: [1, 2, 3])
    let before = treeState(of: demo.folder)
    let refused = try Program.run("incidents", "restore", stores, id)
    #expect(refused.status == 1)
    #expect(refused.errorCode == "incident.sealBroken")
    #expect(treeState(of: demo.folder) == before)
    let forced = try Program.run("incidents", "restore", "--force", stores, id)
    #expect(forced.status == 0)
    #expect(forced.text.contains("changed since the store was set aside"))
  }

  @Test func incidentsThatAreNot() throws {
    let folder = try TemporaryFolder()
    let none = try Program.run("incidents", "list", folder.url.path)
    #expect(none.status == 0)
    #expect(none.text == "nothing was set aside here\n")
    let missing = try Program.run("incidents", "list", folder.url.path + "/none")
    #expect(missing.status == 66)
    #expect(missing.errorCode == "input.noFolder")
    for id in ["2026-11-20-21-53-07Z", "../..", ""] {
      let outcome = try Program.run("incidents", "show", folder.url.path, id)
      #expect(outcome.status == 66)
      #expect(outcome.errorCode == "incident.missing")
    }
  }

  /// The first bytes of a store alone: damaged beyond reading, and set aside.
  @Test(.enabled(if: Shared.isThere)) func aDamagedStoreIsSetAside() throws {
    guard let moody = try Moody("rescue of a damaged store") else { return }
    try truncate(moody.store, to: 20_000)
    let damaged = try bytes(of: moody.store)
    let report = try moody.rescue("--json", "--model-version", "Moody").json()
    #expect(report["verdict"]?["finding"]?.string == "corrupt")
    let folder = try #require(report["incident"]?["folder"]?.string)
    #expect(try bytes(of: URL(fileURLWithPath: folder + "/store/Moody.moody")) == damaged)
    #expect(try Program.run("inspect", moody.store.path).text.contains("no damage found"))
  }

  /// A screen of plain words; all that support gets only when asked for.
  @Test(.enabled(if: Shared.isThere)) func theFirstScreenIsShort() throws {
    guard let moody = try Moody("what rescue says") else { return }
    let plain = try moody.rescue("-n").text
    #expect(plain.split(separator: "\n").count <= 8)
    #expect(!plain.contains("\\n") && !plain.contains("sharedMemory"))
    let all = try moody.rescue("-n", "-v").text
    #expect(all.contains("Moody.moody-shm: file, sharedMemory") && !all.contains("\\n"))
    #expect(all.contains("model.mismatch"))
  }

  @Test(.enabled(if: Shared.isThere)) func policiesDecideWhatMayBeDone() throws {
    guard let moody = try Moody("policies of rescue") else { return }
    let before = moody.state
    let report = try moody.rescue("--policy", "report")
    #expect(report.status == 0)
    #expect(report.text.contains("would be set aside"))
    for policy in ["", "foo", "REPORT", "report=1", "min-free", "min-free=", "min-free=-5"] {
      #expect(try moody.rescue("--policy", policy).status == 64, "\(policy)")
    }
    let full = try moody.rescue("--policy", "min-free=999TB")
    #expect(full.status == 75)
    #expect(full.errorCode == "store.incompatible")
    #expect(full.errors.contains("--policy min-free=SIZE"))
    #expect(moody.state == before)
    let done = try moody.rescue("--policy", "no-trial", "--policy", "min-free=0")
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.text.contains("Set aside in"))
  }

  @Test(.enabled(if: Shared.isThere)) func whoeverHoldsALockIsNamed() throws {
    guard let moody = try Moody("rescue of a locked store") else { return }
    let connection = try SQLiteConnection(moody.store)
    try connection.exec("BEGIN EXCLUSIVE")
    let outcome = try moody.rescue()
    #expect(outcome.status == 75)
    #expect(outcome.errorCode == "store.incompatible")
    #expect(outcome.errors.contains("process \(ProcessInfo.processInfo.processIdentifier)"))
    try connection.exec("ROLLBACK")
    #expect(!FileManager.default.fileExists(atPath: moody.home + "/Incompatible"))
  }

  /// Whoever runs the command, the app has to open the fresh store.
  @Test(.enabled(if: Shared.isThere)) func theFreshStoreIsTheAppsToOpen() throws {
    guard let moody = try Moody("owner and permissions of a fresh store") else { return }
    var traits: [FileAttributeKey: Any] = [.posixPermissions: 0o640]
    if geteuid() == 0 { traits[.ownerAccountID] = 65_534 }
    try FileManager.default.setAttributes(traits, ofItemAtPath: moody.store.path)
    #expect(try moody.rescue().status == 0)
    let fresh = try FileManager.default.attributesOfItem(atPath: moody.store.path)
    #expect(fresh[.posixPermissions] as? Int == 0o640)
    if geteuid() == 0 { #expect(fresh[.ownerAccountID] as? Int == 65_534) }
    #expect(try Program.run("inspect", moody.store.path).text.contains("no entity has a row"))
  }

  /// A run that ended between the move and the fresh store leaves no store at the path; the next one makes it.
  @Test(.enabled(if: Shared.isThere)) func theNextRunMakesTheFreshStore() throws {
    guard let moody = try Moody("a rescue that was stopped") else { return }
    let incident = try #require(try moody.rescue("--json").json()["incident"])
    let folder = try #require(incident["folder"]?.string)
    try FileManager.default.removeItem(at: moody.store)
    // The record names another folder, as in one that was copied.
    let record = URL(fileURLWithPath: folder + "/incident.json")
    let text = try String(contentsOf: record, encoding: .utf8)
    try FileManager.default.removeItem(at: record)
    try Data(text.replacingOccurrences(of: moody.home, with: "/elsewhere").utf8).write(to: record)
    let intent = #"{"schema":"lifeboat.move","version":1,"storeName":"Moody.moody","members":[]}"#
    try Data(intent.utf8).write(to: URL(fileURLWithPath: folder + "/.intent.json"))
    let before = moody.state
    let look = try moody.rescue("-n")
    #expect(look.status == 74)
    #expect(look.errorCode == "quarantine.unfinished")
    #expect(moody.state == before)

    let outcome = try moody.rescue()
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("by an earlier run that was stopped; it is now replaced"))
    #expect(outcome.text.contains("Incompatible/" + URL(fileURLWithPath: folder).lastPathComponent))
    #expect(!FileManager.default.fileExists(atPath: folder + "/.intent.json"))
    let names = try FileManager.default.contentsOfDirectory(atPath: moody.home + "/Incompatible")
    #expect(names.count { $0.hasPrefix("20") } == 1 && !names.contains { $0.hasPrefix(".trial") })
    #expect(try moody.rescue("-n").text.contains("fits Moody 6; nothing to do"))
  }
}
