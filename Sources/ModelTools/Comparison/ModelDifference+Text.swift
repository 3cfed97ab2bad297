import ObjectModel
import SafeText

extension ModelDifference {
  /// What the differences between two versions of a model mean for the stores of the old version, as one or more
  /// sentences.
  package var outcome: String {
    guard affectsVersionHashes else {
      return isEmpty
        ? "The two models are equal." : "Stores open as before: no version hash changed."
    }
    let (verdict, reasons) = worstVerdict
    switch verdict {
    case .handled, .nothingToDo:
      return "Stores need a migration, and lightweight migration can do all of it."
    case .handledIfDataAllows:
      return "Stores need a migration. Lightweight migration can do it unless "
        + Self.list(reasons, joiner: ", or ") + "."
    case .notHandled:
      return "Stores need a migration that lightweight migration cannot do, because "
        + Self.list(reasons, joiner: ", and because ") + ". They need a mapping model."
    case .unknown:
      return "Stores need a migration. It is not known whether lightweight migration can do all of "
        + "it: \(Self.list(reasons, joiner: "; "))."
    }
  }

  /// Joins the first three reasons. If there are further reasons, adds their number, for example "(and 2 more
  /// reasons)".
  private static func list(_ reasons: [String], joiner: String) -> String {
    let shown = reasons.prefix(3).joined(separator: joiner)
    let rest = reasons.count - 3
    return rest > 0 ? "\(shown) (and \(counted(rest, "more reason")))" : shown
  }

  /// A sentence with the numbers of changes, of changed entities and of changed version hashes.
  package var countText: String {
    let hashed = changes.count(where: \.affectsVersionHash)
    let entities = Set(changes.compactMap(\.entityName)).count
    var text = "\(counted(changes.count, "change")) in \(counted(entities, "entity", "entities"))"
    text += hashed == changes.count ? "" : ", \(hashed) of them with an effect on version hashes"
    // A renamed entity counts as one entity, although it has two names.
    if hashEffects.isEmpty { return text + "." }
    let hashes = counted(hashEffects.count, "version hash is", "version hashes are")
    return text + "; \(hashes) no longer the same."
  }
}
