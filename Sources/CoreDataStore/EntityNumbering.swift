package import ObjectModel

/// The numbers that Core Data gives the entities of a model: 1 to n, in a depth-first walk of the inheritance tree. A
/// parent comes before its children, and siblings are sorted by name without regard to case.
package struct EntityNumbering: Sendable, Equatable {
  /// The names of the entities in the order of their numbers; the first has the number 1.
  package let names: [String]
  private let numbers: [String: Int64]

  /// Numbers the entities of a model. Entities that are their own ancestors (in an invalid model) come last.
  package init(_ model: ManagedObjectModel) {
    var children: [String: [String]] = [:]
    var roots: [String] = []
    for entity in model.entities.values {
      if let parent = entity.superentityName, model.entities[parent] != nil {
        children[parent, default: []].append(entity.name)
      } else {
        roots.append(entity.name)
      }
    }
    var names: [String] = []
    var met: Set<String> = []
    var waiting = Self.sorted(roots).reversed() as [String]
    while let name = waiting.popLast() {
      guard met.insert(name).inserted else { continue }
      names.append(name)
      waiting.append(contentsOf: Self.sorted(children[name] ?? []).reversed())
    }
    names += Self.sorted(model.entities.keys.filter { !met.contains($0) })
    self.names = names
    numbers = Dictionary(uniqueKeysWithValues: zip(names, 1...))
  }

  /// Returns the number of an entity; nil when the model has no entity with that name.
  package func number(of name: String) -> Int64? { numbers[name] }

  /// Returns the name of the entity with this number; nil when no entity has this number.
  package func name(of number: Int64) -> String? {
    Int(exactly: number).flatMap { names.indices.contains($0 - 1) ? names[$0 - 1] : nil }
  }

  private static func sorted(_ names: some Sequence<String>) -> [String] {
    let keyed = names.map { (key: $0.lowercased(), name: $0) }
    let ordered = keyed.sorted { one, two in
      one.key == two.key ? one.name < two.name : one.key < two.key
    }
    return ordered.map(\.name)
  }
}
