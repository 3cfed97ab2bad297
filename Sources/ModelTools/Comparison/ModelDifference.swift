public import ObjectModel

/// What changed from one version of a model to another.
///
/// Renames are recognised as Core Data does, by renaming identifiers. If something disappeared and
/// something of the same shape appeared, that is reported as a guess (``guesses``) beside the two
/// changes; no mapping uses it.
public struct ModelDifference: Sendable, Hashable {
  /// All changes: first those of the entities, in name order, then those of the model itself.
  public let changes: [ModelChange]

  /// The entities whose version hash changed, with the reason, sorted by name.
  package let hashEffects: [HashEffect]

  /// Possible renames that no renaming identifier confirms.
  package let guesses: [RenameGuess]

  /// Compares two versions.
  ///
  /// - Parameters:
  ///   - old: the version to start from, not necessarily the older one.
  ///   - new: the version to get to.
  ///   - scope: what both models can express, given the forms they were read from.
  public init(
    from old: ManagedObjectModel, to new: ManagedObjectModel, scope: ComparisonScope = .everything
  ) {
    var comparison = ModelComparison(EntityPairing(old: old, new: new), scope)
    comparison.run()
    changes = comparison.changes
    hashEffects = HashEffect.effects(of: comparison.changes, comparison.entities)
    guesses = RenameGuess.guesses(comparison.entities)
  }

  /// Whether the comparison found no change.
  public var isEmpty: Bool { changes.isEmpty }

  /// Whether any change alters a version hash, so that a store of the old version needs migration.
  public var affectsVersionHashes: Bool { !hashEffects.isEmpty }

  /// The names of entities whose version hash differs between the models, including entities that
  /// only one model has.
  package var namesWithOtherHash: Set<String> {
    Set(hashEffects.flatMap { [$0.entityName, $0.oldName ?? $0.entityName] })
  }

  /// The overall verdict: the worst one among the changes, with all of its reasons.
  public var verdict: LightweightVerdict {
    let (worst, reasons) = worstVerdict
    switch worst {
    case .handled, .nothingToDo: return worst
    case .handledIfDataAllows:
      return .handledIfDataAllows(reason: reasons.joined(separator: ", or "))
    case .notHandled: return .notHandled(reason: reasons.joined(separator: "; "))
    case .unknown: return .unknown(reason: reasons.joined(separator: "; "))
    }
  }

  /// The worst verdict, and the distinct reasons of all changes that have it.
  var worstVerdict: (verdict: LightweightVerdict, reasons: [String]) {
    let verdicts = changes.map(\.verdict)
    guard let worst = verdicts.max(by: { $0.weight < $1.weight }) else { return (.nothingToDo, []) }
    var reasons: [String] = []
    var met: Set<String> = []
    for verdict in verdicts where verdict.weight == worst.weight {
      if let reason = verdict.reason, met.insert(reason).inserted { reasons.append(reason) }
    }
    return (worst, reasons)
  }

  /// The effects on entities without changes of their own: the descendants of a changed entity.
  package var indirectEffects: [HashEffect] {
    let named = Set(changes.compactMap(\.entityName))
    return hashEffects.filter { !named.contains($0.entityName) }
  }

  /// The changes of one entity, given by its new name, or by its old name if it is gone.
  public func changes(of entityName: String) -> [ModelChange] {
    changes.filter { $0.entityName == entityName }
  }
}
