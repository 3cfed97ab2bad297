import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

// Foundation has types of these names.
private typealias ModelPredicate = ObjectModel.ModelPredicate

/// What forms can and cannot hold, with a model that has everything.
struct ModelFormsTests {
  /// A model with one of everything that a source has words for.
  static let full = ManagedObjectModel(
    entities: [
      Entity(
        name: "Note", className: ".NoteObject", superentityName: "Item",
        attributes: [
          Attribute(
            name: "body", type: .string, isOptional: true, isIndexedBySpotlight: true,
            defaultValue: .string("a \"quoted\" <tag> & a\nline\tend\r"),
            validations: [
              AttributeValidation.Form.minimumLength(3).validation,
              AttributeValidation.Form.maximumLength(50).validation,
              AttributeValidation.Form.pattern("^[\\w<>&\"']+$").validation,
            ], renamingIdentifier: "text"),
          Attribute(
            name: "created", type: .date, defaultValue: .date(-978_307_200),
            validations: [
              AttributeValidation.Form.earliestDate(0).validation,
              AttributeValidation.Form.latestDate(12.25).validation,
            ], usesScalarValueType: false),
          Attribute(
            name: "home", type: .composite, isOptional: true,
            elements: [
              Attribute(name: "city", type: .string, isOptional: true),
              Attribute(
                name: "place", type: .composite,
                elements: [
                  Attribute(name: "latitude", type: .double, defaultValue: .real(0.1)),
                  Attribute(name: "longitude", type: .double),
                ], compositeName: "Coordinate"),
            ], compositeName: "Address"),
          Attribute(
            name: "ident", type: .uuid,
            defaultValue: .uuid("3F2504E0-4F89-11D3-9A0C-0305E82C3301"),
            usesScalarValueType: true),
          Attribute(
            name: "link", type: .uri, defaultValue: .uri("https://example.org/?a=1&b=2")),
          Attribute(
            name: "pageCount", type: .integer64, isOptional: true, isReadOnly: true,
            derivation: Derivation(text: "pages.@count")),
          Attribute(
            name: "photo", type: .binary, allowsExternalBinaryDataStorage: true,
            preservesValueInHistoryOnDeletion: true),
          Attribute(
            name: "price", type: .decimal, defaultValue: .decimal("-12.5"),
            validations: [AttributeValidation.Form.minimumNumber(.decimal("0.01")).validation]),
          Attribute(
            name: "rating", type: .integer16, isIndexed: true, isStoredInTruthFile: true,
            defaultValue: .integer(3),
            validations: [
              AttributeValidation.Form.minimumNumber(.integer(0)).validation,
              AttributeValidation.Form.maximumNumber(.integer(5)).validation,
            ], versionHashModifier: "é & ü"),
          Attribute(name: "scratch", type: .undefined, isOptional: true, isTransient: true),
          Attribute(
            name: "shape", type: .transformable, valueTransformerName: "ShapeTransformer",
            valueClassName: "Shape", userInfo: ["key <1>": "value \"1\""]),
        ],
        relationships: [
          Relationship(
            name: "pages", destinationEntityName: "Page", inverseName: "note",
            inverseEntityName: "Page", minCount: 1, maxCount: 9, isOrdered: true,
            deleteRule: .cascade, userInfo: ["a": ""]),
          Relationship(
            name: "related", destinationEntityName: "Note", maxCount: 0, isOptional: true,
            isTransient: true, isIndexed: true, deleteRule: .noAction,
            versionHashModifier: "2", renamingIdentifier: "linked"),
        ],
        fetchedProperties: [
          FetchedProperty(
            name: "recent",
            request: FetchRequest(
              entityName: "Note", predicate: ModelPredicate(text: "rating > 3 AND body != \"<\""),
              fetchLimit: 5), requestName: "latest")
        ],
        uniquenessConstraints: [["body", "created"], ["ident"]],
        fetchIndexes: [
          FetchIndex(
            name: "byBody",
            elements: [
              .init(propertyName: "body", isAscending: false), .init(propertyName: "created"),
            ], partialPredicate: ModelPredicate(text: "rating > 1")),
          FetchIndex(
            name: "byExpression",
            elements: [
              .init(
                expression: ObjectModel.ModelExpression(text: "lowercase:(body)"), type: .string,
                kind: .rTree)
            ]),
        ],
        compoundIndexes: [["body", "price"]], versionHashModifier: "v2",
        renamingIdentifier: "Memo",
        spotlightDisplayNameExpression: ObjectModel.ModelExpression(text: "body"),
        codeGenerationType: "class", userInfo: ["k": "v", "é": "ü\u{1F600}"]),
      Entity(name: "Item", isAbstract: true),
      Entity(
        name: "Page",
        relationships: [
          Relationship(
            name: "note", destinationEntityName: "Note", inverseName: "pages",
            inverseEntityName: "Note", deleteRule: .deny)
        ]),
    ], versionIdentifiers: ["7 & \"more\""],
    configurations: ["Cloud": ["Note", "Page"], "Empty": []], cloudKitConfigurations: ["Cloud"],
    isUsedWithCloudKit: true,
    fetchRequestTemplates: [
      FetchRequestTemplate(
        name: "All",
        request: FetchRequest(
          entityName: "Note", predicate: ModelPredicate(text: "body BEGINSWITH[cd] $START"),
          fetchLimit: 10, batchSize: 20, resultType: .dictionaries,
          options: [.returnsDistinctResults, .includesPropertyValues]))
    ])

  @Test func aSourceHoldsEverythingThatItHasWordsFor() throws {
    let written = Self.full.contentsXML()
    #expect(written.losses == [])
    let copy = try ManagedObjectModel(contentsXML: written.bytes)
    #expect(
      copy == Self.full, "\(ModelDifference(from: Self.full, to: copy).changes.map(\.sentence))")
    #expect(copy.versionHashes() == Self.full.versionHashes())
    #expect(Self.full.contentsXML().bytes == written.bytes)
    // The spelling that Xcode uses, in its order.
    let text = String(decoding: written.bytes, as: UTF8.self)
    let lines = [
      "<entity name=\"Note\" representedClassName=\".NoteObject\" parentEntity=\"Item\" "
        + "elementID=\"Memo\" coreSpotlightDisplayNameExpression=\"body\" "
        + "versionHashModifier=\"v2\" syncable=\"YES\" codeGenerationType=\"class\">",
      "<attribute name=\"pageCount\" optional=\"YES\" attributeType=\"Integer 64\" "
        + "derived=\"YES\" derivationExpression=\"pages.@count\"/>",
      "<attribute name=\"created\" attributeType=\"Date\" minDateTimeInterval=\"0\" "
        + "maxDateTimeInterval=\"12.25\" defaultDateTimeInterval=\"-978307200\" "
        + "usesScalarValueType=\"NO\"/>",
      "<relationship name=\"pages\" toMany=\"YES\" minCount=\"1\" maxCount=\"9\" "
        + "deletionRule=\"Cascade\" ordered=\"YES\" destinationEntity=\"Page\" "
        + "inverseName=\"note\" inverseEntity=\"Page\">",
      "<configuration name=\"Empty\"/>", "<memberEntity name=\"Page\"/>",
    ]
    for line in lines { #expect(text.contains(line), "\(line)") }
  }

  /// One thing that a source cannot hold, in an otherwise plain model.
  struct Unfit: Sendable, CustomTestStringConvertible {
    let name: String
    var attribute: Attribute?
    var relationship: Relationship?
    var userInfo: [String: ArchivedValue] = [:]
    var request: FetchRequest?
    var identifiers = [""]
    /// Whether the hash of the entity changes with it.
    var changesHash = false
    var testDescription: String { name }

    var model: ManagedObjectModel {
      ManagedObjectModel(
        entities: [
          Entity(
            name: "A", attributes: attribute.map { [$0] } ?? [],
            relationships: relationship.map { [$0] } ?? [], userInfo: userInfo)
        ], versionIdentifiers: identifiers,
        fetchRequestTemplates: request.map { [FetchRequestTemplate(name: "R", request: $0)] } ?? [])
    }
  }

  static let unfit = [
    Unfit(
      name: "unbounded by code",
      relationship: Relationship(name: "x", destinationEntityName: "A", maxCount: -1),
      changesHash: true),
    Unfit(
      name: "unknown delete rule",
      relationship: Relationship(
        name: "x", destinationEntityName: "A", deleteRule: DeleteRule(rawValue: 9))),
    Unfit(
      name: "read-only", attribute: Attribute(name: "x", type: .string, isReadOnly: true),
      changesHash: true),
    Unfit(
      name: "derived but not read-only",
      attribute: Attribute(name: "x", type: .string, derivation: Derivation(text: "y.z"))),
    Unfit(
      name: "unknown type", attribute: Attribute(name: "x", type: AttributeType(rawValue: 17)),
      changesHash: true),
    Unfit(
      name: "default of bytes",
      attribute: Attribute(name: "x", type: .binary, defaultValue: .data([1, 2]))),
    Unfit(
      name: "opaque default",
      attribute: Attribute(
        name: "x", type: .transformable, defaultValue: .opaque(className: "App.Cover"))),
    Unfit(
      name: "default of another kind",
      attribute: Attribute(name: "x", type: .string, defaultValue: .integer(5))),
    Unfit(
      name: "rule of code",
      attribute: Attribute(
        name: "x", type: .string,
        validations: [
          AttributeValidation(
            predicate: ModelPredicate(text: "SELF CONTAINS \"a\""), warning: "must have an a")
        ])),
    Unfit(
      name: "rules in another order",
      attribute: Attribute(
        name: "x", type: .string,
        validations: [
          AttributeValidation.Form.maximumLength(5).validation,
          AttributeValidation.Form.minimumLength(1).validation,
        ])),
    Unfit(name: "user info of a number", userInfo: ["x": .integer(1)]),
    Unfit(
      name: "ordered request",
      request: FetchRequest(entityName: "A", sortDescriptors: [FetchSort(key: "x")])),
    Unfit(
      name: "request of some properties",
      request: FetchRequest(entityName: "A", propertiesToFetch: ["x"])),
    Unfit(
      name: "predicate that was not understood",
      request: FetchRequest(entityName: "A", predicate: .opaque(className: "App.Predicate"))),
    Unfit(
      name: "composite without a name",
      attribute: Attribute(
        name: "x", type: .composite, elements: [Attribute(name: "y", type: .string)])),
    Unfit(name: "two identifiers", identifiers: ["1", "2"]),
    Unfit(
      name: "control characters",
      attribute: Attribute(name: "x", type: .string, defaultValue: .string("a\u{1}b"))),
  ]

  @Test(arguments: unfit) func whatASourceCannotHoldIsSaid(_ unfit: Unfit) throws {
    let model = unfit.model
    let written = model.contentsXML()
    #expect(written.losses.count == 1, "\(written.losses)")
    let copy = try ManagedObjectModel(contentsXML: written.bytes)
    #expect(copy != model)
    let isChanged =
      copy.versionHashes().unconfirmed["A"] ?? copy.versionHashes().hashes["A"]
      != model.versionHashes().unconfirmed["A"] ?? model.versionHashes().hashes["A"]
    #expect(isChanged == unfit.changesHash)
    #expect(
      unfit.changesHash
        == written.losses.contains { $0.sentence.contains("changes the version hash") })
  }

  // MARK: Bundles

  @Test func bundlesComeBack() throws {
    let older = Fixture.model
    let versions = [
      ModelBundle.Version(name: "Notes", model: older),
      ModelBundle.Version(name: "Notes 2", model: Self.full),
    ]
    let source = try ModelBundle(source: versions, current: "Notes 2")
    #expect(source.losses == [:])
    #expect(
      source.files.map(\.path) == [
        ".xccurrentversion", "Notes.xcdatamodel/contents", "Notes 2.xcdatamodel/contents",
      ])
    try Self.withFolder(source, "N.xcdatamodeld") { path in
      let collection = try ModelCollection(searching: path)
      #expect(collection.versions.map(\.name) == ["Notes", "Notes 2"])
      #expect(collection.currentVersionName == "Notes 2")
      #expect(collection.versions.map(\.model) == [older, Self.full])
    }
    let compiled = try ModelBundle(compiled: versions, current: "Notes 2")
    try Self.withFolder(compiled, "N.momd") { path in
      let collection = try ModelCollection(searching: path)
      #expect(collection.versions.map(\.name) == ["Notes", "Notes 2"])
      #expect(collection.current?.name == "Notes 2")
      for (version, model) in zip(collection.versions, [older, Self.full]) {
        let reduced = model.reduced(to: .compiled)
        for name in reduced.entityNames {
          #expect(version.model?.entities[name] == reduced.entities[name])
        }
        #expect(version.model?.fetchRequestTemplates == reduced.fetchRequestTemplates)
        #expect(version.model?.configurations == reduced.configurations)
        #expect(version.model == reduced)
      }
      for version in collection.versions {
        let computed = try #require(version.hashes)
        #expect(version.recorded?.hashes == computed.hashes)
        #expect(version.recorded?.checksum == computed.checksum)
      }
    }
    // The composite's rule is not confirmed, so its hash is not written, and this is said.
    #expect(compiled.losses["Notes 2"]?.contains { $0.entityName == "Note" } == true)
    #expect(compiled.losses["Notes"] == nil)
  }

  /// A hash that cannot be computed but was recorded is passed on.
  @Test func recordedHashesArePassedOn() throws {
    let hash = try #require(VersionHash(bytes: [UInt8](repeating: 3, count: 32)))
    let bundle = try ModelBundle(
      compiled: [
        .init(name: "N", model: Self.full, recorded: RecordedHashes(hashes: ["Note": hash]))
      ],
      current: nil)
    let info = try VersionInfo(
      bytes: #require(bundle.files.first { $0.path == "VersionInfo.plist" }).bytes)
    #expect(info.versions["N"]?.hashes["Note"] == hash)
    #expect(info.versions["N"]?.hashes.count == 3)
    #expect(info.currentVersionName == nil)
  }

  @Test(arguments: [["a/b"], [""], ["."], [".."], ["N", "n"], ["a\u{0}"]])
  func unfitNamesAreRefused(_ names: [String]) {
    let versions = names.map { ModelBundle.Version(name: $0, model: Fixture.model) }
    #expect(throws: ModelError.self) { try ModelBundle(source: versions, current: nil) }
    #expect(throws: ModelError.self) { try ModelBundle(compiled: versions, current: nil) }
  }

  /// A version is not called the same as one whose name differs only in case or in how its letters are composed.
  @Test(arguments: [
    ("N", "N", "There are two versions called N."), ("N", "n", "only in case."),
    ("caf\u{e9}", "cafe\u{301}", "composed."),
  ])
  func twoVersionsOfOneName(_ one: String, _ other: String, _ words: String) {
    let versions = [one, other].map { ModelBundle.Version(name: $0, model: Fixture.model) }
    let error = #expect(throws: ModelError.self) {
      try ModelBundle(source: versions, current: nil)
    }
    #expect(error?.code == .duplicateName)
    #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
  }

  /// The real compiled bundles, written again: the same hashes, checksums and current version.
  @Test(.enabled(if: Shared.isThere)) func realBundlesComeBack() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var count = 0
    for path in SharedFiles.files(below: root, suffix: ".momd") {
      let collection = try ModelCollection(searching: path)
      let info = try VersionInfo(bytes: SharedFiles.bytes(path + "/VersionInfo.plist"))
      let bundle = try ModelBundle(
        compiled: collection.versions.map {
          ModelBundle.Version(name: $0.name, model: try #require($0.model))
        }, current: info.currentVersionName)
      #expect(bundle.losses == [:], "\(path)")
      let written = try VersionInfo(
        bytes: #require(bundle.files.first { $0.path == "VersionInfo.plist" }).bytes)
      #expect(written.versions.mapValues(\.hashes) == info.versions.mapValues(\.hashes))
      #expect(written.currentVersionName == info.currentVersionName)
      for (name, version) in info.versions {
        if let checksum = version.checksum { #expect(written.versions[name]?.checksum == checksum) }
        count += 1
      }
    }
    #expect(count == 8)
  }

  /// Every real source bundle, written as a source and compiled: the same versions, models and hashes.
  @Test(.enabled(if: Shared.isThere)) func realSourceBundlesComeBack() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var count = 0
    for path in SharedFiles.files(below: root, suffix: ".xcdatamodeld") {
      let collection = try ModelCollection(searching: path)
      let versions = try collection.versions.map {
        ModelBundle.Version(name: $0.name, model: try #require($0.model, "\($0.path)"))
      }
      let source = try ModelBundle(source: versions, current: collection.currentVersionName)
      let compiled = try ModelBundle(compiled: versions, current: collection.currentVersionName)
      for (bundle, ending) in [(source, "xcdatamodeld"), (compiled, "momd")] {
        try Self.withFolder(bundle, "Copy." + ending) { copyPath in
          let copy = try ModelCollection(searching: copyPath)
          #expect(copy.versions.map(\.name) == collection.versions.map(\.name), "\(path)")
          #expect(copy.current?.name == collection.current?.name, "\(path)")
          for (one, other) in zip(collection.versions, copy.versions) {
            let model = try #require(one.model)
            #expect(
              other.model == (ending == "momd" ? model.reduced(to: .compiled) : model),
              "\(one.path)")
            #expect(other.hashes == one.hashes, "\(one.path)")
            let store = one.hashes?.hashes ?? [:]
            #expect(copy.versions(matching: store).contains { $0.name == one.name })
            count += 1
          }
        }
      }
      #expect(source.losses == [:], "\(path)")
    }
    print("\(count) versions of source bundles written and read back")
    #expect(count >= 140)
  }

  static func withFolder(
    _ bundle: ModelBundle, _ name: String, _ body: (String) throws -> Void
  ) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("model-bundle-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    for file in bundle.files {
      let url = folder.appendingPathComponent(name).appendingPathComponent(file.path)
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(file.bytes).write(to: url)
    }
    try body(folder.appendingPathComponent(name).path)
  }
}
