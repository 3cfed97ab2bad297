import Fixtures
import ObjectModel

/// A model made at random, and what a developer may do to it for the next version.
struct RandomModel {
  private enum Side: CaseIterable { case one, many, ordered }

  private struct Property {
    var name: String
    /// The name in the version before, for a property that was renamed.
    var formerName: String?
  }

  private struct Field {
    var property: Property
    var type: AttributeType
    var isOptional: Bool
    var defaultValue: DefaultValue?
  }

  private struct Kind {
    var property: Property
    var parent: Int?
    var isAbstract: Bool
    var fields: [Field]
    var isGone = false
  }

  private struct Pair {
    var near: Int
    var far: Int
    var property: Property
    var side: Side
    /// Nil for a relationship without inverse.
    var inverse: Property?
    var inverseSide: Side
  }

  private var kinds: [Kind] = []
  private var pairs: [Pair] = []
  private var generator: SplitMix64
  private var counter = 0
  private var version = 1

  private static let types: [AttributeType] = [
    .integer16, .integer32, .integer64, .double, .float, .decimal, .string, .boolean, .date, .uuid,
    .uri, .binary,
  ]

  init(seed: UInt64) {
    generator = SplitMix64(seed: seed)
    for _ in 0..<number(2...5) { addKind() }
    for _ in 0..<number(1...5) { addPair() }
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &generator)
  }

  private mutating func name(_ prefix: String) -> String {
    counter += 1
    return prefix + String(counter)
  }

  private var living: [Int] { kinds.indices.filter { !kinds[$0].isGone } }

  private mutating func some() -> Int? { living.randomElement(using: &generator) }

  private mutating func field() -> Field {
    let type = Self.types.randomElement(using: &generator) ?? .string
    return Field(
      property: Property(name: name("a")), type: type, isOptional: number(0...3) > 0,
      defaultValue: value(of: type))
  }

  private mutating func value(of type: AttributeType) -> DefaultValue? {
    switch type {
    case .integer16, .integer32, .integer64: .integer(Int64(number(0...9)))
    case .double, .float: .real(Double(number(0...9)) + 0.5)
    case .decimal: .decimal("2.25")
    case .string: .string("it's \(number(0...9))")
    case .boolean: .boolean(number(0...1) == 1)
    case .date: .date(Double(number(0...9)))
    case .uri: .uri("x-test://default")
    default: nil
    }
  }

  private mutating func addKind() {
    let parent = number(0...2) == 0 ? some() : nil
    var fields: [Field] = []
    for _ in 0..<number(0...4) { fields.append(field()) }
    // Without a default a demanded value must be there from the beginning.
    for place in fields.indices where fields[place].defaultValue == nil {
      fields[place].isOptional = true
    }
    kinds.append(
      Kind(
        property: Property(name: name("E")), parent: parent, isAbstract: number(0...5) == 0,
        fields: fields))
  }

  private mutating func addPair() {
    guard let near = some(), let far = some() else { return }
    let side = Side.allCases.randomElement(using: &generator) ?? .one
    let hasInverse = number(0...6) > 0
    pairs.append(
      Pair(
        near: near, far: far, property: Property(name: name("r")), side: side,
        inverse: hasInverse ? Property(name: name("i")) : nil,
        inverseSide: Side.allCases.randomElement(using: &generator) ?? .one))
  }

  /// Changes the model as for a new version, and says what was done.
  mutating func change() -> [String] {
    version += 1
    // A renaming identifier names the version before only.
    for place in kinds.indices {
      kinds[place].property.formerName = nil
      for field in kinds[place].fields.indices {
        kinds[place].fields[field].property.formerName = nil
      }
    }
    for place in pairs.indices {
      pairs[place].property.formerName = nil
      pairs[place].inverse?.formerName = nil
    }
    return (0..<number(1...5)).map { _ in changeOnce() }
  }

  private mutating func rename(_ property: inout Property, _ prefix: String) {
    if property.formerName == nil { property.formerName = property.name }
    property.name = name(prefix)
  }

  private mutating func changeOnce() -> String {
    guard let kind = some() else { return "nothing" }
    switch number(0...12) {
    case 0:
      var added = field()
      if added.defaultValue == nil { added.isOptional = true }
      kinds[kind].fields.append(added)
      return "attribute added"
    case 1:
      if !kinds[kind].fields.isEmpty { kinds[kind].fields.removeLast() }
      return "attribute removed"
    case 2:
      guard let place = kinds[kind].fields.indices.randomElement(using: &generator) else {
        return "nothing"
      }
      var property = kinds[kind].fields[place].property
      rename(&property, "a")
      kinds[kind].fields[place].property = property
      return "attribute renamed"
    case 3:
      guard let place = kinds[kind].fields.firstIndex(where: { $0.defaultValue != nil }) else {
        return "nothing"
      }
      kinds[kind].fields[place].isOptional.toggle()
      return "attribute optional or not"
    case 4:
      addKind()
      return "entity added"
    case 5:
      guard living.count > 2 else { return "nothing" }
      kinds[kind].isGone = true
      for child in kinds.indices where kinds[child].parent == kind {
        kinds[child].parent = kinds[kind].parent
      }
      pairs.removeAll { $0.near == kind || $0.far == kind }
      return "entity removed"
    case 6:
      var property = kinds[kind].property
      rename(&property, "E")
      kinds[kind].property = property
      return "entity renamed"
    case 7:
      let parent = number(0...1) == 0 ? nil : some()
      var above = parent
      while let place = above {
        if place == kind { return "nothing" }
        above = kinds[place].parent
      }
      kinds[kind].parent = parent
      return "entity moved"
    case 8:
      addPair()
      return "relationship added"
    case 9:
      if !pairs.isEmpty { pairs.remove(at: number(0...(pairs.count - 1))) }
      return "relationship removed"
    case 10:
      guard let place = pairs.indices.randomElement(using: &generator) else { return "nothing" }
      var property = pairs[place].property
      rename(&property, "r")
      pairs[place].property = property
      return "relationship renamed"
    case 11:
      guard let place = pairs.indices.randomElement(using: &generator) else { return "nothing" }
      pairs[place].side = Side.allCases.randomElement(using: &generator) ?? .one
      return "relationship of another form"
    default:
      guard let place = pairs.indices.randomElement(using: &generator), pairs[place].inverse != nil
      else { return "nothing" }
      pairs[place].inverseSide = Side.allCases.randomElement(using: &generator) ?? .one
      return "inverse of another form"
    }
  }

  var model: ManagedObjectModel {
    func relationship(
      _ property: Property, _ side: Side, to entity: String, inverse: String?
    ) -> Relationship {
      Relationship(
        name: property.name, destinationEntityName: entity, inverseName: inverse,
        inverseEntityName: inverse.map { _ in entity }, maxCount: side == .one ? 1 : 0,
        isOrdered: side == .ordered, isOptional: true, renamingIdentifier: property.formerName)
    }
    var entities: [Entity] = []
    for (place, kind) in kinds.enumerated() where !kind.isGone {
      var relationships: [Relationship] = []
      for pair in pairs {
        if pair.near == place {
          relationships.append(
            relationship(
              pair.property, pair.side, to: kinds[pair.far].property.name,
              inverse: pair.inverse?.name))
        }
        if pair.far == place, let inverse = pair.inverse {
          relationships.append(
            relationship(
              inverse, pair.inverseSide, to: kinds[pair.near].property.name,
              inverse: pair.property.name))
        }
      }
      entities.append(
        Entity(
          name: kind.property.name, isAbstract: kind.isAbstract,
          superentityName: kind.parent.map { kinds[$0].property.name },
          attributes: kind.fields.map {
            Attribute(
              name: $0.property.name, type: $0.type, isOptional: $0.isOptional,
              defaultValue: $0.defaultValue, renamingIdentifier: $0.property.formerName)
          }, relationships: relationships, renamingIdentifier: kind.property.formerName))
    }
    return ManagedObjectModel(entities: entities, versionIdentifiers: ["\(version)"])
  }
}
