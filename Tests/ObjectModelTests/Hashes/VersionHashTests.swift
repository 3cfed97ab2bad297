import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Entity hashes against hashes that Core Data recorded.
struct VersionHashTests {
  struct Pairs: Decodable {
    struct Pair: Decodable {
      let source: String
      let entity: String
      let hash: String
      let abstract: Bool?
      let superentity: String?
      let superentityHash: String?
      let modifier: String?
      let uniqueness: [[String]]?
      let properties: [Property]
    }

    struct Property: Decodable {
      let name: String
      let kind: String
      let optional: Bool?
      let transient: Bool?
      let readonly: Bool?
      let type: Int32?
      let external: Bool?
      let preserves: Bool?
      let derivation: String?
      let modifier: String?
      let destination: String?
      let inverse: String?
      let min: Int32?
      let max: Int32?
      let ordered: Bool?
    }

    let count: Int
    let pairs: [Pair]
  }

  static func hash(_ pair: Pairs.Pair) -> VersionHash {
    let persistent = pair.properties.filter { $0.transient != true }
    let hashes = persistent.map { property in
      VersionHashing.PropertyHash(
        name: property.name,
        bytes: property.kind == "attribute"
          ? VersionHashing.attribute(
            Attribute(
              name: property.name, type: AttributeType(rawValue: property.type ?? 0),
              isOptional: property.optional == true, isReadOnly: property.readonly == true,
              allowsExternalBinaryDataStorage: property.external == true,
              preservesValueInHistoryOnDeletion: property.preserves == true,
              versionHashModifier: property.modifier,
              derivation: property.derivation.map { Derivation(text: $0) }))
          : VersionHashing.relationship(
            Relationship(
              name: property.name, destinationEntityName: property.destination ?? "",
              inverseName: property.inverse, minCount: property.min ?? 0,
              maxCount: property.max ?? 0, isOrdered: property.ordered == true,
              isOptional: property.optional == true, versionHashModifier: property.modifier),
            isSelfInverse: false))
    }
    return VersionHashing.entity(
      name: pair.entity, isAbstract: pair.abstract == true,
      superentityHash: pair.superentityHash.flatMap { VersionHash(hex: $0) },
      properties: hashes.sorted { ByteOrder.precedes($0.name, $1.name) },
      modifier: pair.modifier, uniquenessConstraints: pair.uniqueness ?? [])
  }

  @Test(.enabled(if: Shared.isThere)) func everyRecordedPairIsReproduced() throws {
    guard let path = SharedFiles.path("reference/version-hash-pairs.json") else { return }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let pairs = try decoder.decode(
      Pairs.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(pairs.pairs.count == pairs.count)
    #expect(pairs.count > 200)
    for pair in pairs.pairs {
      #expect(Self.hash(pair).hex == pair.hash, "\(pair.entity) of \(pair.source)")
    }
  }

  /// The hash of Xcode's template entity, seen in many public logs.
  static let templateEventHash = "5431c046d30e7f32c2cc809958add1e7579ad104a3aa8fc4846e97d7af01cc79"

  @Test func templateEvent() throws {
    let event = Entity(
      name: "Event",
      attributes: [Attribute(name: "timeStamp", type: .date, isOptional: true)])
    let hashes = ManagedObjectModel(entities: [event]).versionHashes()
    #expect(hashes.hashes["Event"]?.hex == Self.templateEventHash)
    #expect(hashes.unknown.isEmpty)
    let recorded = try #require(VersionHash(hex: Self.templateEventHash))
    #expect(hashes.matches(["Event": recorded]))
  }

  @Test func whatDoesNotTakePartChangesNothing() throws {
    var attribute = Attribute(name: "timeStamp", type: .date, isOptional: true)
    attribute.defaultValue = .date(0)
    attribute.isIndexed = true
    attribute.renamingIdentifier = "old"
    attribute.userInfo = ["a": "b"]
    let event = Entity(
      name: "Event", className: "Mine",
      attributes: [attribute, Attribute(name: "later", type: .undefined, isTransient: true)],
      fetchedProperties: [FetchedProperty(name: "fetched")],
      fetchIndexes: [FetchIndex(name: "i", elements: [.init(propertyName: "timeStamp")])],
      renamingIdentifier: "Occasion", userInfo: ["c": "d"])
    let hashes = ManagedObjectModel(entities: [event]).versionHashes()
    #expect(hashes.hashes["Event"]?.hex == Self.templateEventHash)
  }

  /// The rules without a recorded example give "unknown", and so do all descendants.
  @Test(arguments: [
    Attribute(name: "x", type: .composite),
    Attribute(
      name: "x", type: .composite,
      elements: [
        Attribute(name: "y", type: .composite, elements: [Attribute(name: "z", type: .string)])
      ]),
    Attribute(
      name: "x", type: .composite,
      elements: [Attribute(name: "y", type: .string, isTransient: true)]),
    Attribute(name: "x", type: .composite, elements: [Attribute(name: "y", type: .objectID)]),
    Attribute(name: "x", type: .string, isReadOnly: true),
    Attribute(name: "x", type: .objectID),
    Attribute(name: "x", type: .undefined),
    Attribute(name: "größe", type: .double),
    Attribute(name: "x", type: .date, derivation: Derivation(text: "now()")),
    Attribute(
      name: "x", type: .string, derivation: Derivation(text: "canonical:(name)")),
    Attribute(
      name: "x", type: .integer64,
      derivation: Derivation(text: "count:(pages)", filter: "a == 1")),
  ])
  func unconfirmedRulesAreUnknown(_ attribute: Attribute) {
    let model = ManagedObjectModel(entities: [
      Entity(name: "Parent", attributes: [attribute]),
      Entity(name: "Child", superentityName: "Parent"),
      Entity(name: "Other"),
    ])
    let hashes = model.versionHashes()
    #expect(Set(hashes.unknown.keys) == ["Parent", "Child"])
    #expect(Set(hashes.hashes.keys) == ["Other"])
    #expect(Set(hashes.unconfirmed.keys) == ["Parent", "Child"])
    #expect(hashes.checksum == nil)
    #expect(hashes.digest == nil)
  }

  /// Confirmed where it is declared; of entities that inherit one, no hash is recorded.
  @Test func selfInverse() {
    let spouse = Relationship(
      name: "spouse", destinationEntityName: "Person", inverseName: "spouse",
      inverseEntityName: "Person")
    let model = ManagedObjectModel(entities: [
      Entity(name: "Person", relationships: [spouse]),
      Entity(name: "Employee", superentityName: "Person"),
      Entity(name: "Manager", superentityName: "Employee"),
    ])
    let hashes = model.versionHashes()
    #expect(Set(hashes.hashes.keys) == ["Person"])
    #expect(
      hashes.unknown["Employee"] == "it inherits relationship spouse, which is its own inverse")
    #expect(Set(hashes.unconfirmed.keys) == ["Employee", "Manager"])
    // Leading back under the same name to another entity is nothing special.
    let other = Relationship(
      name: "spouse", destinationEntityName: "Other", inverseName: "spouse",
      inverseEntityName: "Other")
    let plain = ManagedObjectModel(entities: [
      Entity(name: "Person", relationships: [other]),
      Entity(name: "Employee", superentityName: "Person"),
    ])
    #expect(plain.versionHashes().unknown.isEmpty)
  }

  /// Stores of public projects that Core Data and SwiftData wrote with such models record the very hashes.
  @Test(.enabled(if: Shared.isThere)) func recordedHashesOfSelfInversesAndComposites() throws {
    guard let root = SharedFiles.path("stores/found/models"),
      let stores = try CachedModels(of: root)
    else { return }
    var (composites, selfInverses) = (0, 0)
    var names: [String] = []
    for store in stores.stores {
      let model = try ManagedObjectModel(archive: store.archive)
      let computed = model.versionHashes()
      guard computed.entitiesWithDerivedAttributes.isEmpty else { continue }
      let recorded = try IdentificationTests.record(store.metadata).hashes
      #expect(computed.unknown.isEmpty, "\(store.name): \(computed.unknown)")
      #expect(computed.hashes == recorded, "\(store.name)")
      let entities = model.entities.values
      let mixed = entities.count { $0.attributes.contains { $0.type == .composite } }
      let own = entities.count { $0.selfInverseName != nil }
      if mixed + own > 0 { names.append(store.name) }
      composites += mixed
      selfInverses += own
    }
    print("hashes with composites: \(composites), with self-inverses: \(selfInverses), in \(names)")
    #expect(composites >= 7)
    #expect(selfInverses >= 2)
  }

  @Test func ringsAndMissingParentsAreUnknown() {
    let model = ManagedObjectModel(entities: [
      Entity(name: "A", superentityName: "B"), Entity(name: "B", superentityName: "A"),
      Entity(name: "C", superentityName: "A"), Entity(name: "D", superentityName: "Gone"),
      Entity(name: "E", superentityName: "E"), Entity(name: "F", superentityName: "D"),
    ])
    let hashes = model.versionHashes()
    #expect(Set(hashes.unknown.keys) == ["A", "B", "C", "D", "E", "F"])
    #expect(hashes.hashes.isEmpty)
    #expect(model.ancestors(of: "C").map(\.name) == ["A", "B"])
  }

  @Test func chainsLongerThanAnyModelEnd() {
    let entities = (0..<5_000).map { index in
      Entity(
        name: "E\(index)", superentityName: index == 0 ? nil : "E\(index - 1)",
        attributes: [Attribute(name: "a\(index)", type: .string)])
    }
    let hashes = ManagedObjectModel(entities: entities).versionHashes()
    #expect(hashes.hashes.count == ManagedObjectModel.maximumInheritanceDepth + 1)
    #expect(hashes.unknown.count == 5_000 - hashes.hashes.count)
  }

  @Test func tombstoneEntriesCountOnlyWhenAsked() {
    let name = Attribute(name: "name", type: .string)
    var kept = name
    kept.preservesValueInHistoryOnDeletion = true
    let plain = [Entity(name: "Base", attributes: [name])]
    let marked = [Entity(name: "Base", attributes: [kept])]
    let child = Entity(
      name: "Child", superentityName: "Base",
      userInfo: [ManagedObjectModel.tombstoneKey: "name, missing"])
    let model = ManagedObjectModel(entities: plain + [child])
    #expect(model.hasTombstoneEntries)
    #expect(
      model.versionHashes().hashes["Base"]
        == ManagedObjectModel(entities: plain).versionHashes().hashes["Base"])
    #expect(
      model.versionHashes(honouringTombstones: true).hashes["Base"]
        == ManagedObjectModel(entities: marked).versionHashes().hashes["Base"])
  }

  @Test(arguments: [
    ("chat.serverId", "chat.serverId"), ("pages.@count", "count:(pages)"),
    ("book.pages.@count", "count:(book.pages)"), ("lines.@sum.price", "sum:(lines.price)"),
    ("lines.price.@total", "sum:(lines.price)"), ("now()", "now()"),
    ("canonical:(name)", "canonical:(name)"), ("@count", "@count"), ("", ""),
  ])
  func derivationText(_ typed: String, _ expected: String) {
    #expect(DerivationText.expression(typed).predicateFormat == expected)
  }

  @Test func hexForm() throws {
    let hash = try #require(VersionHash(hex: Self.templateEventHash.uppercased()))
    #expect(hash.hex == Self.templateEventHash)
    #expect(VersionHash(hex: "54") == nil)
    #expect(VersionHash(hex: String(repeating: "g", count: 64)) == nil)
    #expect(VersionHash(bytes: [1, 2]) == nil)
    let json = try JSONEncoder().encode(["Event": hash])
    #expect(try JSONDecoder().decode([String: VersionHash].self, from: json) == ["Event": hash])
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode([VersionHash].self, from: Data("[\"54\"]".utf8))
    }
  }

  @Test func comparison() throws {
    let one = try #require(VersionHash(bytes: Array(repeating: 1, count: 32)))
    let two = try #require(VersionHash(bytes: Array(repeating: 2, count: 32)))
    let comparison = HashComparison(
      store: ["A": one, "B": one, "S": one], model: ["A": one, "B": two, "M": one])
    #expect(comparison.agreeing == ["A"])
    #expect(comparison.differing == ["B"])
    #expect(comparison.onlyInStore == ["S"])
    #expect(comparison.onlyInModel == ["M"])
    #expect(!comparison.isEqual)
    #expect(HashComparison(store: ["A": one], model: ["A": one]).isEqual)
  }

  /// A type that is new to this library is not taken as confirmed before a recorded hash confirms its number.
  @Test func typesWithoutARecordedHashAreDoubted() {
    let doubted = AttributeType.known.filter { type in
      let entity = Entity(name: "A", attributes: [Attribute(name: "a", type: type)])
      return !ManagedObjectModel(entities: [entity]).versionHashes().unknown.isEmpty
    }
    #expect(doubted == [.undefined, .objectID, .composite])
  }
}
