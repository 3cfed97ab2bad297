public import ObjectModel

/// The changes from one version of a model to another.
///
/// Renames are recognised as in Core Data, by renaming identifiers. If something disappeared and something of the same
/// shape appeared, ``guesses`` lists the pair as a possible rename, in addition to the two changes. No mapping uses a
/// guess.
public struct ModelDifference: Sendable, Hashable {
  /// All changes: first those of entities, in the order of the entity names, then those of the model itself.
  public let changes: [ModelChange]

  /// The entities whose version hash changed, each with the cause, sorted by name.
  package let hashEffects: [HashEffect]

  /// Possible renames that no renaming identifier confirms.
  package let guesses: [RenameGuess]

  /// Compares two versions of a model.
  ///
  /// - Parameters:
  ///   - old: the version to start from, which need not be the older one.
  ///   - new: the version to get to.
  ///   - scope: what both models can express, given the kinds of files they were read from.
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

  /// Whether the version hash of any entity changed, so that a store of the old version needs a migration.
  public var affectsVersionHashes: Bool { !hashEffects.isEmpty }

  /// The names of the entities whose version hash differs between the models, under the new and the old name. Entities
  /// that only one model has are included.
  package var namesWithOtherHash: Set<String> {
    Set(hashEffects.flatMap { [$0.entityName, $0.oldName ?? $0.entityName] })
  }

  /// The overall verdict: the worst verdict among the changes, with the reasons of all changes that have it.
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

  /// The effects on entities without changes of their own, which are descendants of a changed entity.
  package var indirectEffects: [HashEffect] {
    let named = Set(changes.compactMap(\.entityName))
    return hashEffects.filter { !named.contains($0.entityName) }
  }

  /// The changes of one entity. The entity is given by its new name, or by its old name if it is gone.
  public func changes(of entityName: String) -> [ModelChange] {
    changes.filter { $0.entityName == entityName }
  }
}
