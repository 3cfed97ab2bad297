import CoreDataStore
import ObjectModel
import Testing

/// The names that the table of a many-to-many relationship may have.
@Suite struct JoinTableNameTests {
  /// Only the table of a relationship of an entity with itself may have the name of either side. The table of the tags
  /// is not looked for under the name of the table of the people.
  @Test func onlyAnEntityWithItselfHasTwoNames() throws {
    func relationship(_ name: String, to entity: String, _ inverse: String) -> Relationship {
      Relationship(
        name: name, destinationEntityName: entity, inverseName: inverse,
        inverseEntityName: entity, maxCount: 0, isOptional: true)
    }
    let model = ManagedObjectModel(entities: [
      Entity(
        name: "Person",
        relationships: [
          relationship("friends", to: "Person", "people"),
          relationship("people", to: "Person", "friends"),
          relationship("tags", to: "Tag", "people"),
        ]),
      Entity(name: "Tag", relationships: [relationship("people", to: "Person", "tags")]),
    ])
    let names = Dictionary(
      uniqueKeysWithValues: TableLayout(model).joinTables.map { ($0.name, $0.otherName) })
    let expected: [String: String?] = ["Z_1FRIENDS": "Z_1PEOPLE", "Z_1TAGS": nil]
    #expect(names == expected)
  }
}
