import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreMigration
import Testing

/// Mapping models of real apps, run over stores filled at random.
@Suite struct MappedMigrationTests {
  /// Each mapping model that carries its two models. Where it needs a class of the app, properties of the same name are
  /// copied.
  @Test(.enabled(if: Shared.isThere)) func everyMappingModelRuns() throws {
    guard let root = Shared.require("mapping models") else { return }
    let set = try MappingModelSet(at: root.appendingPathComponent("stores").path)
    var ran = 0
    var refused: [String: String] = [:]
    for (index, item) in set.items.enumerated() {
      guard let mapping = item.compiled, let from = mapping.sourceModel,
        let to = mapping.destinationModel, from.versionHashes().unknown.isEmpty,
        to.versionHashes().unknown.isEmpty
      else { continue }
      let folder = try TemporaryFolder()
      let old = try FilledStore(from, in: folder.url, seed: UInt64(index))
      let url = folder.url.appendingPathComponent("New.sqlite")
      let step = MigrationStep(
        from: from, named: "old", to: to, named: "new", mapping: mapping, isInferred: false)
      var migration = Migration()
      migration.missingPolicy = .copy
      do {
        let report = try migration.run(
          .sound(try CoreDataStore(path: old.url.path)), [step], to: url.path)
        let counts = report.steps[0].entities
        for entity in counts {
          #expect(
            entity.readCount * max(1, entity.became.count)
              == entity.writtenCount + entity.rejectedCount + entity.leftBehindCount
              + entity.passedOverCount,
            "\(item.path) \(entity)")
        }
        ran += 1
      } catch let error as MigrationError {
        refused[item.name] = "\(error)"
      }
    }
    #expect(refused.count < 3, "\(refused)")
    #expect(ran > 15)
  }
}
