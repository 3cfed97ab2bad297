import Fixtures
import Foundation
import Testing

@testable import ModelTools
@testable import ObjectModel

struct EditorModelTests {
  /// Stores of Apple's samples, with the model in Xcode 3's form beside them.
  @Test(
    .enabled(if: Shared.isThere),
    arguments: [
      (
        "73153-apple-ios-samples/CoreDataBooks/CoreDataBooks.xcdatamodeld",
        "73153-apple-ios-samples/CoreDataBooks/CoreDataBooks.CDBStore", ["Book"]
      ),
      (
        "magicalpanda-MagicalRecord/Samples/iOS/Application/Models/Recipes.xcdatamodeld",
        "magicalpanda-MagicalRecord/Samples/iOS/Resources/RecipeData/Recipes.sqlite",
        ["Image", "Ingredient", "Recipe", "RecipeType"]
      ),
    ])
  func hashesAreThoseThatTheStoreRecorded(
    _ source: String, _ store: String, _ entities: [String]
  ) throws {
    guard let source = SharedFiles.path("stores/real/" + source),
      let store = SharedFiles.path("stores/real/" + store)
    else { return }
    let bytes = Data(try SharedFiles.bytes(store))
    for version in try ModelCollection(searching: source).versions {
      let model = try #require(version.model, "\(version.problem?.description ?? "")")
      #expect(model.entityNames == entities)
      #expect(model.validate() == [])
      let hashes = try #require(version.hashes)
      #expect(hashes.unknown == [:])
      for (name, hash) in hashes.hashes {
        // In the metadata the hashes stand as they are, in one piece.
        #expect(bytes.range(of: Data(hash.bytes)) != nil, "\(version.name): \(name)")
      }
    }
  }

  @Test(.enabled(if: Shared.isThere)) func detailsOfApplesSample() throws {
    guard
      let path = SharedFiles.path(
        "stores/real/73153-apple-ios-samples/CoreDataBooks/CoreDataBooks.xcdatamodeld")
    else { return }
    let collection = try ModelCollection(searching: path)
    #expect(collection.currentVersionName == "CoreDataBooks")
    let book = try #require(collection.current?.model?.entities["Book"])
    #expect(book.className == "Book")
    #expect(
      book.attributes == [
        Attribute(
          name: "author", type: .string, defaultValue: .string("Author"),
          validations: [AttributeValidation.Form.minimumLength(1).validation]),
        Attribute(name: "copyright", type: .date, isOptional: true),
        Attribute(
          name: "title", type: .string, defaultValue: .string("Title"),
          validations: [AttributeValidation.Form.minimumLength(1).validation]),
      ])
  }

  /// Every class and every tag in the files is known: a new one is not passed over in silence.
  @Test(.enabled(if: Shared.isThere)) func everyTagInTheFilesIsRead() throws {
    guard let root = SharedFiles.path("stores/real") else { return }
    var archives: [KeyedArchive] = []
    for path in SharedFiles.files(below: root, suffix: "/elements") {
      archives.append(try KeyedArchive(bytes: try SharedFiles.bytes(path)))
    }
    #expect(archives.count == 3)
    for path in SharedFiles.files(below: root, suffix: "/xcmapping.xml") {
      let store = try XMLStore(try SharedFiles.bytes(path))
      for object in store.objects {
        for name in ["sourcemodeldata", "destinationmodeldata"] {
          guard case .data(let bytes)? = object.attributes[name] else { continue }
          archives.append(try KeyedArchive(bytes: bytes))
        }
      }
    }
    #expect(archives.count == 27)
    let classes: Set<String> = [
      "NSDictionary", "NSMutableArray", "NSMutableDictionary", "NSMutableString",
      "XDModelPackage", "XDPMAttribute", "XDPMEntity", "XDPMModel", "XDPMRelationship",
      "XDUMLClassImp", "XDUMLGeneralizationImp", "XDUMLPropertyImp", "XDUMLStereotypeImp",
    ]
    let tags = EditorModelReader.entityTags.union(EditorModelReader.attributeTags)
      .union(EditorModelReader.relationshipTags)
    for archive in archives {
      #expect(try EditorModelReader.model(in: archive).unread == [])
      for object in archive.objects {
        guard let className = archive.className(of: object) else { continue }
        #expect(classes.contains(className), "\(className)")
        if className == "XDUMLPropertyImp" {
          let tag = archive.string(object["_name"]) ?? ""
          #expect(tags.contains(tag), "\(tag)")
        }
      }
    }
  }

  // MARK: Made here

  @Test func everythingOfAModel() throws {
    var archive = EditorArchive()
    let note = archive.builder.reserve()
    let item = archive.builder.reserve()
    let folder = archive.builder.reserve()
    let notes = archive.builder.reserve()
    let yes = PropertyList.bool(true)
    let info = archive.builder.dictionary([("k", archive.builder.string("v"))])
    let title = archive.property(
      "XDPMAttribute", "title",
      tags: [
        "XD_PPropStereotype": [
          ("XD_PPSK_isOptional", yes), ("XD_PPSK_isIndexed", yes),
          ("XD_PPSK_isSpotlightIndexed", yes), ("XD_PPSK_isStoredInTruthFile", yes),
          ("XD_PPSK_userInfo", info), ("XD_PPSK_elementID", archive.builder.string("name")),
          ("XD_PPSK_versionHashModifier", archive.builder.string("m")),
        ],
        "XD_PAtt_Stereotype": [
          ("XD_PAttK_attributeType", .integer(700)),
          ("XD_PAttK_defaultValueAsString", archive.builder.string("Untitled")),
          ("XD_PAttK_maxValueString", archive.builder.string("50")),
          ("XD_PAttK_regularExpressionString", archive.builder.string("[A-Z].*")),
        ],
      ])
    let photo = archive.property(
      "XDPMAttribute", "photo",
      tags: [
        "XD_PPropStereotype": [("XD_PPSK_isTransient", yes)],
        "XD_PAtt_Stereotype": [
          ("XD_PAttK_attributeType", .integer(1800)),
          ("XD_PAttK_allowsExternalBinaryDataStorage", yes),
          ("XD_PAttK_valueTransformerName", archive.builder.string("Shape")),
        ],
      ])
    let parent = archive.property(
      "XDPMRelationship", "folder",
      tags: [
        "XD_PR_Stereotype": [
          ("XD_PRK_destination", folder), ("XD_PRK_inverseRelationship", notes),
          ("XD_PRK_minCount", .integer(1)), ("XD_PRK_maxCount", .integer(1)),
          ("XD_PRK_deleteRule", .integer(3)),
        ]
      ])
    _ = archive.property(
      "XDPMRelationship", "notes",
      tags: [
        "XD_PR_Stereotype": [
          ("XD_PRK_destination", note), ("XD_PRK_inverseRelationship", parent),
          ("XD_PRK_isToMany", yes), ("XD_PRK_ordered", yes), ("XD_PRK_deleteRule", .integer(2)),
        ]
      ], owner: folder, at: notes)
    let recentRequest = archive.request("r", entity: note, predicate: "title != nil")
    let recent = archive.property(
      "XDPMFetchedProperty", "recent",
      tags: ["XD_PFetched_Stereotype": [("XD_PFetchedK_request", recentRequest)]])
    let requests = archive.builder.mutableArray([
      archive.request("byTitle", entity: note, predicate: "title == $title"),
      archive.request("ofRecent", entity: note, predicate: nil, property: recent),
    ])
    let unique = archive.builder.mutableArray([
      archive.builder.mutableArray([archive.builder.string("title")])
    ])
    archive.entity(
      note, "Note", properties: [("title", title), ("photo", photo), ("folder", parent)],
      parent: item,
      tags: [
        ("XD_PSK_entityClassName", archive.builder.string("NoteObject")),
        ("XD_PSK_fetchRequestsArray", requests), ("XDPMUniquenessConstraints", unique),
        ("XD_PSK_elementID", archive.builder.string("Memo")), ("XD_PSK_userInfo", info),
      ])
    archive.entity(item, "Item", tags: [("XD_PSK_isAbstract", yes)])
    archive.entity(folder, "Folder", properties: [("notes", notes), ("recent", recent)])
    let inner = archive.package(entities: [("Folder", folder)])
    let members = archive.builder.array([note, archive.builder.string("Folder")])
    let bytes = archive.bytes(
      entities: [("Note", note), ("Item", item)], identifier: "7",
      configurations: [("Local", members)], packages: [("Inner", inner)])

    let expected = ManagedObjectModel(
      entities: [
        Entity(
          name: "Note", className: "NoteObject", superentityName: "Item",
          attributes: [
            Attribute(
              name: "title", type: .string, isOptional: true, isIndexed: true,
              isIndexedBySpotlight: true, isStoredInTruthFile: true,
              defaultValue: .string("Untitled"),
              validations: [
                AttributeValidation.Form.maximumLength(50).validation,
                AttributeValidation.Form.pattern("[A-Z].*").validation,
              ], versionHashModifier: "m", renamingIdentifier: "name", userInfo: ["k": "v"]),
            Attribute(
              name: "photo", type: .transformable, isTransient: true,
              allowsExternalBinaryDataStorage: true, valueTransformerName: "Shape"),
          ],
          relationships: [
            Relationship(
              name: "folder", destinationEntityName: "Folder", inverseName: "notes",
              inverseEntityName: "Folder", minCount: 1, deleteRule: .deny)
          ], uniquenessConstraints: [["title"]], renamingIdentifier: "Memo", userInfo: ["k": "v"]),
        Entity(name: "Item", isAbstract: true),
        Entity(
          name: "Folder",
          relationships: [
            Relationship(
              name: "notes", destinationEntityName: "Note", inverseName: "folder",
              inverseEntityName: "Note", maxCount: 0, isOrdered: true, deleteRule: .cascade)
          ],
          fetchedProperties: [
            FetchedProperty(
              name: "recent",
              request: FetchRequest(
                entityName: "Note", predicate: ModelPredicate(text: "title != nil")),
              requestName: "r", isOptional: false)
          ]),
      ], versionIdentifiers: ["7"], configurations: ["Local": ["Folder", "Note"]],
      fetchRequestTemplates: [
        FetchRequestTemplate(
          name: "byTitle", entityName: "Note", predicate: ModelPredicate(text: "title == $title"))
      ])
    let read = try ManagedObjectModel(editorArchive: bytes)
    #expect(read.entities["Note"] == expected.entities["Note"])
    #expect(read == expected)
    #expect(try ManagedObjectModel(editorArchive: bytes) == expected)
    var known = KnownEntities()
    #expect(try ModelFile.model(bytes, knowing: &known).model == expected)
  }

  @Test func unknownTagsAreRemembered() throws {
    var archive = EditorArchive()
    let note = archive.builder.reserve()
    archive.entity(
      note, "Note",
      tags: [
        ("XD_PSK_brandNew", .bool(true)), ("XD_PSK_off", .bool(false)),
        ("XD_PSK_none", KeyedArchiveBuilder.null),
      ])
    let bytes = archive.bytes(entities: [("Note", note)])
    let read = try EditorModelReader.model(in: try KeyedArchive(bytes: bytes))
    #expect(read.unread == ["XDPMEntity.XD_PSK_brandNew"])
    var known = KnownEntities()
    let problems = try ModelFile.model(bytes, knowing: &known).unread
    #expect(problems.map(\.kind) == [.unreadValue])
    #expect(problems.first?.sentence.contains("XDPMEntity.XD_PSK_brandNew") == true)
  }

  @Test func damageIsToldApart() throws {
    // No name; two of one name; a property of no known class; packages in a ring.
    var unnamed = EditorArchive()
    let place = unnamed.builder.reserve()
    unnamed.entity(place, nil)
    Self.expect(.malformed, unnamed.bytes(entities: [("Note", place)]))

    var doubled = EditorArchive()
    let one = doubled.builder.reserve()
    let two = doubled.builder.reserve()
    doubled.entity(one, "Note")
    doubled.entity(two, "Note")
    Self.expect(.duplicateName, doubled.bytes(entities: [("Note", one), ("Other", two)]))

    var strange = EditorArchive()
    let entity = strange.builder.reserve()
    let property = strange.property("XDPMBrandNew", "x", tags: [:])
    strange.entity(entity, "Note", properties: [("x", property)])
    Self.expect(.malformed, strange.bytes(entities: [("Note", entity)]))

    var twice = EditorArchive()
    let owner = twice.builder.reserve()
    let size = twice.attribute("size", .string)
    twice.entity(owner, "Note", properties: [("size", size), ("other", size)])
    Self.expect(.duplicateName, twice.bytes(entities: [("Note", owner)]))

    var builder = KeyedArchiveBuilder()
    let ring = builder.reserve()
    let inner = builder.dictionary([("Inner", ring)])
    builder.fill(
      ring, ["XDModelPackage", "NSObject"],
      ["XDBucketForPackagesstorage": inner, "XDBucketForClassesstorage": builder.dictionary([])])
    let root = builder.add(["XDPMModel", "NSObject"], ["_xd_rootPackage": ring])
    #expect(
      try ManagedObjectModel(editorArchive: builder.bytes(root: root)) == ManagedObjectModel())

    var other = KeyedArchiveBuilder()
    let model = other.add(["NSManagedObjectModel", "NSObject"], [:])
    Self.expect(.notAModel, other.bytes(root: model))
    Self.expect(.notAModel, Array("neither".utf8))
  }

  /// A tagged value of a wrong type is an error: a default in its place would give the hashes of another model.
  @Test(arguments: [
    ("XDPMAttribute", "XD_PPSK_isOptional"), ("XDPMAttribute", "XD_PAttK_attributeType"),
    ("XDPMAttribute", "XD_PPSK_versionHashModifier"), ("XDPMRelationship", "XD_PRK_minCount"),
    ("XDPMRelationship", "XD_PRK_ordered"),
  ])
  func wrongTypes(_ className: String, _ tag: String) {
    for value in [PropertyList.data([1]), .uid(4_000_000), .real(0.5)] {
      var archive = EditorArchive()
      let note = archive.builder.reserve()
      let property = archive.property(className, "x", tags: ["S": [(tag, value)]])
      archive.entity(note, "Note", properties: [("x", property)])
      Self.expect(.malformed, archive.bytes(entities: [("Note", note)]))
    }
  }

  /// A model that says itself to be its parent is read; that it is damaged is for validation.
  @Test func ringOfParents() throws {
    var archive = EditorArchive()
    let note = archive.builder.reserve()
    archive.entity(note, "Note", parent: note)
    let model = try ManagedObjectModel(editorArchive: archive.bytes(entities: [("Note", note)]))
    #expect(model.entities["Note"]?.superentityName == "Note")
    #expect(!model.validate().isEmpty)
  }

  private static func expect(_ code: ModelError.Code, _ bytes: [UInt8]) {
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(editorArchive: bytes) }
    #expect(error?.code == code)
  }

  @Test func truncationIsAnErrorAtEachLength() throws {
    var archive = EditorArchive()
    let note = archive.builder.reserve()
    let size = archive.attribute("size", .string)
    archive.entity(note, "Note", properties: [("size", size)])
    let bytes = archive.bytes(entities: [("Note", note)])
    for length in stride(from: 0, to: bytes.count, by: 3) {
      #expect(throws: ModelError.self) {
        try ManagedObjectModel(editorArchive: Array(bytes[..<length]))
      }
    }
  }

  /// A limit that is no number or date is told by the tag that holds it.
  @Test func theLimitThatIsNotReadIsNamed() throws {
    var archive = EditorArchive()
    let note = archive.builder.reserve()
    let one = archive.builder.string("1")
    let words = archive.builder.string("many")
    let size = archive.property(
      "XDPMAttribute", "size",
      tags: [
        "XD_PAtt_Stereotype": [
          ("XD_PAttK_attributeType", .integer(700)), ("XD_PAttK_minValueString", one),
          ("XD_PAttK_maxValueString", words),
        ]
      ])
    let date = archive.property(
      "XDPMAttribute", "date",
      tags: [
        "XD_PAtt_Stereotype": [
          ("XD_PAttK_attributeType", .integer(900)), ("XD_PAttK_maxValueString", words),
        ]
      ])
    archive.entity(note, "Note", properties: [("size", size), ("date", date)])
    let bytes = archive.bytes(entities: [("Note", note)])
    let read = try EditorModelReader.model(in: try KeyedArchive(bytes: bytes))
    #expect(read.unread == ["XDPMAttribute.XD_PAttK_maxValueString"])
    #expect(
      read.model.entities["Note"]?.attributes.map(\.validations)
        == [[], [AttributeValidation.Form.minimumLength(1).validation]])
  }
}
