package import CoreDataStore

/// The columns of a CSV with several entities. Each property name occurs once, in the order of first occurrence.
/// Many-to-many relationships come last, because the keys of their destinations are not in the row.
package struct SharedColumns {
  package private(set) var names: [String] = []
  private var places: [ExactText: Int] = [:]
  private var linkPlaces: [ExactText: Int] = [:]

  init(_ entities: [DescribedEntity]) {
    self.init(entities.map { ($0.name, $0.properties) })
  }

  /// The columns of the rows of several sources. Rows of unknown entities come after all others.
  package init(_ sources: [SelectedRows.Source]) {
    self.init(sources.filter { $0.kind != .unknownEntities }.map { ($0.name, $0.properties) })
    for source in sources where source.kind == .unknownEntities {
      for property in source.properties { add(property.name) }
    }
  }

  private init(_ entities: [(name: String, properties: [DescribedEntity.Property])]) {
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

  /// Returns the position of each property among the columns; nil for a property without a column.
  package func places(of properties: [DescribedEntity.Property]) -> [Int?] {
    properties.map { $0.kind == .toMany ? place(ofLink: $0.name) : place(of: $0.name) }
  }

  /// Returns the position of a many-to-many relationship among the columns; nil if there is no column for it.
  func place(ofLink name: String) -> Int? { linkPlaces[ExactText(name)] }
}
