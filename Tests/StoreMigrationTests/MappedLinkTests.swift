import Fixtures
import Foundation
import ModelTools
import ObjectModel
import StoreMigration
import Testing

/// Links between the objects that several mappings make, each against what SQL finds in the new store.
@Suite struct MappedLinkTests {
  private static let tagged = pair("Contact", "tags", "Tag", "contacts", version: "1")

  /// A model of two entities whose relationships are inverse to each other.
  private static func pair(
    _ entity: String, _ name: String, isToMany: Bool = true, _ other: String, _ inverse: String,
    version: String
  ) -> ManagedObjectModel {
    ManagedObjectModel(
      entities: [
        Entity(
          name: entity,
          relationships: [relationship(name, to: other, inverse, isToMany: isToMany)]),
        Entity(
          name: other, relationships: [relationship(inverse, to: entity, name, isToMany: true)]),
      ], versionIdentifiers: [version])
  }

  private static let taggedRows = """
    INSERT INTO ZCONTACT (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
    INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
    INSERT INTO Z_1TAGS (Z_1CONTACTS, Z_2TAGS) VALUES (1, 1);
    UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
    """

  /// Each of two mappings of one entity names the mapping whose objects its own objects lead to.
  @Test(arguments: [false, true]) func eachMappingNamesItsOwn(_ isDamaged: Bool) throws {
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      Self.tagged, Self.tagged,
      [
        MappedReferenceTests.mapping(
          "ContactToContact", "Contact", "Contact", ["tags": #""TagToTag", $source.tags"#]),
        MappedReferenceTests.mapping(
          "ContactToCopy", "Contact", "Contact", ["tags": #""TagToCopy", $source.tags"#]),
        MappedReferenceTests.mapping("TagToTag", "Tag", "Tag"),
        MappedReferenceTests.mapping("TagToCopy", "Tag", "Tag"),
      ], Self.taggedRows + "INSERT INTO Z_1TAGS (Z_1CONTACTS, Z_2TAGS) VALUES (NULL, 1);",
      isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_1CONTACTS, Z_2TAGS FROM Z_1TAGS ORDER BY 1, 2") == "1 1, 2 2")
    // The link without a key is one, although it is read twice.
    #expect(report.cutCount == 1)
  }

  /// Each of two mappings that share the objects of an entity writes the links of those that it takes, whether the
  /// other end is one object or two. An object that neither takes has no link that could be cut.
  @Test(arguments: [false, true], [false, true])
  func eachMappingLinksTheObjectsThatItTakes(_ isDamaged: Bool, _ areOwnersTwo: Bool) throws {
    let all = try ModelExpression(
      parsing:
        #"FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "owner", $source.owner)"#
    )
    var mappings = try [1, 2].map { kind in
      var mapping = try MappedReferenceTests.mapping(
        "Item\(kind)", "Item", "Item", where: "kind == \(kind)")
      mapping.relationshipMappings = [PropertyMapping(name: "owners", valueExpression: all)]
      return mapping
    }
    for name in ["OwnerToOwner"] + (areOwnersTwo ? ["OwnerToCopy"] : []) {
      mappings.append(try MappedReferenceTests.mapping(name, "Owner", "Owner"))
    }
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      MappedReferenceTests.ownedItems, Self.pair("Item", "owners", "Owner", "items", version: "2"),
      mappings,
      """
      INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT) VALUES (5, 2, 1);
      INSERT INTO ZITEM (Z_PK, Z_ENT, Z_OPT, ZKIND, ZOWNER) VALUES
        (1, 1, 1, 1, 5), (2, 1, 1, 2, 5), (3, 1, 1, 3, 5);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 5;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK FROM ZITEM ORDER BY 1") == "1, 7")
    #expect(
      try database.text("SELECT Z_1ITEMS, Z_2OWNERS FROM Z_1OWNERS ORDER BY 1, 2")
        == (areOwnersTwo ? "1 5, 1 10, 7 5, 7 10" : "1 5, 7 5"))
    #expect(report.cutCount == 0)
  }

  /// Where a relationship names no mapping, it leads to all objects that are made of one.
  @Test(arguments: [false, true]) func aRelationshipWithoutAMappingTakesAll(_ isDamaged: Bool)
    throws
  {
    var contact = try MappedReferenceTests.mapping(
      "ContactToContact", "Contact", "Contact", ["tags": #""TagToTag", $source.tags"#])
    contact.relationshipMappings[0].valueExpression = try ModelExpression(
      parsing:
        #"FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "tags", $source.tags)"#
    )
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      Self.tagged, Self.tagged,
      [
        contact, MappedReferenceTests.mapping("TagToTag", "Tag", "Tag"),
        MappedReferenceTests.mapping("TagToCopy", "Tag", "Tag"),
      ],
      Self.taggedRows, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_1CONTACTS, Z_2TAGS FROM Z_1TAGS ORDER BY 1, 2") == "1 1, 1 2")
    #expect(report.cutCount == 0)
  }

  /// The mappings of both sides count: persons name their tags, and tags name their firms.
  @Test(arguments: [false, true]) func bothSidesCount(_ isDamaged: Bool) throws {
    let old = ManagedObjectModel(
      entities: [
        Entity(
          name: "Firm", relationships: [relationship("labels", to: "Tag", "firms", isToMany: true)]),
        Entity(
          name: "Person", relationships: [relationship("tags", to: "Tag", "people", isToMany: true)]
        ),
        Entity(
          name: "Tag",
          relationships: [
            relationship("firms", to: "Firm", "labels", isToMany: true),
            relationship("people", to: "Person", "tags", isToMany: true),
          ]),
      ], versionIdentifiers: ["0"])
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      old, Self.tagged,
      [
        MappedReferenceTests.mapping("FirmToContact", "Firm", "Contact"),
        MappedReferenceTests.mapping(
          "PersonToContact", "Person", "Contact", ["tags": #""TagToTag", $source.tags"#]),
        MappedReferenceTests.mapping(
          "TagToTag", "Tag", "Tag", ["contacts": #""FirmToContact", $source.firms"#]),
      ],
      """
      INSERT INTO ZFIRM (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1);
      INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1);
      INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1);
      INSERT INTO Z_1LABELS (Z_1FIRMS, Z_3LABELS) VALUES (1, 1);
      INSERT INTO Z_2TAGS (Z_2PEOPLE, Z_3TAGS) VALUES (1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 1;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(
      try database.text("SELECT Z_1CONTACTS, Z_2TAGS FROM Z_1TAGS ORDER BY 1, 2") == "1 1, 2 1")
    #expect(report.cutCount == 0)
  }

  /// Links that an expression describes and that cannot be found are refused before anything is written.
  @Test(arguments: [
    #"FUNCTION($source.tags, "reversed")"#,
    #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "TagToTag", $source.tags.contacts.tags)"#,
    #"FUNCTION($manager, "destinationInstancesForEntityMappingNamed:sourceInstances:", "TagToTag", $source.labels)"#,
  ])
  func linksThatAreNotUnderstoodAreRefused(_ text: String) throws {
    var contact = try MappedReferenceTests.mapping(
      "ContactToContact", "Contact", "Contact", ["tags": #""TagToTag", $source.tags"#])
    contact.relationshipMappings[0].valueExpression = try ModelExpression(parsing: text)
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try MappedReferenceTests.migrate(
        Self.tagged, Self.tagged,
        [contact, MappedReferenceTests.mapping("TagToTag", "Tag", "Tag")],
        Self.taggedRows, isDamaged: false, in: folder)
    }
    #expect([.unsupportedExpression, .mappingMismatch].contains(error?.code))
    #expect(error?.reasons.first?.contains("ContactToContact.tags") == true)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["Old.sqlite"])
  }

  /// Mappings refer to each other by name, so a name for two of them is refused.
  @Test func aNameOfTwoMappingsIsRefused() throws {
    let folder = try TemporaryFolder()
    let error = #expect(throws: MigrationError.self) {
      _ = try MappedReferenceTests.migrate(
        Self.tagged, Self.tagged,
        [
          MappedReferenceTests.mapping("Same", "Contact", "Contact"),
          MappedReferenceTests.mapping("Same", "Tag", "Tag"),
        ],
        Self.taggedRows, isDamaged: false, in: folder)
    }
    #expect(error?.code == .mappingMismatch)
    #expect(error?.reasons == ["several mappings have the name Same"])
  }

  /// A copy without mappings of properties copies objects as they are, and so does one without mappings of attributes.
  @Test(arguments: [false, true], [false, true])
  func aCopyWithoutPropertiesCopiesAll(_ isDamaged: Bool, _ areTagsMapped: Bool) throws {
    var model = Self.tagged
    model.entities["Contact"]?.attributes = [attribute("name")]
    var mappings = try ["Contact", "Tag"].map { name in
      try MappedReferenceTests.mapping(
        name, name, name,
        name == "Contact" && areTagsMapped ? ["tags": #""Tag", $source.tags"#] : [:])
    }
    for place in mappings.indices { mappings[place].kind = .copy }
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      model, model, mappings, Self.taggedRows + "UPDATE ZCONTACT SET ZNAME = 'Ada';",
      isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT ZNAME FROM ZCONTACT") == "Ada")
    #expect(try database.text("SELECT Z_1CONTACTS, Z_2TAGS FROM Z_1TAGS") == "1 1")
    #expect(report.isLossless)
  }

  /// Two objects of one old object are linked if the mapping of either says so; where a mapping makes none, nothing is
  /// cut.
  @Test(arguments: [false, true], [["cuisines"], ["recipes"], ["cuisines", "recipes"]])
  func linksOfTwins(_ isDamaged: Bool, _ set: [String]) throws {
    let old = ManagedObjectModel(
      entities: [Entity(name: "Recipe", attributes: [attribute("kind", .integer16)])],
      versionIdentifiers: ["1"])
    let new = Self.pair("Cuisine", "recipes", "Recipe", "cuisines", version: "2")
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      old, new,
      [
        MappedReferenceTests.mapping(
          "RecipeToRecipe", "Recipe", "Recipe",
          set.contains("cuisines") ? ["cuisines": #""RecipeToCuisine", $source"#] : [:]),
        MappedReferenceTests.mapping(
          "RecipeToCuisine", "Recipe", "Cuisine",
          set.contains("recipes") ? ["recipes": #""RecipeToRecipe", $source"#] : [:],
          where: "kind == 1"),
      ],
      """
      INSERT INTO ZRECIPE (Z_PK, Z_ENT, Z_OPT, ZKIND) VALUES (1, 1, 1, 2), (2, 1, 1, 1);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_1CUISINES, Z_2RECIPES FROM Z_1RECIPES") == "2 2")
    #expect(report.cutCount == 0)
  }

  /// A copy with a mapping of one relationship carries this one and the attributes; the report names the other one.
  @Test(arguments: [false, true]) func aCopyNamesTheRelationshipsThatItDrops(_ isDamaged: Bool)
    throws
  {
    let model = ManagedObjectModel(
      entities: [
        Entity(name: "Bed"),
        Entity(
          name: "Cat", attributes: [attribute("name")],
          relationships: ["day", "night"].map {
            Relationship(name: $0, destinationEntityName: "Bed", isOptional: true)
          }),
      ], versionIdentifiers: ["1"])
    var cat = try MappedReferenceTests.mapping(
      "CatToCat", "Cat", "Cat", ["day": #""BedToBed", $source.day"#])
    cat.kind = .copy
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      model, model, [cat, MappedReferenceTests.mapping("BedToBed", "Bed", "Bed")],
      """
      INSERT INTO ZBED (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1);
      INSERT INTO ZCAT (Z_PK, Z_ENT, Z_OPT, ZNAME, ZDAY, ZNIGHT) VALUES (1, 2, 1, 'Tom', 1, 2);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZNAME, ZDAY, ZNIGHT FROM ZCAT") == "1 Tom 1 -")
    #expect(
      report.steps.flatMap(\.notes).contains(
        "values of Cat.night are not carried over; they are in the old store only"))
  }

  /// The same holds where one of the two objects leads to the other.
  @Test(arguments: [false, true], ["attachments", "note"])
  func referencesOfTwins(_ isDamaged: Bool, _ set: String) throws {
    let old = ManagedObjectModel(
      entities: [Entity(name: "Note", attributes: [attribute("kind", .integer16)])],
      versionIdentifiers: ["1"])
    let new = Self.pair(
      "Attachment", "note", isToMany: false, "Note", "attachments", version: "2")
    let folder = try TemporaryFolder()
    let (report, database) = try MappedReferenceTests.migrate(
      old, new,
      [
        MappedReferenceTests.mapping(
          "NoteToNote", "Note", "Note",
          set == "attachments" ? ["attachments": #""NoteToAttachment", $source"#] : [:],
          where: "kind < 3"),
        MappedReferenceTests.mapping(
          "NoteToAttachment", "Note", "Attachment",
          set == "note" ? ["note": #""NoteToNote", $source"#] : [:], where: "kind > 1"),
      ],
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZKIND) VALUES (1, 1, 1, 1), (2, 1, 1, 2), (3, 1, 1, 3);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 3;
      """, isDamaged: isDamaged, in: folder)
    defer { database.close() }
    #expect(try database.text("SELECT Z_PK, ZNOTE FROM ZATTACHMENT ORDER BY 1") == "2 2, 3 -")
    #expect(report.cutCount == 0)
  }
}
