import ObjectModel

/// The declarations of one kind of property in a model. They make it possible to find a property above or below an
/// entity in the hierarchy without a search through all entities.
struct PropertyDeclarations<Property> {
  struct Declaration {
    let entity: String
    let property: Property
  }

  private let positions: HierarchyPositions
  /// The declarations by name and by renaming identifier. Each list has the order of the entities' positions.
  private var declarations: [String: [Declaration]] = [:]

  /// Reads a model once. `names` returns the names by which a property can be found.
  init(
    _ model: ManagedObjectModel, _ positions: HierarchyPositions,
    _ list: KeyPath<Entity, [Property]>,
    names: (Property) -> [String]
  ) {
    self.positions = positions
    for name in positions.order {
      guard let entity = model.entities[name] else { continue }
      for property in entity[keyPath: list] {
        for key in Set(names(property)) {
          declarations[key, default: []].append(Declaration(entity: name, property: property))
        }
      }
    }
  }

  /// Finds a property above or below an entity: its declaration in the nearest ancestor or, without one, in the first
  /// descendant. `isAbove` is true for an ancestor. Nil if neither an ancestor nor a descendant declares the property.
  func find(_ key: String, from entity: String) -> (declaration: Declaration, isAbove: Bool)? {
    guard let place = positions.ranges[entity], let found = declarations[key] else { return nil }
    // Ancestors come before their descendants; the nearest ancestor is the last of them.
    let own = Self.firstIndex(found, positions, from: place.lowerBound)
    for declaration in found[..<own].reversed() {
      if positions.ranges[declaration.entity]?.contains(place.lowerBound) == true {
        return (declaration, true)
      }
    }
    let below = Self.firstIndex(found, positions, from: place.lowerBound + 1)
    if below < found.count,
      let start = positions.ranges[found[below].entity]?.lowerBound, place.contains(start)
    {
      return (found[below], false)
    }
    return nil
  }

  private static func firstIndex(
    _ declarations: [Declaration], _ positions: HierarchyPositions, from position: Int
  ) -> Int {
    var (low, high) = (0, declarations.count)
    while low < high {
      let middle = (low + high) / 2
      if (positions.ranges[declarations[middle].entity]?.lowerBound ?? 0) < position {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
