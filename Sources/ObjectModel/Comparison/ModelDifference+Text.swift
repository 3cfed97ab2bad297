extension ModelDifference {
  /// What the whole means for a store of the older version, as one sentence.
  public var outcome: String {
    guard affectsVersionHashes else {
      return isEmpty
        ? "The two models say the same." : "Stores open as before: no version hash changed."
    }
    switch verdict {
    case .handled, .nothingToDo:
      return "Stores need a migration, and lightweight migration can do all of it."
    case .handledIfDataAllows(let reason):
      return "Stores need a migration. Lightweight migration can do it unless \(reason)."
    case .notHandled(let reason):
      return "Stores need a migration that lightweight migration cannot do, because \(reason). "
        + "They need a mapping model."
    case .unknown(let reason):
      return "Stores need a migration. It is not known whether lightweight migration can do all of "
        + "it: \(reason)."
    }
  }

  /// How much changed, as one sentence.
  public var countText: String {
    let hashed = changes.count(where: \.affectsVersionHash)
    let entities = Set(changes.compactMap(\.entityName)).count
    var text = "\(Self.count(changes.count, "change")) in \(Self.count(entities, "entity"))"
    text += hashed == changes.count ? "" : ", \(hashed) of them with an effect on version hashes"
    let names = namesWithOtherHash.count
    return text + (names == 0 ? "." : "; \(Self.count(names, "version hash")) no longer the same.")
  }

  private static func count(_ count: Int, _ noun: String) -> String {
    switch noun {
    case "entity": "\(count) \(count == 1 ? "entity" : "entities")"
    case "version hash": count == 1 ? "1 version hash is" : "\(count) version hashes are"
    default: "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
  }
}
