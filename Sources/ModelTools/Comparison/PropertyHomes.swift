import ObjectModel

/// Where the properties of one kind are declared in a model, to find one up or down the hierarchy
/// from an entity without a look at all the others.
struct PropertyHomes<Property> {
  struct Home {
    let entity: String
    let property: Property
  }

  private let positions: HierarchyPositions
  /// The declarations by name and by renaming identifier, in the order of the positions.
  private var homes: [String: [Home]] = [:]

  /// Looks at a model once; the names are what a property goes by.
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
          homes[key, default: []].append(Home(entity: name, property: property))
        }
      }
    }
  }

  /// The nearest ancestor that declares a property, else the first descendant that does.
  func find(_ key: String, from entity: String) -> (home: Home, isAbove: Bool)? {
    guard let place = positions.ranges[entity], let found = homes[key] else { return nil }
    // Ancestors stand before their descendants, the nearest last.
    let own = Self.firstIndex(found, positions, from: place.lowerBound)
    for home in found[..<own].reversed() {
      if positions.ranges[home.entity]?.contains(place.lowerBound) == true { return (home, true) }
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
    _ homes: [Home], _ positions: HierarchyPositions, from position: Int
  ) -> Int {
    var (low, high) = (0, homes.count)
    while low < high {
      let middle = (low + high) / 2
      if (positions.ranges[homes[middle].entity]?.lowerBound ?? 0) < position {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }
}
