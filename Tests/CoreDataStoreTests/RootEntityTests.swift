import CoreDataStore
import ObjectModel
import Testing

/// Which entity owns the table of another.
@Suite struct RootEntityTests {
  @Test func ringsHaveNoRoot() {
    let model = ManagedObjectModel(entities: [
      Entity(name: "A", superentityName: "B"), Entity(name: "B", superentityName: "A"),
      Entity(name: "C", superentityName: "A"), Entity(name: "D", superentityName: "Gone"),
      Entity(name: "E", superentityName: "E"), Entity(name: "F", superentityName: "D"),
    ])
    for name in ["A", "B", "C", "E", "none"] { #expect(model.rootEntity(of: name) == nil) }
    // A parent that the model does not have is no parent.
    for name in ["D", "F"] { #expect(model.rootEntity(of: name)?.name == "D") }
  }
}
