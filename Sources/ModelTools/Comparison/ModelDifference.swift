public import ObjectModel

/// The changes from one version of a model to another.
///
/// Renames are recognised by renaming identifiers, as in Core Data. If one entity, attribute or relationship
/// disappeared and another of the same shape appeared, then ``guesses`` lists the two as a possible rename. ``changes``
/// still lists the removal and the addition. No inferred mapping uses a guess.
public struct ModelDifference: Sendable, Hashable {
  /// All changes. The changes of entities come first, in the order of the entity names; the changes of the model
  /// itself follow.
  public let changes: [ModelChange]

  /// The entities whose version hash changed, each with the cause of the change, sorted by entity name.
  package let hashEffects: [HashEffect]

  package let guesses: [RenameGuess]

  /// Compares two versions of a model.
  ///
  /// - Parameters:
  ///   - old: The version to start from. It need not be the older one.
  ///   - new: The version to compare with `old`.
  ///   - scope: The parts that are compared, given the kinds of files from which the models were read.
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

  /// The overall verdict: the worst verdict among the changes, with the reasons of all changes that have this verdict.
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

  /// The worst verdict among the changes, and the distinct reasons of all changes that have this verdict.
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

  /// The hash changes of entities without a change of their own. The hash of such an entity changed because an ancestor
  /// changed.
  package var indirectEffects: [HashEffect] {
    let named = Set(changes.compactMap(\.entityName))
    return hashEffects.filter { !named.contains($0.entityName) }
  }

  /// Returns the changes of one entity. `entityName` is the entity's name in the new model, or in the old model if the
  /// entity is gone.
  public func changes(of entityName: String) -> [ModelChange] {
    changes.filter { $0.entityName == entityName }
  }
}
