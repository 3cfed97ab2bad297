import Testing

@testable import ModelTools
@testable import ObjectModel

struct ReadableArchiveTests {
  /// What cannot be read again is refused with the number and the limit.
  @Test func tooLarge() throws {
    let attributes = (0..<45_000).map { Attribute(name: "a\($0)", type: .string) }
    let model = ManagedObjectModel(entities: [Entity(name: "Wide", attributes: attributes)])
    let error = #expect(throws: ModelError.self) {
      _ = try model.readableArchive(form: .compiled)
    }
    #expect(error?.code == .tooLarge)
    #expect(error?.message.contains("\(PropertyList.maximumCount)") == true)
    #expect(throws: ModelError.self) {
      _ = try ManagedObjectModel(archive: model.archive(form: .compiled).bytes)
    }
  }

  /// The count is the one that the reader compares.
  @Test func readable() throws {
    for form in ModelArchiveForm.allCases {
      let bytes = try Fixture.model.readableArchive(form: form).bytes
      #expect(bytes == Fixture.model.archive(form: form).bytes)
    }
    let edge = PropertyList.array(
      Array(repeating: .bool(true), count: PropertyList.maximumCount - 1))
    #expect(edge.expandedCount == PropertyList.maximumCount)
  }

  /// What the losses say of one part agrees, and a warning that is cut short is one of them.
  @Test func whatIsLeftOutIsSaid() {
    let unknown = ModelPredicate.opaque(className: "App.Predicate")
    let length = AttributeValidation.Form.minimumLength(1).validation.predicate
    let text = Attribute(
      name: "x", type: .string,
      validations: [
        AttributeValidation(predicate: unknown, warning: "no"),
        AttributeValidation(predicate: length, warning: .array([.opaque(className: "App.W")])),
      ])
    let model = ManagedObjectModel(
      entities: [Entity(name: "A", attributes: [text])],
      fetchRequestTemplates: [
        FetchRequestTemplate(name: "T", entityName: "A", predicate: unknown)
      ])
    let losses = model.archive(form: .compiled).losses
    #expect(losses.count == 5, "\(losses)")
    #expect(losses.contains { $0.propertyName == "x" && $0.sentence.contains("warning") })
    let ofPredicates = losses.filter { $0.sentence.contains("App.Predicate") }
    #expect(ofPredicates.map(\.propertyName) == ["x", "T"])
    #expect(!ofPredicates.contains { $0.sentence.contains("left out") })
  }
}
