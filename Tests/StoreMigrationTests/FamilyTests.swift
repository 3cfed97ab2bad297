import CoreDataStore
import Fixtures
import Foundation
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreFiles
import StoreMigration
import Testing

/// Real stores, carried to the newest version of the models of their own app.
@Suite(.enabled(if: Shared.isThere)) struct FamilyTests {
  struct Family: Sendable, CustomTestStringConvertible {
    let models: String
    /// Real stores of the family, and how many of them there are.
    let stores: String
    let count: Int
    /// The newest version; nil for the one that is marked current.
    var newest: String?
    var testDescription: String { stores }
  }

  static let families = [
    Family(
      models: "wireapp-wire-ios-data-model/models/zmessaging.xcdatamodeld",
      stores: "wireapp-wire-ios-data-model/stores", count: 19, newest: "zmessaging2.101.0"),
    Family(
      models: "duckduckgo-BrowserServicesKit/Sources/Bookmarks/BookmarksModel.xcdatamodeld",
      stores: "duckduckgo-BrowserServicesKit/Tests/BookmarksTests", count: 3),
    Family(
      models: "duckduckgo-BrowserServicesKit/Sources/DDGSync/SyncMetadata.xcdatamodeld",
      stores: "duckduckgo-BrowserServicesKit/Tests/DDGSyncTests", count: 1),
    Family(
      models: "alemar11-CoreDataPlus/Tests/Resources/SampleModel/SampleModel.xcdatamodeld",
      stores: "alemar11-CoreDataPlus/Tests/Resources/SampleModel/Fixtures", count: 2,
      newest: "SampleModel3"),
    Family(
      models:
        "wibosco-CoreDataMigrationRevised-Example/CoreDataMigration-Example/CoreData/Model/CoreDataMigration_Example.xcdatamodeld",
      stores: "wibosco-CoreDataMigrationRevised-Example", count: 3),
  ]

  /// Each row is in the new store or among the rejects, read as sound and as damaged, and the new store has the newest
  /// model. Outside the long rounds, of a large family each sixth store is read as sound and others as damaged.
  @Test(arguments: families, [false, true]) func toTheNewest(_ family: Family, _ isDamaged: Bool)
    throws
  {
    let root = try #require(Shared.folder).appendingPathComponent("stores/real")
    let models = root.appendingPathComponent(family.models).path
    let collection = try ModelCollection(searching: models)
    let target = try #require(
      family.newest.map { name in collection.versions.first { $0.name == name } }
        ?? collection.current)
    let to = try #require(target.model)
    let known = collection.versions.compactMap(\.model).map { ($0, $0.versionHashes()) }
    var stores: [(RealStore, ManagedObjectModel)] = []
    for store in RealStores.all where store.url.path.contains("/" + family.stores + "/") {
      let recorded = try CoreDataStore(path: store.url.path).metadata?.versionHashes ?? [:]
      if let (from, _) = known.first(where: { $0.1.matches(recorded) }) {
        stores.append((store, from))
      }
    }
    #expect(stores.count == family.count)
    if family.count > 6 { stores = Rounds.part(of: stores, every: 6, from: isDamaged ? 3 : 0) }
    var done = 0
    var refused: [String] = []
    for (store, from) in stores {
      let folder = try TemporaryFolder()
      let output = folder.url.appendingPathComponent("New.sqlite").path
      var migration = Migration()
      migration.missingPolicy = .copy
      let report: MigrationReport
      do {
        report = try migration.run(
          storeAt: store.url.path, alongModelsAt: models, toVersion: target.name, output: output,
          salvages: isDamaged)
      } catch {
        refused.append("\(store): \(error)")
        continue
      }
      let before = try NamedRow.all(of: store.url.path, model: from)
      let after = try NamedRow.all(of: output)
      let accounted = report.steps.flatMap(\.entities).reduce(0) {
        $0 + $1.rejectedCount + $1.leftBehindCount
      }
      #expect(
        report.steps.first?.entities.reduce(0) { $0 + $1.readCount } == before.count, "\(store)")
      #expect(after.count + accounted >= before.count, "\(store): \(report)")
      if report.steps.count == 1, report.steps[0].way == "inferred" {
        try MigrationExpectation(from, to, before).expect(report, after, "\(store)")
      }
      let made = try CoreDataStore(path: output)
      #expect(to.versionHashes().matches(made.metadata?.versionHashes ?? [:]), "\(store)")
      #expect(try StoreCheck(path: output).damageCount == report.missingFileCount, "\(store)")
      done += 1
    }
    #expect(refused == [])
    #expect(done == stores.count && done > 0)
  }
}

extension MigrationReport {
  /// External files that the old store names and does not have.
  fileprivate var missingFileCount: Int {
    findings.count { $0.id == .recoverExternalMissing }
  }
}
