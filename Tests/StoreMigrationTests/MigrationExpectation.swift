import CoreDataStore
import ObjectModel
import StoreMigration
import Testing

/// What must be in the new store, worked out from names and renaming identifiers alone.
struct MigrationExpectation {
  let from: ManagedObjectModel
  let to: ManagedObjectModel
  let old: Set<NamedRow>

  fileprivate struct Place: Hashable {
    let root: String
    let key: Int64
  }
  /// The entity of each old row.
  fileprivate let kinds: [Place: String]

  init(_ from: ManagedObjectModel, _ to: ManagedObjectModel, _ old: Set<NamedRow>) {
    self.from = from
    self.to = to
    self.old = old
    kinds = Dictionary(
      old.map { (Place(root: from.rootEntity(of: $0.entity)?.name ?? "", key: $0.key), $0.entity) },
      uniquingKeysWith: { first, _ in first })
  }

  fileprivate static func counterpart(
    _ name: String, _ identifier: String?, among news: [(name: String, identifier: String?)]
  ) -> String? {
    // The renaming identifier first: the new thing that says it was called so.
    let own = identifier ?? name
    return news.first { ($0.identifier ?? $0.name) == own }?.name
      ?? news.first { $0.name == name && $0.identifier == nil }?.name
  }

  fileprivate func entity(_ name: String) -> String? {
    guard let old = from.entities[name] else { return nil }
    return Self.counterpart(
      name, old.renamingIdentifier,
      among: to.entities.values.map { ($0.name, $0.renamingIdentifier) })
  }

  /// The keys that each relationship must lead to, where both versions have it in the same form.
  private func links(of row: NamedRow, as target: String) -> [String: [Int64]] {
    let others = to.allRelationships(of: target).filter { !$0.isTransient }
    var links: [String: [Int64]] = [:]
    for relationship in from.allRelationships(of: row.entity) where !relationship.isTransient {
      guard
        let name = Self.counterpart(
          relationship.name, relationship.renamingIdentifier,
          among: others.map { ($0.name, $0.renamingIdentifier) }),
        let other = others.first(where: { $0.name == name }),
        other.isToMany == relationship.isToMany,
        self.inverse(of: relationship, in: from)?.isToMany
          == self.inverse(of: other, in: to)?.isToMany,
        entity(relationship.destinationEntityName) == other.destinationEntityName
      else { continue }
      // A row of an entity that is gone is led to no more.
      let keys = row.keys(of: relationship.name).filter { key in
        let root = from.rootEntity(of: relationship.destinationEntityName)?.name
        return kinds[Place(root: root ?? "", key: key)].map { kind in
          entity(kind).map { to.entities[$0]?.isAbstract == false && isA($0, other) } ?? false
        } ?? false
      }
      links[name] = keys
    }
    return links
  }

  fileprivate func isA(_ entity: String, _ relationship: Relationship) -> Bool {
    entity == relationship.destinationEntityName
      || to.ancestors(of: entity).contains { $0.name == relationship.destinationEntityName }
  }

  fileprivate func inverse(of relationship: Relationship, in model: ManagedObjectModel)
    -> Relationship?
  {
    model.allRelationships(of: relationship.destinationEntityName).first {
      $0.name == relationship.inverseName
    }
  }

  func expect(_ report: MigrationReport, _ new: Set<NamedRow>, _ pair: String) throws {
    let rejected = report.steps.flatMap(\.entities).reduce(0) { $0 + $1.rejectedCount }
    var wanted = 0
    var byKey: [String: [NamedRow]] = [:]
    for row in new { byKey[row.entity, default: []].append(row) }
    var roots: [String: Set<String>] = [:]
    for name in from.entities.keys {
      if let target = entity(name), let root = to.rootEntity(of: target)?.name {
        roots[root, default: []].insert(from.rootEntity(of: name)?.name ?? name)
      }
    }
    // Keys are those of before where no new table takes the rows of several old ones.
    let isWhole = rejected == 0 && roots.values.allSatisfy { $0.count == 1 }
    for row in old {
      guard let target = entity(row.entity), to.entities[target]?.isAbstract == false else {
        continue
      }
      wanted += 1
      let attributes = from.allAttributes(of: row.entity)
      let others = to.allAttributes(of: target)
      var values: [String: PropertyValue] = [:]
      for attribute in attributes where !attribute.isTransient {
        guard let value = row.values[attribute.name],
          let name = Self.counterpart(
            attribute.name, attribute.renamingIdentifier,
            among: others.filter { !$0.isTransient }.map { ($0.name, $0.renamingIdentifier) }),
          others.first(where: { $0.name == name })?.type == attribute.type
        else { continue }
        values[name] = value
      }
      let links = links(of: row, as: target)
      let isAlone = roots[to.rootEntity(of: target)?.name ?? target]?.count == 1
      let found = (byKey[target] ?? []).contains { candidate in
        (!isAlone || candidate.key == row.key)
          && values.allSatisfy { candidate.values[$0.key] == $0.value }
          && (!isWhole || links.allSatisfy { candidate.keys(of: $0.key) == $0.value })
      }
      if !found, rejected == 0 {
        Issue.record("\(pair): \(row) is not there; wanted \(target) \(values) \(links)")
        return
      }
    }
    #expect(new.count + rejected == wanted, "\(pair): \(report)")
    if isWhole { expectLinks(new, pair) }
    // A key with the number of its entity leads to a row of that very entity.
    let places = Set(new.map { "\($0.entity) \($0.key)" })
    for row in new {
      for case .toOne(let reference) in row.values.values
      where !places.contains("\(reference.entityName ?? "?") \(reference.primaryKey)") {
        Issue.record("\(pair): \(row) leads to \(reference), which is not there")
        return
      }
    }
  }
}

extension MigrationExpectation {
  /// What a row leads to by a relationship that has an inverse, whichever row keeps it: each as root entity and key.
  private static func targets(
    of row: NamedRow, _ relationship: Relationship, in model: ManagedObjectModel,
    _ rows: Set<NamedRow>
  ) -> Set<Int64> {
    guard relationship.isToMany,
      let inverse = model.allRelationships(of: relationship.destinationEntityName).first(where: {
        $0.name == relationship.inverseName
      }), !inverse.isToMany
    else { return Set(row.keys(of: relationship.name)) }
    let root = model.rootEntity(of: row.entity)?.name
    return Set(
      rows.filter { other in
        // The inverse of that name, and not one of another entity.
        other.keys(of: inverse.name) == [row.key]
          && model.allRelationships(of: other.entity).contains(inverse)
          && model.rootEntity(of: inverse.destinationEntityName)?.name == root
      }.map(\.key))
  }

  /// No link is invented; one that has room stays, whatever form its relationship has now.
  func expectLinks(_ new: Set<NamedRow>, _ pair: String) {
    var byPlace: [Place: NamedRow] = [:]
    for row in new { byPlace[place(row.entity, row.key, to)] = row }
    for row in old {
      guard let target = entity(row.entity), let there = byPlace[place(target, row.key, to)],
        there.entity == target
      else { continue }
      let others = to.allRelationships(of: target).filter { !$0.isTransient }
      for relationship in from.allRelationships(of: row.entity) where !relationship.isTransient {
        guard
          let name = Self.counterpart(
            relationship.name, relationship.renamingIdentifier,
            among: others.map { ($0.name, $0.renamingIdentifier) }),
          let other = others.first(where: { $0.name == name }),
          entity(relationship.destinationEntityName) == other.destinationEntityName,
          let inverse = inverse(of: relationship, in: from),
          let otherInverse = self.inverse(of: other, in: to),
          // An inverse that is another relationship now has links of its own.
          Self.counterpart(
            inverse.name, inverse.renamingIdentifier,
            among: to.allRelationships(of: other.destinationEntityName).map {
              ($0.name, $0.renamingIdentifier)
            }) == otherInverse.name
        else { continue }
        let root = from.rootEntity(of: relationship.destinationEntityName)?.name ?? ""
        let before = Self.targets(of: row, relationship, in: from, old).filter { key in
          kinds[Place(root: root, key: key)].map { kind in
            entity(kind).map { to.entities[$0]?.isAbstract == false && isA($0, other) } ?? false
          } ?? false
        }
        let after = Self.targets(of: there, other, in: to, new)
        // Both sides of a one-to-one relationship are columns, which a random store fills apart from each other.
        let wasOneToOne = !relationship.isToMany && !inverse.isToMany
        if !wasOneToOne, !after.isSubset(of: before) {
          Issue.record(
            "\(pair): \(row.entity).\(relationship.name) of \(row.key) led to \(before), now \(after)"
          )
          return
        }
        let hasRoom = otherInverse.isToMany
        let isLost =
          other.isToMany
          ? !before.isSubset(of: after) || !wasOneToOne && after != before
          : after.isEmpty != before.isEmpty
        if hasRoom, isLost {
          Issue.record(
            "\(pair): \(row.entity).\(relationship.name) of \(row.key) led to \(before), now only to \(after)"
          )
          return
        }
      }
    }
  }

  private func place(_ entity: String, _ key: Int64, _ model: ManagedObjectModel) -> Place {
    Place(root: model.rootEntity(of: entity)?.name ?? entity, key: key)
  }
}

extension NamedRow {
  /// The keys that a relationship leads to, sorted.
  func keys(of relationship: String) -> [Int64] {
    switch values[relationship] {
    case .toOne(let reference)?: [reference.primaryKey]
    case .toMany(let references)?: references.map(\.primaryKey).sorted()
    default: []
    }
  }
}
