import CoreDataStore
import ModelTools
import ObjectModel

// Finds the mappings that make the objects at the two ends of a relationship, and the keys of these objects.
extension CopyCompiler {
  /// An entity mapping that sets a new relationship from a relationship of the old objects.
  struct Setter {
    let mapping: EntityMapping
    let old: Relationship
    /// The old entity whose objects the mapping takes.
    let from: String
    /// The name of the mapping that makes the objects to which the new relationship leads. Nil if the new relationship
    /// leads to the objects of all mappings.
    let wanted: String?
  }

  /// Returns a ``Setter`` for each mapping that sets the relationship `name` from an old relationship. Only mappings
  /// that make objects of the new entity `entity`, or of an entity that inherits from `entity`, are included.
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

  /// Returns those of the mappings `all` whose objects get the new relationship `name` from the old relationship `old`.
  ///
  /// The mappings that take the same old entity are treated alike. If no mapping of an old entity sets the relationship
  /// `name`, all mappings of this entity are returned. Otherwise, only those mappings of the entity are returned that
  /// set the relationship from `old` and for which `isMeant` returns true. The argument of `isMeant` is the name of the
  /// mapping that makes the objects to which the relationship leads; nil if the relationship leads to the objects of
  /// all mappings.
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

  /// Whether any mapping sets the inverse of the new relationship `relationship`. If so, the inverse determines which
  /// objects `relationship` leads to.
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

  /// Whether a relationship can lead to objects that the entity mapping `maker` makes. `wanted` is the name of the
  /// entity mapping in the relationship's expression; nil if the relationship leads to the objects of all entity
  /// mappings. The result is also true if `maker` and `wanted` take different old entities of the same table, because
  /// ``makers(of:_:in:)`` compares tables instead of entities, too.
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

  /// Returns the mappings that make new rows from the old objects that have `relationship`, a relationship of the old
  /// entity `entity`. Only mappings that make rows in the table of the new entity `root` are included.
  func nearMakers(_ relationship: Relationship, of entity: String, in root: String)
    -> [EntityMapping]
  {
    let declaring = declaringEntity(of: relationship, entity)
    let table = layout.table(of: root)?.name
    return mappings.filter { mapping in
      isSame(mapping.sourceEntityName, orDescendantOf: declaring) && newTable(of: mapping) == table
    }
  }

  /// Returns the mappings that make new rows from the objects that the old relationship `relationship` leads to. Only
  /// mappings that make rows in the table of the new entity `destination` are included. If `mappingName` is not nil,
  /// only mappings with that name are included. A mapping that takes rows of another old table is never included,
  /// because these rows are not destinations of the relationship, even if they have the same keys.
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

  /// Returns the mappings named `name` that take the objects of the old entity `from` and make rows in the table of the
  /// new entity `destination`.
  func makers(named name: String, of from: String, in destination: String) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      mapping.name == name && mapping.sourceEntityName == from && newTable(of: mapping) == root
    }
  }

  /// Whether the old entity `entity` is `ancestor`, or inherits from `ancestor`.
  func isSame(_ entity: String?, orDescendantOf ancestor: String) -> Bool {
    entity == ancestor || isDescendant(entity, of: ancestor)
  }

  private func isDescendant(_ entity: String?, of ancestor: String) -> Bool {
    entity.map { source.model.ancestors(of: $0).contains { $0.name == ancestor } } ?? false
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

  /// Whether all mappings in `makers` have the same ``KeyShift``, so that a new key can be computed from the old key.
  /// Otherwise the new key must be looked up in the new table.
  func isDirect(_ makers: [EntityMapping]) -> Bool {
    Set(makers.map { shifts.shift(of: $0) }).count == 1
  }

  func direct(_ parameter: String, _ makers: [EntityMapping]) -> String {
    makers.first.map { shifts.shift(of: $0).key(parameter) } ?? parameter
  }

  /// Returns an SQL expression for the key of the new row that was made from the old row with the key `parameter`. If
  /// no new row was made from the old row, the expression gives a key that no row has, so that the reference is later
  /// set to NULL and reported.
  func resolvedOrCut(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    "IFNULL(\(try resolved(parameter, makers, destination)), \(KeyShift.nowhere(parameter)))"
  }

  /// Returns an SQL expression for the key of the new row that was made from the old row with the key `parameter`. If
  /// several new rows were made from the old row, the expression gives the lowest of their keys. If no new row was
  /// made, the expression gives NULL.
  func resolved(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    try rows(parameter, makers, destination).map { "(SELECT Z_PK \($0) ORDER BY Z_PK LIMIT 1)" }
      ?? "NULL"
  }

  /// Returns the FROM and WHERE clauses of a query for the new rows that `makers` made from the old row with the key
  /// `parameter`. Returns nil when the new store has no table for `destination`.
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
