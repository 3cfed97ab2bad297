import CoreDataStore
import Fixtures
import Foundation
import SQLiteFile
import StoreExtraction
import Testing

/// Real stores damaged at random places: inspection and every export end, with rows or an error.
///
/// `LIFEBOAT_SEED` and `LIFEBOAT_ROUNDS` choose other rounds, `LIFEBOAT_LONG=1` ten times as many.
@Suite struct DamagedStoresTests {
  private static let seed = Rounds.seed
  private static let rounds = Rounds.count(12, whenLong: 10)

  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      "Moody.moody", "SampleModel2_V2.sqlite", "kik.sqlite", "NotesV7.storedata",
      "store2-5.wiredatabase", "TestModel.sqlite",
    ])
  func inspectionAndExportEnd(_ name: String) throws {
    guard Shared.require("damaged copies of \(name)") != nil else { return }
    let original = try bytes(of: try RealStores.named(name).url)
    let folder = try TemporaryFolder()
    for round in 0..<Self.rounds {
      let seed = Self.seed &+ UInt64(round)
      var generator = SplitMix64(seed: seed)
      var damaged = original
      for _ in 0..<Int.random(in: 1...30, using: &generator) {
        // Half of it in the pages that hold Core Data's own tables' rows or the schema: the first ones.
        let end = Bool.random(using: &generator) ? min(damaged.count, 40_000) : damaged.count
        let start = Int.random(in: 100..<end, using: &generator)
        for offset in start..<min(start + Int.random(in: 1...20, using: &generator), damaged.count)
        {
          damaged[offset] = UInt8.random(in: 0...255, using: &generator)
        }
      }
      let place = folder.url.appendingPathComponent("\(name)-seed-\(seed)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
      let url = place.appendingPathComponent("store.sqlite")
      try Data(damaged).write(to: url)
      do {
        let inspection = try StoreInspection(path: url.path, takesHashes: false)
        _ = try JSONEncoder().encode(inspection)
        let store = try CoreDataStore(path: url.path)
        for format in StoreExport.Format.allCases {
          let output = place.appendingPathComponent(format.rawValue).path
          do {
            let result = try StoreExport().run(store, as: format, to: output)
            #expect(FileManager.default.fileExists(atPath: result.output))
          } catch {
            // An error is an answer for as long as it leaves nothing.
            #expect(!FileManager.default.fileExists(atPath: output), "\(error), seed \(seed)")
            print("\(name) seed \(seed) \(format.rawValue): \(error)")
          }
        }
      } catch let error as SQLiteFileError {
        #expect([.badHeader, .notADatabase].contains(error.code), "\(error)")
      }
      try FileManager.default.removeItem(at: place)
    }
  }
}
