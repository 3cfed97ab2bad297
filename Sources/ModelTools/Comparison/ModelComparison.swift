import ObjectModel
import SafeText

struct ModelComparison {
  let entities: EntityPairing
  let rules: LightweightRules
  let scope: ComparisonScope
  private(set) var changes: [ModelChange] = []

  init(_ entities: EntityPairing, _ scope: ComparisonScope) {
    self.entities = entities
    self.scope = scope
    rules = LightweightRules(entities: entities)
  }

  mutating func run() {
    for entity in entities.removed {
      add(
        ModelChange(
          .entity, .removed, entity: entity.name, old: Self.summary(entity), affects: true,
          remark: entity.isAbstract ? nil : "A migration drops its objects."))
    }
    for entity in entities.added {
      add(
        ModelChange(.entity, .added, entity: entity.name, new: Self.summary(entity), affects: true))
    }
    for (old, new) in entities.pairs { compare(old, new) }
    changes = changes.enumerated().sorted { left, right in
      let names = (left.element.entityName ?? "", right.element.entityName ?? "")
      return names.0 == names.1
        ? left.offset < right.offset : ByteOrder.precedes(names.0, names.1)
    }.map(\.element)
    compareModels()
  }

  mutating func add(_ change: ModelChange) { changes.append(change) }

  mutating func add(_ traits: TraitComparison) { changes += traits.changes }

  // MARK: Entities

  private static func summary(_ entity: Entity) -> String {
    var parts = [
      counted(entity.attributes.count, "attribute"),
      counted(entity.relationships.count, "relationship"),
    ]
    if entity.isAbstract { parts.append("abstract") }
    if let parent = entity.superentityName { parts.append("a kind of `\(parent)`") }
    return parts.joined(separator: ", ")
  }

  private mutating func compare(_ old: Entity, _ new: Entity) {
    // Equal entities have no changes: every change that is looked for below is a difference between the two values.
    if old == new { return }
    let entity = new.name
    if old.name != new.name {
      add(
        ModelChange(
          .entity, .renamed, entity: entity, old: old.name, new: new.name, affects: true))
    }
    var traits = TraitComparison(.entity, entity: entity, name: nil)
    traits.compare(
      .parent, old.superentityName, new.superentityName, affects: true,
      verdict: rules.parentChange(of: new), remark: loss(of: old, becoming: new))
    traits.compare(
      .isAbstract, old.isAbstract, new.isAbstract, affects: true,
      verdict: rules.abstractChange(of: new))
    traits.compare(
      .versionHashModifier, old.versionHashModifier, new.versionHashModifier, affects: true)
    if scope.hasSourceTraits {
      traits.compare(.className, old.className, new.className)
    } else {
      // An `.xcdatamodel` may omit the class name if it equals the entity's name.
      let before = old.className == old.name ? nil : old.className
      let after = new.className == new.name ? nil : new.className
      if before != after { traits.compare(.className, old.className, new.className) }
    }
    traits.compare(
      .spotlightName, old.spotlightDisplayNameExpression?.text,
      new.spotlightDisplayNameExpression?.text)
    if scope.hasSourceTraits {
      traits.compare(.codeGeneration, old.codeGenerationType, new.codeGenerationType)
    }
    traits.compare(.renamingIdentifier, old.renamingIdentifier, new.renamingIdentifier)
    add(traits)
    compareConstraints(old, new)
    compareAttributes(old, new)
    compareRelationships(old, new)
    compareFetchedProperties(old, new)
    compareIndexes(old, new)
    compareUserInfo(old.userInfo, new.userInfo, entity: entity, owner: "")
  }

  /// Names the stored properties that an entity inherits in the old model and does not have in the new one. Nil if the
  /// parent is the same, or if there are no such properties.
  private func loss(of old: Entity, becoming new: Entity) -> String? {
    guard old.superentityName != new.superentityName else { return nil }
    let own = Set(old.attributes.map(\.name) + old.relationships.map(\.name))
    let before =
      entities.old.allAttributes(of: old.name).filter { !$0.isTransient }.map(\.name)
      + entities.old.allRelationships(of: old.name).filter { !$0.isTransient }.map(\.name)
    let after =
      entities.new.allAttributes(of: new.name).map { [$0.name, $0.renamingIdentifier ?? $0.name] }
      + entities.new.allRelationships(of: new.name).map {
        [$0.name, $0.renamingIdentifier ?? $0.name]
      }
    let kept = Set(after.flatMap { $0 })
    let lost = before.filter { !own.contains($0) && !kept.contains($0) }
    guard !lost.isEmpty else { return nil }
    let more = lost.count > 10 ? " and \(lost.count - 10) more" : ""
    return "A migration drops what it inherited: "
      + lost.prefix(10).map { "`\($0)`" }.joined(separator: ", ") + more + "."
  }

  private mutating func compareConstraints(_ old: Entity, _ new: Entity) {
    let before = old.uniquenessConstraints.map { $0.joined(separator: " + ") }
    let after = new.uniquenessConstraints.map { $0.joined(separator: " + ") }
    let difference = Self.difference(before, after)
    for names in difference.removed {
      add(
        ModelChange(
          .uniquenessConstraint, .removed, entity: new.name, name: names, old: names, affects: true)
      )
    }
    for names in difference.added {
      add(
        ModelChange(
          .uniquenessConstraint, .added, entity: new.name, name: names, new: names, affects: true,
          verdict: rules.constraintAdded(names, to: new)))
    }
  }

  /// Returns the strings that occur more often in `old` than in `new`, and the strings that occur more often in `new`,
  /// both sorted. For example, if `old` has a string three times and `new` has it once, `removed` has the string twice.
  static func difference(_ old: [String], _ new: [String]) -> (removed: [String], added: [String]) {
    var counts: [String: Int] = [:]
    for text in new { counts[text, default: 0] += 1 }
    for text in old { counts[text, default: 0] -= 1 }
    var removed: [String] = []
    var added: [String] = []
    for text in ByteOrder.sorted(counts.keys) {
      let count = counts[text] ?? 0
      if count > 0 { added += Array(repeating: text, count: count) }
      if count < 0 { removed += Array(repeating: text, count: -count) }
    }
    return (removed, added)
  }
}
