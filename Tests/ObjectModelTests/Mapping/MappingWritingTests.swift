import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

struct MappingWritingTests {
  @Test(.enabled(if: Shared.isThere)) func everyCompiledFileComesBack() throws {
    guard let files = try RealMappings.compiled() else { return }
    for file in files {
      let (bytes, losses) = file.mapping.archive()
      #expect(losses == [])
      #expect(try MappingModel(archive: bytes) == file.mapping)
    }
  }

  /// Classes and keys of what is written are those of the real file.
  @Test(.enabled(if: Shared.isThere)) func theShapeIsThatOfTheRealFile() throws {
    guard let file = try RealMappings.compiled()?.first else { return }
    func shape(_ bytes: [UInt8]) throws -> [String: Set<String>] {
      let archive = try KeyedArchive(bytes: bytes)
      var shape: [String: Set<String>] = [:]
      for object in archive.objects {
        guard let className = archive.className(of: object) else { continue }
        shape[archive.classNames(of: object).joined(separator: ":"), default: []]
          .formUnion(object.entries?.keys.map { $0 } ?? [className])
      }
      return shape
    }
    #expect(try shape(file.mapping.archive().bytes) == shape(file.bytes))
  }

  @Test(.enabled(if: Shared.isThere)) func everySourceCanBeCompiled() throws {
    guard let files = try RealMappings.sources() else { return }
    for file in files {
      var compiled = file.mapping.compiled()
      let (bytes, losses) = compiled.archive()
      let sentences = losses.map(\.sentence)
      #expect(sentences.contains { $0.contains("does not contain models") })
      // Of the source form only the relationship that was picked is not needed any more.
      #expect(losses.allSatisfy { $0.entityName == nil }, "\(losses)")
      let read = try MappingModel(archive: bytes)
      #expect(read.isBound)
      compiled.sourceModel = nil
      compiled.destinationModel = nil
      compiled.sourceModelPath = nil
      compiled.destinationModelPath = nil
      compiled.others = [:]
      for index in compiled.entityMappings.indices {
        compiled.entityMappings[index].others = [:]
        for place in compiled.entityMappings[index].relationshipMappings.indices {
          var property = compiled.entityMappings[index].relationshipMappings[place]
          property = PropertyMapping(name: property.name, valueExpression: property.valueExpression)
          compiled.entityMappings[index].relationshipMappings[place] = property
        }
      }
      #expect(read == compiled)
    }
  }

  @Test func everythingOfAMappingComesBack() throws {
    let hash = try #require(VersionHash(bytes: [UInt8](repeating: 7, count: 32)))
    let mapping = MappingModel(
      entityMappings: [
        EntityMapping(
          name: "NoteToMemo", kind: .transform, sourceEntityName: "Note",
          destinationEntityName: "Memo", sourceEntityVersionHash: hash,
          destinationEntityVersionHash: hash,
          attributeMappings: [
            PropertyMapping(
              name: "size", valueExpression: .constant(.integer(3)), userInfo: ["a": .bool(true)],
              transforms: [.dictionary([.init(key: "k", value: .integer(1))])],
              others: ["NSBrandNew": .string("x")])
          ], relationshipMappings: [PropertyMapping(name: "folder")],
          sourceExpression: GeneratedExpression.allObjects(of: "Note"),
          migrationPolicyClassName: "App.Policy", userInfo: ["u": .array([.integer(1), "two"])],
          others: ["NSOther": .real(0.5)]),
        EntityMapping(
          name: "Gone", kind: .remove, sourceEntityName: "Gone", sourceEntityVersionHash: hash),
        EntityMapping(name: "Odd", kind: EntityMapping.Kind(rawValue: 9)),
      ], others: ["NSMore": .string("y")])
    let (bytes, losses) = mapping.archive()
    #expect(losses == [])
    #expect(try MappingModel(archive: bytes) == mapping)
  }

  @Test func whatHasNoArchivedFormIsSaid() {
    let mapping = MappingModel(
      entityMappings: [
        EntityMapping(
          name: "NoteToMemo", kind: .copy, sourceEntityName: "Note", destinationEntityName: "Memo",
          attributeMappings: [PropertyMapping(name: "size", valueExpression: .unparsed("§"))])
      ])
    let losses = mapping.archive().losses
    #expect(losses.contains { $0.entityName == "NoteToMemo" && $0.propertyName == "size" })
    #expect(losses.contains { $0.sentence.contains("version hash") })
  }

  /// A value that was too large to be read is not written as nil in silence.
  @Test func valuesThatWereNotReadAreLosses() {
    let unread = ArchivedValue.array([.opaque(className: "App.X")])
    let mapping = MappingModel(
      entityMappings: [
        EntityMapping(
          name: "NoteToMemo", kind: .copy, sourceEntityName: "Note", destinationEntityName: "Memo",
          attributeMappings: [
            PropertyMapping(
              name: "size", userInfo: ["a": unread], transforms: [unread],
              others: ["NSBrandNew": unread])
          ])
      ])
    let losses = mapping.archive().losses.filter { $0.propertyName == "size" }
    #expect(losses.count == 3, "\(losses)")
  }
}
