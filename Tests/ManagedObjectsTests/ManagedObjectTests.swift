import CoreDataForensics
import CoreDataStore
import Fixtures
import Foundation
import ManagedObjects
import ObjectModel
import SQLiteFile
import SQLiteWriter
import StoreMigration
import Testing

/// Objects of a new store, each change against what SQL finds in its tables.
@Suite struct ManagedObjectTests {
  private static let model: ManagedObjectModel = {
    func attribute(
      _ name: String, _ type: AttributeType, default value: DefaultValue? = nil
    ) -> Attribute {
      Attribute(name: name, type: type, isOptional: true, defaultValue: value)
    }
    func relationship(
      _ name: String, to entity: String, _ inverse: String?, isToMany: Bool = false,
      isOrdered: Bool = false, deleteRule: DeleteRule = .nullify
    ) -> Relationship {
      Relationship(
        name: name, destinationEntityName: entity, inverseName: inverse,
        inverseEntityName: inverse.map { _ in entity }, maxCount: isToMany ? 0 : 1,
        isOrdered: isOrdered, isOptional: true, deleteRule: deleteRule)
    }
    return ManagedObjectModel(
      entities: [
        Entity(
          name: "Animal", isAbstract: true, attributes: [attribute("name", .string)],
          relationships: [
            relationship("home", to: "House", "animals"),
            relationship("fans", to: "Animal", "friends", isToMany: true),
            relationship("friends", to: "Animal", "fans", isToMany: true),
          ]),
        Entity(
          name: "Cat", superentityName: "Animal",
          attributes: [attribute("lives", .integer16, default: .integer(9))]),
        Entity(name: "Dog", superentityName: "Animal"),
        Entity(
          name: "House",
          attributes: [
            attribute("built", .date, default: .date(86_400)), attribute("data", .binary),
            attribute("isOld", .boolean), attribute("mark", .uuid), attribute("price", .decimal),
          ],
          relationships: [
            relationship("animals", to: "Animal", "home", isToMany: true, isOrdered: true),
            relationship("key", to: "Key", "house"),
            relationship("stones", to: "Stone", nil, isToMany: true),
            relationship("tags", to: "Tag", "houses", isToMany: true, isOrdered: true),
          ]),
        Entity(
          name: "Key", attributes: [attribute("number", .integer32)],
          relationships: [relationship("house", to: "House", "key")]),
        Entity(
          name: "Owner",
          relationships: [
            Relationship(
              name: "stones", destinationEntityName: "Stone", inverseName: "owner",
              inverseEntityName: "Stone", maxCount: 0, isOptional: true, deleteRule: .deny)
          ]),
        Entity(
          name: "Stone", attributes: [attribute("weight", .double)],
          relationships: [relationship("owner", to: "Owner", "stones")]),
        Entity(
          name: "Tag", attributes: [attribute("name", .string)],
          relationships: [relationship("houses", to: "House", "tags", isToMany: true)]),
        Entity(
          name: "Wall",
          relationships: [
            relationship("hooks", to: "Wire", nil, isToMany: true, isOrdered: true),
            relationship("windows", to: "Window", "wall", isToMany: true, deleteRule: .cascade),
          ]),
        Entity(
          name: "Window",
          relationships: [
            relationship("lines", to: "Wire", "line", isToMany: true, deleteRule: .cascade),
            relationship("wall", to: "Wall", "windows"),
            relationship("wires", to: "Wire", "window", isToMany: true, deleteRule: .deny),
          ]),
        Entity(
          name: "Wire",
          relationships: [
            relationship("line", to: "Window", "lines"),
            relationship("window", to: "Window", "wires"),
          ]),
        Entity(
          name: "Yard",
          relationships: [relationship("stones", to: "Stone", nil, isToMany: true)]),
      ], versionIdentifiers: ["1"])
  }()

  /// A new store's file and its objects.
  private final class Store {
    let folder: TemporaryFolder
    let writer: SQLiteWriter
    let context: ObjectContext

    init(isReadOnly: Bool = false) throws {
      folder = try TemporaryFolder()
      let path = folder.url.appendingPathComponent("Store.sqlite").path
      writer = try SQLiteWriter(creating: path)
      let schema = try FreshStoreSchema(ManagedObjectTests.model)
      try FreshStore.write(schema, uuid: UUID(), to: writer)
      context = ObjectContext(
        schema.layout, writer, schema: "main", storePath: path,
        highestKeys: isReadOnly ? nil : ["ZHOUSE": 40])
    }

    deinit {
      context.finish()
      writer.discard()
    }

    func text(_ sql: String) throws -> String {
      try context.write()
      return try writer.rows(sql).map { row in
        row.map { value in
          switch value {
          case .null: "-"
          case .integer(let number): String(number)
          case .real(let number): String(number)
          case .text(let bytes): String(decoding: bytes, as: UTF8.self)
          case .blob(let bytes): bytes.map { String($0, radix: 16) }.joined(separator: ".")
          }
        }.joined(separator: " ")
      }.joined(separator: ", ")
    }

    func insert(_ entity: String, _ values: [String: PropertyValue] = [:]) throws -> ManagedObject {
      let object = try context.insertObject(ofEntity: entity)
      for (name, value) in values { try object.setValue(value, forKey: name) }
      return object
    }
  }

  private static func string(_ text: String) -> PropertyValue { .string(StoredText(text)) }

  /// Values are stored as Core Data stores them, and read back as they were given.
  @Test func attributes() throws {
    let store = try Store()
    let values: [String: PropertyValue] = [
      "built": .date(ReferenceDate(seconds: 1.5)), "data": .binary([1, 2]), "isOld": .boolean(true),
      "mark": .uuid(Array(0..<16)), "price": .real(2.25),
    ]
    let house = try store.insert("House", values)
    #expect(house.reference == nil)
    #expect(
      try store.text("SELECT Z_PK, Z_ENT, Z_OPT, ZBUILT, ZDATA, ZISOLD, ZPRICE FROM ZHOUSE")
        == "41 4 1 1.5 1.2 1 2.25")
    #expect(house.reference?.primaryKey == 41)
    for (name, value) in values { #expect(try house.value(forKey: name) == value) }
    try house.setValue(.null, forKey: "data")
    #expect(try house.value(forKey: "data") == .null)
    #expect(try store.text("SELECT ZDATA FROM ZHOUSE") == "-")
    // A new object has the model's values.
    let cat = try store.insert("Cat")
    _ = try store.insert("House")
    #expect(try store.text("SELECT ZLIVES, Z_ENT FROM ZANIMAL") == "9 2")
    #expect(try store.text("SELECT ZBUILT FROM ZHOUSE ORDER BY Z_PK") == "1.5, 86400")
    #expect(try cat.value(forKey: "lives") == .integer(9))
  }

  /// A to-one relationship and its inverse say the same, and the order goes on.
  @Test func toOneAndItsInverse() throws {
    let store = try Store()
    let house = try store.insert("House")
    let cat = try store.insert("Cat", ["name": Self.string("cat")])
    let dog = try store.insert("Dog", ["name": Self.string("dog")])
    try house.addObject(dog, forKey: "animals")
    try store.context.write()
    try cat.setObject(house, forKey: "home")
    #expect(
      try store.text("SELECT ZNAME, Z_ENT, ZHOME, Z_FOK_HOME FROM ZANIMAL ORDER BY Z_FOK_HOME")
        == "dog 3 41 1024, cat 2 41 2048")
    #expect(try house.objects(forKey: "animals").map(\.entityName) == ["Dog", "Cat"])
    #expect(try house.objects(forKey: "animals")[0] === dog)
    #expect(try cat.object(forKey: "home") === house)
    try house.removeObject(dog, forKey: "animals")
    #expect(try house.objects(forKey: "animals").count == 1)
    #expect(try dog.object(forKey: "home") == nil)
    #expect(try store.text("SELECT Z_FOK_HOME FROM ZANIMAL WHERE ZNAME = 'dog'") == "-")
  }

  /// The order is that in which objects are added, not that in which they are made or changed.
  @Test func theOrderOfAdding() throws {
    let store = try Store()
    let house = try store.insert("House")
    let (cat, dog) = try (store.insert("Cat"), store.insert("Dog"))
    for animal in [dog, cat] { try house.addObject(animal, forKey: "animals") }
    #expect(try house.objects(forKey: "animals").map(\.entityName) == ["Dog", "Cat"])
    for animal in [dog, cat] { try house.removeObject(animal, forKey: "animals") }
    for animal in [cat, dog] { try house.addObject(animal, forKey: "animals") }
    #expect(try house.objects(forKey: "animals").map(\.entityName) == ["Cat", "Dog"])
  }

  /// An object that is set or added once more keeps its position.
  @Test func theSameObjectKeepsItsPosition() throws {
    let store = try Store()
    let house = try store.insert("House")
    let (cat, dog) = try (store.insert("Cat"), store.insert("Dog"))
    for animal in [dog, cat] { try house.addObject(animal, forKey: "animals") }
    try store.context.write()
    try dog.setObject(house, forKey: "home")
    try house.addObject(dog, forKey: "animals")
    #expect(
      try store.text("SELECT Z_ENT, ZHOME, Z_FOK_HOME FROM ZANIMAL ORDER BY Z_FOK_HOME")
        == "3 41 1024, 2 41 2048")
  }

  /// Houses and yards have equal relationships to stones, and each has its own column.
  @Test func equalRelationshipsOfTwoEntities() throws {
    let store = try Store()
    let (house, yard) = try (store.insert("House"), store.insert("Yard"))
    let stone = try store.insert("Stone")
    try yard.addObject(stone, forKey: "stones")
    #expect(try store.text("SELECT Z4STONES, Z12STONES FROM ZSTONE") == "- 1")
    #expect(try house.objects(forKey: "stones").isEmpty)
    #expect(try yard.objects(forKey: "stones")[0] === stone)
    try house.addObject(stone, forKey: "stones")
    #expect(try store.text("SELECT Z4STONES, Z12STONES FROM ZSTONE") == "41 1")
    try store.context.delete(yard)
    #expect(try store.text("SELECT Z4STONES, Z12STONES FROM ZSTONE") == "41 -")
  }

  /// Of a relationship between two objects, the former partners lead nowhere.
  @Test func oneToOne() throws {
    let store = try Store()
    let (one, two) = try (store.insert("House"), store.insert("House"))
    let (first, second) = try (store.insert("Key"), store.insert("Key"))
    try one.setObject(first, forKey: "key")
    try second.setObject(two, forKey: "house")
    let sql = "SELECT ZKEY FROM ZHOUSE ORDER BY Z_PK"
    let back = "SELECT ZHOUSE FROM ZKEY ORDER BY Z_PK"
    #expect(try store.text(sql) == "1, 2")
    #expect(try store.text(back) == "41, 42")
    try one.setObject(second, forKey: "key")
    #expect(try store.text(sql) == "2, -")
    #expect(try store.text(back) == "-, 41")
    try second.setObject(nil, forKey: "house")
    #expect(try store.text(sql) == "-, -")
    #expect(try store.text(back) == "-, -")
  }

  @Test func manyToMany() throws {
    let store = try Store()
    let house = try store.insert("House")
    let tags = try ["c", "a", "b"].map { try store.insert("Tag", ["name": Self.string($0)]) }
    for tag in tags { try house.addObject(tag, forKey: "tags") }
    try house.addObject(tags[0], forKey: "tags")
    func names() throws -> [PropertyValue] {
      try house.objects(forKey: "tags").map { try $0.value(forKey: "name") }
    }
    #expect(try names() == [Self.string("c"), Self.string("a"), Self.string("b")])
    try tags[1].removeObject(house, forKey: "houses")
    #expect(try names() == [Self.string("c"), Self.string("b")])
    #expect(try tags[0].objects(forKey: "houses")[0] === house)
    // To itself, and without inverse.
    let (cat, dog) = try (store.insert("Cat"), store.insert("Dog"))
    try cat.addObject(dog, forKey: "friends")
    #expect(try cat.objects(forKey: "friends").map(\.entityName) == ["Dog"])
    #expect(try cat.objects(forKey: "fans").isEmpty)
    #expect(try dog.objects(forKey: "fans")[0] === cat)
    let stone = try store.insert("Stone")
    try house.addObject(stone, forKey: "stones")
    #expect(try house.objects(forKey: "stones")[0] === stone)
    #expect(try store.text("SELECT Z4STONES FROM ZSTONE") == "41")
    try house.removeObject(stone, forKey: "stones")
    #expect(try store.text("SELECT Z4STONES FROM ZSTONE") == "-")
  }

  /// What led to a deleted object leads nowhere, and a relationship may cascade or deny.
  @Test func deleting() throws {
    let store = try Store()
    let house = try store.insert("House")
    let (cat, dog) = try (store.insert("Cat"), store.insert("Dog"))
    try cat.setObject(house, forKey: "home")
    try cat.addObject(dog, forKey: "friends")
    let tag = try store.insert("Tag")
    try house.addObject(tag, forKey: "tags")
    let key = try store.insert("Key")
    try house.setObject(key, forKey: "key")
    try store.context.delete(house)
    #expect(house.isDeleted)
    #expect(try store.text("SELECT count(*) FROM ZHOUSE") == "0")
    #expect(
      try store.text(
        "SELECT count(*) FROM ZANIMAL WHERE ZHOME IS NULL AND Z_FOK_HOME IS NULL") == "2")
    #expect(try store.text("SELECT ZHOUSE FROM ZKEY") == "-")
    #expect(try tag.objects(forKey: "houses").isEmpty)
    #expect(try cat.object(forKey: "home") == nil)
    #expect(try cat.objects(forKey: "friends")[0] === dog)
    try store.context.delete(dog)
    #expect(try cat.objects(forKey: "friends").isEmpty)
    // Stones stay while somebody has them.
    let owner = try store.insert("Owner")
    let stone = try store.insert("Stone")
    try stone.setObject(owner, forKey: "owner")
    let error = #expect(throws: ObjectError.self) { try store.context.delete(owner) }
    #expect(error?.code == .denied)
    #expect(try store.text("SELECT count(*) FROM ZOWNER") == "1")
    try store.context.delete(stone)
    try store.context.delete(owner)
    #expect(try store.text("SELECT count(*) FROM ZOWNER") == "0")
  }

  @Test func aRefusedDeletionChangesNothing() throws {
    let store = try Store()
    let (wall, window, wire) = try (
      store.insert("Wall"), store.insert("Window"), store.insert("Wire")
    )
    try wall.addObject(window, forKey: "windows")
    try window.addObject(wire, forKey: "wires")
    let counts =
      "SELECT (SELECT count(*) FROM ZWALL), (SELECT count(*) FROM ZWINDOW), (SELECT count(*) FROM ZWIRE)"
    let error = #expect(throws: ObjectError.self) { try store.context.delete(wall) }
    #expect(error?.code == .denied)
    #expect(!wall.isDeleted)
    #expect(!window.isDeleted)
    #expect(try store.text(counts) == "1 1 1")
    #expect(try wall.objects(forKey: "windows")[0] === window)
    // A wire that is deleted after the window is nothing that the window has to wait for.
    try window.addObject(wire, forKey: "lines")
    try store.context.delete(wall)
    #expect(wall.isDeleted)
    #expect(wire.isDeleted)
    #expect(try store.text(counts) == "0 0 0")
  }

  /// The order of a relationship without an inverse is in the destination's row.
  @Test func anAddedObjectIsTheLastWithoutAJoinTable() throws {
    let store = try Store()
    let (wall, other) = try (store.insert("Wall"), store.insert("Wall"))
    let wires = try (0..<3).map { _ in try store.insert("Wire") }
    for place in [1, 2, 0, 1] { try wall.addObject(wires[place], forKey: "hooks") }
    func keys(_ wall: ManagedObject) throws -> [Int64?] {
      try wall.objects(forKey: "hooks").map { $0.reference?.primaryKey }
    }
    #expect(try keys(wall) == [2, 3, 1])
    try other.addObject(wires[0], forKey: "hooks")
    try other.addObject(wires[1], forKey: "hooks")
    #expect(try keys(other) == [1, 2])
    try wall.addObject(wires[1], forKey: "hooks")
    #expect(try keys(wall) == [3, 2])
    try wall.removeObject(wires[2], forKey: "hooks")
    #expect(try keys(wall) == [2])
    #expect(try store.text("SELECT Z9HOOKS, Z_FOK_9HOOKS FROM ZWIRE WHERE Z_PK = 3") == "- -")
  }

  @Test func objectsAreFoundByAValue() throws {
    let store = try Store()
    for name in ["x", "y", "x"] { _ = try store.insert("Cat", ["name": Self.string(name)]) }
    _ = try store.insert("Dog", ["name": Self.string("x")])
    let found = try store.context.objects(ofEntity: "Animal", where: "name", is: Self.string("x"))
    #expect(found.map(\.entityName) == ["Cat", "Cat", "Dog"])
    #expect(
      try store.context.objects(ofEntity: "Dog", where: "name", is: Self.string("y")).isEmpty)
    #expect(
      try store.context.objects(ofEntity: "Cat", where: "lives", is: .integer(9)).count == 3)
  }

  /// What cannot be is refused, and changes nothing.
  @Test func refusals() throws {
    let store = try Store()
    let house = try store.insert("House")
    let cat = try store.insert("Cat")
    let before = try store.text("SELECT * FROM ZHOUSE") + store.text("SELECT * FROM ZANIMAL")
    func refused(_ code: ObjectError.Code, _ body: () throws -> Void) {
      let error = #expect(throws: ObjectError.self) { try body() }
      #expect(error?.code == code, "\(String(describing: error))")
    }
    refused(.noSuchEntity) { _ = try store.insert("Animal") }
    refused(.noSuchEntity) { _ = try store.insert("Bird") }
    refused(.noSuchProperty) { _ = try house.value(forKey: "color") }
    refused(.noSuchProperty) { _ = try house.value(forKey: "key") }
    refused(.noSuchProperty) { _ = try house.object(forKey: "animals") }
    refused(.noSuchProperty) { _ = try house.objects(forKey: "key") }
    refused(.wrongType) { try house.setValue(.integer(1), forKey: "isOld") }
    refused(.wrongType) { try house.setValue(.uuid([1]), forKey: "mark") }
    refused(.wrongType) { try cat.setValue(.integer(40_000), forKey: "lives") }
    refused(.wrongType) { try cat.setObject(cat, forKey: "home") }
    let other = try Store()
    let foreign = try other.insert("House")
    refused(.wrongType) { try cat.setObject(foreign, forKey: "home") }
    #expect(
      try store.text("SELECT * FROM ZHOUSE") + store.text("SELECT * FROM ZANIMAL") == before)
    let fixed = try Store(isReadOnly: true)
    refused(.readOnly) { _ = try fixed.insert("Cat") }
  }
}
