import ObjectModel

/// All properties of one kind that a model declares, for example all attributes. The declaration of a property in an
/// ancestor or descendant of an entity is found without a search through all entities.
struct PropertyDeclarations<Property> {
  struct Declaration {
    let entity: String
    let property: Property
  }

  private let positions: HierarchyPositions
  /// The declarations of properties, keyed by each name under which ``find(_:from:)`` finds the property. Declarations
  /// with the same key are in the order of their entities in ``HierarchyPositions/order``.
  private var declarations: [String: [Declaration]] = [:]

  /// Collects the properties of all entities of a model, with the entities that declare them. `list` selects the kind
  /// of properties, for example the attributes. `names` returns the names by which ``find(_:from:)`` finds a property.
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

  /// Finds the declaration of a property for an entity. The nearest ancestor that declares the property comes first. If
  /// no ancestor does, the first descendant that declares the property is used. `isAbove` is true if the declaration is
  /// in an ancestor. Nil when neither an ancestor nor a descendant declares the property.
  func find(_ key: String, from entity: String) -> (declaration: Declaration, isAbove: Bool)? {
    guard let place = positions.ranges[entity], let found = declarations[key] else { return nil }
    // In this order, ancestors come before their descendants, so the last ancestor that is found is the nearest one.
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

  /// Returns the name of the ancestor or descendant of `entity` that declares a property under one of `keys`; nil if
  /// none of them does. An ancestor is preferred.
  func home(of keys: [String], from entity: String) -> String? {
    let found = keys.compactMap { find($0, from: entity) }
    return (found.first { $0.isAbove } ?? found.first)?.declaration.entity
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
