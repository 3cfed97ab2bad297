import Fixtures
import Testing

@testable import ModelTools
@testable import ObjectModel

/// What a difference says of version hashes, against the hashes themselves.
struct HashEffectTests {
  /// The names whose hash is not the same in both models.
  static func otherHashes(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> Set<String> {
    let before = old.versionHashes()
    let after = new.versionHashes()
    func hash(_ hashes: ModelHashes, _ name: String) -> VersionHash? {
      hashes.hashes[name] ?? hashes.unconfirmed[name]
    }
    return Set(old.entities.keys).union(new.entities.keys).filter {
      hash(before, $0) != hash(after, $0)
    }
  }

  /// Every ordered pair of versions of every family, the same version twice included. Outside the long rounds, the same
  /// version twice, neighbours, and a seventh of the other pairs.
  @Test func everyPairOfVersions() throws {
    var pairs = 0
    var entities = 0
    for family in try ModelFamilies.all() {
      let models = family.versions.compactMap(\.model)
      for (place, old) in models.enumerated() {
        for (other, new) in models.enumerated()
        where Rounds.areLong || abs(place - other) <= 1 || (place + other) % 7 == 0 {
          let expected = Self.otherHashes(old, new)
          let difference = ModelDifference(from: old, to: new)
          #expect(difference.namesWithOtherHash == expected, "\(family.path)")
          #expect(difference.affectsVersionHashes == !expected.isEmpty)
          pairs += 1
          entities += expected.count
        }
      }
    }
    print("\(pairs) ordered pairs of versions, \(entities) entities with another hash")
  }

  /// Versions of different families, which have nothing to do with each other or little.
  @Test func pairsAcrossFamilies() throws {
    let families = try ModelFamilies.all()
    for (index, family) in families.enumerated() {
      guard let old = family.versions.first?.model,
        let new = families[(index + 1) % families.count].versions.last?.model
      else { continue }
      #expect(
        ModelDifference(from: old, to: new).namesWithOtherHash == Self.otherHashes(old, new))
    }
  }

  static let base = ManagedObjectModel(entities: [
    Entity(
      name: "Item", isAbstract: true,
      attributes: [Attribute(name: "created", type: .date, isOptional: true)]),
    Entity(name: "Note", superentityName: "Item"),
    Entity(name: "Memo", superentityName: "Note"),
    Entity(
      name: "Tag",
      relationships: [
        Relationship(
          name: "notes", destinationEntityName: "Note", maxCount: 0, isOptional: true)
      ]),
    Entity(name: "Other", attributes: [Attribute(name: "n", type: .integer16)]),
  ])

  @Test func aParentsChangeGoesDown() {
    var new = Self.base
    new.entities["Item"]?.attributes[0].isOptional = false
    let effects = ModelDifference(from: Self.base, to: new).hashEffects
    #expect(effects.map(\.entityName) == ["Item", "Memo", "Note"])
    #expect(effects.map(\.cause) == [.ownChanges, .ancestor("Item"), .ancestor("Item")])
    #expect(Set(effects.map(\.entityName)) == Self.otherHashes(Self.base, new))
  }

  @Test func aRenameReachesThoseThatPointThere() {
    var new = Self.base
    var note = new.entities.removeValue(forKey: "Note") ?? Entity(name: "")
    note.name = "Page"
    note.renamingIdentifier = "Note"
    new.entities["Page"] = note
    new.entities["Memo"]?.superentityName = "Page"
    new.entities["Tag"]?.relationships[0].destinationEntityName = "Page"
    let difference = ModelDifference(from: Self.base, to: new)
    #expect(difference.namesWithOtherHash == ["Note", "Page", "Memo", "Tag"])
    #expect(difference.namesWithOtherHash == Self.otherHashes(Self.base, new))
    #expect(difference.verdict == .handled)
    let tag = difference.changes(of: "Tag").first
    #expect(tag?.remark == "The destination is the same entity under its new name.")
  }

  @Test func whatIsNotConfirmedSaysSo() {
    var old = Self.base
    old.entities["Other"]?.attributes.append(Attribute(name: "id", type: .objectID))
    var new = old
    new.entities["Other"]?.attributes[0].isOptional = true
    let effects = ModelDifference(from: old, to: new).hashEffects
    #expect(effects.map(\.doubt) == ["attribute id: its type is Object ID"])
    #expect(
      effects.first?.sentence
        == "`Other` has a different version hash, because of its own changes; this is not certain, "
        + "because attribute id: its type is Object ID.")
  }

  /// Apple's documentation does not mention changes within a composite. What is in a transient one is in no hash.
  @Test(arguments: [false, true])
  func anElementOfACompositeChanges(_ isTransient: Bool) {
    func model(_ type: AttributeType) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        Entity(
          name: "A",
          attributes: [
            Attribute(
              name: "place", type: .composite, isTransient: isTransient,
              elements: [Attribute(name: "floor", type: type)])
          ])
      ])
    }
    let (old, new) = (model(.integer16), model(.integer32))
    let difference = ModelDifference(from: old, to: new)
    #expect(difference.changes.map(\.name) == ["place.floor"])
    #expect(difference.affectsVersionHashes == !isTransient)
    #expect(difference.namesWithOtherHash == Self.otherHashes(old, new))
    #expect(difference.verdict.name == (isTransient ? "nothingToDo" : "unknown"))
  }

  /// Two defaults with equal texts, which show no contents, are two defaults.
  @Test func contentsThatAreNotShownAreCompared() {
    func model(_ value: DefaultValue) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        Entity(
          name: "A", attributes: [Attribute(name: "b", type: .binary, defaultValue: value)])
      ])
    }
    let old = model(.data([1]))
    #expect(ModelDifference(from: old, to: old).isEmpty)
    let difference = ModelDifference(from: old, to: model(.data([2])))
    #expect(
      difference.changes.map(\.sentence)
        == [
          "The default of `A.b` changed, but both values are shown as `1 byte`: nothing to migrate."
        ])
  }

  /// The hash of a derived attribute has no name in it, but its place in the order of names counts.
  @Test(arguments: [("b", "c", false), ("b", "z", true)])
  func aDerivedAttributeIsRenamed(_ from: String, _ to: String, _ changes: Bool) {
    func model(_ name: String, _ identifier: String?) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        Entity(
          name: "A",
          attributes: [
            Attribute(name: "m", type: .string),
            Attribute(
              name: name, type: .string, isReadOnly: true, renamingIdentifier: identifier,
              derivation: Derivation(text: "m")),
          ])
      ])
    }
    let (old, new) = (model(from, nil), model(to, from))
    let difference = ModelDifference(from: old, to: new)
    #expect(difference.changes.map(\.kind).contains(.attributeRenamed))
    #expect(difference.affectsVersionHashes == changes)
    #expect(difference.namesWithOtherHash == Self.otherHashes(old, new))
  }
}
