import ObjectModel

extension ModelChange {
  /// The change and its consequence for a store, as one sentence for a person who knows the app but not its source
  /// code. For example: "`Note.updatedAt` was added, Date, optional: lightweight migration can do this."
  public var sentence: String {
    let text = summary
    return "\(text.prefix(1).uppercased())\(text.dropFirst()): \(verdict.text)."
  }

  /// What was changed, as a clause without a full stop: `Note.updatedAt` was added, Date, optional.
  package var summary: String {
    if part == .uniquenessConstraint {
      let verb = action == .added ? "now requires" : "no longer requires"
      return "`\(entityName ?? "")` \(verb) that no two objects have the same \(name ?? "")"
    }
    switch action {
    case .added: return "\(subject) was added\(appended(newValue))"
    case .removed: return "\(subject) was removed\(appended(oldValue))"
    case .renamed:
      let old = place(oldValue)
      return "\(old) is now called `\(newValue ?? "")`"
    case .changed: return changed
    }
  }

  /// The part that changed, in words for people: "the index `byDate` of `Note`".
  private var subject: String {
    switch part {
    case .model: "the model"
    case .entity: "`\(entityName ?? "")`"
    case .attribute, .relationship, .fetchedProperty: place(name)
    case .fetchIndex: "the index `\(name ?? "")` of `\(entityName ?? "")`"
    case .compoundIndex: "an index of `\(entityName ?? "")` on \(name ?? "")"
    case .uniquenessConstraint: "the uniqueness of \(name ?? "") in `\(entityName ?? "")`"
    case .userInfoEntry: "the user info entry \(entry)"
    case .configuration: "the configuration `\(name ?? "")`"
    case .fetchRequest: "the fetch request `\(name ?? "")`"
    }
  }

  /// The key of the changed user info entry, followed by the entity or property to which the entry belongs.
  private var entry: String {
    let parts = (name ?? "").utf8
      .split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard let entityName else { return "`\(name ?? "")`" }
    guard parts.count == 2, let property = parts.first, !property.isEmpty else {
      return "`\(parts.last ?? "")` of `\(entityName)`"
    }
    return "`\(parts[1])` of `\(entityName).\(property)`"
  }

  private func place(_ name: String?) -> String {
    switch part {
    case .entity: "`\(name ?? entityName ?? "")`"
    default: "`\(entityName ?? "").\(name ?? "")`"
    }
  }

  private func appended(_ text: String?) -> String {
    guard let text, !text.isEmpty else { return "" }
    return part == .userInfoEntry ? ", with the value `\(text)`" : ", \(text)"
  }

  private var changed: String {
    guard let trait else { return "\(subject) changed" }
    if trait.isFlag {
      let isOn = newValue == ModelTrait.yes
      switch trait {
      case .isOptional: return "\(subject) \(isOn ? "is now optional" : "is no longer optional")"
      default: return "\(subject) is \(isOn ? "now" : "no longer") \(trait.name)"
      }
    }
    if part == .userInfoEntry {
      if oldValue == newValue {
        return "the value of \(subject) changed, but both values are shown as `\(newValue ?? "")`"
      }
      return "\(subject) was `\(oldValue ?? "")`, is `\(newValue ?? "")`"
    }
    let new = newValue.map { trait.quoted($0) } ?? ""
    guard let old = oldValue.map({ trait.quoted($0) }) else {
      return "\(subject) now has the \(trait.name) \(new)"
    }
    if newValue == nil { return "\(subject) no longer has the \(trait.name) \(old)" }
    if old == new {
      return "the \(trait.name) of \(subject) changed, but both values are shown as \(new)"
    }
    let verbs = trait.isPlural ? ("were", "are") : ("was", "is")
    return "the \(trait.name) of \(subject) \(verbs.0) \(old), \(verbs.1) \(new)"
  }
}
