import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Models of public projects against the hashes recorded beside them.
struct RealModelTests {
  @Test(.enabled(if: Shared.isThere)) func everyCompiledVersionReproducesItsVersionInfo() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var entityCount = 0
    var checksumCount = 0
    let bundles = SharedFiles.files(below: root, suffix: ".momd")
    #expect(bundles.count == 4)
    for bundle in bundles {
      let collection = try ModelCollection(searching: bundle)
      for version in collection.versions {
        #expect(version.problem == nil)
        let recorded = try #require(version.recorded)
        let hashes = try #require(version.hashes)
        let comparison = HashComparison(store: recorded.hashes, model: hashes.hashes)
        #expect(comparison.isEqual, "\(version.path): \(comparison)")
        #expect(hashes.matches(recorded.hashes))
        entityCount += comparison.agreeing.count
        if let checksum = recorded.checksum {
          #expect(hashes.checksum == checksum)
          checksumCount += 1
        }
      }
    }
    print("\(entityCount) entities of compiled models reproduced")
    #expect(entityCount == 19)
    #expect(checksumCount == 3)
  }

  @Test(.enabled(if: Shared.isThere)) func sourcesAndCompiledFormsAgree() throws {
    guard
      let folder = SharedFiles.path("stores/real/alemar11-CoreDataPlus/Tests/Resources")
    else { return }
    let pairs = [
      ("SampleModel/SampleModel.xcdatamodeld", "SampleModel/Fixtures/SampleModel.momd"),
      ("SampleModel3/SampleModel3.xcdatamodeld", "SampleModel3/Fixtures/SampleModel3.momd"),
    ]
    for (source, compiled) in pairs {
      let sources = try ModelCollection(searching: folder + "/" + source)
      let archives = try ModelCollection(searching: folder + "/" + compiled)
      #expect(sources.currentVersionName == archives.currentVersionName)
      #expect(sources.versions.map(\.name) == archives.versions.map(\.name))
      for (left, right) in zip(sources.versions, archives.versions) {
        let one = try #require(left.model)
        let other = try #require(right.model)
        // The source got this trait after the compiled form was made.
        let changes = ModelDifference(from: one, to: other, scope: .cached).changes.filter {
          $0.summary != "`Car.color` no longer has the value class `Color`"
        }
        #expect(changes == [], "\(left.path)")
      }
    }
  }

  @Test(.enabled(if: Shared.isThere)) func everySourceIsRead() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    let collection = try ModelCollection(searching: root)
    let broken = collection.versions.filter { $0.problem != nil }
    #expect(broken.map(\.path) == [])
    for version in collection.versions {
      guard let model = version.model, let hashes = version.hashes else { continue }
      #expect(hashes.unknown == [:], "\(version.path)")
      #expect(hashes.hashes.count == model.entities.count)
      #expect(model.validate() == [], "\(version.path)")
    }
    print("\(collection.versions.count) versions read")
    #expect(collection.versions.count > 70)
  }

  @Test(.enabled(if: Shared.isThere), arguments: [ModelArchiveForm.compiled, .modelCache])
  func everyModelSurvivesArchiving(_ form: ModelArchiveForm) throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    // Outside the long rounds, each form has every second version.
    let versions = try ModelCollection(searching: root).versions
    for version in Rounds.part(of: versions, every: 2, from: form == .compiled ? 0 : 1) {
      guard let model = version.model else { continue }
      let copy = try ManagedObjectModel(archive: model.archive(form: form).bytes)
      #expect(
        ModelDifference(from: model, to: copy, scope: .cached).changes == [], "\(version.path)")
      #expect(copy.configurations == model.configurations)
      #expect(copy.versionIdentifiers == model.versionIdentifiers)
      #expect(copy.versionHashes() == version.hashes, "\(version.path)")
    }
  }

  @Test(.enabled(if: Shared.isThere)) func currentVersions() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    let moody = try ModelCollection(
      searching: root + "/objcio-core-data/Migrations/Migrations/Moody.xcdatamodeld")
    #expect(
      moody.versions.map(\.name) == [
        "Moody", "Moody 2", "Moody 3", "Moody 4", "Moody 5", "Moody 6",
      ])
    #expect(moody.current?.name == "Moody 6")
    #expect(moody.current?.fileName == "Moody 6.xcdatamodel")
    let folder = try ModelCollection(
      searching: root
        + "/wibosco-CoreDataMigrationRevised-Example/CoreDataMigration-Example/CoreData")
    #expect(folder.versions.count == 4)
    #expect(folder.current != nil)
  }

  /// Each store says which version it was made with; its own cached model must give exactly the
  /// hashes that it recorded.
  @Test(.enabled(if: Shared.isThere)) func cachedModelsOfAllStores() throws {
    guard let root = SharedFiles.path("stores/real"), let stores = try CachedModels(of: root)
    else { return }
    var entityCount = 0
    var digestCount = 0
    for store in stores.stores {
      let metadata = try PropertyList(bytes: store.metadata)
      var recorded: [String: VersionHash] = [:]
      for (name, value) in metadata["NSStoreModelVersionHashes"]?.entries ?? [:] {
        recorded[name] = value.dataValue.flatMap { VersionHash(bytes: $0) }
      }
      let model = try ManagedObjectModel(archive: store.archive)
      let hashes = model.versionHashes()
      #expect(hashes.unknown == [:], "\(store.name)")
      let comparison = HashComparison(store: recorded, model: hashes.hashes)
      #expect(comparison.isEqual, "\(store.name): \(comparison.differing)")
      entityCount += comparison.agreeing.count
      if let digest = metadata["NSStoreModelVersionHashesDigest"]?.stringValue {
        #expect(hashes.digest == digest, "\(store.name)")
        digestCount += 1
      }
      if let checksum = metadata["NSStoreModelVersionChecksumKey"]?.stringValue {
        #expect(hashes.checksum == checksum, "\(store.name)")
      }
      let copy = try ManagedObjectModel(archive: model.archive(form: .modelCache).bytes)
      #expect(copy.versionHashes() == hashes, "\(store.name)")
    }
    print("\(entityCount) entities of \(stores.stores.count) cached models reproduced")
    #expect(stores.stores.count == 47)
    #expect(digestCount > 10)
  }

  /// Stores find the version of the source that they were made with, and their cached model says
  /// the same as that source.
  @Test(.enabled(if: Shared.isThere)) func storesFindTheirVersion() throws {
    guard let root = SharedFiles.path("stores/real"), let stores = try CachedModels(of: root)
    else { return }
    let collection = try ModelCollection(searching: root)
    var found = 0
    for store in stores.stores {
      let model = try ManagedObjectModel(archive: store.archive)
      let hashes = model.versionHashes().hashes
      let matching = collection.versions(matching: hashes).compactMap(\.model)
      guard !matching.isEmpty else { continue }
      found += 1
      let fewest = matching.map { ModelDifference(from: $0, to: model, scope: .cached).changes }
        .min { $0.count < $1.count }
      // What may differ: the test host had no classes of these names, and indexes came and went
      // without a new version.
      let unexpected = (fewest ?? []).filter { change in
        change.affectsVersionHash
          || ![.fetchIndex, .compoundIndex].contains(change.part)
            && ![.className, .isIndexed, .versionIdentifiers].contains(change.trait)
      }
      #expect(unexpected == [], "\(store.name)")
    }
    #expect(found >= 30)
    print("\(found) stores found their version")
  }
}
