import ObjectModel

extension ModelDifference {
  /// What the difference means for a store of the old version, as one or more sentences.
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

  /// The first three reasons, and the number of further reasons. All reasons are listed with their changes.
  private static func list(_ reasons: [String], joiner: String) -> String {
    let shown = reasons.prefix(3).joined(separator: joiner)
    let rest = reasons.count - 3
    return rest > 0 ? "\(shown) (and \(count(rest, "more reason")))" : shown
  }

  /// The numbers of changes, entities and version hashes, as one sentence.
  package var countText: String {
    let hashed = changes.count(where: \.affectsVersionHash)
    let entities = Set(changes.compactMap(\.entityName)).count
    var text = "\(Self.count(changes.count, "change")) in \(Self.count(entities, "entity"))"
    text += hashed == changes.count ? "" : ", \(hashed) of them with an effect on version hashes"
    // A renamed entity counts only once, not once under each name.
    let hashes = hashEffects.count
    return text
      + (hashes == 0 ? "." : "; \(Self.count(hashes, "version hash")) no longer the same.")
  }

  private static func count(_ count: Int, _ noun: String) -> String {
    switch noun {
    case "entity": "\(count) \(count == 1 ? "entity" : "entities")"
    case "version hash": count == 1 ? "1 version hash is" : "\(count) version hashes are"
    default: "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
  }
}
