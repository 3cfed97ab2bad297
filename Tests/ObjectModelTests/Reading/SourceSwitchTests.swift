import Fixtures
import Testing

@testable import ModelTools
@testable import ObjectModel

/// Switches and numbers of a `contents` file that are written otherwise than Xcode writes most of them.
struct SourceSwitchTests {
  private static func version(_ body: String, model: String = "") throws -> ModelCollection.Version
  {
    let text = """
      <?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" \(model)>\(body)</model>
      """
    var known = KnownEntities()
    let (read, unread) = try ManagedObjectModel.read(contentsXML: Array(text.utf8), knowing: &known)
    return ModelCollection.Version(
      name: "M", fileName: "M", path: "/M", model: read, unreadValues: unread)
  }

  /// Xcode's own template says `false` where its editor says NO or nothing.
  @Test(.enabled(if: Shared.isThere)) func theUntouchedTemplateIsRead() throws {
    let place = "stores/found/models/xcode-template-usedWithCloudKit/BowTies.xcdatamodeld"
    guard let path = SharedFiles.path(place) else { return }
    let version = try #require(try ModelCollection(searching: path).current)
    #expect(version.problem == nil)
    #expect(version.model?.isUsedWithCloudKit == false)
    #expect(version.unreadValues == [])
  }

  @Test(arguments: [
    ("YES", true), ("true", true), ("1", true), ("TRUE", true), ("NO", false), ("false", false),
    ("0", false), ("", false),
  ])
  func everySpelling(_ text: String, _ value: Bool) throws {
    let version = try Self.version(
      """
      <entity name="A" isAbstract="\(text)"><attribute name="b" optional="\(text)" \
      transient="\(text)" indexed="\(text)" attributeType="String" storedInTruthFile="\(text)" \
      allowsExternalBinaryDataStorage="\(text)" preserveAfterDeletion="\(text)" \
      usesScalarValueType="\(text)" spotlightIndexingEnabled="\(text)"/>\
      <relationship name="c" ordered="\(text)" toMany="\(text)" destinationEntity="A"/></entity>\
      <configuration name="D" usedWithCloudKit="\(text)"/>\
      <fetchRequest name="F" entity="A" includesSubentities="\(text)"/>
      """, model: "usedWithCloudKit=\"\(text)\" usedWithSwiftData=\"\(text)\"")
    let model = try #require(version.model)
    let entity = try #require(model.entities["A"])
    let attribute = try #require(entity.attributes.first)
    #expect(version.unreadValues == [])
    #expect(model.isUsedWithCloudKit == value)
    #expect(model.isUsedWithSwiftData == value)
    #expect(model.cloudKitConfigurations == (value ? ["D"] : []))
    #expect(entity.isAbstract == value)
    #expect(
      [
        attribute.isOptional, attribute.isTransient, attribute.isIndexed,
        attribute.isIndexedBySpotlight, attribute.isStoredInTruthFile,
        attribute.allowsExternalBinaryDataStorage, attribute.preservesValueInHistoryOnDeletion,
      ].allSatisfy { $0 == value })
    #expect(attribute.usesScalarValueType == value)
    #expect(entity.relationships.first?.isOrdered == value)
    #expect(entity.relationships.first?.isToMany == value)
    #expect(
      model.fetchRequestTemplates.first?.request.options.contains(.includesSubentities) == value)
  }

  /// What no hash and no table depends on is told of and does not cost the model.
  @Test func quietValuesThatMeanNothing() throws {
    let version = try Self.version(
      """
      <entity name="A"><attribute name="b" indexed="maybe" attributeType="String" \
      usesScalarValueType="2"/><relationship name="c" deletionRule="Sometimes" \
      destinationEntity="A"/><fetchIndex name="i"><fetchIndexElement property="b" type="Hash" \
      order="sideways"/></fetchIndex></entity>\
      <fetchRequest name="F" entity="A" fetchLimit="many" includesSubentities="perhaps"/>
      """, model: "usedWithCloudKit=\"soon\"")
    #expect(version.model?.entities["A"]?.attributes.count == 1)
    #expect(version.unreadValues.allSatisfy { $0.kind == .unreadValue })
    #expect(
      version.unreadValues.map(\.sentence) == [
        "usedWithCloudKit of the model is \"soon\", which is not understood; it is ignored.",
        "indexed of A.b is \"maybe\", which is not understood; it is ignored.",
        "usesScalarValueType of A.b is \"2\", which is not understood; it is ignored.",
        "deletionRule of A.c is \"Sometimes\", which is not understood; it is ignored.",
        "order of A.b is \"sideways\", which is not understood; it is ignored.",
        "type of A.b is \"Hash\", which is not understood; it is ignored.",
        "fetchLimit of F is \"many\", which is not understood; it is ignored.",
        "includesSubentities of F is \"perhaps\", which is not understood; it is ignored.",
      ])
    // The request's own default stays.
    let request = version.model?.fetchRequestTemplates.first?.request
    #expect(request?.options.contains(.includesSubentities) == true)
    #expect(request?.fetchLimit == 0)
  }

  @Test func aNumberThatOnceWasASwitch() {
    #expect(DefaultValue(text: "NO", type: .integer16) == .integer(0))
    #expect(DefaultValue(text: "YES", type: .integer32) == .integer(1))
    #expect(DefaultValue(text: "true", type: .boolean) == .boolean(true))
    #expect(DefaultValue(text: "", type: .boolean) == .string(""))
    #expect(DefaultValue(text: "many", type: .integer16) == .string("many"))
  }
}
