import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// The mapping models of public projects, read whole.
struct MappingReadingTests {
  @Test(.enabled(if: Shared.isThere)) func everySourceIsReadWhole() throws {
    guard let files = try RealMappings.sources() else { return }
    #expect(files.count == 12)
    var counts = (entities: 0, attributes: 0, relationships: 0, expressions: 0, policies: 0)
    for file in files {
      let mapping = file.mapping
      #expect(mapping.sourceModelPath != nil && mapping.destinationModelPath != nil)
      counts.entities += mapping.entityMappings.count
      for entity in mapping.entityMappings {
        counts.attributes += entity.attributeMappings.count
        counts.relationships += entity.relationshipMappings.count
        counts.policies += entity.migrationPolicyClassName == nil ? 0 : 1
        #expect(entity.kind == .undefined)
        #expect(Set(entity.others.keys) == ["autogenerateexpression", "mappingnumber"])
        for property in entity.attributeMappings + entity.relationshipMappings {
          guard let expression = property.valueExpression else { continue }
          counts.expressions += 1
          #expect(expression.isWhole, "\(file.path): \(property.name): \(expression)")
        }
      }
      // Two remains in one file; nothing else is left over.
      let isWithRemains = file.path.contains("Moody 2-Moody 3")
      #expect(
        Set(mapping.others.keys) == (isWithRemains ? [XMLMappingReader.unreachableName] : []))
    }
    // As counted by a script that knows nothing of this reader.
    #expect(counts.entities == 91)
    #expect(counts.attributes == 417)
    #expect(counts.relationships == 148)
    #expect(counts.expressions == 11)
    #expect(counts.policies == 11)
  }

  /// Every name in the files is known to the reader, or was kept among the others.
  @Test(.enabled(if: Shared.isThere)) func everyNameInTheSourcesIsAccountedFor() throws {
    guard let files = try RealMappings.sources() else { return }
    let known: [String: Set<String>] = [
      "XDDEVMAPPINGMODEL": [
        "sourcemodelpath", "sourcemodeldata", "destinationmodelpath", "destinationmodeldata",
        "entitymappings",
      ],
      "XDDEVENTITYMAPPING": [
        "autogenerateexpression", "destinationname", "mappingnumber", "mappingtypename",
        "migrationpolicyclassname", "sourcename", "attributemappings", "mappingmodel",
        "relationshipmappings",
      ],
      "XDDEVATTRIBUTEMAPPING": ["name", "valueexpressiondata", "entitymapping"],
      "XDDEVRELATIONSHIPMAPPING": [
        "autogenerateexpression", "name", "sourcekeypath", "sourcemappingname",
        "valueexpressiondata", "entitymapping",
      ],
    ]
    for file in files {
      // By lines, as Xcode writes them; not by this project's XML reader.
      var entity = ""
      for line in String(decoding: file.bytes, as: UTF8.self).components(separatedBy: "\n") {
        let words = line.split(separator: "\"", omittingEmptySubsequences: false)
        guard words.count > 1 else { continue }
        let name = String(words[1])
        switch words[0].drop(while: { $0 == " " || $0 == "\t" }) {
        case "<object type=":
          entity = name
          #expect(known[entity] != nil, "\(file.path): \(entity)")
        case "<attribute name=", "<relationship name=":
          #expect(known[entity]?.contains(name) == true, "\(file.path): \(entity).\(name)")
        default: break
        }
      }
      #expect(!entity.isEmpty)
    }
  }

  @Test(.enabled(if: Shared.isThere)) func embeddedModelsAreThoseBesideThem() throws {
    guard let files = try RealMappings.sources(),
      let root = SharedFiles.path("stores/real")
    else { return }
    let versions = try ModelCollection(searching: root).versions
    var count = 0
    for file in files {
      let project = file.path.dropFirst(root.count + 1).prefix { $0 != "/" }
      for (embedded, path) in [
        (file.mapping.sourceModel, file.mapping.sourceModelPath),
        (file.mapping.destinationModel, file.mapping.destinationModelPath),
      ] {
        let model = try #require(embedded)
        let end = try #require(path).split(separator: "/").suffix(2).joined(separator: "/")
        let name = ModelFile.baseName(end)
        let beside = try #require(
          versions.first { $0.path.hasSuffix("/" + end) && $0.path.contains(project) }?.model,
          "\(file.path): \(end)")
        let hashes = model.versionHashes()
        #expect(hashes.unknown == [:])
        #expect(hashes == beside.versionHashes(), "\(file.path): \(name)")
        // All else is the same too: what the hash does not take in. What only generated code
        // depends on is not in the editor's form.
        let changes = ModelDifference(from: model, to: beside).changes
          .filter { $0.field?.contains("generat") != true }
          .map { "\($0.kind.rawValue) \($0.entityName ?? "") \($0.name ?? $0.field ?? "")" }
        #expect(changes == Self.laterChanges[name] ?? [], "\(file.path): \(name)")
        #expect(model.validate() == [])
        count += 1
      }
      #expect(file.mapping.compiled().isBound)
    }
    #expect(count == 24)
  }

  /// What the sources got after the mapping models were made; nothing of it is hashed.
  static let laterChanges: [String: [String]] = {
    let moody = ["Continent", "Country", "Mood"].map { "entityChanged \($0) class" }
    let openEmu = [
      "Collection", "CollectionFolder", "Game", "Image", "ROM", "SaveState", "Screenshot",
      "SmartCollection", "System",
    ]
    return [
      "Moody 2": moody, "Moody 3": moody,
      "Moody 4": moody + ["modelChanged  version identifiers"],
      "OEDatabase 1.3": openEmu.map { "entityChanged \($0) class" },
      "SampleModel2": ["fetchIndexAdded Car byMakerAndNumberPlate"],
    ]
  }()

  @Test(.enabled(if: Shared.isThere)) func keysOfCompiledFilesAreAccountedFor() throws {
    guard let files = try RealMappings.compiled() else { return }
    #expect(files.count == 1)
    let known: [String: Set<String>] = [
      "NSMappingModel": ["NSEntityMappings", "NSEntityMappingsByName"],
      "NSEntityMapping": [
        "NSAttributeMappings", "NSDestinationEntityName", "NSDestinationEntityVersionHash",
        "NSEntityMigrationPolicyClassName", "NSMappingName", "NSMappingType",
        "NSRelationshipMappings", "NSSourceEntityName", "NSSourceEntityVersionHash",
        "NSSourceExpression", "NSUserInfo",
      ],
      "NSPropertyMapping": [
        "NSDestinationPropertyName", "NSPropertyTransforms", "NSUserInfo", "NSValueExpression",
      ],
      "NSFetchRequestExpression": [
        "NSCountOnlyFlag", "NSExpressionType", "NSFRExpression", "NSMOCExpression",
      ],
      "NSFunctionExpression": ["NSArguments", "NSExpressionType", "NSOperand", "NSSelectorName"],
      "NSKeyPathExpression": ["NSArguments", "NSExpressionType", "NSOperand", "NSSelectorName"],
      "NSKeyPathSpecifierExpression": ["NSExpressionType", "NSKeyPath"],
      "NSConstantValueExpression": ["NSConstantValue", "NSExpressionType"],
      "NSVariableExpression": ["NSExpressionType", "NSVariable"],
      "NSArray": ["NS.objects"], "NSMutableArray": ["NS.objects"],
      "NSMutableDictionary": ["NS.keys", "NS.objects"],
    ]
    for file in files {
      let archive = try KeyedArchive(bytes: file.bytes)
      for object in archive.objects {
        guard let className = archive.className(of: object), let entries = object.entries else {
          continue
        }
        for key in entries.keys where key != "$class" {
          #expect(known[className]?.contains(key) == true, "\(className).\(key)")
        }
      }
      for entity in file.mapping.entityMappings {
        #expect(entity.others == [:])
        #expect(entity.sourceExpression?.isWhole != false)
        for property in entity.attributeMappings + entity.relationshipMappings {
          #expect(property.others == [:])
          #expect(property.valueExpression?.isWhole != false)
        }
      }
      #expect(file.mapping.others == [:])
    }
  }

  @Test(.enabled(if: Shared.isThere)) func compiledHashesAreThoseOfItsModels() throws {
    guard
      let folder = SharedFiles.path(
        "stores/real/alemar11-CoreDataPlus/Tests/Resources/SampleModel"),
      let mapping = try RealMappings.compiled()?.first?.mapping
    else { return }
    let versions = try ModelCollection(searching: folder + "/Fixtures/SampleModel.momd").versions
    let source = try #require(versions.first { $0.name == "SampleModel2" })
    let destination = try #require(versions.first { $0.name == "SampleModel3" })
    let other = try #require(versions.first { $0.name == "SampleModel" })
    #expect(mapping.isBound)
    for entity in mapping.entityMappings {
      if let name = entity.sourceEntityName {
        #expect(entity.sourceEntityVersionHash == source.recorded?.hashes[name])
        #expect(entity.sourceEntityVersionHash == source.hashes?.hashes[name])
      }
      if let name = entity.destinationEntityName {
        #expect(entity.destinationEntityVersionHash == destination.recorded?.hashes[name])
        #expect(entity.destinationEntityVersionHash == destination.hashes?.hashes[name])
      }
    }
    let set = try MappingModelSet(at: folder)
    #expect(set.items.map(\.fileName) == ["V2toV3.cdm", "V2toV3.xcmappingmodel"])
    #expect(set.items(fittingFrom: source, to: destination).count == 2)
    #expect(set.items(fittingFrom: other, to: destination).isEmpty)
    #expect(set.items(fittingFrom: source, to: other).isEmpty)
    #expect(set.items(fittingFrom: destination, to: source).isEmpty)
    let left = mapping.agreement(with: HashedModel(other), on: .source)
    let right = mapping.agreement(with: HashedModel(destination), on: .destination)
    #expect(!left.mismatches.isEmpty)
    #expect(right.mismatches.isEmpty)
    #expect(left.agreeing + right.agreeing == 5)
  }

  /// The one mapping model that is there as source and compiled.
  @Test(.enabled(if: Shared.isThere)) func compilingTheSourceGivesTheCompiledForm() throws {
    guard let compiled = try RealMappings.compiled()?.first?.mapping,
      let source = try RealMappings.sources()?.first(where: { $0.path.contains("V2toV3") })
    else { return }
    var made = source.mapping.compiled()
    #expect(made.entityMappings.map(\.name) == compiled.entityMappings.map(\.name))
    for index in made.entityMappings.indices {
      made.entityMappings[index].others = [:]
      for place in made.entityMappings[index].relationshipMappings.indices {
        made.entityMappings[index].relationshipMappings[place].others = [:]
      }
      #expect(made.entityMappings[index] == compiled.entityMappings[index])
    }
  }

  /// Expressions whose trees are known from the editor.
  @Test(.enabled(if: Shared.isThere)) func expressionsAsTrees() throws {
    guard let files = try RealMappings.sources() else { return }
    func property(_ file: String, _ entity: String, _ name: String) throws -> PropertyMapping {
      let mapping = try #require(files.first { $0.path.contains(file) }).mapping.compiled()
      let part = try #require(mapping.entityMapping(named: entity))
      return try #require(
        (part.attributeMappings + part.relationshipMappings).first { $0.name == name })
    }
    #expect(
      try property("V2.FromV1", "CreatureToCreature", "numberOfFlippers").valueExpression
        == .keyPath("numberOfFlagella", of: .variable("source")))
    #expect(
      try property("V2.FromV1", "CreatureToCreature", "hasHead").valueExpression
        == .constant(.bool(true)))
    #expect(
      try property("V2toV3", "PersonToPerson", "previousCars").valueExpression
        == .function(
          target: .variable("manager"),
          selector: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
          arguments: [
            .constant(.string("cars")), .keyPath("cars", of: .variable("source")),
          ]))
    let moods = try property("Moody 2-Moody 3", "ContinentToContinent", "moods")
    #expect(moods.sourceKeyPath == "$source.countries.@distinctUnionOfSets.moods")
    #expect(
      moods.valueExpression
        == .function(
          target: .variable("manager"),
          selector: "destinationInstancesForEntityMappingNamed:sourceInstances:",
          arguments: [
            .constant(.string("MoodToMood")),
            .keyPath("countries.@distinctUnionOfSets.moods", of: .variable("source")),
          ]))
  }

  /// `$source` is the object itself, and no key.
  @Test func theKeyPathOfTheSourceItself() throws {
    func words(_ keyPath: String) throws -> String? {
      let model = ManagedObjectModel(entities: [
        Entity(
          name: "Note",
          relationships: [
            Relationship(name: "parts", destinationEntityName: "Note", isOptional: true)
          ])
      ])
      let mapping = MappingModel(
        entityMappings: [
          EntityMapping(
            name: "NoteToNote", kind: .undefined, sourceEntityName: "Note",
            destinationEntityName: "Note",
            relationshipMappings: [
              PropertyMapping(
                name: "parts", sourceKeyPath: keyPath, sourceMappingName: "NoteToPart",
                others: ["autogenerateexpression": .bool(true)])
            ], others: ["autogenerateexpression": .bool(true)])
        ], sourceModel: model, destinationModel: model)
      return mapping.compiled().entityMappings[0].relationshipMappings[0].valueExpression?.text
    }
    let call = "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
    #expect(try words("$source") == call + "\"NoteToPart\", $source)")
    #expect(try words("$source.parts") == call + "\"NoteToPart\", $source.parts)")
    #expect(try words("parts") == call + "\"NoteToPart\", $source.parts)")
    for name in ["MappingModel", "UnCloudNotesMappingModel_v2_to_v3"] {
      let place = "stores/found/models/source-keypath/\(name).xcmappingmodel"
      guard let path = SharedFiles.path(place) else { continue }
      let mapping = try #require(try MappingModelSet(at: path).items.first?.compiled)
      let properties = mapping.entityMappings.flatMap(\.relationshipMappings)
        .filter { $0.sourceKeyPath == "$source" }
      #expect(!properties.isEmpty)
      for property in properties {
        guard case .function(_, _, let arguments)? = property.valueExpression else {
          Issue.record("\(property)")
          continue
        }
        #expect(arguments.last == .variable("source"))
      }
    }
  }
}
