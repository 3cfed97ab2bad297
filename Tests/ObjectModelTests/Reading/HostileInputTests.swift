import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Damaged input of every kind ends in a value or in an error, never in a trap or a hang.
struct HostileInputTests {
  static let seed = Rounds.chosenSeed ?? UInt64.random(in: 1...UInt64.max)

  /// How many damaged inputs of each kind; more by LIFEBOAT_ROUNDS, and in the long rounds.
  static let rounds = Rounds.count(60, whenLong: 3)

  /// xorshift64*: the same damage for the same seed everywhere.
  struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state ^= state >> 12
      state ^= state << 25
      state ^= state >> 27
      return state &* 2_685_821_657_736_338_717
    }
  }

  /// Whatever comes out is used, so that a value that traps later is found too.
  static func exercise(_ bytes: [UInt8]) {
    if let model = try? ManagedObjectModel(archive: bytes) { use(model) }
    var known = KnownEntities()
    if let model = try? ModelFile.model(bytes, knowing: &known).model { use(model) }
    if let list = try? PropertyList(bytes: bytes) {
      _ = list.binaryBytes()
      _ = try? VersionInfo(list)
      if let archive = try? KeyedArchive(list) { _ = archive.decoded(archive.root) }
    }
  }

  static func use(_ model: ManagedObjectModel) {
    _ = model.versionHashes()
    _ = model.versionHashes(honouringTombstones: true)
    _ = model.validate()
    _ = try? ManagedObjectModel(archive: model.archive(form: .modelCache).bytes)
    _ = ModelDifference(from: model, to: Fixture.model).changes.map(\.sentence)
    for name in model.entityNames.prefix(20) {
      _ = model.allAttributes(of: name)
    }
  }

  static let inputs: [(name: String, bytes: [UInt8])] = [
    ("compiled", Fixture.model.archive(form: .compiled).bytes),
    ("cache", Fixture.model.archive(form: .modelCache).bytes),
    ("contents", Array(Fixture.contents.utf8)),
    ("plist", PropertyListTests.sample.binaryBytes()),
  ]

  @Test(arguments: 0..<4)
  func truncation(_ index: Int) {
    let bytes = Self.inputs[index].bytes
    let step = max(1, bytes.count / 250)
    for length in stride(from: 0, to: bytes.count, by: step) {
      Self.exercise(Array(bytes.prefix(length)))
    }
  }

  @Test(arguments: 0..<4)
  func mutation(_ index: Int) {
    let (name, bytes) = Self.inputs[index]
    print("mutating \(name) with LIFEBOAT_SEED=\(Self.seed)")
    var generator = Generator(state: Self.seed &+ UInt64(index))
    for _ in 0..<Self.rounds {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        let place = Int.random(in: 0..<damaged.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: damaged[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 2: damaged.remove(at: place)
        default:
          let other = Int.random(in: 0..<damaged.count, using: &generator)
          damaged.swapAt(place, other)
        }
        if damaged.isEmpty { break }
      }
      Self.exercise(damaged)
    }
  }

  /// Archives whose references are exchanged at random: well-formed lists, mad graphs.
  @Test func exchangedReferences() throws {
    print("exchanging references with LIFEBOAT_SEED=\(Self.seed)")
    var generator = Generator(state: Self.seed)
    let list = try PropertyList(binary: Fixture.model.archive(form: .modelCache).bytes)
    let objects = try #require(list["$objects"]?.elements)
    for _ in 0..<Self.rounds {
      var mad = objects
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        let place = Int.random(in: 1..<mad.count, using: &generator)
        guard case .dictionary(var fields) = mad[place] else { continue }
        let target = PropertyList.uid(UInt64.random(in: 0...UInt64(mad.count), using: &generator))
        let key = fields.keys.sorted().randomElement(using: &generator) ?? ""
        if case .array(let values)? = fields[key] {
          fields[key] = .array(values.map { _ in target })
        } else {
          fields[key] = target
        }
        mad[place] = .dictionary(fields)
      }
      var damaged = list.entries ?? [:]
      damaged["$objects"] = .array(mad)
      Self.exercise(PropertyList.dictionary(damaged).binaryBytes())
    }
  }

  /// A small archive in which 3,000 entities share one table of 3,000 properties.
  @Test func sharedTablesEnd() {
    var builder = KeyedArchiveBuilder()
    let root = builder.reserve()
    var properties: [(String, PropertyList)] = []
    for index in 0..<3_000 {
      let name = builder.string("p\(index)")
      properties.append(
        (
          "p\(index)",
          builder.add(
            ["NSAttributeDescription"], ["NSPropertyName": name, "NSAttributeType": .integer(700)])
        ))
    }
    let table = builder.dictionary(properties)
    var entities: [(String, PropertyList)] = []
    for index in 0..<3_000 {
      let name = builder.string("E\(index)")
      entities.append(
        (
          "E\(index)",
          builder.add(
            ["NSEntityDescription"], ["NSEntityName": name, "NSProperties": table])
        ))
    }
    let entitiesTable = builder.dictionary(entities)
    builder.fill(root, ["NSManagedObjectModel"], ["NSEntities": entitiesTable])
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(archive: builder.bytes(root: root))
    }
    #expect(error?.code == .tooLarge)
  }

  /// Small archives whose shared parts describe billions of elements, predicates and values.
  @Test func sharedPartsEnd() throws {
    let classes = ["NSAttributeDescription", "NSPropertyDescription", "NSObject"]
    func attribute(_ builder: inout KeyedArchiveBuilder, _ fields: [String: PropertyList])
      -> PropertyList
    {
      var fields = fields
      fields["NSPropertyName"] = builder.string("a")
      fields["NSAttributeType"] = fields["NSAttributeType"] ?? .integer(700)
      return builder.add(classes, fields)
    }
    var composites = KeyedArchiveBuilder()
    var nested = attribute(&composites, [:])
    for _ in 0..<8 {
      let elements = composites.array(Array(repeating: nested, count: 60))
      nested = attribute(
        &composites, ["NSAttributeType": .integer(2100), "NSCompositeElements": elements])
    }
    var validations = KeyedArchiveBuilder()
    let part = validations.add(["NSTruePredicate", "NSPredicate", "NSObject"], [:])
    let compound = validations.add(
      ["NSCompoundPredicate", "NSPredicate", "NSObject"],
      [
        "NSCompoundPredicateType": .integer(1),
        "NSSubpredicates": validations.array(Array(repeating: part, count: 9_000)),
      ])
    let rules = validations.array(Array(repeating: compound, count: 1_000))
    let ruled = attribute(&validations, ["NSValidationPredicates": rules])
    var defaults = KeyedArchiveBuilder()
    let inner = defaults.add(
      ["App.X", "NSObject"], ["list": .array(Array(repeating: .integer(1), count: 500))])
    let outer = defaults.add(
      ["App.Y", "NSObject"], ["list": .array(Array(repeating: inner, count: 30))])
    let information = defaults.dictionary((0..<1_000).map { ("k\($0)", outer) })
    let informed = attribute(&defaults, ["NSUserInfo": information])
    for (builder, property) in [(composites, nested), (validations, ruled), (defaults, informed)] {
      var builder = builder
      let entity = builder.add(
        ["NSEntityDescription", "NSObject"],
        [
          "NSEntityName": builder.string("E"),
          "NSProperties": builder.dictionary([("a", property)]),
        ])
      let root = builder.add(
        ["NSManagedObjectModel", "NSObject"], ["NSEntities": builder.dictionary([("E", entity)])])
      let bytes = builder.bytes(root: root)
      #expect(bytes.count < 200_000)
      var reader = ArchiveModelReader(archive: try KeyedArchive(bytes: bytes))
      let error = #expect(throws: ModelError.self) { try reader.model() }
      #expect(error?.code == .tooLarge)
      // The part that goes over the limit is made, and none after it.
      #expect(reader.work <= ArchiveModelReader.maximumWork + 1_000_000)
    }
  }

  /// Makes a compiled model of one entity from a table of its properties.
  private static func archive(
    _ builder: inout KeyedArchiveBuilder, _ properties: PropertyList
  ) -> [UInt8] {
    let name = builder.string("E")
    let entity = builder.add(
      ["NSEntityDescription"], ["NSEntityName": name, "NSProperties": properties])
    let entities = builder.dictionary([("E", entity)])
    let root = builder.add(["NSManagedObjectModel"], ["NSEntities": entities])
    return builder.bytes(root: root)
  }

  /// A table whose thousands of entries share one key of a megabyte, which is copied when it is read.
  @Test func sharedKeysEnd() throws {
    var builder = KeyedArchiveBuilder()
    let key = builder.add(
      ["NSString", "NSObject"], ["NS.bytes": .data([UInt8](repeating: 0x78, count: 1 << 20))])
    let keys = PropertyList.array(Array(repeating: key, count: 20_000))
    let table = builder.add(
      ["NSDictionary", "NSObject"], ["NS.keys": keys, "NS.objects": keys])
    let bytes = Self.archive(&builder, table)
    var reader = ArchiveModelReader(archive: try KeyedArchive(bytes: bytes))
    let error = #expect(throws: ModelError.self) { try reader.model() }
    #expect(error?.code == .tooLarge)
    #expect(reader.work <= ArchiveModelReader.maximumWork + 1_000_000)
    var mapping = KeyedArchiveBuilder()
    let long = mapping.add(
      ["NSString", "NSObject"], ["NS.bytes": .data([UInt8](repeating: 0x78, count: 1 << 20))])
    let names = PropertyList.array(Array(repeating: long, count: 20_000))
    let byName = mapping.add(
      ["NSDictionary", "NSObject"], ["NS.keys": names, "NS.objects": names])
    let root = mapping.add(["NSMappingModel", "NSObject"], ["NSEntityMappingsByName": byName])
    let refused = #expect(throws: ModelError.self) {
      try MappingModel(archive: mapping.bytes(root: root))
    }
    #expect(refused?.code == .tooLarge)
  }

  /// A class with a hundred thousand ancestors, which 20,000 properties share. The time limit only stops a hang.
  @Test(.timeLimit(.minutes(1))) func sharedClassNamesEnd() throws {
    var builder = KeyedArchiveBuilder()
    let classNames =
      ["Mine"] + Array(repeating: "Other", count: 100_000) + ["NSAttributeDescription"]
    var properties: [(String, PropertyList)] = []
    for index in 0..<20_000 {
      let name = builder.string("p\(index)")
      properties.append(
        (
          "p\(index)",
          builder.add(classNames, ["NSPropertyName": name, "NSAttributeType": .integer(700)])
        ))
    }
    let table = builder.dictionary(properties)
    let bytes = Self.archive(&builder, table)
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(archive: bytes) }
    #expect(error?.code == .malformed)
  }

  /// Long lists in one model: names in a tombstone entry, and relationships whose inverses all change. The time limit
  /// only stops a hang.
  @Test(.timeLimit(.minutes(1))) func longListsEnd() {
    var tombs = Entity(
      name: "A", attributes: (0..<30_000).map { Attribute(name: "a\($0)", type: .string) })
    tombs.userInfo[ManagedObjectModel.tombstoneKey] = .string(
      (0..<30_000).map { "b\($0)" }.joined(separator: ","))
    let model = ManagedObjectModel(entities: [tombs])
    #expect(model.versionHashes(honouringTombstones: true) == model.versionHashes())
    func linked(_ shift: Int) -> ManagedObjectModel {
      let count = 8_000
      return ManagedObjectModel(
        entities: [("A", "B"), ("B", "A")].map { name, other in
          Entity(
            name: name,
            relationships: (0..<count).map {
              Relationship(
                name: "r\($0)", destinationEntityName: other,
                inverseName: "r\(($0 + shift) % count)")
            })
        })
    }
    let difference = ModelDifference(from: linked(0), to: linked(1))
    #expect(difference.changes.count == 16_000)
  }

  /// The reason why an entity is unknown is told of all descendants, and does not grow with each of them.
  @Test func doubtsDoNotGrow() throws {
    var entities = [Entity(name: "E0", superentityName: "Gone")]
    for index in 1..<100 {
      entities.append(Entity(name: "E\(index)", superentityName: "E\(index - 1)"))
    }
    let unknown = ManagedObjectModel(entities: entities).versionHashes().unknown
    #expect(unknown["E0"] == "its parent Gone is not in the model")
    for index in 1..<100 {
      #expect(
        unknown["E\(index)"]
          == "its ancestor E0 has no known hash: its parent Gone is not in the model")
    }
  }

  /// Sources that are bigger than any real one in one respect.
  @Test func oversizedSources() {
    let parts = String(repeating: "<a/>", count: ManagedObjectModel.maximumPartCount)
    var attributes = ""
    for index in 0...HardenedXML.maximumAttributeCount { attributes += " a\(index)=\"\"" }
    let brackets = String(repeating: "(", count: 30_000)
    var templates = ""
    for index in 0..<75 {
      templates += "<fetchRequest name=\"\(index)\" predicateString=\"\(brackets)\"/>"
    }
    for xml in [
      "<model>\(parts)</model>", "<model\(attributes)/>", "<model>\(templates)</model>",
    ] {
      let error = #expect(throws: ModelError.self) {
        try ManagedObjectModel(contentsXML: Array(xml.utf8))
      }
      #expect(error?.code == .tooLarge)
    }
  }

  /// An expression that names itself, and one that shares its parts without end.
  @Test func endlessExpressionsEnd() {
    var builder = KeyedArchiveBuilder()
    let root = builder.reserve()
    let loop = builder.reserve()
    builder.fill(
      loop, ["NSFunctionExpression"],
      ["NSSelectorName": builder.string("f:"), "NSArguments": .array([loop, loop])])
    let archive = try? KeyedArchive(bytes: builder.bytes(root: root))
    let text = archive.flatMap { ObjectModel.ModelExpression(archived: loop, in: $0)?.text }
    #expect((text?.utf8.count ?? 0) < 200_000)
    let array = builder.reserve()
    builder.fill(array, ["NSArray"], ["NS.objects": .array([array, array])])
    if let archive = try? KeyedArchive(bytes: builder.bytes(root: array)) {
      _ = archive.decoded(archive.root)
    }
  }

  /// The time limit only stops a hang.
  @Test func aThousandEntitiesAreHashed() {
    let entities = (0..<1_000).map { index in
      Entity(
        name: "Entity\(index)", superentityName: index % 10 == 0 ? nil : "Entity\(index / 10 * 10)",
        attributes: (0..<20).map { Attribute(name: "attribute\(index % 10)\($0)", type: .string) },
        relationships: [
          Relationship(name: "other\(index)", destinationEntityName: "Entity\(index)")
        ])
    }
    let model = ManagedObjectModel(entities: entities)
    #expect(model.versionHashes().hashes.count == 1_000)
  }
}
