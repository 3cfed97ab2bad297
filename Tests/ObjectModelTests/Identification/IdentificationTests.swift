import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Stores of public projects find the version that wrote them.
struct IdentificationTests {
  static func record(_ metadata: [UInt8]) throws -> StoreModelRecord {
    let list = try PropertyList(bytes: metadata)
    var hashes: [String: VersionHash] = [:]
    for (name, value) in list["NSStoreModelVersionHashes"]?.entries ?? [:] {
      hashes[name] = value.dataValue.flatMap { VersionHash(bytes: $0) }
    }
    return StoreModelRecord(
      hashes: hashes, hashesVersion: list["NSStoreModelVersionHashesVersion"]?.integerValue,
      frameworkVersion: list["NSPersistenceFrameworkVersion"]?.integerValue,
      versionIdentifiers: Self.texts(list["NSStoreModelVersionIdentifiers"]))
  }

  private static func texts(_ list: PropertyList?) -> [String] {
    guard case .array(let elements) = list else { return [] }
    return elements.compactMap(\.stringValue)
  }

  /// The family of each store, by the end of the path of its bundle, and the version that its file
  /// name speaks of; nil for a family whose sources are not there.
  static func expectation(_ store: String) -> (bundle: String, version: String?)? {
    func after(_ mark: String, _ suffix: String) -> String? {
      guard let range = store.range(of: mark), store.hasSuffix(suffix) else { return nil }
      return String(store[range.upperBound...].dropLast(suffix.count))
    }
    if let name = after("MigrationsTests_", ".moody") { return ("/Moody.xcdatamodeld", name) }
    if let number = after("CoreDataMigration_Example_", ".sqlite") {
      let name = "CoreDataMigration_Example" + (number == "1" ? "" : " " + number)
      return ("/CoreDataMigration_Example.xcdatamodeld", name)
    }
    if let number = after("Bookmarks_V", ".sqlite") {
      return (
        "/BookmarksModel.xcdatamodeld", "BookmarksModel" + (number == "1" ? "" : " " + number)
      )
    }
    if let number = after("SyncMetadata_V", ".sqlite") {
      return ("/SyncMetadata.xcdatamodeld", "SyncMetadata " + number)
    }
    if let number = after("_SampleModel_V", ".sqlite") {
      return ("/SampleModel.xcdatamodeld", "SampleModel" + (number == "1" ? "" : number))
    }
    if after("_SampleModel3_V", ".sqlite") != nil {
      return ("/SampleModel3.xcdatamodeld", "SampleModel3")
    }
    if let version = after("stores_store", ".wiredatabase") {
      // The oldest source has no number; 2.65.0 was changed after its store was made.
      let names = ["1-25": "zmessaging"]
      let name = names[version] ?? "zmessaging" + version.replacingOccurrences(of: "-", with: ".")
      return ("/zmessaging.xcdatamodeld", version == "2-65-0" ? nil : name)
    }
    return nil
  }

  @Test(.enabled(if: Shared.isThere)) func storesNameTheirVersion() throws {
    guard let root = SharedFiles.path("stores/real"), let stores = try CachedModels(of: root)
    else { return }
    let families = try ModelFamilies.all()
    var collections: [String: ModelCollection] = [:]
    var named: [String: Int] = [:]
    for store in stores.stores {
      guard let expected = Self.expectation(store.name) else { continue }
      let family = try #require(families.first { $0.path.hasSuffix(expected.bundle) })
      let collection =
        try collections[family.path] ?? ModelCollection(searching: family.path)
      collections[family.path] = collection
      let record = try Self.record(store.metadata)
      let found = ModelIdentification(record, in: [collection])
      #expect(found.possible.isEmpty, "\(store.name)")
      guard let version = expected.version else { continue }
      #expect(found.matches.map(\.version.name) == [version], "\(store.name)")
      #expect(found.nearest == nil)
      #expect(found.matches.first?.agreement.agreeing.count == record.hashes.count)
      named[expected.bundle, default: 0] += 1
    }
    print("stores that named their version: \(named)")
    #expect(
      named == [
        "/Moody.xcdatamodeld": 3, "/CoreDataMigration_Example.xcdatamodeld": 3,
        "/BookmarksModel.xcdatamodeld": 3, "/SyncMetadata.xcdatamodeld": 1,
        "/SampleModel.xcdatamodeld": 2, "/SampleModel3.xcdatamodeld": 1,
        "/zmessaging.xcdatamodeld": 19,
      ])
  }

  /// The exceptions: a source that was changed after its store was made, and sources that are not
  /// there.
  @Test(.enabled(if: Shared.isThere)) func storesWithoutTheirVersion() throws {
    guard let root = SharedFiles.path("stores/real"), let stores = try CachedModels(of: root)
    else { return }
    let all = try ModelCollection(searching: root)
    func identify(_ suffix: String) throws -> ModelIdentification {
      let store = try #require(stores.stores.first { $0.name.hasSuffix(suffix) })
      return ModelIdentification(try Self.record(store.metadata), in: [all])
    }
    let wire = try identify("store2-65-0.wiredatabase")
    #expect(wire.matches.isEmpty)
    #expect(wire.nearest?.version.name == "zmessaging2.65.0")
    #expect(wire.nearest?.agreement.agreeing.count == 11)
    #expect(wire.record.hashes.count == 18)
    for name in ["SampleModel2_V1.sqlite", "SampleModel2_V2.sqlite"] {
      #expect(try identify(name).matches.isEmpty, "\(name)")
    }
  }

  /// All sources with equal hashes are reported, the one that shares an identifier first.
  @Test func equalHashes() throws {
    let record = StoreModelRecord(
      hashes: Fixture.model.versionHashes().hashes, versionIdentifiers: ["8"])
    try ModelCollectionTests.withFolder { folder in
      for (name, identifier) in [("A", "6"), ("A 2", "7"), ("A 3", "8")] {
        let text = Fixture.contents.replacingOccurrences(
          of: "Identifier=\"7\"", with: "Identifier=\"\(identifier)\"")
        try ModelCollectionTests.write(
          Array(text.utf8), folder, "A.xcdatamodeld/\(name).xcdatamodel/contents")
      }
      let found = ModelIdentification(record, in: [try ModelCollection(searching: folder.path)])
      #expect(found.matches.map(\.version.name) == ["A 3", "A", "A 2"])
    }
  }

  // MARK: Rules

  static func collection(
    _ versions: [(String, ManagedObjectModel)], current: String? = nil
  ) -> ModelCollection {
    ModelCollection(
      versions: versions.map { name, model in
        .init(
          name: name, fileName: name + ".mom", path: "/m/\(name).mom", model: model,
          isMarkedCurrent: name == current)
      })
  }

  static func grown(_ count: Int) -> ManagedObjectModel {
    ManagedObjectModel(
      entities: (0..<count).map { number in
        Entity(name: "E\(number)", attributes: [Attribute(name: "a", type: .string)])
      })
  }

  static let growing = [
    ("V", grown(1)), ("V 2", grown(2)), ("V 3", grown(3)), ("V 4", grown(4)),
  ]

  @Test(arguments: [
    ("V", "V 4", ModelIdentification.Age.older), ("V 3", "V 4", .older),
    ("V 4", "V 4", .current), ("V 3", "V 3", .current),
    // The marker speaks against the numbers, so nobody knows which of two is older.
    ("V", "V 3", unordered("V", "V 3")), ("V 4", "V 3", unordered("V 4", "V 3")),
  ])
  func age(_ written: String, _ current: String, _ expected: ModelIdentification.Age) throws {
    let model = try #require(Self.growing.first { $0.0 == written }?.1)
    let record = StoreModelRecord(hashes: model.versionHashes().hashes)
    let found = ModelIdentification(
      record, in: [Self.collection(Self.growing, current: current)])
    #expect(found.age == expected)
  }

  private static func unordered(_ written: String, _ current: String) -> ModelIdentification.Age {
    .unknown(
      reason: "the store fits `\(written)`, and the current version is `\(current)`",
      doubt: "`V 3` is marked as current, but `V 4` comes later by name")
  }

  /// Names give an order only where they are numbered: by one stem with a number each, or as Xcode proposes it.
  @Test(arguments: [
    (["V", "V 2", "V 10"], true), (["V 2", "V 3"], true), (["V", "V2", "V3"], true),
    (["1.0", "1.1", "1.10"], true), (["M v1.4", "M v1.5.1"], true), (["M", "M_v2", "M-3"], true),
    (["wire", "wire2.3", "wire2.29.0"], true), (["Final", "Initial"], false),
    (["ArtsyFolio v1.4", "ArtsyPartner 2"], false), (["V", "V new"], false),
    (["V 2", "V 02"], false), (["V", "V 1", "Wide 2"], false), (["V", "V\u{301}2"], false),
  ])
  func numberedNames(_ names: [String], _ isKnown: Bool) {
    let versions = names.enumerated().map { ($1, Self.grown($0 + 1)) }
    let collection = Self.collection(versions, current: names.last)
    #expect((ModelVersionOrder(collection).doubt == nil) == isKnown)
    let found = ModelIdentification(
      StoreModelRecord(hashes: Self.grown(1).versionHashes().hashes), in: [collection])
    if isKnown {
      #expect(found.age == .older)
    } else if case .unknown(_, let doubt) = found.age {
      #expect(doubt?.contains("are not numbered in the same way") == true)
    } else {
      Issue.record("\(found.age)")
    }
  }

  /// A folder with several bundles: each has its own order and its own current version.
  @Test func severalBundles() {
    let all = Self.growing.map { name, model in
      ModelCollection.Version(
        name: name, fileName: name + ".mom", path: "/a/\(name).mom", model: model,
        isMarkedCurrent: name == "V 4")
    }
    let others = ["W", "W 2"].map { name in
      ModelCollection.Version(
        name: name, fileName: name + ".mom", path: "/b/\(name).mom",
        model: ManagedObjectModel(entities: [Entity(name: name)]), isMarkedCurrent: name == "W 2")
    }
    let collection = ModelCollection(versions: all + others)
    #expect(collection.current == nil)
    func age(_ model: ManagedObjectModel) -> ModelIdentification.Age {
      ModelIdentification(
        StoreModelRecord(hashes: model.versionHashes().hashes), in: [collection]
      ).age
    }
    #expect(age(Self.grown(2)) == .older)
    #expect(age(Self.grown(4)) == .current)
    #expect(age(ManagedObjectModel(entities: [Entity(name: "W")])) == .older)
  }

  /// A store may fit a version in a folder in which no version is marked, beside a folder in which one is.
  @Test func aMarkerInAnotherFolder() {
    let versions = [("V", "/a"), ("W", "/b")].map { name, folder in
      ModelCollection.Version(
        name: name, fileName: name + ".mom", path: folder + "/" + name + ".mom",
        model: ManagedObjectModel(entities: [Entity(name: name)]), isMarkedCurrent: name == "W")
    }
    let identification = ModelIdentification(
      StoreModelRecord(hashes: versions[0].hashes?.hashes ?? [:]),
      in: [ModelCollection(versions: versions)])
    #expect(
      identification.age
        == .unknown(
          reason: "the store fits a version in a folder that marks no version as current")
    )
  }

  /// A store fits an earlier version of one model, and also a version in a folder that marks no version as current. So
  /// it is not known whether the store is older. The versions may be of one search or of two.
  @Test(arguments: [false, true]) func aFitInAFolderWithoutAMarker(_ areApart: Bool) {
    let marked = Self.collection(Self.growing, current: "V 4").versions
    let others = [2, 5].map { count in
      ModelCollection.Version(
        name: "Copy \(count)", fileName: "Copy \(count).mom", path: "/other/Copy \(count).mom",
        model: Self.grown(count))
    }
    let collections =
      areApart
      ? [ModelCollection(versions: marked), ModelCollection(versions: others)]
      : [ModelCollection(versions: marked + others)]
    func age(_ count: Int) -> ModelIdentification.Age {
      ModelIdentification(
        StoreModelRecord(hashes: Self.grown(count).versionHashes().hashes), in: collections
      ).age
    }
    #expect(
      age(2)
        == .unknown(
          reason: "the store fits `V 2`, and the current version is `V 4`",
          doubt: "the store also fits `Copy 2`, in a folder that marks no version as current")
    )
    #expect(age(3) == .older)
    #expect(age(4) == .current)
  }

  @Test func ageWithoutAMarker() {
    let collection = Self.collection(Self.growing)
    func age(_ count: Int) -> ModelIdentification.Age {
      ModelIdentification(
        StoreModelRecord(hashes: Self.grown(count).versionHashes().hashes), in: [collection]
      ).age
    }
    #expect(age(2) == .unknown(reason: "no version is marked as the current one"))
    #expect(age(4) == .unknown(reason: "no version is marked as the current one"))
    #expect(
      age(5)
        == .unknown(
          reason:
            "no version fits or has `E4`: the store may be newer, or of another app"))
  }

  /// A version that cannot be read may be the one: it is told, and nothing is said of it.
  @Test func aVersionThatCannotBeRead() {
    let broken = ModelCollection.Version(
      name: "V 5", fileName: "V 5.mom", path: "/m/V 5.mom",
      problem: ModelError(code: .malformed, message: "The bytes end early."))
    let collection = ModelCollection(versions: Self.collection(Self.growing).versions + [broken])
    func identify(_ count: Int) -> ModelIdentification {
      ModelIdentification(
        StoreModelRecord(hashes: Self.grown(count).versionHashes().hashes), in: [collection])
    }
    let open = identify(5)
    #expect(open.matches.isEmpty)
    #expect(open.unread.map(\.name) == ["V 5"])
    #expect(
      open.age
        == .unknown(
          reason:
            "no readable version fits or has `E4`: the store may "
            + "be of a version that could not be read, of a newer version, or of another app"))
    #expect(identify(2).matches.map(\.version.name) == ["V 2"])
    let plan = MigrationPlanner([collection]).plan(
      from: open.record.hashes, model: nil, to: collection.versions[3])
    #expect(plan.unread.map(\.name) == ["V 5"])
    #expect(plan.start.versionNames.isEmpty)
  }

  /// An optimised model by itself has the names of its entities among its strings.
  @Test(.enabled(if: Shared.isThere)) func strangersOfAnOptimisedModel() throws {
    let path = "alemar11-CoreDataPlus/Tests/Resources/SampleModel/Fixtures/SampleModel.momd"
    guard let folder = SharedFiles.path("stores/real/" + path) else { return }
    let optimised = try ModelCollection(searching: folder + "/SampleModel.omo")
    let all = try ModelCollection(searching: folder)
    let other = try #require(VersionHash(bytes: Array(repeating: 7, count: 32)))
    for version in all.versions where version.recorded != nil {
      let names = version.knownHashes.keys.filter { name in
        optimised.versions.first?.optimised?.strings.contains(name) == true
      }
      #expect(!names.isEmpty)
      var hashes: [String: VersionHash] = [:]
      for name in names { hashes[name] = other }
      let found = ModelIdentification(StoreModelRecord(hashes: hashes), in: [optimised])
      #expect(found.matches.isEmpty)
      #expect(found.unread.isEmpty)
      #expect(found.age == .unknown(reason: "no version fits"))
    }
  }

  @Test func laterRulesAndFrameworks() {
    let hashes = Self.grown(4).versionHashes().hashes
    let collection = Self.collection(Self.growing, current: "V 4")
    func identify(_ record: StoreModelRecord, _ framework: Int64? = nil) -> ModelIdentification {
      ModelIdentification(record, in: [collection], frameworkVersion: framework)
    }
    let rules = identify(StoreModelRecord(hashes: hashes, hashesVersion: 4))
    #expect(rules.matches.isEmpty)
    #expect(rules.possible.map(\.version.name) == ["V 4"])
    #expect(
      rules.age
        == .newer(
          reason: "its hashes have version 4, and the latest known version is 3"))
    let later = StoreModelRecord(hashes: hashes, frameworkVersion: 1300)
    #expect(identify(later).age == .current)
    #expect(identify(later, 1400).age == .current)
    #expect(
      identify(later, 1200).age
        == .newer(reason: "framework 1300 wrote the store, and the app runs on framework 1200"))
    let highest = StoreModelRecord(
      hashes: hashes, frameworkVersion: 1100, maximumFrameworkVersion: 1500)
    #expect(
      identify(highest, 1200).age
        == .newer(reason: "framework 1500 wrote the store, and the app runs on framework 1200"))
  }

  /// Of earlier hash rules Core Data compares the names only; a name that is missing still decides.
  @Test func earlierRules() {
    var hashes = Self.grown(2).versionHashes().hashes
    hashes["E1"] = hashes["E0"]
    let record = StoreModelRecord(hashes: hashes, hashesVersion: 2)
    let found = ModelIdentification(record, in: [Self.collection(Self.growing)])
    #expect(found.matches.isEmpty)
    #expect(found.possible.map(\.version.name) == ["V 2"])
    #expect(found.possible.first?.agreement.undecided.keys.sorted() == ["E1"])
    #expect(found.others.map(\.version.name) == ["V", "V 3", "V 4"])
    #expect(found.others.allSatisfy { $0.agreement.differing.isEmpty })
  }

  /// What no data confirm is unknown and never different; where it is equal all the same, it fits.
  @Test func unconfirmedRules() throws {
    var model = Self.grown(1)
    model.entities["E0"]?.attributes.append(Attribute(name: "o", type: .objectID))
    let hashes = model.versionHashes()
    let equal = try #require(hashes.unconfirmed["E0"])
    let collection = Self.collection([("V", model)])
    let fits = ModelIdentification(StoreModelRecord(hashes: ["E0": equal]), in: [collection])
    #expect(fits.matches.map(\.version.name) == ["V"])
    let other = try #require(VersionHash(bytes: Array(repeating: 7, count: 32)))
    let open = ModelIdentification(StoreModelRecord(hashes: ["E0": other]), in: [collection])
    #expect(open.matches.isEmpty)
    #expect(
      open.possible.first?.agreement.undecided == ["E0": "attribute o: its type is Object ID"])
    #expect(open.possible.first?.agreement.differing == [])
    #expect(open.nearest == nil)
  }

  /// Derived attributes were hashed anew at each creation of a model on some systems.
  @Test(arguments: [(1132, false), (1344, true), (nil, false)] as [(Int64?, Bool)])
  func derivedAttributes(_ framework: Int64?, _ isDifferent: Bool) throws {
    let other = try #require(VersionHash(bytes: Array(repeating: 7, count: 32)))
    var hashes = Fixture.model.versionHashes().hashes
    hashes["Note"] = other
    let record = StoreModelRecord(hashes: hashes, frameworkVersion: framework)
    let found = ModelIdentification(record, in: [Self.collection([("V", Fixture.model)])])
    #expect(found.matches.isEmpty)
    #expect(found.possible.isEmpty == isDifferent)
    #expect(found.others.first?.agreement.differing == (isDifferent ? ["Note"] : nil))
  }

  /// Frameworks up to 386 try the old style too. No store tells whether it is right: where it is
  /// equal it fits, where it is not nothing is proven.
  @Test(arguments: [(386, true), (387, false)] as [(Int64, Bool)])
  func oldStyle(_ framework: Int64, _ fits: Bool) throws {
    let model = ManagedObjectModel(entities: [
      Entity(
        name: "Person",
        relationships: [
          Relationship(
            name: "friends", destinationEntityName: "Person", inverseName: "friends",
            inverseEntityName: "Person", maxCount: 0, isOptional: true)
        ]),
      Entity(name: "Employee", superentityName: "Person"), Entity(name: "Other"),
    ])
    let plain = model.versionHashes()
    let old = try #require(model.oldStyleHashes())
    #expect(Set(old.keys) == ["Employee"])
    #expect(old["Employee"] != plain.unconfirmed["Employee"])
    var hashes = plain.hashes.merging(plain.unconfirmed) { first, _ in first }
    hashes["Employee"] = old["Employee"]
    let found = ModelIdentification(
      StoreModelRecord(hashes: hashes, frameworkVersion: framework),
      in: [Self.collection([("V", model)])])
    #expect(found.matches.isEmpty != fits)
    #expect(found.possible.isEmpty == fits)
    #expect(Self.grown(3).oldStyleHashes() == nil)
  }

  @Test func nothingRecorded() {
    let found = ModelIdentification(
      StoreModelRecord(hashes: [:]), in: [Self.collection(Self.growing)])
    #expect(found.matches.isEmpty)
    #expect(found.nearest == nil)
  }

  @Test func orderAndSimilarity() throws {
    #expect(ModelVersionOrder(Self.collection(Self.growing, current: "V 4")).doubt == nil)
    let mixed = [("V", Self.grown(5)), ("V 2", Self.grown(1)), ("V 3", Self.grown(5))]
    #expect(
      ModelVersionOrder(Self.collection(mixed)).doubt
        == "`V` and `V 3` have more in common with each other than with `V 2` between them")
    for family in try ModelFamilies.all() {
      let collection = try ModelCollection(searching: family.path)
      let last = collection.versions.last?.name
      let isPlain = collection.currentVersionName == nil || collection.currentVersionName == last
      let doubt = ModelVersionOrder(collection).doubt
      #expect((doubt == nil) == isPlain, "\(family.path): \(doubt ?? "-")")
    }
  }
}
