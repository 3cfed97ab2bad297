import Fixtures
import Foundation
import Testing

/// `lifeboat model`
@Suite struct ModelTests {
  @Test func hashesOfAStoreAreThoseItRecords() throws {
    let demo = try Demonstration.shared.get()
    let report = try Program.run("model", "hash", "--json", demo.kept.path).json()
    #expect(report["schema"]?.string == "lifeboat.modelHash")
    let computed = report["versions"]?[0]?["hashes"]
    #expect(computed?.object?.keys.sorted() == ["Folder", "Note", "Tag"])
    #expect(report["recorded"]?["hashes"] == computed)
  }

  @Test(.enabled(if: Shared.isThere)) func hashesOfVersionsAreThoseOfTheStoresTheyWrote() throws {
    guard let moody = try Moody("version hashes of Moody") else { return }
    let models = try Program.run("model", "hash", "--json", moody.models.path).json()
    let store = try Program.run("model", "hash", "--json", moody.store.path).json()
    let version = models["versions"]?.array?.first { $0["name"]?.string == "Moody" }
    #expect(models["versions"]?.array?.count == 6)
    #expect(version?["hashes"] == store["recorded"]?["hashes"])
    #expect(models["recorded"] == nil)
  }

  @Test(.enabled(if: Shared.isThere)) func showAndDiffSayWhatChanged() throws {
    guard let moody = try Moody("difference of Moody's models") else { return }
    let show = try Program.run(
      "model", "show", "--json", moody.models.path, "--model-version", "Moody")
    #expect(show.status == 0)
    let names = try show.json()["entities"]?.array?.compactMap { $0["name"]?.string }
    #expect(names == ["Continent", "Country", "GeographicRegion", "Mood"])

    let diff = try Program.run("model", "diff", "--json", moody.store.path, moody.models.path)
    #expect(diff.status == 1)
    let changes = try #require(try diff.json()["changes"]?.array)
    let entities = Set(changes.compactMap { $0["entity"]?.string })
    #expect(entities == ["Continent", "Country", "GeographicRegion", "Mood"])
    let same = try Program.run(
      "model", "diff", moody.models.path, moody.models.path, "--from", "Moody 2", "--to", "Moody 2")
    #expect(same.status == 0)
    #expect(same.text.contains("no difference"))
    let unknown = try Program.run(
      "model", "diff", moody.models.path, moody.models.path, "--from", "Moody 9")
    #expect(unknown.status == 64)
    #expect(unknown.errorCode == "usage.noSuchVersion")
  }

  @Test(.enabled(if: Shared.isThere)) func identifyNamesTheNearest() throws {
    guard let moody = try Moody("nearest version") else { return }
    let models = try TemporaryFolder()
    for name in ["Moody 2", "Moody 5"] {
      try FileManager.default.copyItem(
        atPath: moody.models.path + "/\(name).xcdatamodel",
        toPath: models.url.path + "/\(name).xcdatamodel")
    }
    let arguments = ["model", "identify", "--json", moody.store.path, models.url.path]
    let outcome = try Program.run(arguments)
    #expect(outcome.status == 1)
    let report = try outcome.json()
    #expect(report["matches"]?.array?.isEmpty == true)
    #expect(report["nearest"]?["name"]?.string == "Moody 2")
    #expect(report["nearest"]?["agreeing"]?.integer == 3)
    #expect(report["nearest"]?["of"]?.integer == 4)
    #expect(try Program.run(arguments + ["--exit-zero"]).status == 0)
  }

  /// The numbers of a fetch request are taken from the model as they are.
  @Test func aFetchRequestWithTheHighestNumbers() throws {
    let folder = try TemporaryFolder()
    let model = folder.url.appendingPathComponent("M.xcdatamodel")
    try FileManager.default.createDirectory(at: model, withIntermediateDirectories: false)
    try Data(
      """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Note"><attribute name="title" optional="YES" attributeType="String"/></entity>
        <fetchRequest name="All" entity="Note" fetchOffset="\(Int64.max)" fetchLimit="\(Int64.max)"/>
      </model>
      """.utf8
    ).write(to: model.appendingPathComponent("contents"))
    let outcome = try Program.run("model", "show", model.path)
    #expect(outcome.status == 0, "\(outcome.status) \(outcome.errors)")
    #expect(outcome.text.contains("without the first 9,223,372,036,854,775,807"))
  }
}
