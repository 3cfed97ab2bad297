import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// The chains of steps of public projects that made mapping models, and of small models made here.
struct MigrationPlanTests {
  /// One way: versions and mapping models by name, `~` for an inferred step.
  struct Way: CustomTestStringConvertible {
    let project: String
    let from: String
    let to: String
    let steps: [String]

    var testDescription: String { "\(project): \(from) to \(to)" }
  }

  static let ways: [Way] = [
    Way(
      project: "wibosco-CoreDataMigrationRevised-Example", from: "CoreDataMigration_Example",
      to: "CoreDataMigration_Example 3",
      steps: [
        "~ CoreDataMigration_Example 2", "Migration2to3ModelMapping CoreDataMigration_Example 3",
      ]),
    Way(
      project: "wibosco-CoreDataMigrationRevised-Example", from: "CoreDataMigration_Example 4",
      to: "CoreDataMigration_Example 4", steps: []),
    Way(
      project: "objcio-core-data/Migrations", from: "Moody 2", to: "Moody 4",
      steps: ["Moody 2-Moody 3 Moody 3", "Moody 3-Moody 4 Moody 4"]),
    Way(
      project: "objcio-core-data/Migrations", from: "Moody", to: "Moody 6",
      steps: [
        "~ Moody 2", "Moody 2-Moody 3 Moody 3", "Moody 3-Moody 4 Moody 4", "~ Moody 6",
      ]),
    Way(
      project: "OpenEmu-OpenEmu", from: "OEDatabase", to: "OEDatabase 1.3",
      steps: [
        "1.0 Beta to 0.2 OEDatabase 0.2", "0.2 to 0.3 OEDatabase 0.3", "~ OEDatabase 0.5",
        "1.0 Beta 4 to 1.0 OEDatabase 1.0", "~ OEDatabase 1.1", "1.1 to 1.2 OEDatabase 1.2",
        "1.2 to 1.3 OEDatabase 1.3",
      ]),
    Way(
      project: "woocommerce-woocommerce-ios", from: "Model 9", to: "Model 10",
      steps: ["WooCommerceModelV9toV10 Model 10"]),
    Way(
      project: "woocommerce-woocommerce-ios", from: "Model 9", to: "Model 117",
      steps: ["WooCommerceModelV9toV10 Model 10", "~ Model 117"]),
    Way(
      project: "alemar11-CoreDataPlus/Tests/Resources/SampleModel", from: "SampleModel2",
      to: "SampleModel3", steps: ["V2toV3 SampleModel3"]),
  ]

  @Test(.enabled(if: Shared.isThere), arguments: ways)
  func chainsOfRealProjects(_ way: Way) throws {
    guard let folder = SharedFiles.path("stores/real/" + way.project) else { return }
    let collection = try ModelCollection(searching: folder)
    let mappings = try MappingModelSet(at: folder)
    let start = try #require(collection.versions.first { $0.name == way.from })
    let target = try #require(collection.versions.first { $0.name == way.to })
    let plan = MigrationPlanner([collection], mappings: mappings).plan(
      from: start.knownHashes, model: nil, to: target)
    #expect(plan.start.name == way.from)
    #expect(plan.target.name == way.to)
    #expect(!plan.goesBack)
    #expect(Self.steps(plan) == way.steps)
    #expect(plan.standings.allSatisfy { !$0.isOrphaned })
    #expect(plan.obstacle == nil)
  }

  /// Without mapping models, the way through Moody 5 drops all continents; the direct one keeps them.
  @Test(.enabled(if: Shared.isThere)) func objectsOutweighProperties() throws {
    guard let folder = SharedFiles.path("stores/real/objcio-core-data") else { return }
    let all = try ModelCollection(searching: folder).versions
    let six = try #require(
      all.first { $0.name == "Moody 6" && $0.path.contains("/Moody.xcdatamodeld/") })
    let bundle = String(six.path.dropLast(six.fileName.count + 1))
    let collection = try ModelCollection(searching: bundle)
    let start = try #require(collection.versions.first { $0.name == "Moody" })
    let plan = MigrationPlanner([collection]).plan(
      from: start.knownHashes, model: nil, to: six)
    #expect(Self.steps(plan) == ["~ Moody 6"])
    #expect(plan.steps?.first?.losses.allSatisfy { $0.propertyName != nil } == true)
  }

  /// The steps as ``Way`` writes them.
  static func steps(_ plan: MigrationPlan) -> [String]? {
    plan.steps?.map { step in
      switch step.way {
      case .mappings(let items): items.map(\.name).joined(separator: " + ") + " " + step.to.name
      case .inferred: "~ \(step.to.name)"
      case .uncertain: "? \(step.to.name)"
      }
    }
  }

  // MARK: Small models

  /// A model of one entity, whose hash follows from its attributes.
  static func version(
    _ name: String, _ attributes: [Attribute], isCurrent: Bool = false
  ) -> ModelCollection.Version {
    ModelCollection.Version(
      name: name, fileName: name + ".xcdatamodel", path: "/M.xcdatamodeld/\(name).xcdatamodel",
      model: ManagedObjectModel(entities: [Entity(name: "Note", attributes: attributes)]),
      isMarkedCurrent: isCurrent)
  }

  static let one = version("One", [Attribute(name: "size", type: .string, isOptional: true)])
  static let two = version("Two", [Attribute(name: "size", type: .integer16, isOptional: true)])
  static let three = version(
    "Three",
    [
      Attribute(name: "size", type: .integer16, isOptional: true),
      Attribute(name: "title", type: .string, isOptional: true),
    ])

  static func mapping(
    _ from: ModelCollection.Version, _ to: ModelCollection.Version
  ) -> MappingModelSet {
    let mapping = MappingModel(
      entityMappings: [
        EntityMapping(
          name: "NoteToNote", kind: .undefined, sourceEntityName: "Note",
          destinationEntityName: "Note", migrationPolicyClassName: "NotePolicy")
      ], sourceModel: from.model, destinationModel: to.model)
    return MappingModelSet([.init(path: "/A to B.xcmappingmodel", mapping: mapping)])
  }

  @Test func withoutAWayTheReasonIsTold() throws {
    let collection = ModelCollection(versions: [Self.one, Self.three, Self.two])
    let plan = MigrationPlanner([collection]).plan(
      from: Self.one.knownHashes, model: nil, to: Self.three)
    #expect(plan.steps == nil)
    let obstacle = try #require(plan.obstacle)
    #expect(obstacle.from.name == "One")
    #expect(obstacle.refusals.contains { $0.contains("size") })
    #expect(plan.direct.step == nil)
  }

  @Test func aMappingModelOpensTheWay() {
    let collection = ModelCollection(versions: [Self.one, Self.two, Self.three])
    let planner = MigrationPlanner([collection], mappings: Self.mapping(Self.one, Self.two))
    let plan = planner.plan(from: Self.one.knownHashes, model: nil, to: Self.three)
    #expect(Self.steps(plan) == ["A to B Two", "~ Three"])
  }

  @Test func aMappingModelWhoseHashesChangedIsOrphaned() throws {
    let before = Self.version("Old", [Attribute(name: "size", type: .string)])
    let collection = ModelCollection(versions: [Self.one, Self.two])
    let planner = MigrationPlanner([collection], mappings: Self.mapping(before, Self.two))
    let plan = planner.plan(from: Self.one.knownHashes, model: nil, to: Self.two)
    #expect(plan.steps == nil)
    let standing = try #require(plan.standings.first)
    #expect(standing.isOrphaned)
    #expect(standing.nearestSource == nil)
    #expect(standing.nearestDestination?.versionName == "Two")
  }

  @Test func aModelOnlyInTheStore() {
    let own = ManagedObjectModel(entities: [Entity(name: "Note")])
    let hashes = own.versionHashes().hashes
    let collection = ModelCollection(versions: [Self.one])
    let known = MigrationPlanner([collection]).plan(from: hashes, model: own, to: Self.one)
    #expect(Self.steps(known) == ["~ One"])
    #expect(known.start.versionNames == [])
    let unknown = MigrationPlanner([collection]).plan(from: hashes, model: nil, to: Self.one)
    #expect(unknown.steps == nil)
    #expect(unknown.obstacle?.refusals.count == 1)
  }

  /// Only where the names tell the order.
  @Test(arguments: [(["V", "V 2", "V 3"], true), (["One", "Two", "Three"], false)])
  func backwardsIsSaid(_ names: [String], _ isOrdered: Bool) throws {
    let versions = try zip(names, [Self.one, Self.two, Self.three]).map { name, version in
      Self.version(name, try #require(version.model?.entities["Note"]).attributes)
    }
    let plan = MigrationPlanner([ModelCollection(versions: versions)]).plan(
      from: versions[2].knownHashes, model: nil, to: versions[1])
    #expect(plan.goesBack == isOrdered)
    #expect(Self.steps(plan) == ["~ " + names[1]])
    #expect(plan.steps?.first?.losses == [MappingLoss(entityName: "Note", propertyName: "title")])
  }

  /// A copy carries what the new entity has under the same name, but only the relationships that are mapped if one is.
  @Test func whatACopyDropsIsALoss() {
    func model(_ attributes: [String], _ relationships: [String]) -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        Entity(
          name: "Note",
          attributes: attributes.map { Attribute(name: $0, type: .string, isOptional: true) },
          relationships: relationships.map {
            Relationship(name: $0, destinationEntityName: "Note", isOptional: true)
          })
      ])
    }
    let old = model(["size", "title"], ["next", "parent"])
    let copy = EntityMapping(
      name: "NoteToNote", kind: .copy, sourceEntityName: "Note", destinationEntityName: "Note")
    func lost(_ mapping: EntityMapping, to new: ManagedObjectModel?) -> [String?] {
      MappingModel(entityMappings: [mapping]).losses(of: old, to: new).map(\.propertyName)
    }
    #expect(lost(copy, to: old) == [])
    #expect(lost(copy, to: nil) == [])
    #expect(lost(copy, to: model(["title"], ["parent"])) == ["size", "next"])
    var partial = copy
    partial.relationshipMappings = [
      PropertyMapping(name: "next", valueExpression: .keyPath("next", of: .variable("source")))
    ]
    #expect(lost(partial, to: old) == ["parent"])
    #expect(lost(partial, to: nil) == ["parent"])
    partial.migrationPolicyClassName = "NotePolicy"
    #expect(lost(partial, to: old) == [])
  }

  /// Each pair of models is compared once at most, and far from all are.
  @Test func manyVersionsAreComparedRarely() {
    let versions = (1...250).map { number in
      Self.version(
        "V \(number)",
        (0...number % 40).map { Attribute(name: "a\($0)", type: .string, isOptional: true) })
    }
    let collection = ModelCollection(versions: versions)
    let plan = MigrationPlanner([collection]).plan(
      from: versions[3].knownHashes, model: nil, to: versions[36])
    #expect(Self.steps(plan) == ["~ V 37"])
    #expect(plan.comparisonCount < 40)
  }

  /// As many versions and mapping models as any app is known to have: half of the steps have a mapping
  /// model, and where `doubtful` is set, no step without one is certain.
  @Test(arguments: [false, true]) func aLongHistoryIsPlannedWithFewComparisons(_ doubtful: Bool) {
    let versions = (1...139).map { number in
      let inverse = doubtful ? "way\(number)" : "way"
      return ModelCollection.Version(
        name: "V \(number)", fileName: "V \(number).xcdatamodel",
        path: "/M.xcdatamodeld/V \(number).xcdatamodel",
        model: ManagedObjectModel(
          entities: (0..<20).map { entity in
            Entity(
              name: "E\(entity)",
              attributes: (0..<(5 + (number - entity + 20) / 20)).map {
                Attribute(name: "a\($0)", type: .string, isOptional: true)
              },
              relationships: [
                Relationship(
                  name: "next", destinationEntityName: "E\((entity + 1) % 20)",
                  inverseName: entity == 0 ? inverse : nil, isOptional: true)
              ])
          }))
    }
    let items = stride(from: 1, to: 129, by: 2).map { place in
      MappingModelSet.Item(
        path: "/\(place).xcmappingmodel",
        mapping: MappingModel(
          entityMappings: (0..<20).map {
            EntityMapping(
              name: "E\($0)ToE\($0)", kind: .undefined, sourceEntityName: "E\($0)",
              destinationEntityName: "E\($0)")
          }, sourceModel: versions[place].model, destinationModel: versions[place + 1].model))
    }
    #expect(items.count == 64)
    let plan = MigrationPlanner(
      [ModelCollection(versions: versions)], mappings: MappingModelSet(items)
    ).plan(from: versions[0].knownHashes, model: nil, to: versions[138])
    let steps = Self.steps(plan) ?? []
    let mapped = steps.count { !$0.utf8.starts(with: "~".utf8) && !$0.utf8.starts(with: "?".utf8) }
    // One doubt weighs less than one at each step that has no mapping model.
    #expect(mapped == (doubtful ? 0 : 64))
    #expect(!doubtful || steps == ["? V 139"])
    // Neighbours and the ways to the target may come after the free ones.
    #expect(plan.comparisonCount <= PlanSearch.maximumComparisons + 3 * 139)
    print("\(plan.comparisonCount) comparisons for \(steps.count) steps")
  }

  // MARK: Files on which a plan went wrong

  /// Their app migrates all of these by inference, over changed destinations and inverses.
  @Test(.enabled(if: Shared.isThere), arguments: ["1.3", "1.3.5", "1.4", "1.6", "2.0"])
  func aChangedDestinationIsNoEnd(_ version: String) throws {
    let place = "stores/found/models/destination-changed/ArtsyPartner.xcdatamodeld"
    guard let path = SharedFiles.path(place) else { return }
    let names = [
      "1.3": "ArtsyPartner 5", "1.3.5": "ArtsyPartner 5", "1.4": "ArtsyFolio v1.4",
      "1.6": "ArtsyFolio v1.5", "2.0": "ArtsyFolio v2.0",
    ]
    let collection = try ModelCollection(searching: path)
    let target = try #require(collection.current)
    let start = try #require(collection.versions.first { $0.name == names[version] })
    let plan = MigrationPlanner([collection]).plan(
      from: start.knownHashes, model: nil, to: target)
    #expect(Self.steps(plan) == ["? ArtsyFolio v2.7.0"])
    #expect(!plan.goesBack)
    #expect((plan.orderDoubt != nil) == version.hasPrefix("1.3"))
  }

  /// Both mapping models fit the step from 17 to 19 by the hashes they name, and one carries this pair.
  @Test(.enabled(if: Shared.isThere)) func theMappingModelOfExactlyThisPairComesFirst() throws {
    guard let folder = SharedFiles.path("stores/found/models/two-mappings") else { return }
    let collection = try ModelCollection(searching: folder)
    let mappings = try MappingModelSet(at: folder)
    func steps(_ from: String, _ to: String) throws -> [String]? {
      let start = try #require(collection.versions.first { $0.name == from })
      let target = try #require(collection.versions.first { $0.name == to })
      return Self.steps(
        MigrationPlanner([collection], mappings: mappings).plan(
          from: start.knownHashes, model: nil, to: target))
    }
    #expect(
      try steps("ObvMessenger 17", "ObvMessenger 19")
        == ["ObvMessengerMappingModel_v17_to_v19 ObvMessenger 19"])
    #expect(
      try steps("ObvMessenger 17", "ObvMessenger 18")
        == ["ObvMessengerMappingModel_v17_to_v18 ObvMessenger 18"])
  }

  /// The same of models made here: the other one comes first by its path.
  @Test func anExactPairGoesBeforeOneThatFits() throws {
    let note = [Attribute(name: "size", type: .string, isOptional: true)]
    let more = [Attribute(name: "size", type: .integer16, isOptional: true)]
    func version(_ name: String, _ attributes: [Attribute], _ others: [Entity])
      -> ModelCollection.Version
    {
      ModelCollection.Version(
        name: name, fileName: name, path: "/M.xcdatamodeld/" + name,
        model: ManagedObjectModel(entities: [Entity(name: "Note", attributes: attributes)] + others)
      )
    }
    let (one, two) = (version("1", note, []), version("2", more, []))
    let three = version("3", more, [Entity(name: "Tag")])
    let part = try #require(Self.mapping(one, two).items.first?.mapping)
    var whole = part
    whole.destinationModel = three.model
    whole.entityMappings.append(
      EntityMapping(name: "Tag", kind: .add, destinationEntityName: "Tag"))
    let set = MappingModelSet([
      .init(path: "/a.xcmappingmodel", mapping: part),
      .init(path: "/b.xcmappingmodel", mapping: whole),
    ])
    let planner = MigrationPlanner([ModelCollection(versions: [one, two, three])], mappings: set)
    func steps(_ target: ModelCollection.Version) -> [String]? {
      Self.steps(planner.plan(from: one.knownHashes, model: nil, to: target))
    }
    #expect(steps(three) == ["b 3"])
    #expect(steps(two) == ["a 2"])
  }

  /// As the project BookMigration has it: one mapping model for the users, one with classes for the rest.
  @Test func severalMappingModelsServeOneStep() throws {
    func version(_ name: String, _ type: AttributeType) -> ModelCollection.Version {
      ModelCollection.Version(
        name: name, fileName: name, path: "/M.xcdatamodeld/" + name,
        model: ManagedObjectModel(
          entities: ["Author", "Book", "User"].map {
            Entity(name: $0, attributes: [Attribute(name: "a", type: type, isOptional: true)])
          }))
    }
    func mapping(_ names: [String], policy: String?) -> MappingModel {
      MappingModel(
        entityMappings: names.map {
          EntityMapping(
            name: "\($0)To\($0)", kind: .undefined, sourceEntityName: $0,
            destinationEntityName: $0, attributeMappings: [PropertyMapping(name: "a")],
            migrationPolicyClassName: policy, others: ["autogenerateexpression": .bool(true)])
        }, sourceModel: version("1", .string).model, destinationModel: version("2", .date).model)
    }
    let (one, two) = (version("1", .string), version("2", .date))
    let rest = MappingModelSet.Item(
      path: "/1 to 2.cdm", mapping: mapping(["Author", "Book"], policy: "BookPolicy"))
    let users = MappingModelSet.Item(
      path: "/1 to 2 User.cdm", mapping: mapping(["User"], policy: nil))
    func plan(_ items: [MappingModelSet.Item]) -> MigrationPlan {
      MigrationPlanner(
        [ModelCollection(versions: [one, two])], mappings: MappingModelSet(items)
      ).plan(from: one.knownHashes, model: nil, to: two)
    }
    let both = plan([rest, users])
    #expect(Self.steps(both) == ["1 to 2 User + 1 to 2 2"])
    #expect(both.steps?.first?.losses == [])
    let alone = plan([rest])
    #expect(Self.steps(alone) == ["1 to 2 2"])
    #expect(alone.steps?.first?.losses == [MappingLoss(entityName: "User", propertyName: nil)])
  }

  /// Back by names, and the version marked as current is the earlier one: nobody knows the order, and the
  /// direct step goes before one that loses something on its way.
  @Test func noLossyWayBackGoesBeforeADirectStep() {
    func version(_ name: String, _ entity: Entity, isCurrent: Bool = false)
      -> ModelCollection.Version
    {
      ModelCollection.Version(
        name: name, fileName: name, path: "/M.xcdatamodeld/" + name,
        model: ManagedObjectModel(entities: [entity, Entity(name: "A"), Entity(name: "B")]),
        isMarkedCurrent: isCurrent)
    }
    func relationship(_ destination: String) -> Entity {
      Entity(
        name: "Note",
        relationships: [
          Relationship(name: "r", destinationEntityName: destination, isOptional: true)
        ])
    }
    for isMarked in [true, false] {
      let target = version("1", relationship("B"), isCurrent: isMarked)
      let between = version("2", Entity(name: "Note"))
      let start = version("3", relationship("A"))
      let plan = MigrationPlanner([ModelCollection(versions: [target, between, start])]).plan(
        from: start.knownHashes, model: nil, to: target)
      #expect(Self.steps(plan) == ["? 1"])
      #expect(plan.goesBack == !isMarked)
      #expect((plan.orderDoubt != nil) == isMarked)
    }
  }

  /// A relationship is not lost if its inverse is carried over: Core Data sets one with the other. The answer of the
  /// inference and that of its mapping are the same.
  @Test func aCarriedInverseCarriesTheRelationship() throws {
    func version(_ name: String, tags: Bool, notes: Bool, tag: Bool = true)
      -> ModelCollection.Version
    {
      func entity(_ name: String, _ relationship: String, _ inverse: String?, to other: String)
        -> Entity
      {
        Entity(
          name: name,
          relationships: [
            Relationship(
              name: relationship, destinationEntityName: other, inverseName: inverse,
              inverseEntityName: inverse == nil ? nil : other, maxCount: 0, isOptional: true)
          ])
      }
      let note = entity("Note", "tags", notes ? "notes" : nil, to: "Tag")
      // Only a subentity has objects, and inherits the relationship.
      var parent = entity("Tag", "notes", tags ? "tags" : nil, to: "Note")
      parent.isAbstract = true
      if !notes { parent.relationships = [] }
      let entities =
        [tags ? note : Entity(name: "Note")]
        + (tag ? [parent, Entity(name: "Word", superentityName: "Tag")] : [])
      return ModelCollection.Version(
        name: name, fileName: name, path: "/M.xcdatamodeld/" + name,
        model: ManagedObjectModel(entities: entities))
    }
    let old = version("1", tags: true, notes: true)
    let before = try #require(old.model)
    func losses(_ new: ModelCollection.Version) throws -> [MappingLoss]? {
      let after = try #require(new.model)
      let plan = MigrationPlanner([ModelCollection(versions: [old, new])]).plan(
        from: old.knownHashes, model: nil, to: new)
      let losses = plan.steps?.first?.losses
      let mapping = MappingInference(EntityPairing(old: before, new: after)).mappingModel()
      #expect(mapping.losses(of: before, to: after) == losses)
      return losses
    }
    #expect(try losses(version("2", tags: false, notes: true)) == [])
    #expect(try losses(version("2", tags: true, notes: false)) == [])
    let tags = MappingLoss(entityName: "Note", propertyName: "tags")
    #expect(
      try losses(version("2", tags: false, notes: false))
        == [tags, MappingLoss(entityName: "Word", propertyName: "notes")])
    #expect(
      try losses(version("2", tags: false, notes: false, tag: false))
        == [tags, MappingLoss(entityName: "Word", propertyName: nil)])
  }

  /// What is lost by inference is told without making the mapping, and is the same.
  @Test func lossesOfInferenceAreThoseOfItsMapping() throws {
    for family in try ModelFamilies.all() {
      for (one, other) in zip(family.versions, family.versions.dropFirst()) {
        guard let before = one.model, let after = other.model else { continue }
        let inference = MappingInference(EntityPairing(old: before, new: after))
        #expect(inference.losses() == inference.mappingModel().losses(of: before, to: after))
      }
    }
  }
}
