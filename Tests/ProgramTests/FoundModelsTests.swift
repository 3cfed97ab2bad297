import Fixtures
import Foundation
import Testing

/// The models on which something went wrong once, one test for each, as a user runs the commands.
@Suite struct FoundModelsTests {
  /// The path of one; nil, said in the log, where the collection is absent.
  private static func path(_ name: String) -> String? {
    Shared.require("the found model \(name)")?
      .appendingPathComponent("stores/found/models/" + name).path
  }

  @Test(.enabled(if: Shared.isThere)) func xcodesUntouchedTemplateIsRead() throws {
    guard let path = Self.path("xcode-template-usedWithCloudKit/BowTies.xcdatamodeld") else {
      return
    }
    for command in ["show", "hash"] {
      let outcome = try Program.run("model", command, path)
      #expect(outcome.status == 0 && outcome.errors == "", "\(command): \(outcome.errors)")
    }
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: ["composite/PreloadedCocktails.store", "composite/default-5-entities.store"])
  func compositesHaveTheirRecordedHashes(_ name: String) throws {
    guard let path = Self.path(name) else { return }
    let report = try Program.run("model", "hash", "--json", path).json()
    #expect(report["versions"]?[0]?["hashes"] == report["recorded"]?["hashes"])
    #expect((report["recorded"]?["hashes"]?.object?.count ?? 0) >= 4)
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      ("Sample.sqlite", "Model.xcdatamodeld", "Model 20"),
      ("dashsync-v6.sqlite", "DashSync.xcdatamodeld", "DashSync 6"),
      (
        "vkmelnik-v1.sqlite", "vkmelnik+IOS-home-work-4/CoreDataNotes.xcdatamodeld", "CoreDataNotes"
      ),
    ])
  func selfInversesAreIdentified(_ store: String, _ model: String, _ version: String) throws {
    guard let folder = Self.path("self-inverse") else { return }
    let outcome = try Program.run("model", "identify", "\(folder)/\(store)", "\(folder)/\(model)")
    #expect(outcome.status == 0)
    #expect(outcome.text.hasPrefix("written by \(version), "), "\(outcome.text)")
    #expect(!outcome.text.contains("unknown"))
  }

  @Test(.enabled(if: Shared.isThere), arguments: ["1.3", "1.3.5", "1.4", "1.6", "2.0"])
  func aChangedDestinationIsNotKnown(_ version: String) throws {
    guard let folder = Self.path("destination-changed") else { return }
    let plan = try Program.run(
      "model", "plan", "\(folder)/ArtsyPartner_\(version).sqlite",
      "\(folder)/ArtsyPartner.xcdatamodeld")
    #expect(plan.status == 0, "\(plan.errors)")
    #expect(plan.text.contains("→ ArtsyFolio v2.7.0\n"))
    #expect(plan.text.contains("it is not known whether lightweight migration can do it:"))
  }

  /// The one that carries just this pair goes before one that fits by the hashes it names.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [("ObvMessenger 18", "v17_to_v18"), ("ObvMessenger 19", "v17_to_v19")])
  func theExactPairOfTwoMappingsComesFirst(_ version: String, _ mapping: String) throws {
    guard let folder = Self.path("two-mappings") else { return }
    let report = try Program.run(
      "model", "plan", "--json", "\(folder)/olvid-v17.sqlite", folder, "--to", version
    ).json()
    let steps = report["steps"]?.array ?? []
    #expect(steps.count == 1)
    #expect("\(steps)".contains("ObvMessengerMappingModel_\(mapping)"), "\(steps)")
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      ("MappingModel", "RecipeToCuisine"), ("UnCloudNotesMappingModel_v2_to_v3", "NoteToNote"),
    ])
  func theSourceItselfIsNoKeyPath(_ name: String, _ mapping: String) throws {
    guard let path = Self.path("source-keypath/\(name).xcmappingmodel") else { return }
    let text = try Program.run("model", "show", path).text
    #expect(text.contains("what \(mapping) makes of $source\n"), "\(text)")
    #expect(!text.contains("$source.$source"))
  }

  @Test(
    .enabled(if: Shared.isThere),
    arguments: [("KonotorModel 21", "7 entities"), ("KonotorModel 24", "13 entities")])
  func olderOptimisedModelsAreRead(_ name: String, _ count: String) throws {
    guard let path = Self.path("omo-old/\(name).omo") else { return }
    let outcome = try Program.run("model", "show", path)
    #expect(outcome.status == 0)
    #expect(outcome.text.contains(count) && outcome.text.contains("KonotorUser"))
  }
}
