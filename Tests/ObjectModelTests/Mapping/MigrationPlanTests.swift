import Foundation
import Testing

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

  @Test(arguments: ways)
  func chainsOfRealProjects(_ way: Way) throws {
    guard let folder = SharedFiles.path("stores/real/" + way.project) else { return }
    let collection = try ModelCollection(at: folder)
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
  @Test func objectsOutweighProperties() throws {
    guard let folder = SharedFiles.path("stores/real/objcio-core-data") else { return }
    let all = try ModelCollection(at: folder).versions
    let six = try #require(
      all.first { $0.name == "Moody 6" && $0.path.contains("/Moody.xcdatamodeld/") })
    let bundle = String(six.path.dropLast(six.fileName.count + 1))
    let collection = try ModelCollection(at: bundle)
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

  @Test func backwardsIsSaid() {
    let collection = ModelCollection(versions: [Self.one, Self.two, Self.three])
    let plan = MigrationPlanner([collection]).plan(
      from: Self.three.knownHashes, model: nil, to: Self.two)
    #expect(plan.goesBack)
    #expect(Self.steps(plan) == ["~ Two"])
    #expect(plan.steps?.first?.losses == [MappingLoss(entityName: "Note", propertyName: "title")])
  }

  @Test func manyVersionsAreQuick() {
    let versions = (1...250).map { number in
      Self.version(
        "V \(number)",
        (0...number % 40).map { Attribute(name: "a\($0)", type: .string, isOptional: true) })
    }
    let collection = ModelCollection(versions: versions)
    let start = ContinuousClock().now
    let plan = MigrationPlanner([collection]).plan(
      from: versions[3].knownHashes, model: nil, to: versions[36])
    #expect(Self.steps(plan) == ["~ V 37"])
    #expect(ContinuousClock().now - start < .seconds(5))
  }
}
