import Fixtures
import Foundation
import Testing

/// `lifeboat timeline` and `lifeboat compare`
@Suite struct TimelineTests {
  @Test func commitsAndTheirRowsAreTold() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    let before = treeState(of: folder.url)
    let outcome = try Program.run("timeline", store.path)
    #expect(outcome.status == 0, "\(outcome.errors)")
    #expect(outcome.text.contains("commit 1 of the log, "))
    #expect(outcome.text.contains("numbered ~9\n"))
    #expect(outcome.text.contains("numbered -71\n"))
    #expect(outcome.text.contains("second created"))
    let lines = try Program.run("timeline", store.path, "--format", "ndjson").lines()
    let deleted = lines.compactMap { $0["tables"]?[0]?["removed"]?.integer }
    #expect(deleted.contains(71))
    #expect(lines.allSatisfy { $0["event"]?.string == "commit" && $0["time"] == nil })
    #expect(try Program.run("timeline", store.path, "--json", "--limit", "2").lines().count == 2)
    let sketch = try Program.run("timeline", store.path, "--format", "timesketch")
    #expect(sketch.text == "" && sketch.errors.contains("events without a date are left out"))
    #expect(treeState(of: folder.url) == before)
  }

  @Test func aLogWithoutHeaderIsReadAndSaid() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-several-commits").make(folder.url)
    try overwrite(
      URL(fileURLWithPath: store.path + "-wal"), at: 0, bytes: [UInt8](repeating: 0, count: 32))
    let outcome = try Program.run("timeline", store.path)
    #expect(outcome.status == 1)
    #expect(outcome.text.contains("numbered -71\n"))
    #expect(outcome.errors.contains("(wal.headerLost)"))
    #expect(try Program.run("timeline", store.path, "--exit-zero").status == 0)
  }

  @Test func nothingIsSaidOfAStoreWithoutAPast() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let outcome = try Program.run("timeline", store.path)
    #expect(outcome.status == 0 && outcome.text == "no events\n")
  }

  @Test(.enabled(if: Shared.isThere)) func historyHasTimes() throws {
    guard Shared.require("a history for the timeline") != nil else { return }
    let store = try RealStores.named("sergd2005-ResourcesManager/default.store").url
    let sketch = try Program.run("timeline", store.path, "--dates", "--format", "timesketch")
    #expect(sketch.status == 0)
    let lines = try sketch.lines()
    #expect(lines.count > 10)
    let dates = lines.compactMap { $0["datetime"]?.string }
    #expect(dates.count == lines.count)
    let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00/
    #expect(dates.allSatisfy { $0.wholeMatch(of: form) != nil })
    #expect(lines.allSatisfy { $0["message"]?.string != nil })
    #expect(lines.allSatisfy { $0["timestamp_desc"]?.string != nil })
  }

  @Test func whatDiffersIsToldInEachForm() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("wal-committed").make(folder.url)
    let flat = folder.url.appendingPathComponent("flat.sqlite")
    try FileManager.default.copyItem(at: store, to: flat)
    let before = treeState(of: folder.url)
    let text = try Program.run("compare", flat.path, store.path)
    #expect(text.status == 1)
    #expect(text.text.contains("~ numbered 4  note: \"note number 4\" → \"in the log 4\"\n"))
    #expect(text.text.contains("50 of 125 rows shown"))
    let same = try Program.run("compare", flat.path, store.path, "--wal", "ignore")
    #expect(same.status == 0 && same.text == "no difference\n")
    #expect(try Program.run("compare", flat.path, store.path, "--exit-zero").status == 0)

    let object = try Program.run("compare", flat.path, store.path, "--json", "--limit", "3").json()
    #expect(object["schema"]?.string == "lifeboat.comparison")
    #expect(object["rows"]?.array?.count == 3)
    #expect(object["changedCount"]?.integer == 125)
    #expect(object["isEqual"]?.boolean == false)
    let lines = try Program.run("compare", flat.path, store.path, "--format", "ndjson").lines()
    #expect(lines.count == 126)
    #expect(lines[0]["columns"]?["note"]?["new"]?.string == "in the log 4")
    #expect(lines[125]["change"]?.string == "summary")
    let empty = try Program.run("compare", flat.path, flat.path, "--json").json()
    #expect(empty["rows"]?.array?.isEmpty == true && empty["isEqual"]?.boolean == true)
    #expect(treeState(of: folder.url) == before)
  }

  @Test func errorsHaveTheirCodes() throws {
    let folder = try TemporaryFolder()
    let store = try StoreFixtures.named("page-512").make(folder.url)
    let other = folder.url.appendingPathComponent("text")
    try Data("no database at all, only text of some length".utf8).write(to: other)
    for (arguments, status, code) in [
      (["compare", store.path, folder.url.path + "/none"], 66, "file.missing"),
      (["compare", other.path, store.path], 65, "file.notADatabase"),
      (["compare", store.path, store.path, "--entity", "Nobody"], 64, "input.unknownName"),
      (["timeline", folder.url.path + "/none"], 66, "file.missing"),
      (["timeline", other.path], 65, "file.notADatabase"),
    ] as [([String], Int32, String)] {
      let outcome = try Program.run(arguments)
      #expect(outcome.status == status, "\(arguments)")
      #expect(outcome.errorCode == code, "\(arguments)")
      #expect(outcome.text == "")
    }
  }
}
