import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// A combining mark behind a sign makes both one `Character`. Readers and writers go by bytes.
struct BytesNotCharactersTests {
  static let mark = "\u{301}"

  /// A line end before `encoding` separates it as well as a space does.
  @Test(arguments: [" ", "\n", "\r\n", "\t"]) func encodings(_ blank: String) {
    let text = "<?xml version=\"1.0\"\(blank)encoding=\"UTF-16\"?><model/>"
    let error = #expect(throws: ModelError.self) {
      try ManagedObjectModel(contentsXML: Array(text.utf8))
    }
    #expect(error?.code == .unsafeXML)
  }

  @Test func references() throws {
    func name(_ reference: String) throws -> String? {
      let text = "<model><entity name=\"a&\(reference);\"/></model>"
      return try ManagedObjectModel(contentsXML: Array(text.utf8)).entities.keys.first
    }
    #expect(try name("#98") == "ab")
    #expect(try name("#x62") == "ab")
    for reference in ["#+98", "#x+62", "#-1", "#", "#x", "#\(Self.mark)98", "#x110000"] {
      #expect(throws: ModelError.self, "\(reference)") { try name(reference) }
    }
  }

  /// A key that begins with a mark is printed and read back as that key.
  @Test func keyPaths() throws {
    let path = "a.\(Self.mark)b.@count"
    let expression = try ModelExpression(parsing: path)
    #expect(expression == .path(path))
    #expect(expression.text.utf8.elementsEqual(path.utf8))
    #expect(PredicateSyntax.keys(of: path) == ["a", Self.mark + "b", "@count"])
    #expect(
      DerivationText.expression(path) == .call("count:", .path("a.\(Self.mark)b")))
    #expect(PredicateSyntax.isSelector("a:\(Self.mark)b:"))
  }

  @Test func losses() {
    let source = ManagedObjectModel(entities: [
      Entity(
        name: "A",
        relationships: [
          Relationship(name: "r", destinationEntityName: "A", isOptional: true)
        ])
    ])
    let mapping = MappingModel(
      entityMappings: [
        EntityMapping(
          name: "AToA", kind: .transform, sourceEntityName: "A", destinationEntityName: "A",
          relationshipMappings: [
            PropertyMapping(
              name: "r",
              valueExpression: .keyPath("r.\(Self.mark)x", of: .variable("source")))
          ])
      ])
    #expect(mapping.losses(of: source, to: nil) == [])
  }

  /// No version goes into a file elsewhere, or into one that is hidden.
  @Test(arguments: [
    "..", ".", ".\u{301}a", "a/b", "a/\u{301}b", "/\u{301}", "../\u{301}up", "a\u{0}", "",
  ])
  func versionNames(_ name: String) {
    let version = ModelBundle.Version(name: name, model: ManagedObjectModel())
    for make in [
      { try ModelBundle(source: [version], current: nil) },
      { try ModelBundle(compiled: [version], current: nil) },
    ] as [() throws -> ModelBundle] {
      let error = #expect(throws: ModelError.self) { try make() }
      #expect(error?.code == .unfitName)
    }
  }

  /// Names of files are taken apart at their bytes, and two files are two even where Unicode holds their
  /// names for equal.
  @Test func fileNames() throws {
    #expect(ModelFile.lastComponent("/a/\(Self.mark)b.mom") == Self.mark + "b.mom")
    #expect(ModelFile.pathExtension("/a/b.\(Self.mark)mom") == Self.mark + "mom")
    #expect(ModelFile.baseName("/a/\(Self.mark)b.xcdatamodel/") == Self.mark + "b")
    #expect(ModelFile.baseName("a.") == "a.")
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let bytes = ManagedObjectModel(entities: [Entity(name: "A")]).archive(form: .compiled).bytes
    for name in ["\u{E9}", "e\u{301}", "\u{301}"] {
      let path = folder.path + "/" + name + ".mom"
      _ = FileManager.default.createFile(atPath: path, contents: Data(bytes))
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(try ModelCollection(searching: folder.path).versions.count == files.count)
  }

  /// An archive keeps each text in its own Unicode form, which version hashes depend on, and the sign of a zero.
  @Test func archivedTextsKeepTheirForm() throws {
    let names = ["caf\u{E9}", "cafe\u{301}"]
    let model = ManagedObjectModel(
      entities: zip(["A", "B"], names).map { entity, name in
        Entity(
          name: entity,
          attributes: [
            Attribute(name: name, type: .string),
            Attribute(name: "minus", type: .double, defaultValue: .real(-0.0)),
            Attribute(name: "plus", type: .double, defaultValue: .real(0)),
          ])
      })
    for form in ModelArchiveForm.allCases {
      let copy = try ManagedObjectModel(archive: model.archive(form: form).bytes)
      for (entity, name) in zip(["A", "B"], names) {
        let read = try #require(copy.entities[entity])
        #expect(read.attributes.contains { $0.name.utf8.elementsEqual(name.utf8) })
        for attribute in read.attributes {
          guard case .real(let zero)? = attribute.defaultValue else { continue }
          #expect((zero.sign == .minus) == (attribute.name == "minus"))
        }
      }
      #expect(copy.versionHashes().unconfirmed == model.versionHashes().unconfirmed)
    }
  }

  /// Four digits follow the `u` of an escape, and a sign is no digit.
  @Test func escapes() throws {
    #expect(try ModelExpression(parsing: #""\u0041""#) == .constant(.string("A")))
    #expect(try ModelExpression(parsing: #""\u+041""#) == .constant(.string("u+041")))
  }

  @Test func theMarkerOfTheCurrentVersion() throws {
    let name = "a&\(Self.mark)<\(Self.mark)b"
    let versions = ["z", name].map { ModelBundle.Version(name: $0, model: ManagedObjectModel()) }
    let bundle = try ModelBundle(source: versions, current: name)
    let marker = try #require(bundle.files.first { $0.path == ".xccurrentversion" })
    #expect(
      try PropertyList(bytes: marker.bytes)["_XCCurrentVersionName"]?.stringValue
        == name + ".xcdatamodel")
  }
}
