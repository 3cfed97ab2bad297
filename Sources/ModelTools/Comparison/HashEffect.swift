import ObjectModel

/// An entity whose version hash changed, and why.
package struct HashEffect: Sendable, Hashable {
  /// Why the hash changed.
  package enum Cause: Sendable, Hashable {
    /// The entity is new.
    case added
    /// The entity is gone.
    case removed
    /// The entity has a new name.
    case renamed
    /// Something changed that the entity declares itself: see the changes of this entity that affect
    /// the version hash.
    case ownChanges
    /// An ancestor's hash changed, and it is part of this hash. The value is the nearest ancestor with changes of its
    /// own.
    case ancestor(String)
  }

  /// The entity, by its new name; by its old one when it is gone.
  package let entityName: String
  /// The old name, if the entity was renamed; nil otherwise.
  package let oldName: String?
  /// Why the hash changed.
  package let cause: Cause
  /// Why the effect is uncertain (no recorded hash confirms the rule for this entity); nil if it is certain.
  package let doubt: String?

  /// The effect as a sentence for a reader.
  package var sentence: String {
    guard let doubt else { return plainSentence }
    return plainSentence.dropLast() + "; this is not certain, because \(doubt)."
  }

  private var plainSentence: String {
    let subject = "`\(entityName)` has a different version hash"
    switch cause {
    case .added: return "`\(entityName)` is new."
    case .removed: return "`\(entityName)` is gone."
    case .renamed: return "\(subject), because it was called `\(oldName ?? "")` before."
    case .ownChanges: return "\(subject), because of its own changes."
    case .ancestor(let name): return "\(subject), because its ancestor `\(name)` changed."
    }
  }

  /// Follows the changes down the hierarchy.
  static func effects(of changes: [ModelChange], _ entities: EntityPairing) -> [HashEffect] {
    let unknown = entities.oldIndex.hashes.unknown
      .merging(entities.newIndex.hashes.unknown) { _, new in new }
    var changed: Set<String> = []
    for change in changes where change.affectsVersionHash {
      // A removed entity is listed by its old name, which another entity may have now.
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
  /// ``sentence``.
  package var description: String { sentence }
}
