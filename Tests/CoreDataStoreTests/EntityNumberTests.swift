import CoreDataForensics
import CoreDataStore
import Fixtures
import Foundation
import ObjectModel
import SQLiteFile
import SQLiteForensics
import Testing

/// What is said of entity numbers and keys, in a store that was made by hand.
@Suite struct EntityNumberTests {
  /// A store of animals, dogs among them, and their owners. The entity Animal was named Beast once, which stayed in
  /// Z_PRIMARYKEY.
  private static func store(in folder: URL) throws -> CoreDataStore {
    let url = folder.appendingPathComponent("animals.sqlite")
    let connection = try SQLiteConnection(url)
    try connection.exec(
      """
      CREATE TABLE Z_METADATA(Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE ZANIMAL(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER);
      CREATE TABLE ZOWNER(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPET INTEGER, Z1_PET INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES(1, 'Beast', 0, 1), (2, 'Dog', 1, 0), (3, 'Owner', 0, 2);
      INSERT INTO ZANIMAL VALUES(4, -1, 1), (5, 1, 1), (6, 'x', 1), (7, NULL, 1);
      INSERT INTO ZOWNER VALUES(1, 3, 1, 5, 3), (2, 3, 1, 'x', 1);
      """)
    connection.close()
    let pet = Relationship(name: "pet", destinationEntityName: "Animal", maxCount: 1)
    let model = ManagedObjectModel(entities: [
      Entity(name: "Animal"), Entity(name: "Dog", superentityName: "Animal"),
      Entity(name: "Owner", relationships: [pet]),
    ])
    return try CoreDataStore(path: url.path, model: model)
  }

  @Test func rowsWithoutANumberAreNotOfTheEntityMinusOne() throws {
    let folder = try TemporaryFolder()
    let store = try Self.store(in: folder.url)
    try store.forEachRow(of: ["Animal"]) { _ in true }
    let findings = store.findings.kept.filter { $0.table == "ZANIMAL" }
    #expect(
      findings.map(\.message) == [
        "2 rows have no entity number",
        "1 row has the entity number -1, which does not belong to this table",
      ])
  }

  @Test func eachBreachHasItsSentence() throws {
    let folder = try TemporaryFolder()
    let messages = try Self.store(in: folder.url).check().findings.kept.map(\.message)
    for part in [
      "1 row has an entity number that does not belong to this table",
      "1 row has a Z_ENT that is not the number of an entity",
      "1 row has a pet that is not an integer",
      "1 row has a Z1_PET that is not the number of a destination entity of the relationship",
    ] {
      #expect(messages.contains { $0.contains(part) }, "\(messages)")
    }
  }

  /// SQL says that the highest key is 7.
  @Test func theKeysOfARenamedEntityAreCompared() throws {
    let folder = try TemporaryFolder()
    let findings = try Self.store(in: folder.url).check().findings.kept
    let found = findings.filter { $0.id.rawValue == "coredata.keyCounter" }
    #expect(found.map(\.table) == ["ZANIMAL"])
    #expect(found.first?.message.contains("is 7, but Z_PRIMARYKEY records 1") == true)
  }
}
