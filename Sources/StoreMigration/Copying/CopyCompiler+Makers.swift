import CoreDataStore
import ModelTools
import ObjectModel

// Finds the mappings that make the objects at the two ends of a relationship, and the keys of these objects.
extension CopyCompiler {
  /// An entity mapping that sets a given relationship of the objects that it makes. It takes the destinations from a
  /// relationship of the old objects.
  struct Setter {
    let mapping: EntityMapping
    let old: Relationship
    /// The old entity whose objects the mapping takes.
    let from: String
    /// The name of the entity mapping that makes the destinations of the new relationship. Nil if any mapping may make
    /// them.
    let wanted: String?
  }

  /// Returns a ``Setter`` for each mapping that makes objects of the new entity `entity`, or of an entity that inherits
  /// from it, and that sets their relationship `name` from an old relationship.
  func setters(of name: String, in entity: String) -> [Setter] {
    let lineage = descendants(of: entity)
    return mappings.compactMap { mapping in
      guard let to = mapping.destinationEntityName, lineage.contains(to),
        let from = mapping.sourceEntityName,
        case .related(let path, let wanted) = relationshipSource(name, mapping),
        let old = source.relationship(path, of: from)
      else { return nil }
      return Setter(mapping: mapping, old: old, from: from, wanted: wanted)
    }
  }

  /// Returns the mappings in `all` whose new objects get the relationship `name` from the old relationship `old`.
  ///
  /// If no mapping of an old entity sets the relationship `name`, all mappings of this entity are returned. Otherwise,
  /// a mapping of this entity is returned only if it sets the relationship from `old`, and `isMeant` returns true for
  /// it.
  ///
  /// `isMeant`: called with the name of the mapping that makes the objects to which the relationship leads; with nil if
  /// the relationship leads to the objects of all mappings.
  func setting(
    _ name: String, from old: Relationship, _ all: [EntityMapping],
    where isMeant: (_ wanted: String?) -> Bool
  ) -> [EntityMapping] {
    var entities: Set<String> = []
    var meant: Set<Int> = []
    for (place, mapping) in all.enumerated() {
      switch relationshipSource(name, mapping) {
      case .related(let path, let wanted):
        entities.insert(mapping.sourceEntityName ?? "")
        if path == old.name, isMeant(wanted) { meant.insert(place) }
      case .same: entities.insert(mapping.sourceEntityName ?? "")
      case .none, .sourceValue, .constant, .unsupported: break
      }
    }
    return all.indices.filter { place in
      meant.contains(place) || !entities.contains(all[place].sourceEntityName ?? "")
    }.map { all[$0] }
  }

  /// Whether an entity mapping sets the inverse of the new relationship `relationship`. If so, the inverse determines
  /// the objects to which `relationship` leads.
  func isSetByInverse(_ relationship: Relationship) -> Bool {
    guard let inverse = TableLayout.inverse(of: relationship, in: model), inverse != relationship
    else { return false }
    let lineage = descendants(of: relationship.destinationEntityName)
    return mappings.contains { mapping in
      guard lineage.contains(mapping.destinationEntityName ?? "") else { return false }
      switch relationshipSource(inverse.name, mapping) {
      case .related(let path, _):
        return !inverse.isToMany
          || source.relationship(path, of: mapping.sourceEntityName ?? "") != nil
      case .same: return true
      case .none, .sourceValue, .constant, .unsupported: return false
      }
    }
  }

  /// Whether a relationship can lead to objects that the entity mapping `maker` makes.
  ///
  /// `wanted`: the name of the mapping in the relationship's expression; nil if the relationship leads to the objects
  /// of all mappings. Old entities that share a table are not distinguished: it is enough if a mapping named `wanted`
  /// takes another entity of the old table whose rows `maker` takes.
  func isMeant(_ maker: EntityMapping, by wanted: String?) -> Bool {
    guard let wanted, wanted != maker.name else { return true }
    return mappings.contains {
      $0.name == wanted && $0.sourceEntityName != maker.sourceEntityName
        && oldTable(of: $0) == oldTable(of: maker)
    }
  }

  /// Returns the name of the old table whose rows `mapping` takes.
  private func oldTable(of mapping: EntityMapping) -> String? {
    mapping.sourceEntityName.flatMap { source.layout.table(of: $0)?.name }
  }

  /// Returns the name of the new table in which `mapping` makes rows.
  private func newTable(of mapping: EntityMapping) -> String? {
    mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name }
  }

  /// Returns the mappings that make rows in the table of the new entity `root` from old objects with the relationship
  /// `relationship`. `entity` is an old entity that has this relationship.
  func nearMakers(_ relationship: Relationship, of entity: String, in root: String)
    -> [EntityMapping]
  {
    let declaring = declaringEntity(of: relationship, entity)
    let table = layout.table(of: root)?.name
    return mappings.filter { mapping in
      isSame(mapping.sourceEntityName, orDescendantOf: declaring) && newTable(of: mapping) == table
    }
  }

  /// Returns the mappings that make the new destinations of the old relationship `relationship`. Only mappings that
  /// make rows in the table of the new entity `destination` are returned. If `mappingName` is not nil, only mappings
  /// with that name are returned. A mapping with that name is left out if it takes its rows from another old table than
  /// that of the relationship's destinations.
  func makers(
    of relationship: Relationship, _ mappingName: String?, in destination: String
  ) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      guard newTable(of: mapping) == root else { return false }
      guard let mappingName else {
        return isSame(mapping.sourceEntityName, orDescendantOf: relationship.destinationEntityName)
      }
      return mapping.name == mappingName
        && oldTable(of: mapping)
          == source.layout.table(of: relationship.destinationEntityName)?.name
    }
  }

  /// Returns the mappings with the name `name`, the old entity `from`, and a new entity whose rows are in the table of
  /// `destination`.
  func makers(named name: String, of from: String, in destination: String) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      mapping.name == name && mapping.sourceEntityName == from && newTable(of: mapping) == root
    }
  }

  /// Whether the old entity `entity` is `ancestor`, or inherits from `ancestor`.
  func isSame(_ entity: String?, orDescendantOf ancestor: String) -> Bool {
    guard let entity else { return false }
    return entity == ancestor || source.model.ancestors(of: entity).contains { $0.name == ancestor }
  }

  /// Returns the topmost entity that declares `relationship`, among the old entity `entity` and its ancestors.
  func declaringEntity(of relationship: Relationship, _ entity: String) -> String {
    TableLayout.declaringEntity(of: relationship.name, from: entity, in: source.model) ?? entity
  }

  /// Returns a string that identifies the old relationship `relationship`. The string contains the declaring entity,
  /// because several entities may have equal relationships.
  func key(_ relationship: Relationship, _ entity: String) -> String {
    "\(declaringEntity(of: relationship, entity)).\(relationship.name)"
  }

  func keyOfInverse(_ relationship: Relationship) -> String? {
    TableLayout.inverse(of: relationship, in: source.model).map {
      key($0, relationship.destinationEntityName)
    }
  }

  // MARK: - Keys

  /// Whether the new key of a row can be computed from the old key, because all mappings in `makers` have the same
  /// ``KeyShift``. Otherwise the new key must be looked up in the new table.
  func isDirect(_ makers: [EntityMapping]) -> Bool {
    Set(makers.map { shifts.shift(of: $0) }).count == 1
  }

  func direct(_ parameter: String, _ makers: [EntityMapping]) -> String {
    makers.first.map { shifts.shift(of: $0).key(parameter) } ?? parameter
  }

  /// Returns an SQL expression for a reference to the new row that was made from the old row with the key `parameter`.
  /// If no new row was made, the expression gives a key that no row has, so that the reference is later set to NULL and
  /// reported.
  func resolvedOrCut(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    "IFNULL(\(try resolved(parameter, makers, destination)), \(KeyShift.nowhere(parameter)))"
  }

  /// Returns an SQL expression for the primary key of a new row. The new row is one that `makers` made from the old row
  /// with the key `parameter`. If there are several such rows, the expression gives the lowest of their keys; if there
  /// are no such rows, it gives NULL.
  func resolved(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    try rows(parameter, makers, destination).map { "(SELECT Z_PK \($0) ORDER BY Z_PK LIMIT 1)" }
      ?? "NULL"
  }

  /// Returns the FROM and WHERE clauses that select the rows that the mappings `makers` have made from one old row.
  /// `parameter` is the SQL parameter with the key of the old row. Nil when the new store has no table for the entity
  /// `destination`.
  func rows(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String? {
    guard let table = layout.table(of: destination)?.name else { return nil }
    let keys = makers.map { shifts.shift(of: $0).key(parameter) }
    let numbers = makers.compactMap {
      $0.destinationEntityName.flatMap { layout.numbering.number(of: $0) }
    }
    return
      "FROM \(try SQLText.quoted(table)) WHERE Z_PK IN (\(keys.joined(separator: ", "))) AND Z_ENT IN (\(numbers.map(String.init).joined(separator: ", ")))"
  }
}
