import Testing

@testable import ModelTools
@testable import ObjectModel

/// What lightweight migration copes with, rule by rule of Apple's documentation.
struct LightweightRulesTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let verdict: String
    var reason: String?
    let change: @Sendable (inout ManagedObjectModel) -> Void
    var testDescription: String { name }
  }

  static let base = ManagedObjectModel(entities: [
    Entity(
      name: "A",
      attributes: [
        Attribute(name: "count", type: .integer32), Attribute(name: "flag", type: .boolean),
        Attribute(name: "maybe", type: .string, isOptional: true),
        Attribute(name: "photo", type: .binary, isOptional: true),
        Attribute(name: "real", type: .double), Attribute(name: "text", type: .string),
      ],
      relationships: [
        Relationship(
          name: "many", destinationEntityName: "B", inverseName: "one", inverseEntityName: "B",
          maxCount: 0, isOptional: true),
        Relationship(name: "other", destinationEntityName: "D", isOptional: true),
        Relationship(name: "single", destinationEntityName: "B", isOptional: true),
      ]),
    Entity(
      name: "B", attributes: [Attribute(name: "n", type: .integer16)],
      relationships: [
        Relationship(
          name: "one", destinationEntityName: "A", inverseName: "many", inverseEntityName: "A",
          isOptional: true)
      ]),
    Entity(name: "C", attributes: [Attribute(name: "c", type: .string)]),
    Entity(
      name: "D", superentityName: "P", attributes: [Attribute(name: "d", type: .string)]),
    Entity(name: "P", attributes: [Attribute(name: "p", type: .string, isOptional: true)]),
  ])

  static func attribute(
    _ name: String, _ change: @escaping @Sendable (inout Attribute) -> Void
  ) -> @Sendable (inout ManagedObjectModel) -> Void {
    { model in
      guard let index = model.entities["A"]?.attributes.firstIndex(where: { $0.name == name }),
        var attribute = model.entities["A"]?.attributes[index]
      else { return }
      change(&attribute)
      model.entities["A"]?.attributes[index] = attribute
    }
  }

  static func relationship(
    _ name: String, _ change: @escaping @Sendable (inout Relationship) -> Void
  ) -> @Sendable (inout ManagedObjectModel) -> Void {
    { model in
      guard let index = model.entities["A"]?.relationships.firstIndex(where: { $0.name == name }),
        var relationship = model.entities["A"]?.relationships[index]
      else { return }
      change(&relationship)
      model.entities["A"]?.relationships[index] = relationship
    }
  }

  static let cases: [Case] = [
    Case(name: "attribute added", verdict: "handled") {
      $0.entities["A"]?.attributes.append(Attribute(name: "new", type: .date, isOptional: true))
    },
    Case(name: "mandatory attribute added with default", verdict: "handled") {
      $0.entities["A"]?.attributes.append(
        Attribute(name: "new", type: .integer16, defaultValue: .integer(0)))
    },
    Case(
      name: "mandatory attribute added without default", verdict: "handledIfDataAllows",
      reason: "`A` already has objects (`new` may not be empty and has no default)"
    ) { $0.entities["A"]?.attributes.append(Attribute(name: "new", type: .date)) },
    Case(name: "attribute removed", verdict: "handled") {
      $0.entities["A"]?.attributes.removeAll { $0.name == "text" }
    },
    Case(
      name: "attribute renamed", verdict: "handled",
      change: attribute("text") {
        $0.name = "title"
        $0.renamingIdentifier = "text"
      }),
    Case(
      name: "optional", verdict: "handled", change: attribute("text") { $0.isOptional = true }),
    Case(
      name: "mandatory with default", verdict: "handled",
      change: attribute("maybe") {
        $0.isOptional = false
        $0.defaultValue = .string("")
      }),
    Case(
      name: "mandatory without default", verdict: "handledIfDataAllows",
      reason: "an object of `A` has no value for `maybe`, which has no default",
      change: attribute("maybe") { $0.isOptional = false }),
    Case(
      name: "text to number", verdict: "notHandled",
      reason: "values of the old type are not converted into values of the new type",
      change: attribute("text") { $0.type = .integer64 }),
    Case(
      name: "wider number", verdict: "handled",
      change: attribute("count") { $0.type = .integer64 }),
    Case(
      name: "narrower number", verdict: "handledIfDataAllows",
      reason: "a stored number cannot be kept exactly as Integer 16",
      change: attribute("count") { $0.type = .integer16 }),
    Case(
      name: "real to whole number", verdict: "handledIfDataAllows",
      change: attribute("real") { $0.type = .integer64 }),
    Case(
      name: "flag to number", verdict: "unknown",
      change: attribute("flag") { $0.type = .integer16 }),
    Case(
      name: "bytes to transformable", verdict: "notHandled",
      change: attribute("photo") { $0.type = .transformable }),
    Case(
      name: "external storage", verdict: "unknown",
      change: attribute("photo") { $0.allowsExternalBinaryDataStorage = true }),
    Case(
      name: "kept in history", verdict: "handled",
      change: attribute("text") { $0.preservesValueInHistoryOnDeletion = true }),
    Case(
      name: "no longer stored", verdict: "handled",
      change: attribute("text") { $0.isTransient = true }),
    Case(
      name: "derived", verdict: "unknown",
      change: attribute("maybe") { $0.derivation = Derivation(text: "text") }),
    Case(
      name: "transformer", verdict: "nothingToDo",
      change: attribute("photo") { $0.valueTransformerName = "T" }),
    Case(
      name: "default", verdict: "nothingToDo",
      change: attribute("text") { $0.defaultValue = .string("") }),
    Case(
      name: "hash modifier", verdict: "handled",
      change: attribute("text") { $0.versionHashModifier = "2" }),
    Case(name: "relationship added", verdict: "handled") {
      $0.entities["A"]?.relationships.append(
        Relationship(name: "new", destinationEntityName: "C", isOptional: true))
    },
    Case(name: "mandatory relationship added", verdict: "handledIfDataAllows") {
      $0.entities["A"]?.relationships.append(
        Relationship(name: "new", destinationEntityName: "C", minCount: 1))
    },
    Case(name: "relationship removed", verdict: "handled") {
      $0.entities["A"]?.relationships.removeAll { $0.name == "single" }
    },
    Case(
      name: "relationship renamed", verdict: "handled",
      change: relationship("single") {
        $0.name = "sole"
        $0.renamingIdentifier = "single"
      }),
    Case(
      name: "to-one to to-many", verdict: "handled",
      change: relationship("single") { $0.maxCount = 0 }),
    Case(
      name: "to-many to to-one", verdict: "unknown",
      reason: "Apple's documentation mentions a to-one relationship that becomes to-many, "
        + "but not the reverse",
      change: relationship("many") { $0.maxCount = 1 }),
    Case(
      name: "ordered", verdict: "handled",
      change: relationship("many") { $0.isOrdered = true }),
    Case(
      name: "fewer objects", verdict: "handledIfDataAllows",
      reason: "an object has more than 3 related objects in `many`",
      change: relationship("many") { $0.maxCount = 3 }),
    Case(
      name: "more objects", verdict: "handledIfDataAllows",
      reason: "an object has fewer than 2 related objects in `many`",
      change: relationship("many") { $0.minCount = 2 }),
    Case(
      name: "unbounded as code has it", verdict: "handled",
      change: relationship("many") { $0.maxCount = -1 }),
    Case(
      name: "mandatory relationship", verdict: "handledIfDataAllows",
      change: relationship("single") { $0.isOptional = false }),
    Case(
      name: "delete rule", verdict: "nothingToDo",
      change: relationship("single") { $0.deleteRule = .cascade }),
    Case(
      name: "other destination", verdict: "unknown",
      reason: "Apple's documentation does not mention a relationship whose destination changes",
      change: relationship("single") { $0.destinationEntityName = "C" }),
    Case(
      name: "destination widened", verdict: "unknown",
      change: relationship("other") { $0.destinationEntityName = "P" }),
    Case(name: "destination gone", verdict: "unknown") {
      $0.entities["D"] = nil
      $0.entities["A"]?.relationships.removeAll { $0.name == "other" }
      $0.entities["A"]?.relationships.append(
        Relationship(name: "other", destinationEntityName: "C", isOptional: true))
    },
    Case(name: "destination narrowed", verdict: "unknown") {
      $0.entities["E"] = Entity(name: "E", superentityName: "B")
      $0.entities["A"]?.relationships.removeAll { $0.name == "single" }
      $0.entities["A"]?.relationships.append(
        Relationship(name: "single", destinationEntityName: "E", isOptional: true))
    },
    Case(
      name: "other inverse", verdict: "unknown",
      change: relationship("many") { $0.inverseName = "two" }),
    Case(name: "entity added", verdict: "handled") { $0.entities["X"] = Entity(name: "X") },
    Case(name: "entity removed", verdict: "handled") { $0.entities["C"] = nil },
    Case(name: "entity renamed", verdict: "handled") {
      $0.entities["C"] = nil
      $0.entities["X"] = Entity(
        name: "X", attributes: [Attribute(name: "c", type: .string)], renamingIdentifier: "C")
    },
    Case(name: "new parent", verdict: "handled") {
      $0.entities["X"] = Entity(name: "X")
      $0.entities["C"]?.superentityName = "X"
    },
    Case(name: "out of the hierarchy", verdict: "handled") {
      $0.entities["D"]?.superentityName = nil
    },
    Case(
      name: "hierarchies merged", verdict: "notHandled",
      reason: "`C` and `D` had no common parent before and have one now"
    ) { $0.entities["C"]?.superentityName = "P" },
    Case(name: "hierarchies merged below a new parent", verdict: "notHandled") {
      $0.entities["X"] = Entity(name: "X")
      $0.entities["B"]?.superentityName = "X"
      $0.entities["C"]?.superentityName = "X"
    },
    Case(name: "attribute moved up", verdict: "handled") {
      $0.entities["D"]?.attributes = []
      $0.entities["P"]?.attributes.append(Attribute(name: "d", type: .string, isOptional: true))
    },
    Case(name: "attribute moved down", verdict: "handled") {
      $0.entities["P"]?.attributes = []
      $0.entities["D"]?.attributes.append(Attribute(name: "p", type: .string, isOptional: true))
    },
    Case(name: "abstract", verdict: "handledIfDataAllows") { $0.entities["P"]?.isAbstract = true },
    Case(
      name: "unique", verdict: "handledIfDataAllows",
      reason: "two objects of `C` already have the same c"
    ) { $0.entities["C"]?.uniquenessConstraints = [["c"]] },
    Case(name: "index", verdict: "nothingToDo") {
      $0.entities["C"]?.fetchIndexes = [FetchIndex(name: "i", elements: [.init(propertyName: "c")])]
    },
    Case(name: "configuration", verdict: "nothingToDo") { $0.configurations["Cloud"] = ["A"] },
    Case(name: "user info", verdict: "nothingToDo") { $0.entities["A"]?.userInfo["k"] = "v" },
  ]

  @Test(arguments: cases)
  func verdict(_ rule: Case) {
    var new = Self.base
    rule.change(&new)
    let difference = ModelDifference(from: Self.base, to: new)
    #expect(difference.verdict.name == rule.verdict, "\(difference.changes)")
    if let reason = rule.reason { #expect(difference.verdict.reason == reason) }
    #expect(difference.namesWithOtherHash == HashEffectTests.otherHashes(Self.base, new))
    #expect(difference.changes.allSatisfy { $0.affectsVersionHash == ($0.verdict != .nothingToDo) })
    // What cannot be handled cannot be inferred, with all reasons; all else can.
    do {
      _ = try MappingModel.inferred(from: Self.base, to: new)
      #expect(rule.verdict != "notHandled")
    } catch {
      #expect(rule.verdict == "notHandled")
      #expect(
        error.changes
          == difference.changes.filter { $0.verdict.name == "notHandled" })
      #expect(error.message.hasPrefix("No mapping can be inferred: "))
    }
  }

  @Test func movedAttributesSaySo() {
    var new = Self.base
    new.entities["D"]?.attributes = []
    new.entities["P"]?.attributes.append(Attribute(name: "d", type: .string, isOptional: true))
    let remarks = ModelDifference(from: Self.base, to: new).changes.map(\.remark)
    #expect(remarks == ["It is in `P` now.", "It was in `D` before."])
  }

  @Test func guesses() {
    var new = Self.base
    new.entities["C"]?.attributes = [Attribute(name: "caption", type: .string)]
    let difference = ModelDifference(from: Self.base, to: new)
    #expect(difference.guesses.map(\.newName) == ["caption"])
    #expect(difference.guesses.first?.oldName == "c")
    #expect(difference.changes.map(\.kind) == [.attributeRemoved, .attributeAdded])
    // Two candidates are no guess.
    new.entities["C"]?.attributes.append(Attribute(name: "title", type: .string))
    #expect(ModelDifference(from: Self.base, to: new).guesses == [])
    var renamed = Self.base
    renamed.entities["C"] = nil
    renamed.entities["Z"] = Entity(name: "Z", attributes: [Attribute(name: "c", type: .string)])
    let entities = ModelDifference(from: Self.base, to: renamed)
    #expect(entities.guesses.map(\.part) == [.entity])
    #expect(entities.changes.map(\.kind) == [.entityRemoved, .entityAdded])
  }
}
