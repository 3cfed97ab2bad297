import ObjectModel

/// An entity whose version hash differs between two models, and the cause of the difference.
package struct HashEffect: Sendable, Hashable {
  package enum Cause: Sendable, Hashable {
    case added
    case removed
    case renamed
    /// The entity's own declaration changed. ``ModelDifference/changes`` lists what changed.
    case ownChanges
    /// The hash of an ancestor changed, and an ancestor's hash is part of the entity's hash. The value is the name of
    /// the nearest ancestor with changes of its own.
    case ancestor(String)
  }

  /// The new name of the entity; the old name if the entity is gone.
  package let entityName: String
  /// The old name of a renamed entity; nil if the entity was not renamed.
  package let oldName: String?
  package let cause: Cause
  /// A clause that says why it is uncertain whether the hash changed: no recorded hash confirms the rule by which the
  /// entity's hash is computed. Nil if the change is certain.
  package let doubt: String?

  package var sentence: String {
    guard let doubt else { return plainSentence }
    return plainSentence.dropLast() + "; this is not certain, because \(doubt)."
  }

  private var plainSentence: String {
    let subject = "`\(entityName)` has a different version hash"
    switch cause {
    case .added: return "`\(entityName)` is new."
    case .removed: return "`\(entityName)` is gone."
    case .renamed:
      return "\(subject), because the entity was called `\(oldName ?? "")` before."
    case .ownChanges: return "\(subject), because of its own changes."
    case .ancestor(let name): return "\(subject), because its ancestor `\(name)` changed."
    }
  }

  /// Returns the effects that the given changes have on the changed entities and on all of their descendants, sorted by
  /// entity name.
  static func effects(of changes: [ModelChange], _ entities: EntityPairing) -> [HashEffect] {
    let unknown = entities.oldIndex.hashes.unknown
      .merging(entities.newIndex.hashes.unknown) { _, new in new }
    var changed: Set<String> = []
    for change in changes where change.affectsVersionHash {
      // A removed entity is listed under its old name. In the new model, another entity may have that name.
      let isGone = change.part == .entity && change.action == .removed
      if !isGone, let name = change.entityName { changed.insert(name) }
    }
    var effects: [HashEffect] = []
    for entity in entities.removed where entities.new.entities[entity.name] == nil {
      effects.append(HashEffect(entityName: entity.name, oldName: nil, cause: .removed, doubt: nil))
    }
    for entity in entities.added {
      effects.append(HashEffect(entityName: entity.name, oldName: nil, cause: .added, doubt: nil))
    }
    for (old, new) in entities.pairs {
      let oldName = old.name == new.name ? nil : old.name
      let cause: Cause
      if oldName != nil {
        cause = .renamed
      } else if changed.contains(new.name) {
        cause = .ownChanges
      } else if let above = entities.new.ancestors(of: new.name)
        .first(where: { changed.contains($0.name) })
      {
        cause = .ancestor(above.name)
      } else {
        continue
      }
      effects.append(
        HashEffect(
          entityName: new.name, oldName: oldName, cause: cause,
          doubt: oldName == nil ? unknown[new.name] : nil))
    }
    return effects.sorted { ByteOrder.precedes($0.entityName, $1.entityName) }
  }
}

extension HashEffect: CustomStringConvertible {
  package var description: String { sentence }
}
