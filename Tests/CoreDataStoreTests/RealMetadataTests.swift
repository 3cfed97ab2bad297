import CoreDataForensics
import CoreDataStore
import StoreFiles
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import Testing

/// What real stores say of themselves.
@Suite struct RealMetadataTests {
  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all)
  func namesHashesAndNumbersAgreeWithTheCachedModel(_ real: RealStore) throws {
    let before = treeState(of: real.url.deletingLastPathComponent())
    let store = try CoreDataStore(path: real.url.path)
    #expect(store.kind == .coreData)
    #expect(store.cachedModelProblem == nil)
    #expect(store.findings.damageCount == 0)
    let metadata = try #require(store.metadata)
    #expect(metadata.uuid.flatMap { UUID(uuidString: $0) } != nil)
    let hashes = metadata.versionHashes
    if let digest = metadata.digest { #expect(digest == ModelHashes.digest(of: hashes)) }
    if let checksum = metadata.checksum { #expect(checksum == ModelHashes.checksum(of: hashes)) }
    guard let model = store.cachedModel else { return }
    #expect(Set(hashes.keys) == Set(model.entities.keys))
    #expect(metadata.storeType == "SQLite")

    let own = store.entities.filter { !$0.isHistory }.sorted { $0.number < $1.number }
    let numbering = EntityNumbering(model)
    #expect(own.map(\.number) == Array(1...Int64(own.count)))
    // A lightweight migration that renames an entity leaves the old name in Z_PRIMARYKEY.
    let isStale = real.description.hasSuffix("SampleModel_V2.sqlite")
    #expect(
      (own.map(\.name) == numbering.names) != isStale, "\(own.map(\.name)), \(numbering.names)")
    #expect(own.map { store.entityName(ofNumber: $0.number) } == numbering.names)
    for record in own {
      let name = try #require(store.entityName(ofNumber: record.number))
      let parent = model.entities[name]?.superentityName.flatMap { numbering.number(of: $0) }
      #expect(record.superNumber == parent ?? 0, "\(name)")
      #expect(numbering.number(of: name) == record.number)
    }
    #expect(treeState(of: real.url.deletingLastPathComponent()) == before)
  }

  /// How many stores have what, so that the checks above cannot pass for want of something to check.
  @Test(.enabled(if: Shared.isThere)) func enoughOfThemHaveSomethingToCheck() throws {
    guard Shared.require("metadata of real stores") != nil else { return }
    let stores = try RealStores.all.map { try CoreDataStore(path: $0.url.path) }
    #expect(stores.count { $0.cachedModel != nil } == 47)
    #expect(stores.count { $0.metadata?.digest != nil } == 22)
    #expect(stores.count { $0.metadata?.checksum != nil } == 7)
    #expect(stores.count { $0.entities.contains(where: \.isHistory) } == 8)
    #expect(stores.count { $0.metadata?.plistState == .null } == 1)
    #expect(
      stores.count { $0.metadata?.frameworkVersion.flatMap(StoreMetadata.system) != nil } == 50)
  }

  /// The hashes that we compute of the cached models are those that Core Data recorded.
  @Test(.enabled(if: Shared.isThere), arguments: RealStores.all)
  func computedHashesAreTheRecordedOnes(_ real: RealStore) throws {
    let store = try CoreDataStore(path: real.url.path)
    guard let model = store.cachedModel, let recorded = store.metadata?.versionHashes else {
      return
    }
    let plain = model.versionHashes()
    let other = model.versionHashes(honouringTombstones: true)
    #expect(plain.matches(recorded) || other.matches(recorded) || !plain.unknown.isEmpty)
  }

  /// Keys of applications are named, and their values are not kept.
  @Test(.enabled(if: Shared.isThere)) func secretsOfApplicationsAreNotKept() throws {
    guard Shared.require("application keys") != nil else { return }
    let store = try CoreDataStore(path: RealStores.named("store2-92-0.wiredatabase").url.path)
    let keys = try store.otherKeys()
    #expect(
      keys.contains { $0.name == "lastSavedVersion" && $0.kind == "string" && $0.sizeBytes > 0 })
    #expect(!keys.contains { $0.name.hasPrefix("NSStore") })
    #expect(keys.map(\.name) == keys.map(\.name).sorted())
  }
}
