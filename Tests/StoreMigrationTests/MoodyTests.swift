import CoreDataStore
import Fixtures
import Foundation
import ManagedObjects
import ModelTools
import ObjectModel
import SQLiteFile
import StoreExtraction
import StoreFiles
import StoreMigration
import Testing

/// The migrations of a real app over six versions, with its mapping models, and its policy written again in Swift. The
/// stores of versions 1 to 3 were written by Core Data; what versions 5 and 6 must hold are the facts of the app's own
/// tests.
@Suite(.enabled(if: Shared.isThere)) struct MoodyTests {
  /// Makes a continent of each code that countries have, as the app does.
  private final class CountryPolicy: MigrationPolicy {
    func createDestinationInstances(
      for source: ManagedObject, in mapping: PolicyMapping, with manager: MigrationManager
    ) throws {
      try manager.createDestinationInstance(for: source, in: mapping)
      let code = try source.value(forKey: "isoContinent")
      let made = try manager.destinationInstances(
        forEntityMappingNamed: mapping.name, sourceInstances: [source])
      guard code != .null, let country = made.first else { return }
      let there = try manager.destination.objects(
        ofEntity: "Continent", where: "numericISO3166Code", is: code)
      let continent: ManagedObject
      if let found = there.first {
        continent = found
      } else {
        continent = try manager.destination.insertObject(ofEntity: "Continent")
        try continent.setValue(code, forKey: "numericISO3166Code")
      }
      try country.setObject(continent, forKey: "continent")
    }
  }

  private static let folder = "stores/real/objcio-core-data/Migrations"

  private static func path(_ part: String) throws -> String {
    try #require(Shared.folder).appendingPathComponent(folder + "/" + part).path
  }

  private static func model(_ version: Int) throws -> ManagedObjectModel {
    let all = try ModelCollection(searching: path("Migrations/Moody.xcdatamodeld"))
    let name = version == 1 ? "Moody" : "Moody \(version)"
    return try #require(all.versions.first { $0.name == name }?.model)
  }

  /// The step from a version to the next. The mapping models of versions 4 and 5 are not among the app's files; what
  /// they say is in its tests.
  private static func step(_ version: Int) throws -> MigrationStep {
    let (from, to) = try (model(version), model(version + 1))
    var mapping = try MappingModel.inferred(from: from, to: to)
    switch version {
    case 2, 3:
      let set = try MappingModelSet(
        at: path("Migrations/Moody \(version)-Moody \(version + 1).xcmappingmodel"))
      mapping = try #require(set.items.first?.compiled)
    case 4, 5:
      let place = try #require(
        mapping.entityMappings.firstIndex { $0.destinationEntityName == "Country" })
      if version == 5 {
        mapping.entityMappings[place].migrationPolicyClassName =
          "Migrations.Country5ToCountry6Policy"
      } else {
        let code = try #require(
          mapping.entityMappings[place].attributeMappings.firstIndex { $0.name == "isoContinent" })
        mapping.entityMappings[place].attributeMappings[code].valueExpression =
          try ModelExpression(parsing: "$source.continent.numericISO3166Code")
      }
    default: break
    }
    return MigrationStep(
      from: from, named: "Moody \(version)", to: to, named: "Moody \(version + 1)",
      mapping: mapping, isInferred: version == 1)
  }

  private static var migration: Migration {
    var migration = Migration()
    migration.register("Country5ToCountry6Policy") { CountryPolicy() }
    return migration
  }

  /// The objects, each by what a user knows it by: references by codes and identifiers, to-many sets without keys.
  private static func facts(_ path: String) throws -> Set<String> {
    let rows = try NamedRow.all(of: path)
    func name(_ key: Int64, _ entities: [String]) -> String {
      let row = rows.first { $0.key == key && entities.contains($0.entity) }
      return row?.values["numericISO3166Code"].map { "\($0)" } ?? "?"
    }
    return Set(
      rows.map { row in
        let values = row.values.sorted { $0.key < $1.key }.compactMap { key, value -> String? in
          switch value {
          case .toOne(let reference):
            "\(key)=\(name(reference.primaryKey, [reference.entityName ?? ""]))"
          case .toMany: nil
          default: "\(key)=\(value)"
          }
        }
        return row.entity + " " + values.joined(separator: " ")
      })
  }

  /// Versions 2 and 3 are those that Core Data made of the same objects.
  @Test(arguments: [1, 2], [false, true]) func asCoreDataMadeThem(_ version: Int, _ isDamaged: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    let name = version == 1 ? "Moody" : "Moody \(version)"
    let path = try Self.path("MigrationsTests/\(name).moody")
    let output = folder.url.appendingPathComponent("New.moody").path
    let report = try Migration().run(
      isDamaged
        ? .damaged(try DamagedStore(path: path), deleted: false)
        : .sound(try CoreDataStore(path: path)), [Self.step(version)], to: output)
    #expect(report.rejectedCount == 0 && report.cutCount == 0)
    #expect(
      try Self.facts(output)
        == Self.facts(Self.path("MigrationsTests/Moody \(version + 1).moody")))
  }

  /// From the oldest version to the newest, through the policy.
  @Test(arguments: [1, 2, 3, 5], [false, true]) func toTheNewest(_ first: Int, _ isDamaged: Bool)
    throws
  {
    let folder = try TemporaryFolder()
    // A store of version 5 is made on the way, so that the policy's step is also the first.
    var start = try Self.path(
      "MigrationsTests/Moody\(first == 1 || first == 5 ? "" : " \(first)").moody")
    if first == 5 {
      let middle = folder.url.appendingPathComponent("Middle.moody").path
      _ = try Migration().run(
        .sound(try CoreDataStore(path: start)), (1...4).map { try Self.step($0) }, to: middle)
      start = middle
    }
    let output = folder.url.appendingPathComponent("New.moody").path
    let report = try Self.migration.run(
      isDamaged
        ? .damaged(try DamagedStore(path: start), deleted: false)
        : .sound(try CoreDataStore(path: start)), (first...5).map { try Self.step($0) }, to: output)
    #expect(report.rejectedCount == 0 && report.cutCount == 0)
    #expect(
      report.steps.last?.notes == [
        "mapping IEM_Transform_Country was carried out by the class Migrations.Country5ToCountry6Policy of the app",
        "policies made 2 objects of Continent",
      ])
    let rows = try NamedRow.all(of: output)
    func values(_ entity: String, _ name: String) -> Set<PropertyValue> {
      Set(rows.filter { $0.entity == entity }.compactMap { $0.values[name] })
    }
    // As the app's own test of version 6 lists them.
    #expect(rows.count == 9)
    #expect(
      values("Continent", "numericISO3166Code") == [.integer(10004), .integer(10005)])
    #expect(
      values("Country", "numericISO3166Code") == [.integer(710), .integer(704), .integer(231)])
    #expect(
      values("Mood", "remoteID")
        == Set(
          [
            "64C6E1D4-7C2E-4F04-B867-1A9E2941F9FF", "47300BAD-DE7D-4B54-B94C-04A3EE4CD0C5",
            "83922344-ED0B-4ABE-B8B0-E00F4E7E1D94", "3A9BAEFD-7716-41C0-9FFF-A7C4BCE32679",
          ].map { .string(.init($0)) }))
    let facts = try Self.facts(output)
    for (country, continent, updated) in [
      (710, 10004, 464687061.782827), (704, 10005, 464687061.722586),
      (231, 10004, 464687061.668211),
    ] {
      #expect(
        facts.contains { fact in
          fact.hasPrefix("Country ")
            && fact.contains("continent=\(PropertyValue.integer(Int64(continent)))")
            && fact.contains("numericISO3166Code=\(PropertyValue.integer(Int64(country)))")
            && fact.contains("\(updated)".dropLast(2))
        }, "\(facts)")
    }
    for (mood, country) in [
      ("64C6E1D4", 704), ("47300BAD", 710), ("83922344", 231), ("3A9BAEFD", 710),
    ] {
      let bytes = "\(Array(mood.utf8))".dropLast()
      #expect(
        facts.contains {
          $0.hasPrefix("Mood ") && $0.contains(bytes)
            && $0.contains("country=\(PropertyValue.integer(Int64(country)))")
        }, "\(mood)")
    }
    let target = try Self.model(6)
    let made = try CoreDataStore(path: output)
    #expect(target.versionHashes().matches(made.metadata?.versionHashes ?? [:]))
    let connection = try SQLiteConnection(URL(fileURLWithPath: output))
    #expect(try connection.integrityCheck() == ["ok"])
    connection.close()
  }

  /// What a program calls: the shortest way along the app's own models and mapping models.
  @Test(arguments: [false, true]) func alongTheModels(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let output = folder.url.appendingPathComponent("New.moody").path
    let report = try Migration().run(
      storeAt: Self.path("MigrationsTests/Moody 2.moody"),
      alongModelsAt: Self.path("Migrations/Moody.xcdatamodeld"), toVersion: "Moody 3",
      output: output, salvages: isDamaged)
    #expect(report.steps.map(\.way) == ["mapped"])
    #expect(try Self.facts(output) == Self.facts(Self.path("MigrationsTests/Moody 3.moody")))
    let error = #expect(throws: MigrationError.self) {
      _ = try Migration().run(
        storeAt: Self.path("MigrationsTests/Moody 2.moody"),
        alongModelsAt: Self.path("Migrations/Moody.xcdatamodeld"), toVersion: "Moody 7",
        output: output + "2")
    }
    #expect(error?.code == .noWay)
  }

  /// Without the app's code nothing is written.
  @Test func withoutThePolicy() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try Migration().run(
        .sound(try CoreDataStore(path: Self.path("MigrationsTests/Moody 3.moody"))),
        (3...5).map { try Self.step($0) }, to: folder.url.appendingPathComponent("New").path)
    }
    #expect(error?.code == .missingPolicy)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
  }
}
