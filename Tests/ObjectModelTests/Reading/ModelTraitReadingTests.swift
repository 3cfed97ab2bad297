import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

/// What of a model has no part in hashes: validation, fetch requests, indexes, code generation.
struct ModelTraitReadingTests {
  static let xml = """
    <model usedWithCloudKit="YES" usedWithSwiftData="YES">
      <entity name="Note" codeGenerationType="class" coreSpotlightDisplayNameExpression="title">
        <attribute name="count" attributeType="Integer 16" minValueString="0" maxValueString="5" \
    usesScalarValueType="YES"/>
        <attribute name="price" attributeType="Decimal" minValueString="0.10"/>
        <attribute name="ratio" attributeType="Double" maxValueString="1.5" \
    usesScalarValueType="NO"/>
        <attribute name="title" attributeType="String" minValueString="1" maxValueString="64" \
    regularExpressionString="^[-_A-Za-z0-9]{1,64}$" spotlightIndexingEnabled="YES"/>
        <attribute name="when" attributeType="Date" minDateTimeInterval="0" \
    maxDateTimeInterval="86400" storedInTruthFile="YES"/>
        <attribute name="words" attributeType="Integer 64" derived="YES" \
    derivationExpression="pages.@sum.words"/>
        <relationship name="pages" toMany="YES" destinationEntity="Note" indexed="YES" \
    spotlightIndexingEnabled="YES"/>
        <fetchedProperty name="recent" optional="YES" elementID="latest">
          <fetchRequest name="r" entity="Note" predicateString="count &gt; 1" fetchLimit="3"/>
        </fetchedProperty>
        <fetchIndex name="plain"><fetchIndexElement property="title" type="Binary" \
    order="ascending"/></fetchIndex>
        <fetchIndex name="partial" partialIndexPredicate="count &gt; 0"><fetchIndexElement \
    expression="lowercase:(title)" expressionType="String" type="Binary" order="descending"/>\
    </fetchIndex>
      </entity>
      <fetchRequest name="Big" entity="Note" predicateString="count BETWEEN {1, 5}" \
    fetchLimit="10" fetchBatchSize="20" resultType="2" includeSubentities="NO" \
    returnDistinctResults="YES"/>
      <fetchRequest name="Odd" entity="Note" predicateString="count = %d"/>
      <fetchRequest name="Plain" entity="Note"/>
      <configuration name="Cloud" usedWithCloudKit="YES"><memberEntity name="Note"/>\
    </configuration>
    </model>
    """

  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(contentsXML: Array(xml.utf8))
  }

  @Test func theSourceIsReadWhole() throws {
    let model = try Self.model()
    #expect(try ManagedObjectModel.unreadParts(of: Array(Self.xml.utf8)) == [])
    #expect(model.isUsedWithCloudKit && model.isUsedWithSwiftData)
    #expect(model.cloudKitConfigurations == ["Cloud"])
    let note = try #require(model.entities["Note"])
    #expect(note.codeGenerationType == "class")
    #expect(note.spotlightDisplayNameExpression?.text == "title")
    let rules = Dictionary(
      uniqueKeysWithValues: note.attributes.map { ($0.name, $0.validations.map(\.predicate.text)) })
    #expect(
      rules == [
        "count": ["SELF >= 0", "SELF <= 5"],
        "price": ["SELF >= CAST(\"0.1\", \"NSDecimalNumber\")"], "ratio": ["SELF <= 1.5"],
        "title": ["length >= 1", "length <= 64", "SELF MATCHES \"^[-_A-Za-z0-9]{1,64}$\""],
        "when": ["SELF >= CAST(0.0, \"NSDate\")", "SELF <= CAST(86400.0, \"NSDate\")"],
        "words": [],
      ])
    let title = try #require(note.attributes.first { $0.name == "title" })
    #expect(
      title.validations.map(\.form)
        == [.minimumLength(1), .maximumLength(64), .pattern("^[-_A-Za-z0-9]{1,64}$")])
    #expect(title.validations.map(\.warning) == [.integer(1670), .integer(1660), .integer(1680)])
    #expect(title.isIndexedBySpotlight)
    #expect(note.attributes.map(\.usesScalarValueType) == [true, nil, false, nil, nil, nil])
    let words = try #require(note.attributes.last?.derivation)
    #expect(words.expressionText == "sum:(pages.words)")
    #expect(words.sourceText == "pages.@sum.words")
    #expect(note.relationships[0].isIndexed && note.relationships[0].isIndexedBySpotlight)
    #expect(note.fetchedProperties[0].renamingIdentifier == "latest")
    #expect(note.fetchedProperties[0].request.fetchLimit == 3)
    #expect(note.fetchIndexes.map(\.name) == ["plain", "partial"])
    #expect(note.fetchIndexes[1].partialPredicate?.text == "count > 0")
    #expect(note.fetchIndexes[1].elements[0].text == "lowercase:(title)")
    #expect(note.fetchIndexes[1].elements[0].expressionType == .string)

    let big = try #require(model.fetchRequestTemplates.first).request
    #expect(big.predicate?.text == "count BETWEEN {1, 5}")
    #expect(big.fetchLimit == 10 && big.batchSize == 20 && big.resultType == .dictionaries)
    #expect(
      big.options == [
        .returnsDistinctResults, .includesPropertyValues, .returnsObjectsAsFaults,
        .includesPendingChanges,
      ])
    #expect(model.fetchRequestTemplates[1].predicate == .unparsed("count = %d"))
    #expect(model.fetchRequestTemplates[2].request == FetchRequest(entityName: "Note"))
  }

  /// What an archive holds comes back; what it does not is said, thing by thing.
  @Test(arguments: ModelArchiveForm.allCases)
  func lossesAreSaid(_ form: ModelArchiveForm) throws {
    let model = try Self.model()
    let (bytes, losses) = model.archive(form: form)
    let copy = try ManagedObjectModel(archive: bytes)
    #expect(copy == model.reduced(to: form))
    #expect(copy.versionHashes() == model.versionHashes())
    #expect(copy.archive(form: form).losses.allSatisfy { $0.sentence.contains("confirm") })
    let note = try #require(copy.entities["Note"])
    #expect(
      note.attributes.map(\.validations) == model.entities["Note"]?.attributes.map(\.validations))
    #expect(note.fetchIndexes.map(\.name) == ["plain"])
    #expect(copy.fetchRequestTemplates.map(\.name) == (form == .compiled ? ["Big", "Plain"] : []))
    let texts = losses.map(\.description)
    let expected = [
      "`Note.title`: MATCHES: written in a form that no archive seen so far confirms; "
        + "check the result in Xcode.",
      "`Note.partial`: The index is left out: it is not known how an archive holds an index on an "
        + "expression.",
      "`Note.when`: The setting that keeps values in record files for Spotlight is left out: "
        + "it is not known how an archive holds it.",
      "A compiled model does not say that it is used with CloudKit.",
      "A compiled model does not say that it is used with SwiftData.",
    ]
    for sentence in expected { #expect(texts.contains(sentence), "\(sentence)") }
    let odd = texts.filter { $0.hasPrefix("`Odd`") }
    #expect(odd.count == (form == .compiled ? 2 : 1), "\(odd)")
  }

  /// Everything a real archive may say of a fetch request, of user info and of default values.
  @Test func archivesKeepEverything() throws {
    let cover = ArchivedObject(
      classNames: ["App.Cover", "NSObject"],
      fields: ["text": "x", "size": .integer(3), "ratio": .real(0.5), "on": .bool(true)])
    let request = FetchRequest(
      entityName: "A",
      predicate: .compare(.path("a"), .contains, .variable("X"), options: .caseInsensitive),
      sortDescriptors: [
        .init(key: "a", isAscending: false, selector: "caseInsensitiveCompare:"),
        .init(key: "b", selector: nil, reversesNullOrder: true),
      ], fetchLimit: 1, fetchOffset: 2, batchSize: 3, resultType: .objectIDs,
      propertiesToFetch: ["a"], propertiesToGroupBy: ["a", "b"],
      havingPredicate: .compare(.path("b"), .notEqual, .constant(.null)),
      prefetchedKeyPaths: ["c.d"], allocationType: 1, archivedFlags: 7)
    let information: [String: ArchivedValue] = [
      "text": "x", "number": .integer(-5), "real": .real(2.5), "flag": .bool(false),
      "date": .date(3), "data": .data([1, 2]), "list": .array([.integer(1), "y"]),
      "uuid": .uuid("3F2504E0-4F89-11D3-9A0C-0305E82C3301"), "url": .url("https://a/b"),
      "decimal": .decimal("-0.25"), "set": .set(["z"]), "none": .null, "thing": .object(cover),
      "map": .dictionary([.init(key: "k", value: .integer(1))]),
    ]
    let model = ManagedObjectModel(entities: [
      Entity(
        name: "A",
        attributes: [
          Attribute(
            name: "a", type: .transformable, isIndexedBySpotlight: true,
            defaultValue: .object(cover),
            validations: [
              .init(
                predicate: .and([
                  .compare(.path("length"), .greaterThanOrEqual, .constant(.integer(3))),
                  .not(.compare(.evaluatedObject, .equal, .constant(.date(1.5)))),
                ]), warning: "Too short.")
            ], userInfo: information)
        ],
        relationships: [
          Relationship(
            name: "r", destinationEntityName: "A", isIndexed: true, isIndexedBySpotlight: true,
            userInfo: information)
        ],
        fetchedProperties: [
          FetchedProperty(
            name: "f", request: request, isIndexedBySpotlight: true, versionHashModifier: "m",
            renamingIdentifier: "g", userInfo: information)
        ],
        fetchIndexes: [
          FetchIndex(
            name: "i", elements: [.init(propertyName: "a")],
            partialPredicate: .compare(.path("a"), .lessThan, .constant(.real(0.5))))
        ], userInfo: information)
    ])
    for form in ModelArchiveForm.allCases {
      let (bytes, losses) = model.archive(form: form)
      #expect(losses == [])
      #expect(try ManagedObjectModel(archive: bytes) == model)
      #expect(bytes == model.archive(form: form).bytes)
    }
  }
}
