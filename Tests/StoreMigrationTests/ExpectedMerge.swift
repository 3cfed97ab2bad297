import CoreDataStore
import ObjectModel

/// What a merged store must hold, worked out from the rows of both by their names.
struct ExpectedMerge {
  struct Place: Hashable {
    let root: String
    let key: Int64

    init(_ model: ManagedObjectModel, _ row: NamedRow) {
      self.init(model, row.entity, row.key)
    }

    init(_ model: ManagedObjectModel, _ entity: String, _ key: Int64) {
      root = model.rootEntity(of: entity)?.name ?? entity
      self.key = key
    }
  }

  private let model: ManagedObjectModel
  private(set) var rows: [Place: NamedRow] = [:]
  /// Old rows that a present one stands for.
  private(set) var sameCount = 0
  /// The merged place of each old row.
  private var places: [Place: Place] = [:]
  private var added: Set<Place> = []

  init(
    _ model: ManagedObjectModel, old: Set<NamedRow>, present: Set<NamedRow>,
    highest: [EntityRecord]
  ) {
    self.model = model
    var unique: [[String]: Place] = [:]
    for row in present.sorted(by: { $0.key < $1.key }) {
      rows[Place(model, row)] = row
      for tuple in tuples(row) where unique[tuple] == nil { unique[tuple] = Place(model, row) }
    }
    var next: [String: Int64] = [:]
    for record in highest where record.superNumber == 0 { next[record.name] = record.highestKey }
    for row in old.sorted(by: { $0.key < $1.key }) {
      let place = Place(model, row)
      if let there = tuples(row).lazy.compactMap({ unique[$0] }).first {
        places[place] = there
        sameCount += 1
      } else {
        next[place.root, default: 0] += 1
        places[place] = Place(model, row.entity, next[place.root] ?? 0)
      }
    }
    // A place that another row had is not taken again, whatever its key.
    for row in old {
      guard let place = places[Place(model, row)], rows[place] == nil || added.contains(place)
      else {
        continue
      }
      added.insert(place)
      rows[place] = NamedRow(entity: row.entity, key: place.key, values: row.values)
    }
    for row in old { link(row) }
  }

  /// The values by which an object is recognised, each with its constraint.
  private func tuples(_ row: NamedRow) -> [[String]] {
    ([row.entity] + model.ancestors(of: row.entity).map(\.name)).flatMap { name in
      (model.entities[name]?.uniquenessConstraints ?? []).compactMap { constraint in
        let values = constraint.compactMap { row.values[$0].map { "\($0)" } }
        return values.count == constraint.count ? [name] + constraint + values : nil
      }
    }
  }

  /// What a reference leads to now; nil when the object that stands for the old one is of another entity.
  private func moved(_ reference: ObjectReference, _ entity: String) -> ObjectReference? {
    guard let place = places[Place(model, reference.entityName ?? entity, reference.primaryKey)],
      let name = rows[place]?.entity,
      name == entity || model.ancestors(of: name).contains(where: { $0.name == entity })
    else { return nil }
    return ObjectReference(entityName: name, primaryKey: place.key)
  }

  /// Adds what an old row leads to, and what leads to it.
  private mutating func link(_ row: NamedRow) {
    guard let place = places[Place(model, row)] else { return }
    for relationship in model.allRelationships(of: row.entity) where !relationship.isTransient {
      let name = relationship.name
      switch row.values[name] {
      case .toOne(let reference)?:
        guard added.contains(place) else { continue }
        rows[place] = rows[place]?.setting(
          name, moved(reference, relationship.destinationEntityName).map { .toOne($0) })
      case .toMany(let references)?:
        let more = references.compactMap { moved($0, relationship.destinationEntityName) }
        var all: [ObjectReference] = []
        if !added.contains(place), case .toMany(let own)? = rows[place]?.values[name] { all = own }
        all += more
        rows[place] = rows[place]?.setting(name, .toMany(all))
      default: continue
      }
    }
  }

  /// What differs between a row and the one that is there; nil when nothing does. Relationships whose inverse leads to
  /// one object are not compared here: of these, an object may lose its place.
  func difference(_ row: NamedRow, _ there: NamedRow) -> String? {
    if row.entity != there.entity { return "entity" }
    let attributes = model.allAttributes(of: row.entity).filter { !$0.isTransient && !$0.isDerived }
    for attribute in attributes where row.values[attribute.name] != there.values[attribute.name] {
      return attribute.name
    }
    for relationship in model.allRelationships(of: row.entity) where !relationship.isTransient {
      guard
        let inverse = model.allRelationships(of: relationship.destinationEntityName)
          .first(where: { $0.name == relationship.inverseName })
      else { continue }
      if inverse.isToMany, keys(row, relationship.name) != keys(there, relationship.name) {
        return relationship.name
      }
    }
    return nil
  }

  private func keys(_ row: NamedRow, _ relationship: String) -> Set<Int64> {
    switch row.values[relationship] {
    case .toOne(let reference)?: [reference.primaryKey]
    case .toMany(let references)?: Set(references.map(\.primaryKey))
    default: []
    }
  }
}

extension NamedRow {
  func setting(_ name: String, _ value: PropertyValue?) -> NamedRow {
    var values = values
    values[name] = value
    return NamedRow(entity: entity, key: key, values: values)
  }
}
