import Fixtures
import Foundation
import Testing

/// `lifeboat model plan`, and mapping models in `lifeboat model show`
@Suite struct ModelPlanTests {
  private static func wibosco(_ what: String) -> (stores: String, models: String)? {
    guard let shared = Shared.require(what) else { return nil }
    let project = shared.appendingPathComponent(
      "stores/real/wibosco-CoreDataMigrationRevised-Example")
    return (
      project.appendingPathComponent("CoreDataMigration-ExampleTests/Resources/SQLite").path
        + "/CoreDataMigration_Example_",
      project.appendingPathComponent("CoreDataMigration-Example/CoreData").path
    )
  }

  @Test(.enabled(if: Shared.isThere), arguments: [(1, 3), (2, 2), (3, 1)])
  func stepsToTheCurrentVersion(_ version: Int, _ count: Int) throws {
    guard let wibosco = Self.wibosco("a plan for wibosco's stores") else { return }
    let outcome = try Program.run(
      "model", "plan", "--json", "\(wibosco.stores)\(version).sqlite", wibosco.models)
    #expect(outcome.status == 0, "\(outcome.errors)")
    let report = try outcome.json()
    #expect(report["schema"]?.string == "lifeboat.migrationPlan")
    #expect(report["target"]?["name"]?.string == "CoreDataMigration_Example 4")
    let steps = try #require(report["steps"]?.array)
    #expect(
      steps.compactMap { $0["way"]?.string } == ["inferred", "mapping", "inferred"].suffix(count))
    let mapping = steps.first { $0["way"]?.string == "mapping" }
    #expect(mapping?["mapping"]?.string == (count > 1 ? "Migration2to3ModelMapping" : nil))
    #expect(report["obstacle"] == nil)
  }

  @Test(.enabled(if: Shared.isThere)) func inWords() throws {
    guard let wibosco = Self.wibosco("a plan in words") else { return }
    let plan = try Program.run("model", "plan", "\(wibosco.stores)1.sqlite", wibosco.models)
    #expect(plan.status == 0)
    #expect(plan.text.contains("3 steps\n"))
    #expect(plan.text.contains("by the mapping model Migration2to3ModelMapping.xcmappingmodel"))
    #expect(plan.text.contains("needs the app's class"))
    #expect(plan.text.contains("leaves behind Post.color, Post.content"))
    let same = try Program.run(
      "model", "plan", "\(wibosco.stores)2.sqlite", wibosco.models, "--to",
      "CoreDataMigration_Example 2")
    #expect(same.status == 0)
    #expect(same.text.contains("opens with CoreDataMigration_Example 2 as it is"))
    let unknown = try Program.run(
      "model", "plan", "\(wibosco.stores)2.sqlite", wibosco.models, "--to", "Nine")
    #expect(unknown.status == 64)
    #expect(unknown.errorCode == "usage.noSuchVersion")
  }

  @Test(.enabled(if: Shared.isThere)) func theStoreOfAnotherModelHasNoWay() throws {
    guard let wibosco = Self.wibosco("a plan for a store of another app"),
      let moody = try Moody("a store of another app")
    else { return }
    let plan = try Program.run("model", "plan", "--json", moody.store.path, wibosco.models)
    #expect(plan.status == 1)
    let report = try plan.json()
    #expect(report["steps"] == nil)
    #expect(report["obstacle"]?["refusals"]?.array?.count == 1)
    let zero = try Program.run(
      "model", "plan", "--exit-zero", moody.store.path, wibosco.models)
    #expect(zero.status == 0)
    #expect(zero.text.contains("there is no way"))
  }

  @Test(.enabled(if: Shared.isThere)) func aMappingModelThatIsNamedAndOneThatIsOrphaned() throws {
    guard let wibosco = Self.wibosco("mapping models by name"),
      let moody = try Moody("mapping models of Moody")
    else { return }
    let foreign = moody.original.deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Migrations/Moody 2-Moody 3.xcmappingmodel").path
    let own = wibosco.models + "/Migration/Mappings/Migration2to3ModelMapping.xcmappingmodel"
    let plan = try Program.run(
      "model", "plan", "--json", "\(wibosco.stores)2.sqlite",
      wibosco.models + "/Model/CoreDataMigration_Example.xcdatamodeld", "--mapping", own,
      "--mapping", foreign)
    #expect(plan.status == 0, "\(plan.errors)")
    let mappings = try #require(try plan.json()["mappings"]?.array)
    #expect(mappings.compactMap { $0["isOrphaned"]?.boolean } == [false, true])
    let only = try Program.run("model", "plan", "\(wibosco.stores)2.sqlite", own)
    #expect(only.status == 64)
    #expect(only.errorCode == "usage.noModels")
  }

  @Test(.enabled(if: Shared.isThere)) func aMappingModelIsShown() throws {
    guard let wibosco = Self.wibosco("a mapping model") else { return }
    let path = wibosco.models + "/Migration/Mappings/Migration2to3ModelMapping.xcmappingmodel"
    let shown = try Program.run("model", "show", path)
    #expect(shown.status == 0, "\(shown.errors)")
    #expect(shown.text.contains("PostToPost: Post → Post, custom"))
    #expect(shown.text.contains("Section: Section is new"))
    let report = try Program.run("model", "show", "--json", path).json()
    #expect(report["schema"]?.string == "lifeboat.mappingModel")
    #expect(report["entityMappings"]?.array?.count == 2)
    let attributes = report["entityMappings"]?[1]?["attributes"]?.array
    #expect(
      attributes?.compactMap { $0["expression"]?.string } == [
        "$source.date", "$source.hexColor", "$source.postID",
      ])
    let missing = try Program.run("model", "show", "/nowhere/at/all.cdm")
    #expect(missing.status == 66)
  }

  /// The names put this version behind the current one, which says nothing of its age.
  @Test(.enabled(if: Shared.isThere)) func anUnknownOrderIsSaidToBeUnknown() throws {
    guard let shared = Shared.require("a plan whose versions have no known order") else { return }
    let folder = shared.appendingPathComponent("stores/found/models/destination-changed")
    guard FileManager.default.fileExists(atPath: folder.path) else { return }
    let arguments = [
      "model", "plan", folder.appendingPathComponent("ArtsyPartner_1.3.sqlite").path,
      folder.appendingPathComponent("ArtsyPartner.xcdatamodeld").path,
    ]
    let plan = try Program.run(arguments)
    #expect(plan.status == 0)
    #expect(
      plan.text.contains("It is not known which came first, the store's model or the target: "))
    #expect(!plan.text.contains("newer") && !plan.text.contains("older"))
    let report = try Program.run(arguments + ["--json"]).json()
    #expect(report["goesBack"]?.boolean == false)
    #expect(report["orderDoubt"]?.string != nil)
    #expect(report["steps"]?.array?.count == 1)
  }

  /// A version is looked for in all models, by the rules for one; two different versions of a name are told.
  @Test func aVersionOfSeveralModels() throws {
    let demo = try Demonstration.shared.get()
    let folder = try TemporaryFolder()
    func model(_ path: String, attribute: String) throws {
      let url = folder.url.appendingPathComponent(path + ".xcdatamodel")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      try Data(
        """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
          <entity name="Note"><attribute name="\(attribute)" optional="YES" attributeType="String"/></entity>
        </model>
        """.utf8
      ).write(to: url.appendingPathComponent("contents"))
    }
    try model("A.xcdatamodeld/Model 1", attribute: "one")
    try model("A.xcdatamodeld/Model 2", attribute: "two")
    try model("B.xcdatamodeld/Model 2", attribute: "other")
    try model("B.xcdatamodeld/Model 3", attribute: "three")
    func plan(to version: String) throws -> Outcome {
      let models = ["A", "B"].map { folder.url.path + "/\($0).xcdatamodeld" }
      return try Program.run(
        ["model", "plan", "--json", demo.kept.path] + models + ["--to", version])
    }
    #expect(try plan(to: "model_3").json()["target"]?["name"]?.string == "Model 3")
    #expect(try plan(to: "1").json()["target"]?["name"]?.string == "Model 1")
    let several = try plan(to: "Model 2")
    #expect(several.status == 64, "\(several.text)")
    #expect(several.errors.contains("usage.whichVersion"), "\(several.errors)")
    #expect(try plan(to: "Model 9").errors.contains("usage.noSuchVersion"))
  }
}
