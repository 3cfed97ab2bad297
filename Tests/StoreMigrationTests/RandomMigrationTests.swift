import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreExtraction
import StoreMigration
import Testing

/// Models made at random, changed at random, and stores of them filled at random.
@Suite struct RandomMigrationTests {
  /// There and back, each row keeps each value that both versions have, and no link is invented.
  @Test(arguments: 0..<4) func thereAndBack(_ part: UInt64) throws {
    let count: UInt64 = Rounds.areLong ? 1_500 : 20
    var done = 0
    // The last two are seeds on which a link led to an entity that it may not lead to.
    let seeds = Array((part * count)..<((part + 1) * count)) + (part == 3 ? [1184, 2868] : [])
    for seed in seeds {
      var random = RandomModel(seed: seed)
      let old = random.model
      let changes = random.change()
      let new = random.model
      guard old.versionHashes().unknown.isEmpty, new.versionHashes().unknown.isEmpty else {
        continue
      }
      let folder = try TemporaryFolder()
      var path = try FilledStore(old, in: folder.url, seed: seed).url.path
      var isDone = true
      for (turn, (from, to)) in [(old, new), (new, old)].enumerated() {
        let mapping: MappingModel
        do { mapping = try MappingModel.inferred(from: from, to: to) } catch {
          isDone = false
          break
        }
        let output = folder.url.appendingPathComponent("New \(turn).sqlite").path
        let step = MigrationStep(
          from: from, named: "from", to: to, named: "to", mapping: mapping, isInferred: true)
        let label = "seed \(seed), turn \(turn): \(changes)"
        do {
          // Every other store is read as a damaged one.
          let report = try Migration().run(
            seed % 2 == 0
              ? .sound(try CoreDataStore(path: path))
              : .damaged(try DamagedStore(path: path), deleted: false), [step], to: output)
          let rows = try NamedRow.all(of: path)
          try MigrationExpectation(from, to, rows).expect(
            report, NamedRow.all(of: output), label)
        } catch {
          Issue.record("\(label): \(error)")
        }
        path = output
      }
      if isDone { done += 1 }
    }
    #expect(done >= (Rounds.areLong ? Int(count) * 5 / 6 : 13))
  }
}
