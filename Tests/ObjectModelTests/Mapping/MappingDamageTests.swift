import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Mapping models that are cut, wrong or hostile.
struct MappingDamageTests {
  private static func document(_ objects: String) -> [UInt8] {
    Array(
      """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
      <database><databaseInfo><version>134481920</version></databaseInfo>
      \(objects)</database>
      """.utf8)
  }

  private static func object(_ type: String, _ id: String, _ content: String = "") -> String {
    "<object type=\"XDDEV\(type)\" id=\"\(id)\">\(content)</object>\n"
  }

  private static func text(_ name: String, _ value: String, type: String = "string") -> String {
    "<attribute name=\"\(name)\" type=\"\(type)\">\(value)</attribute>"
  }

  private static func references(_ name: String, _ ids: String) -> String {
    "<relationship name=\"\(name)\" type=\"0/0\" destination=\"X\" idrefs=\"\(ids)\"/>"
  }

  private static func code(_ bytes: [UInt8]) -> ModelError.Code? {
    let error = #expect(throws: ModelError.self) { try MappingModel(xcmapping: bytes) }
    return error?.code
  }

  static let model = object("MAPPINGMODEL", "z1", references("entitymappings", "z2"))
  static let entity = object(
    "ENTITYMAPPING", "z2",
    text("sourcename", "Note") + text("destinationname", "Memo")
      + text("mappingtypename", "Transform") + text("brandnew", "7", type: "int16")
      + references("attributemappings", "z3"))
  static let attribute = object("ATTRIBUTEMAPPING", "z3", text("name", "size"))

  @Test func aWholeOneIsRead() throws {
    let mapping = try MappingModel(
      xcmapping: Self.document(Self.attribute + Self.entity + Self.model))
    let entity = try #require(mapping.entityMappings.first)
    #expect(entity.name == "NoteToMemo")
    #expect(entity.kind == .transform)
    #expect(entity.attributeMappings.map(\.name) == ["size"])
    #expect(entity.others == ["brandnew": .integer(7)])
    #expect(!mapping.isBound)
  }

  @Test func wrongReferences() {
    let (model, entity, attribute) = (Self.model, Self.entity, Self.attribute)
    // Nothing there; the wrong kind; twice; in a ring; two models; two objects of one id.
    #expect(Self.code(Self.document(model + entity)) == .malformed)
    #expect(Self.code(Self.document(entity + attribute)) == .notAMapping)
    let wrong = Self.object("MAPPINGMODEL", "z1", Self.references("entitymappings", "z3"))
    #expect(Self.code(Self.document(wrong + attribute)) == .malformed)
    let doubled = Self.object("MAPPINGMODEL", "z1", Self.references("entitymappings", "z2 z2"))
    #expect(Self.code(Self.document(doubled + entity + attribute)) == .malformed)
    let ring = Self.object("MAPPINGMODEL", "z1", Self.references("entitymappings", "z1"))
    #expect(Self.code(Self.document(ring)) == .malformed)
    let second = Self.object("MAPPINGMODEL", "z9")
    #expect(Self.code(Self.document(model + second + entity + attribute)) == .malformed)
    #expect(Self.code(Self.document(model + entity + attribute + attribute)) == .duplicateName)
    #expect(Self.code(Self.document("<object type=\"A\"></object>")) == .malformed)
  }

  @Test func wrongValues() {
    func mapping(_ content: String) -> [UInt8] {
      Self.document(
        Self.object("MAPPINGMODEL", "z1", content + Self.references("entitymappings", "")))
    }
    #expect(Self.code(mapping(Self.text("sourcemodeldata", "AAAA", type: "binary"))) == .malformed)
    #expect(Self.code(mapping(Self.text("sourcemodeldata", "A", type: "binary"))) == .malformed)
    #expect(Self.code(mapping(Self.text("x", "many", type: "int32"))) == .malformed)
    #expect(Self.code(mapping(Self.text("x", "1e", type: "double"))) == .malformed)
    #expect(Self.code(mapping(Self.text("x", "1") + Self.text("x", "2"))) == .malformed)
    let unnamed = Self.object("ATTRIBUTEMAPPING", "z3")
    #expect(Self.code(Self.document(Self.model + Self.entity + unnamed)) == .malformed)
    #expect(Self.code(Array("<model/>".utf8)) == .notAMapping)
    #expect(Self.code(Array("bplist00".utf8)) == .notAMapping)
    #expect(
      Self.code(Array("<!DOCTYPE a [<!ENTITY b 'c'>]><database/>".utf8)) == .unsafeXML)
  }

  @Test func aHugeListOfReferencesIsRefused() {
    let ids = String(repeating: "z2 ", count: XMLStore.maximumReferenceCount + 2)
    let model = Self.object("MAPPINGMODEL", "z1", Self.references("entitymappings", ids))
    #expect(Self.code(Self.document(model + Self.entity + Self.attribute)) == .tooLarge)
  }

  /// Small archives that share their parts, many of them.
  @Test func amplifiedArchivesAreRefused() throws {
    var builder = KeyedArchiveBuilder()
    var list = builder.array(Array(repeating: builder.string("x"), count: 30))
    for _ in 0..<3 { list = builder.array(Array(repeating: list, count: 30)) }
    let info = builder.dictionary([("loop", list)])
    let text = Data(builder.bytes(root: info)).base64EncodedString()
    var objects = ""
    var ids = ""
    for index in 0..<2_000 {
      ids += "a\(index) "
      objects += Self.object(
        "ATTRIBUTEMAPPING", "a\(index)",
        Self.text("name", "n") + Self.text("userinfodata", text, type: "binary"))
    }
    let entity = Self.object("ENTITYMAPPING", "z2", Self.references("attributemappings", ids))
    var reader = XMLMappingReader(
      store: try XMLStore(Self.document(Self.model + entity + objects)))
    let error = #expect(throws: ModelError.self) { try reader.mapping() }
    #expect(error?.code == .tooLarge)
    // One archive more than is allowed is looked at, and no second one.
    #expect(reader.work <= XMLMappingReader.maximumWork + PropertyList.maximumCount)
  }

  @Test func everyCutOfASourceIsAnError() throws {
    let bytes = Self.document(Self.attribute + Self.entity + Self.model)
    for length in 0..<bytes.count {
      #expect(throws: ModelError.self) { try MappingModel(xcmapping: Array(bytes[..<length])) }
    }
  }

  /// What lies in a cut real file is told; it is never a crash.
  @Test(.enabled(if: Shared.isThere)) func cutsAndFlipsOfRealFiles() throws {
    guard let source = try RealMappings.sources()?.first(where: { $0.path.contains("V1.FromV2") }),
      let compiled = try RealMappings.compiled()?.first
    else { return }
    for length in stride(from: 0, to: compiled.bytes.count, by: 97) {
      #expect(throws: ModelError.self) {
        try MappingModel(archive: Array(compiled.bytes[..<length]))
      }
    }
    var generator = SystemRandomNumberGenerator()
    let seed = UInt64.random(in: 0...UInt64.max, using: &generator)
    var random = seed
    print("seed \(seed)")
    for _ in 0..<400 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      var bytes = compiled.bytes
      bytes[Int(random >> 33) % bytes.count] = UInt8(truncatingIfNeeded: random >> 20)
      if let mapping = try? MappingModel(archive: bytes) { _ = mapping.archive() }
    }
    for _ in 0..<40 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      var bytes = source.bytes
      bytes[Int(random >> 33) % bytes.count] = UInt8(truncatingIfNeeded: random >> 20)
      _ = (try? MappingModel(xcmapping: bytes))?.compiled()
    }
  }

  // MARK: Archives

  private static func archive(
    _ make: (inout KeyedArchiveBuilder) -> PropertyList
  ) -> [UInt8] {
    var builder = KeyedArchiveBuilder()
    let root = make(&builder)
    return builder.bytes(root: root)
  }

  private static func archiveCode(_ bytes: [UInt8]) -> ModelError.Code? {
    let error = #expect(throws: ModelError.self) { try MappingModel(archive: bytes) }
    return error?.code
  }

  @Test func wrongArchives() {
    #expect(Self.archiveCode([]) == .notAMapping)
    #expect(Self.archiveCode(Self.archive { $0.array([]) }) == .notAMapping)
    // An entity mapping of another class; one without a hash of the right length.
    let strange = Self.archive { builder in
      let entity = builder.add(["NSEntityMappingOfMine", "NSObject"], [:])
      let list = builder.array([entity])
      return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
    }
    #expect(Self.archiveCode(strange) == .malformed)
    let short = Self.archive { builder in
      let entity = builder.add(
        ["NSEntityMapping", "NSObject"], ["NSSourceEntityVersionHash": .data([1, 2, 3])])
      let list = builder.array([entity])
      return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
    }
    #expect(Self.archiveCode(short) == .malformed)
    let doubled = Self.archive { builder in
      let name = builder.string("A")
      let one = builder.add(["NSEntityMapping", "NSObject"], ["NSMappingName": name])
      let two = builder.add(["NSEntityMapping", "NSObject"], ["NSMappingName": name])
      let list = builder.array([one, two])
      return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
    }
    #expect(Self.archiveCode(doubled) == .duplicateName)
  }

  /// Two mappings whose names differ only in how their letters are composed: both in the list, and one only in the
  /// dictionary.
  @Test(arguments: [false, true]) func namesThatAreComposedInTwoWays(_ hasDictionary: Bool) {
    let bytes = Self.archive { builder in
      let composed = builder.string("caf\u{e9}")
      let one = builder.add(["NSEntityMapping", "NSObject"], ["NSMappingName": composed])
      let decomposed = builder.string("cafe\u{301}")
      let two = builder.add(["NSEntityMapping", "NSObject"], ["NSMappingName": decomposed])
      let list = builder.array(hasDictionary ? [one] : [one, two])
      let table = builder.dictionary(hasDictionary ? [("cafe\u{301}", two)] : [])
      return builder.add(
        ["NSMappingModel", "NSObject"],
        ["NSEntityMappings": list, "NSEntityMappingsByName": table])
    }
    let error = #expect(throws: ModelError.self) { try MappingModel(archive: bytes) }
    #expect(error?.code == .duplicateName)
    #expect(error?.message.contains("composed") == true, "\(error?.message ?? "")")
  }

  /// A field of a wrong type is an error: a default in its place would give another mapping.
  @Test(arguments: [
    "NSMappingType", "NSSourceEntityName", "NSSourceEntityVersionHash", "NSAttributeMappings",
    "NSUserInfo",
  ])
  func wrongTypes(_ key: String) {
    for value in [PropertyList.bool(true), .real(0.5), .uid(4_000_000)] {
      if key == "NSMappingType", value == .bool(true) { continue }
      let bytes = Self.archive { builder in
        let name = builder.string("A")
        let entity = builder.add(
          ["NSEntityMapping", "NSObject"], ["NSMappingName": name, key: value])
        let list = builder.array([entity])
        return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
      }
      #expect(Self.archiveCode(bytes) == .malformed, "\(key) \(value)")
    }
  }

  /// Shared parts make a small file describe a huge mapping; a list that holds itself is refused.
  @Test func sharedAndCyclicParts() throws {
    let shared = Self.archive { builder in
      let name = builder.string("size")
      let property = builder.add(
        ["NSPropertyMapping", "NSObject"], ["NSDestinationPropertyName": name])
      let many = builder.array(Array(repeating: property, count: 2_000))
      var entities: [PropertyList] = []
      for index in 0..<2_000 {
        let name = builder.string("M\(index)")
        entities.append(
          builder.add(
            ["NSEntityMapping", "NSObject"],
            ["NSMappingName": name, "NSAttributeMappings": many]))
      }
      let list = builder.array(entities)
      return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
    }
    var reader = CompiledMappingReader(archive: try KeyedArchive(bytes: shared))
    let error = #expect(throws: ModelError.self) { try reader.mapping() }
    #expect(error?.code == .tooLarge)
    #expect(reader.work <= CompiledMappingReader.maximumWork + 2_000)
    let cyclic = Self.archive { builder in
      let place = builder.reserve()
      builder.fill(place, ["NSArray", "NSObject"], ["NS.objects": .array([place])])
      let expression = builder.reserve()
      builder.fill(
        expression, ["NSFunctionExpression", "NSExpression", "NSObject"],
        ["NSOperand": expression, "NSSelectorName": builder.string("x:")])
      let entity = builder.add(
        ["NSEntityMapping", "NSObject"],
        [
          "NSMappingName": builder.string("A"), "NSSourceExpression": expression,
          "NSUserInfo": builder.dictionary([("loop", place)]), "NSOdd": place,
        ])
      let list = builder.array([entity])
      return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
    }
    let read = try MappingModel(archive: cyclic)
    #expect(read.entityMappings.first?.sourceExpression?.isWhole == false)
    #expect(read.entityMappings.first?.others["NSOdd"] != nil)
    let ring = Self.archive { builder in
      let list = builder.reserve()
      builder.fill(list, ["NSArray", "NSObject"], ["NS.objects": .array([list])])
      return builder.add(["NSMappingModel", "NSObject"], ["NSEntityMappings": list])
    }
    #expect(Self.archiveCode(ring) == .malformed)
  }
}
