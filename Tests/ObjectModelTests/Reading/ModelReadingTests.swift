import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

struct ModelReadingTests {
  @Test func contents() throws {
    var model = try ManagedObjectModel(contentsXML: Array(Fixture.contents.utf8))
    #expect(
      model.fetchRequestTemplates
        == [
          FetchRequestTemplate(
            name: "Pinned", entityName: "Note", predicate: ModelPredicate(text: "pinned == 1"))
        ])
    #expect(model.entities["Note"]?.fetchedProperties.first?.predicate?.text == "pinned == 1")
    model.fetchRequestTemplates = []
    model.entities["Note"]?.fetchedProperties[0].request.predicate = nil
    model.entities["Note"]?.fetchedProperties[0].requestName = nil
    #expect(ModelDifference(from: model, to: Fixture.model, scope: .cached).changes == [])
    #expect(model == Fixture.model)
    #expect(model.validate() == [])
  }

  @Test(arguments: [ModelArchiveForm.compiled, .modelCache])
  func archives(_ form: ModelArchiveForm) throws {
    let bytes = Fixture.model.archive(form: form).bytes
    #expect(bytes == Fixture.model.archive(form: form).bytes)
    let copy = try ManagedObjectModel(archive: bytes)
    #expect(ModelDifference(from: Fixture.model, to: copy, scope: .cached).changes == [])
    #expect(copy == Fixture.model)
    #expect(copy.versionHashes() == Fixture.model.versionHashes())
  }

  /// A cached model repeats what is inherited; a compiled one does not.
  @Test func formsDiffer() throws {
    for (form, count) in [(ModelArchiveForm.compiled, 11), (.modelCache, 16)] {
      let archive = try KeyedArchive(bytes: Fixture.model.archive(form: form).bytes)
      let entities = try #require(
        archive.namedEntries(archive.field("NSEntities", of: archive.root)))
      let note = try #require(entities.first { $0.name == "Note" }?.value)
      #expect(archive.namedEntries(archive.field("NSProperties", of: note))?.count == count)
      #expect(archive.className(of: note) == "NSEntityDescription")
    }
  }

  @Test func emptyModel() throws {
    let empty = try ManagedObjectModel(contentsXML: Array("<model/>".utf8))
    #expect(empty == ManagedObjectModel())
    #expect(try ManagedObjectModel(archive: empty.archive(form: .modelCache).bytes) == empty)
    #expect(empty.versionHashes().checksum == ModelHashes.checksum(of: [:]))
  }

  @Test(
    arguments: [
      ("<model><entity name=\"A\"/><entity name=\"A\"/></model>", .duplicateName),
      (
        "<model><entity name=\"A\"><attribute name=\"x\" attributeType=\"Date\"/>"
          + "<relationship name=\"x\" destinationEntity=\"A\"/></entity></model>", .duplicateName
      ),
      ("<model><entity/></model>", .malformed),
      (
        "<model><entity name=\"A\"><attribute name=\"x\" attributeType=\"Magic\"/></entity></model>",
        .malformed
      ),
      (
        "<model><entity name=\"A\"><relationship name=\"x\" maxCount=\"9999999999\"/></entity></model>",
        .malformed
      ),
      ("<database/>", .notAModel), ("<model><entity name=\"A\">", .malformed), ("text", .notAModel),
      (
        "<model><composite name=\"C\"><attribute name=\"c\" attributeType=\"Composite\" "
          + "composite=\"C\"/></composite><entity name=\"A\"><attribute name=\"x\" "
          + "attributeType=\"Composite\" composite=\"C\"/></entity></model>", .malformed
      ),
    ] as [(String, ModelError.Code)])
  func wrongContents(_ xml: String, _ code: ModelError.Code) {
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(contentsXML: Array(xml.utf8))
    }
    #expect(error?.code == code)
  }

  @Test func composites() throws {
    let xml = """
      <model><composite name="Place"><attribute name="zip" attributeType="String"/>\
      <attribute name="city" attributeType="String"/></composite>\
      <entity name="A"><attribute name="home" attributeType="Composite" composite="Place"/>\
      </entity></model>
      """
    let model = try ManagedObjectModel(contentsXML: Array(xml.utf8))
    let home = try #require(model.entities["A"]?.attributes.first)
    #expect(home.elements.map(\.name) == ["zip", "city"])
    #expect(home.compositeName == "Place")
    let (bytes, losses) = model.archive(form: .compiled)
    #expect(
      losses.map(\.description)
        == ["`A.home`: A compiled model does not keep the composite's name, Place."])
    #expect(try ManagedObjectModel(archive: bytes) == model.reduced(to: .compiled))
    #expect(model.versionHashes().unknown.isEmpty)
  }

  @Test func otherForms() {
    let optimised = #expect(throws: ModelError.self) {
      try ManagedObjectModel(archive: Array("momv2$".utf8) + [UInt8](repeating: 65, count: 200))
    }
    #expect(optimised?.code == .optimisedFormat)
    var builder = KeyedArchiveBuilder()
    let root = builder.add(["XDPMModel", "NSObject"], [:])
    let editor = builder.bytes(root: root)
    var known = KnownEntities()
    let old = #expect(throws: ModelError.self) {
      try ModelFile.model(editor, knowing: &known)
    }
    #expect(old?.code == .malformed)
    let notCompiled = #expect(throws: ModelError.self) { try ManagedObjectModel(archive: editor) }
    #expect(notCompiled?.code == .notAModel)
    let mapping = builder.add(["NSMappingModel", "NSObject"], [:])
    #expect(throws: ModelError.self) {
      try ManagedObjectModel(archive: KeyedArchiveBuilder().bytes(root: mapping))
    }
  }

  @Test func problemsAreListed() {
    let model = ManagedObjectModel(
      entities: [
        Entity(name: "A", superentityName: "Gone"),
        Entity(name: "B", superentityName: "C"), Entity(name: "C", superentityName: "B"),
        Entity(
          name: "D", attributes: [Attribute(name: "x", type: .undefined)],
          relationships: [
            Relationship(name: "y", destinationEntityName: "Gone"),
            Relationship(name: "z", destinationEntityName: "A", inverseName: "no"),
            Relationship(name: "x", destinationEntityName: "A"),
          ], uniquenessConstraints: [["nothing"]]),
      ], configurations: ["c": ["Gone"]])
    #expect(
      model.validate().map(\.kind.rawValue)
        == [
          "missingParent", "cyclicInheritance", "cyclicInheritance", "duplicateProperty",
          "missingType", "missingDestination", "missingInverse", "missingProperty", "missingMember",
        ].sorted { _, _ in false })
  }

  @Test(arguments: [
    ("0", "0"), ("-0.0", "0"), ("007.500", "7.5"), (".5", "0.5"), ("5.", "5"), ("+3", "3"),
    ("-12.50", "-12.5"), ("100", "100"),
  ])
  func decimals(_ text: String, _ canonical: String) throws {
    #expect(DecimalText.canonical(text) == canonical)
    let parts = try #require(DecimalText.parts(text))
    #expect(
      DecimalText.text(
        mantissa: parts.mantissa, exponent: parts.exponent, negative: parts.negative) == canonical)
  }

  @Test(arguments: ["", "-", ".", "1e5", "1.2.3", "x", "1 "])
  func noDecimals(_ text: String) {
    #expect(DecimalText.canonical(text) == nil)
  }

  /// A text that is no UUID does not fit a UUID attribute, and stays text.
  @Test func defaultsOfUUIDs() {
    let text = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    #expect(DefaultValue(text: text, type: .uuid) == .uuid(text.uppercased()))
    for other in ["", "none", String(text.dropLast())] {
      #expect(DefaultValue(text: other, type: .uuid) == .string(other))
    }
  }

  /// Two composites of one name would give each attribute of this type the elements of the last one.
  @Test func twoCompositesOfOneName() {
    let composite = #"<composite name="P"><attribute name="x" attributeType="Double"/></composite>"#
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(contentsXML: Array("<model>\(composite)\(composite)</model>".utf8))
    }
    #expect(error?.code == .duplicateName)
  }

  /// Names that differ only in how their letters are composed are refused, and not called the same.
  @Test(arguments: [
    "<model><entity name=\"caf\u{e9}\"/><entity name=\"cafe\u{301}\"/></model>",
    "<model><entity name=\"A\"><attribute name=\"caf\u{e9}\" attributeType=\"Date\"/>"
      + "<attribute name=\"cafe\u{301}\" attributeType=\"Date\"/></entity></model>",
    "<model><composite name=\"caf\u{e9}\"/><composite name=\"cafe\u{301}\"/></model>",
  ])
  func namesThatAreComposedInTwoWays(_ xml: String) throws {
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(contentsXML: Array(xml.utf8))
    }
    #expect(error?.code == .duplicateName)
    #expect(error?.message.contains("composed") == true, "\(error?.message ?? "")")
  }

  @Test func archivedValues() throws {
    var builder = KeyedArchiveBuilder()
    let date = builder.add(["NSDate", "NSObject"], ["NS.time": .real(5)])
    let odd = builder.add(["App.Cover", "NSObject"], ["x": .integer(1)])
    let inner = builder.dictionary([("when", date), ("what", odd)])
    let root = builder.array([builder.string("a"), inner, KeyedArchiveBuilder.null])
    let archive = try KeyedArchive(bytes: builder.bytes(root: root))
    #expect(
      archive.decoded(archive.root)
        == .array([
          .string("a"),
          .dictionary([
            .init(key: .string("when"), value: .date(5)),
            .init(
              key: .string("what"),
              value: .object(
                ArchivedObject(
                  classNames: ["App.Cover", "NSObject"], fields: ["x": .integer(1)]))),
          ]), .null,
        ]))
  }
}
