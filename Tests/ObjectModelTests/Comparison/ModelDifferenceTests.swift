import Fixtures
import Testing

@testable import ModelTools
@testable import ObjectModel

struct ModelDifferenceTests {
  static func difference(_ change: (inout ManagedObjectModel) -> Void) -> ModelDifference {
    var new = Fixture.model
    change(&new)
    return ModelDifference(from: Fixture.model, to: new)
  }

  @Test func sentences() {
    let difference = Self.difference { model in
      model.entities["Note"]?.attributes.append(
        Attribute(name: "updatedAt", type: .date, isOptional: true))
      model.entities["Note"]?.attributes.removeAll { $0.name == "photo" }
      model.entities["Page"]?.attributes[0].type = .integer64
      model.entities["Item"]?.isAbstract = false
    }
    #expect(
      difference.changes.map(\.sentence) == [
        "`Item` is no longer abstract: lightweight migration can do this.",
        "`Note.photo` was removed, Binary, optional: lightweight migration can do this.",
        "`Note.updatedAt` was added, Date, optional: lightweight migration can do this.",
        "The type of `Page.number` was Integer 32, is Integer 64: lightweight migration can do this.",
      ])
    #expect(difference.changes.allSatisfy { $0.affectsVersionHash })
  }

  @Test func renames() {
    let difference = Self.difference { model in
      var page = model.entities.removeValue(forKey: "Page") ?? Entity(name: "")
      page.name = "Sheet"
      page.renamingIdentifier = "Page"
      page.attributes[0].name = "index"
      page.attributes[0].renamingIdentifier = "number"
      model.entities["Sheet"] = page
    }
    #expect(difference.countText.hasSuffix("; 1 version hash is no longer the same."))
    let kinds = difference.changes(of: "Sheet").map(\.kind.rawValue)
    #expect(kinds.contains("entityRenamed"))
    #expect(kinds.contains("attributeRenamed"))
    #expect(!difference.changes.contains { $0.kind == .entityAdded || $0.kind == .entityRemoved })
    #expect(
      difference.changes.first { $0.kind == .attributeRenamed }?.sentence
        == "`Sheet.number` is now called `index`: lightweight migration can do this.")
  }

  /// What a change says of the hash is what the hashes say.
  @Test(arguments: 0..<16)
  func affectsVersionHashIsTrue(_ which: Int) {
    let difference = Self.difference { Self.change(which, &$0) }
    var new = Fixture.model
    Self.change(which, &new)
    #expect(!difference.isEmpty)
    let isSame = new.versionHashes().hashes == Fixture.model.versionHashes().hashes
    #expect(difference.affectsVersionHashes == !isSame, "\(difference.changes)")
  }

  static func change(_ which: Int, _ model: inout ManagedObjectModel) {
    switch which {
    case 0: model.entities["Note"]?.className = "Other"
    case 1: model.entities["Note"]?.renamingIdentifier = nil
    case 2: model.entities["Note"]?.versionHashModifier = nil
    case 3: model.entities["Note"]?.uniquenessConstraints = []
    case 4: model.entities["Note"]?.superentityName = nil
    case 5: model.entities["Note"]?.fetchIndexes = []
    case 6: model.entities["Page"]?.attributes[0].isOptional = true
    case 7: model.entities["Page"]?.attributes[0].defaultValue = nil
    case 8: model.entities["Page"]?.attributes[0].isTransient = true
    case 9: model.entities["Page"]?.relationships[0].deleteRule = .nullify
    case 10: model.entities["Page"]?.relationships[0].maxCount = -1
    case 11: model.entities["Page"]?.relationships[0].isOrdered = true
    case 12: model.entities["Page"]?.relationships[0].destinationEntityName = "Item"
    case 13: model.entities["Note"]?.attributes[2].type = .integer16
    case 14: model.entities["Note"]?.attributes[2].derivation = Derivation(text: "count:(parent)")
    default: model.entities["Extra"] = Entity(name: "Extra")
    }
  }

  @Test func sameIsEmpty() {
    #expect(ModelDifference(from: Fixture.model, to: Fixture.model).isEmpty)
  }

  /// An archive may hold several indexes of one name.
  @Test func sameNames() {
    let indexes = ["number", "parent", "number"].map {
      FetchIndex(name: "twice", elements: [FetchIndex.Element(propertyName: $0)])
    }
    var old = Fixture.model
    old.entities["Page"]?.fetchIndexes = indexes
    #expect(ModelDifference(from: old, to: old).isEmpty)
    var new = old
    new.entities["Page"]?.fetchIndexes = indexes.reversed()
    #expect(ModelDifference(from: old, to: new).isEmpty)
    new.entities["Page"]?.fetchIndexes[1].elements = [FetchIndex.Element(propertyName: "other")]
    let kinds = ModelDifference(from: old, to: new).changes.map(\.kind.rawValue)
    #expect(kinds == ["fetchIndexChanged"])
  }

  /// Every model of the collection is equal to itself.
  @Test(.enabled(if: Shared.isThere)) func everyRealModelIsItself() throws {
    guard let root = SharedFiles.path("stores/real"), let caches = try CachedModels(of: root) else {
      return
    }
    var count = 0
    for store in caches.stores {
      let model = try ManagedObjectModel(archive: store.archive)
      #expect(ModelDifference(from: model, to: model).isEmpty, "\(store.name)")
      count += 1
    }
    for path in SharedFiles.files(below: root, suffix: ".mom") {
      let model = try ManagedObjectModel(archive: SharedFiles.bytes(path))
      #expect(ModelDifference(from: model, to: model).isEmpty, "\(path)")
      count += 1
    }
    for path in SharedFiles.files(below: root, suffix: ".xcdatamodel/contents") {
      let model = try ManagedObjectModel(contentsXML: SharedFiles.bytes(path))
      #expect(ModelDifference(from: model, to: model).isEmpty, "\(path)")
      count += 1
    }
    print("\(count) models compared with themselves")
    #expect(count > 100)
  }

  /// A root that takes over an attribute of each of its children, and the way back; flat entities
  /// that become a chain. In the long rounds there are so many of them that quadratic work would take minutes.
  @Test func bigHierarchies() {
    func attribute(_ index: Int) -> Attribute {
      Attribute(name: "a\(index)", type: .string, isOptional: true)
    }
    let count = Rounds.areLong ? 4_000 : 1_500
    let chainCount = Rounds.areLong ? 10_000 : 4_000
    let children = (0..<count).map { Entity(name: "C\($0)", superentityName: "Root") }
    let down = ManagedObjectModel(
      entities: [Entity(name: "Root")]
        + children.enumerated().map { index, child in
          var child = child
          child.attributes = [attribute(index)]
          return child
        })
    let up = ManagedObjectModel(
      entities: [Entity(name: "Root", attributes: (0..<count).map(attribute))] + children)
    let chain = ManagedObjectModel(
      entities: (0..<chainCount).map { index in
        Entity(name: "E\(index)", superentityName: index == 0 ? nil : "E\(index - 1)")
      })
    let flat = ManagedObjectModel(
      entities: (0..<chainCount).map { Entity(name: "E\($0)", attributes: [attribute(0)]) })
    let bare = ManagedObjectModel(entities: [Entity(name: "Root")] + children)
    for (name, old, new) in [
      ("up", down, up), ("down", up, down), ("added", bare, up), ("chain", flat, chain),
      ("flat", chain, flat),
    ] {
      let difference = ModelDifference(from: old, to: new)
      #expect(!difference.isEmpty)
      if name == "up" {
        #expect(difference.changes(of: "C7").first?.remark == "It is in `Root` now.")
        #expect(
          difference.changes(of: "Root").first { $0.name == "a7" }?.remark
            == "It was in `C7` before.")
      }
    }
  }

  /// What a compiler adds to a source is no change.
  @Test func compiledAdditions() {
    let source = ManagedObjectModel(entities: [
      Entity(name: "Note", attributes: [Attribute(name: "title", type: .string, isIndexed: true)])
    ])
    var cached = source
    cached.entities["Note"]?.className = "Note"
    cached.entities["Note"]?.fetchIndexes = [
      FetchIndex(name: "title", elements: [FetchIndex.Element(propertyName: "title")])
    ]
    for scope in [ComparisonScope.cached, .compiled] {
      #expect(ModelDifference(from: source, to: cached, scope: scope).isEmpty)
      #expect(ModelDifference(from: cached, to: source, scope: scope).isEmpty)
    }
    #expect(ModelDifference(from: source, to: cached).changes.count == 2)
    cached.entities["Note"]?.className = "Other"
    cached.entities["Note"]?.fetchIndexes[0].elements[0].isAscending = false
    #expect(ModelDifference(from: source, to: cached, scope: .cached).changes.count == 2)
  }

  /// An entity whose parent is removed keeps only what it declares itself.
  @Test func whatWasInheritedIsLostWithTheParent() {
    func remark(_ kept: [Attribute]) -> String? {
      let difference = Self.difference { model in
        model.entities["Item"] = nil
        model.entities["Note"]?.superentityName = nil
        model.entities["Note"]?.attributes += kept
      }
      return difference.changes(of: "Note").first { $0.trait == .parent }?.remark
    }
    #expect(
      remark([])
        == "A migration drops what it inherited: `created`, `ident`, `link`, `pinned`, `ratio`.")
    // An attribute that the entity now declares itself is kept, also under another name.
    var kept = Fixture.model.entities["Item"]?.attributes ?? []
    #expect(remark(kept) == nil)
    for place in kept.indices {
      kept[place].renamingIdentifier = kept[place].name
      kept[place].name += "New"
    }
    #expect(remark(kept) == nil)
  }

  /// The reasons beyond the third are counted, in words that fit what stands before them.
  @Test func manyReasonsAreCounted() {
    let difference = Self.difference { model in
      for index in 0..<5 {
        model.entities["Note"]?.attributes.append(Attribute(name: "new\(index)", type: .date))
      }
    }
    #expect(difference.outcome.hasSuffix(" (and 2 more reasons)."), "\(difference.outcome)")
  }
}
