import Fixtures
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Mappings inferred between versions.
struct InferredMappingTests {
  @Test(.enabled(if: Shared.isThere)) func everyPairOfNeighbours() throws {
    var inferred = 0
    var refused: [String] = []
    for family in try ModelFamilies.all() {
      for (one, other) in zip(family.versions, family.versions.dropFirst()) {
        for (old, new) in [(one, other), (other, one)] {
          guard let before = old.model, let after = new.model else { continue }
          do {
            let mapping = try MappingModel.inferred(from: before, to: after)
            check(mapping, before, after, "\(family.name): \(old.name) to \(new.name)")
            inferred += 1
          } catch {
            refused.append("\(family.name): \(old.name) to \(new.name)")
            #expect(!error.changes.isEmpty)
          }
        }
      }
    }
    print("\(inferred) mappings inferred; refused:", refused.sorted().joined(separator: "; "))
    #expect(inferred > refused.count)
  }

  /// Every entity is in it once, under the right kind, with the hashes of both sides; every property
  /// that is read exists.
  private func check(
    _ mapping: MappingModel, _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ place: String
  ) {
    let before = old.versionHashes().hashes
    let after = new.versionHashes().hashes
    let destinations = mapping.entityMappings.compactMap(\.destinationEntityName)
    #expect(destinations.sorted() == new.entities.keys.sorted(), "\(place)")
    let sources = mapping.entityMappings.compactMap(\.sourceEntityName)
    #expect(sources.sorted() == old.entities.keys.sorted(), "\(place)")
    for entity in mapping.entityMappings {
      let source = entity.sourceEntityName
      let destination = entity.destinationEntityName
      #expect(entity.sourceEntityVersionHash == source.flatMap { before[$0] })
      #expect(entity.destinationEntityVersionHash == destination.flatMap { after[$0] })
      switch entity.kind {
      case .add: #expect(source == nil && entity.name == "IEM_Add_\(destination ?? "")")
      case .remove: #expect(destination == nil && entity.name == "IEM_Remove_\(source ?? "")")
      case .copy:
        #expect(entity.sourceEntityVersionHash == entity.destinationEntityVersionHash)
        #expect(entity.name == "IEM_Copy_\(destination ?? "")")
      case .transform:
        #expect(entity.sourceEntityVersionHash != entity.destinationEntityVersionHash)
        #expect(entity.name == "IEM_Transform_\(destination ?? "")")
      default: Issue.record("\(place): \(entity.name) is \(entity.kind.name)")
      }
      guard let source, let destination else { continue }
      let attributes = new.allAttributes(of: destination).filter {
        !$0.isTransient && !$0.isDerived
      }
      #expect(entity.attributeMappings.map(\.name) == attributes.map(\.name), "\(place)")
      let known = Set(old.allAttributes(of: source).map(\.name))
      for property in entity.attributeMappings {
        guard let expression = property.valueExpression else { continue }
        guard case .keyPath(let name, of: .variable("source")) = expression else {
          Issue.record("\(expression)")
          continue
        }
        #expect(known.contains(name), "\(place): \(destination).\(property.name)")
      }
      #expect(
        entity.relationshipMappings.map(\.name)
          == new.allRelationships(of: destination).filter { !$0.isTransient }.map(\.name))
    }
  }

  @Test func expressions() throws {
    let old = ManagedObjectModel(entities: [
      Entity(
        name: "Note",
        attributes: [
          Attribute(name: "body", type: .string, isOptional: true),
          Attribute(name: "same", type: .string, isOptional: true),
        ],
        relationships: [
          Relationship(
            name: "owner", destinationEntityName: "Person", inverseName: "notes", isOptional: true),
          Relationship(name: "tags", destinationEntityName: "Tag", maxCount: 0, isOptional: true),
        ]),
      Entity(name: "Old"),
      Entity(
        name: "Person",
        relationships: [
          Relationship(
            name: "notes", destinationEntityName: "Note", inverseName: "owner", maxCount: 0,
            isOptional: true)
        ]),
      Entity(name: "Tag"), Entity(name: "RedTag", superentityName: "Tag"),
    ])
    var new = old
    new.entities["Old"] = nil
    new.entities["New"] = Entity(name: "New")
    new.entities["Note"]?.attributes = [
      Attribute(name: "added", type: .date, isOptional: true),
      Attribute(name: "same", type: .string, isOptional: true),
      Attribute(name: "text", type: .string, isOptional: true, renamingIdentifier: "body"),
    ]
    let mapping = try MappingModel.inferred(from: old, to: new)
    #expect(
      mapping.entityMappings.map(\.name) == [
        "IEM_Add_New", "IEM_Transform_Note", "IEM_Copy_Person", "IEM_Copy_RedTag", "IEM_Copy_Tag",
        "IEM_Remove_Old",
      ])
    let note = try #require(mapping.entityMapping(named: "IEM_Transform_Note"))
    #expect(
      note.attributeMappings.map { "\($0.name) = \($0.valueExpression?.text ?? "nil")" } == [
        "added = nil", "same = $source.same", "text = $source.body",
      ])
    #expect(
      note.relationshipMappings.map { $0.valueExpression?.text } == [
        "FUNCTION($manager, \"destinationInstancesForEntityMappingNamed:sourceInstances:\", "
          + "\"IEM_Copy_Person\", $source.owner)",
        "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", "
          + "\"tags\", $source.tags)",
      ])
    #expect(
      note.sourceExpression?.text
        == "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", "
        + "\"Note\", \"TRUEPREDICATE\"), $manager.sourceContext, NO)")
  }

  /// A guess is a guess: what has no renaming identifier is dropped and added.
  @Test func guessesAreNotUsed() throws {
    let old = ManagedObjectModel(entities: [
      Entity(name: "A", attributes: [Attribute(name: "x", type: .string, isOptional: true)])
    ])
    let new = ManagedObjectModel(entities: [
      Entity(name: "A", attributes: [Attribute(name: "y", type: .string, isOptional: true)])
    ])
    #expect(ModelDifference(from: old, to: new).guesses.count == 1)
    let mapping = try MappingModel.inferred(from: old, to: new)
    #expect(mapping.entityMappings.first?.attributeMappings.map(\.valueExpression) == [nil])
  }

  /// An attribute that moves in the hierarchy keeps its values.
  @Test func movedAttributes() throws {
    let old = ManagedObjectModel(entities: [
      Entity(name: "P"),
      Entity(
        name: "C", superentityName: "P",
        attributes: [Attribute(name: "x", type: .string, isOptional: true)]),
    ])
    var new = old
    new.entities["P"]?.attributes = old.entities["C"]?.attributes ?? []
    new.entities["C"]?.attributes = []
    let up = try MappingModel.inferred(from: old, to: new)
    #expect(
      up.entityMapping(named: "IEM_Transform_C")?.attributeMappings.first?.valueExpression?.text
        == "$source.x")
    let down = try MappingModel.inferred(from: new, to: old)
    #expect(
      down.entityMapping(named: "IEM_Transform_C")?.attributeMappings.first?.valueExpression?.text
        == "$source.x")
  }
}
