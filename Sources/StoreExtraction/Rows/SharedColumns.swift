import CoreDataStore

/// The columns of a CSV that holds several entities: the names of their properties, each once, in the order in which they
/// first come; many-to-many relationships, whose keys are not in the row, are last.
struct SharedColumns {
  private(set) var names: [String] = []
  private var places: [String: Int] = [:]
  private var linkPlaces: [String: Int] = [:]

  /// The columns of rows of these entities.
  init(_ entities: [DescribedEntity]) {
    for entity in entities {
      for property in entity.properties where property.kind != .toMany { add(property.name) }
    }
    for entity in entities {
      for property in entity.properties where property.kind == .toMany {
        guard linkPlaces[property.name] == nil else { continue }
        linkPlaces[property.name] = names.count
        // Another entity may have an attribute of this name.
        names.append(
          places[property.name] == nil ? property.name : "\(entity.name).\(property.name)")
      }
    }
  }

  /// No columns yet.
  init() {}

  /// Adds a column unless there is one of this name.
  mutating func add(_ name: String) {
    guard places[name] == nil else { return }
    places[name] = names.count
    names.append(name)
  }

  /// The place of a property; nil when the columns do not have it.
  func place(of name: String) -> Int? { places[name] }

  /// The place of a many-to-many relationship.
  func place(ofLink name: String) -> Int? { linkPlaces[name] }
}
