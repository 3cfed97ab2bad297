import Fixtures
import Foundation
import Testing

/// `lifeboat inspect`
@Suite struct InspectTests {
  @Test(.enabled(if: Shared.isThere)) func everyRealStoreIsDescribed() throws {
    guard let shared = Shared.require("inspection of real stores") else { return }
    let stores = RealStores.all.map(\.url)
    #expect(stores.count == RealStores.expectedCount)
    let real = shared.appendingPathComponent("stores/real")
    let before = treeState(of: real)
    for store in Rounds.part(of: stores, every: 3) {
      let outcome = try Program.run("inspect", "--json", store.path)
      #expect(outcome.status == 0, "\(store.path): \(outcome.errors)")
      #expect(outcome.errors == "")
      let report = try outcome.json()
      #expect(report["schema"]?.string == "lifeboat.inspection")
      #expect(report["kind"]?.string == "coreData", "\(store.path)")
      // Some apps' stores break Core Data's own rules, and their pages are sound.
      let damage = report["findings"]?.array?.filter { $0["severity"]?.string == "damage" } ?? []
      #expect(damage.allSatisfy { $0["id"]?.string?.hasPrefix("coredata.") == true }, "\(damage)")
      #expect(report["changedDuringRead"]?.array?.isEmpty == true)
      let main = report["members"]?.array?.first { $0["role"]?.string == "main" }
      #expect(main?["sha256"]?.string == hex(of: try Data(contentsOf: store)))
    }
    #expect(treeState(of: real) == before)
  }

  @Test func oneBadStoreDoesNotStopTheOthers() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    try FileManager.default.createSymbolicLink(
      atPath: folder.url.appendingPathComponent("a.sqlite-wal").path,
      withDestinationPath: store.path)
    try FileManager.default.copyItem(
      at: store, to: folder.url.appendingPathComponent("a.sqlite"))
    let outcome = try Program.run("inspect", "--json", folder.url.path)
    #expect(outcome.status == 66)
    #expect(try outcome.json()["inspections"]?.array?.count == 1)
  }

  @Test func hashesAreTakenUnlessRefused() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    let with = try Program.run("inspect", "--json", store.path).json()
    let without = try Program.run("inspect", "--json", "--no-hash", store.path).json()
    #expect(with["members"]?.array?.allSatisfy { $0["sha256"]?.string != nil } == true)
    #expect(without["members"]?.array?.allSatisfy { $0["sha256"] == nil } == true)
    #expect(without["tables"] == with["tables"])
    #expect(try !Program.run("inspect", "--no-hash", store.path).text.contains("sha256"))
  }

  @Test func severalStoresComeInOneObject() throws {
    let folder = try TemporaryFolder()
    for name in ["page-512", "wal-committed"] {
      _ = try StoreFixtures.named(name).make(folder.url)
    }
    let outcome = try Program.run("inspect", "--json", folder.url.path)
    #expect(outcome.status == 0)
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.inspections")
    let reports = try #require(report["inspections"]?.array)
    #expect(reports.count == 2)
    let log = reports.first { $0["path"]?.string?.hasSuffix("wal-committed.sqlite") == true }
    #expect((log?["writeAheadLog"]?["committedFrameCount"]?.integer ?? 0) > 0)
  }

  @Test func theScreenSaysWhatIsNext() throws {
    let demo = try Demonstration.shared.get()
    let before = treeState(of: demo.folder)
    let outcome = try Program.run("info", "-v", demo.kept.path)
    #expect(outcome.status == 0)
    for part in [
      "Core Data store", "committed frames, applied", "no damage found", "11 rows in 3 entities",
      "lifeboat rows", "lifeboat extract", "Store UUID", "(valid)",
    ] {
      #expect(outcome.text.contains(part), "\(part)")
    }
    #expect(treeState(of: demo.folder) == before)
  }

  /// The folder of an incident stands for the store in it, here as for all commands that read a store.
  @Test func anIncidentStandsForItsStore() throws {
    let demo = try Demonstration()
    let outcome = try Program.run("inspect", demo.incident.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let kept = try Program.run("inspect", "--json", demo.kept.path).json()
    let json = try Program.run("inspect", "--json", demo.incident.path).json()
    #expect(json["metadata"] == kept["metadata"] && json["metadata"]?.object != nil)
    #expect(json["file"] == kept["file"] && json["tables"] == kept["tables"])
    let restored = try Program.run(
      "incidents", "restore", demo.folder.appendingPathComponent("Stores").path,
      demo.incident.lastPathComponent)
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try Program.run("inspect", demo.incident.path).errorCode == "restore.nothingKept")
  }

  @Test func notesAreCountedWhenAllIsChecked() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("trailing.db")
    let connection = try SQLiteConnection(store)
    try connection.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)")
    connection.close()
    try Data(bytes(of: store) + [1, 2, 3]).write(to: store)
    let report = try Program.run("inspect", "--json", store.path).json()
    #expect(report["notChecked"]?.array?.isEmpty == true)
    #expect(report["findings"]?.array?.count == 1)
    let text = try Program.run("inspect", store.path).text
    #expect(text.contains("no damage found, 1 note"), "\(text)")
  }

  /// One of a kind is not called many.
  @Test func oneIsSingular() throws {
    let folder = try TemporaryFolder()
    let store = folder.url.appendingPathComponent("one.db")
    let connection = try SQLiteConnection(store)
    try connection.exec("PRAGMA user_version = 1")
    #expect(try Program.run("inspect", "-v", store.path).text.contains("1 page of 4,096 bytes"))
    try connection.exec("CREATE TABLE t (a); INSERT INTO t VALUES (x'00')")
    connection.close()
    let rows = try Program.run("rows", store.path).text
    #expect(rows.contains("1 byte") && !rows.contains("1 bytes"), "\(rows)")
    let several = try Program.run("inspect", store.path, store.path).text
    #expect(several.contains("SQLite, 1 table ") && !several.contains("1 tables"), "\(several)")
  }

  /// Python's reader of property lists says what the app keeps in the metadata.
  @Test(.enabled(if: Shared.isThere)) func valuesOfTheMetadata() throws {
    let store = try RealStores.named("ios16-belkasoft-accounts/Accounts3.sqlite").url
    #expect(!(try Program.run("inspect", "--json", store.path).text.contains("otherValues")))
    let shown = try Program.run("inspect", "--json", "--no-hash", "--show-values", store.path)
      .json()
    let values = try #require(shown["metadata"]?["otherValues"]?.object)
    let script = """
      import json, plistlib, sqlite3, sys
      store = sqlite3.connect(f"file:{sys.argv[1]}?immutable=1", uri=True)
      metadata = plistlib.loads(store.execute("SELECT Z_PLIST FROM Z_METADATA").fetchone()[0])
      print(json.dumps({key: value for key, value in metadata.items() if not key.startswith("NS") and not key.startswith("_NS")}))
      """
    let place = try TemporaryFolder()
    let copy = place.url.appendingPathComponent("a.sqlite")
    try FileManager.default.copyItem(at: store, to: copy)
    let python = try #require(findTool("python3"))
    let truth = try run(python, ["-c", script, copy.path])
    let known = try JSONDecoder().decode([String: JSON].self, from: truth.stdout)
    #expect(!known.isEmpty)
    for (key, value) in known { #expect("\(values[key] as Any)" == "\(Optional(value) as Any)") }
    let text = try Program.run("inspect", "--no-hash", "--show-values", store.path).text
    #expect(text.contains("ACAccountTypeVersion"))
  }
}
