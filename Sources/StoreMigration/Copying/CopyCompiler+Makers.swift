import CoreDataStore
import ModelTools
import ObjectModel

// Says which mappings make the objects at the two ends of a relationship, and what keys these objects have.
extension CopyCompiler {
  /// An entity mapping that sets a new relationship from a relationship of the old objects.
  struct Setter {
    let mapping: EntityMapping
    let old: Relationship
    /// The old entity whose objects the mapping takes.
    let from: String
    /// The name of the mapping whose objects the new relationship leads to; nil for the objects of all mappings.
    let wanted: String?
  }

  /// The mappings that set the relationship `name` of the new entity `entity`, or of an entity that inherits from it,
  /// from an old relationship.
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

  /// Those of the mappings `all` that make the objects which have the new relationship `name`, as far as this
  /// relationship comes from the old relationship `old`.
  ///
  /// Of several mappings of one old entity, only those make such objects that set the relationship. Of these, only
  /// those count for which `isMeant` is true; its argument is the name of the mapping whose objects the relationship
  /// leads to, and nil for all mappings. If no mapping of an old entity sets the relationship, all of them count.
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

  /// Whether any mapping sets the inverse of a new relationship, so that the relationship gets its objects from there.
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

  /// Whether a relationship can lead to objects that the entity mapping `maker` makes, when the relationship's own
  /// mapping names the entity mapping `wanted`. True if `wanted` is nil, because the relationship then takes the
  /// objects of all entity mappings. Of other mappings, `wanted` also means those that take an ancestor or a descendant
  /// of its old entity, as ``makers(of:_:in:)`` does.
  func isMeant(_ maker: EntityMapping, by wanted: String?) -> Bool {
    guard let wanted, wanted != maker.name else { return true }
    return mappings.contains {
      $0.name == wanted && $0.sourceEntityName != maker.sourceEntityName
        && oldTable(of: $0) == oldTable(of: maker)
    }
  }

  /// The name of the old table whose rows an entity mapping takes.
  private func oldTable(of mapping: EntityMapping) -> String? {
    mapping.sourceEntityName.flatMap { source.layout.table(of: $0)?.name }
  }

  /// The mappings that make new rows from the old objects that have `relationship`. Only mappings that make rows in the
  /// table of the new entity `root` are included.
  func nearMakers(_ relationship: Relationship, of entity: String, in root: String)
    -> [EntityMapping]
  {
    let declaring = declaringEntity(of: relationship, entity)
    return mappings.filter { mapping in
      isSame(mapping.sourceEntityName, orDescendantOf: declaring)
        && mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name }
          == layout.table(of: root)?.name
    }
  }

  /// The mappings that make new rows from the objects that an old relationship leads to. Only mappings that make rows
  /// in the table of the new entity `destination` are included. If `mappingName` is not nil, only mappings with that
  /// name are included. A mapping that takes rows of another old table is never included: it makes nothing of the
  /// relationship's objects, and its rows only happen to have the same keys.
  func makers(
    of relationship: Relationship, _ mappingName: String?, in destination: String
  ) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      guard let to = mapping.destinationEntityName, layout.table(of: to)?.name == root else {
        return false
      }
      guard let mappingName else {
        return isSame(mapping.sourceEntityName, orDescendantOf: relationship.destinationEntityName)
      }
      return mapping.name == mappingName
        && oldTable(of: mapping)
          == source.layout.table(of: relationship.destinationEntityName)?.name
    }
  }

  /// The mappings named `name` that take the objects of the old entity `from`, and make rows in the table of the new
  /// entity `destination`.
  func makers(named name: String, of from: String, in destination: String) -> [EntityMapping] {
    let root = layout.table(of: destination)?.name
    return mappings.filter { mapping in
      mapping.name == name && mapping.sourceEntityName == from
        && mapping.destinationEntityName.flatMap { layout.table(of: $0)?.name } == root
    }
  }

  /// Whether an old entity is `ancestor`, or inherits from it.
  func isSame(_ entity: String?, orDescendantOf ancestor: String) -> Bool {
    entity == ancestor || isDescendant(entity, of: ancestor)
  }

  func isDescendant(_ entity: String?, of ancestor: String) -> Bool {
    entity.map { source.model.ancestors(of: $0).contains { $0.name == ancestor } } ?? false
  }

  /// The topmost of an old entity and its ancestors that declares a relationship of the entity.
  func declaringEntity(of relationship: Relationship, _ entity: String) -> String {
    TableLayout.declaringEntity(of: relationship.name, from: entity, in: source.model) ?? entity
  }

  /// A text that tells apart the old relationships, of which several entities may have equal ones.
  func key(_ relationship: Relationship, _ entity: String) -> String {
    "\(declaringEntity(of: relationship, entity)).\(relationship.name)"
  }

  func keyOfInverse(_ relationship: Relationship) -> String? {
    TableLayout.inverse(of: relationship, in: source.model).map {
      key($0, relationship.destinationEntityName)
    }
  }

  // MARK: - Keys

  /// Whether all these mappings shift keys in the same way, so that the new key can be computed from the old key.
  /// Otherwise the new key must be looked up among the new rows.
  func isDirect(_ makers: [EntityMapping]) -> Bool {
    Set(makers.map { shifts.shift(of: $0) }).count == 1
  }

  func direct(_ parameter: String, _ makers: [EntityMapping]) -> String {
    makers.first.map { shifts.shift(of: $0).key(parameter) } ?? parameter
  }

  /// An SQL expression for the key of the new row that was made from the row with an old key. If there is no such row,
  /// the expression gives a key that no row has; the reference with that key is cut and reported later.
  func resolvedOrCut(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    "IFNULL(\(try resolved(parameter, makers, destination)), \(KeyShift.nowhere(parameter)))"
  }

  /// An SQL expression for the key of the new row that was made from the row with an old key; it gives NULL when there
  /// is no such row. Of several new rows, it gives the one that the first mapping has made.
  func resolved(
    _ parameter: String, _ makers: [EntityMapping], _ destination: String
  ) throws -> String {
    try rows(parameter, makers, destination).map { "(SELECT Z_PK \($0) ORDER BY Z_PK LIMIT 1)" }
      ?? "NULL"
  }

  /// The clauses FROM and WHERE of an SQL query for the new rows that were made from the row with an old key. Nil when
  /// the new store has no table for `destination`.
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
