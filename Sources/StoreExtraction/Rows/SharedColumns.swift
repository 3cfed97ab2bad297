import CoreDataStore

/// The columns of a CSV with several entities. Each property name occurs once, in the order of first occurrence.
/// Many-to-many relationships come last, because the keys of their destinations are not in the row.
struct SharedColumns {
  private(set) var names: [String] = []
  private var places: [ExactText: Int] = [:]
  private var linkPlaces: [ExactText: Int] = [:]

  init(_ entities: [DescribedEntity]) {
    for entity in entities {
      for property in entity.properties where property.kind != .toMany { add(property.name) }
    }
    for entity in entities {
      for property in entity.properties where property.kind == .toMany {
        guard linkPlaces[ExactText(property.name)] == nil else { continue }
        linkPlaces[ExactText(property.name)] = names.count
        // An attribute of another entity may have the same name as this relationship.
        names.append(
          place(of: property.name) == nil
            ? property.name : "\(entity.name).\(property.name)")
      }
    }
  }

  init() {}

  mutating func add(_ name: String) {
    guard places[ExactText(name)] == nil else { return }
    places[ExactText(name)] = names.count
    names.append(name)
  }

  func place(of name: String) -> Int? { places[ExactText(name)] }

  /// Returns the position of a many-to-many relationship among the columns; nil if there is no column for it.
  func place(ofLink name: String) -> Int? { linkPlaces[ExactText(name)] }
}
