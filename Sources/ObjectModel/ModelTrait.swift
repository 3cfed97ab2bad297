/// One comparable trait of an entity or property, as text.
struct ModelTrait {
  /// The trait's name for a reader.
  let field: String
  /// Nil stands for "none".
  let value: String?
  /// Whether the version hash takes it in.
  let isHashed: Bool

  private init(_ field: String, _ value: String?, isHashed: Bool = false) {
    self.field = field
    self.value = value
    self.isHashed = isHashed
  }

  static func traits(of entity: Entity) -> [ModelTrait] {
    [
      ModelTrait("parent", entity.superentityName, isHashed: true),
      ModelTrait("abstract", yes(entity.isAbstract), isHashed: true),
      ModelTrait("version hash modifier", entity.versionHashModifier, isHashed: true),
      ModelTrait(
        "uniqueness constraints",
        list(ByteOrder.sorted(entity.uniquenessConstraints.map { $0.joined(separator: " + ") })),
        isHashed: true),
      ModelTrait("class", entity.className),
      ModelTrait("renaming identifier", entity.renamingIdentifier),
      ModelTrait("fetched properties", list(entity.fetchedProperties.map(text))),
      ModelTrait("fetch indexes", list(entity.fetchIndexes.map(text))),
      ModelTrait(
        "compound indexes", list(entity.compoundIndexes.map { $0.joined(separator: " + ") })),
      ModelTrait("user info", text(entity.userInfo)),
    ]
  }

  static func traits(of attribute: Attribute) -> [ModelTrait] {
    let isStored = !attribute.isTransient
    // A derived attribute's hash takes in its derivation and nothing else.
    let isPlain = isStored && !attribute.isDerived
    return [
      ModelTrait("type", attribute.type.name, isHashed: isPlain),
      ModelTrait("optional", yes(attribute.isOptional), isHashed: isPlain),
      ModelTrait("transient", yes(attribute.isTransient), isHashed: isStored),
      ModelTrait("derivation", attribute.derivation?.expressionText, isHashed: isStored),
      ModelTrait(
        "derivation filter", attribute.derivation?.filterText, isHashed: isStored),
      ModelTrait(
        "external storage", yes(attribute.allowsExternalBinaryDataStorage), isHashed: isPlain),
      ModelTrait(
        "preserved in history on deletion", yes(attribute.preservesValueInHistoryOnDeletion),
        isHashed: isPlain),
      ModelTrait("read-only", yes(attribute.isReadOnly), isHashed: isPlain),
      ModelTrait("version hash modifier", attribute.versionHashModifier, isHashed: isPlain),
      ModelTrait(
        "elements", list(attribute.elements.map { "\($0.name) (\($0.summary))" }),
        isHashed: isStored),
      ModelTrait("default", attribute.defaultValue?.text),
      ModelTrait("value transformer", attribute.valueTransformerName),
      ModelTrait("value class", attribute.valueClassName),
      ModelTrait("indexed", yes(attribute.isIndexed)),
      ModelTrait("renaming identifier", attribute.renamingIdentifier),
      ModelTrait("user info", text(attribute.userInfo)),
    ]
  }

  static func traits(of relationship: Relationship) -> [ModelTrait] {
    let isStored = !relationship.isTransient
    return [
      ModelTrait("destination", relationship.destinationEntityName, isHashed: isStored),
      ModelTrait("inverse", relationship.inverseName, isHashed: isStored),
      ModelTrait("least count", String(relationship.minCount), isHashed: isStored),
      ModelTrait("greatest count", limit(relationship.maxCount), isHashed: isStored),
      ModelTrait("ordered", yes(relationship.isOrdered), isHashed: isStored),
      ModelTrait("optional", yes(relationship.isOptional), isHashed: isStored),
      ModelTrait("transient", yes(relationship.isTransient), isHashed: isStored),
      ModelTrait("version hash modifier", relationship.versionHashModifier, isHashed: isStored),
      ModelTrait("inverse entity", relationship.inverseEntityName),
      ModelTrait("delete rule", relationship.deleteRule.name),
      ModelTrait("renaming identifier", relationship.renamingIdentifier),
      ModelTrait("user info", text(relationship.userInfo)),
    ]
  }

  private static func yes(_ flag: Bool) -> String { flag ? "yes" : "no" }

  private static func list(_ parts: [String]) -> String? {
    parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// 0 and -1 both mean unbounded and hash differently.
  private static func limit(_ count: Int32) -> String {
    count <= 0 ? "unbounded (\(count))" : String(count)
  }

  private static func text(_ index: FetchIndex) -> String {
    let columns = index.elements.map { element in
      element.text + (element.isAscending ? "" : " descending")
        + (element.kind == .rTree ? " R-tree" : "")
    }
    let filter = index.partialPredicate.map { " where \($0.text)" } ?? ""
    return "\(index.name) (\(columns.joined(separator: ", ")))\(filter)"
  }

  private static func text(_ property: FetchedProperty) -> String {
    var text = "\(property.name) (\(property.destinationEntityName ?? "no entity")"
    if let predicate = property.predicate { text += " where \(predicate.text)" }
    return text + ")"
  }

  private static func text(_ entries: [String: ArchivedValue]) -> String? {
    list(ByteOrder.sorted(entries.keys).map { "\($0) = \(entries[$0]?.text ?? "")" })
  }
}

extension Attribute {
  /// The attribute in a few words: `Date, optional`.
  public var summary: String {
    var parts = [type.name]
    if isOptional { parts.append("optional") }
    if isTransient { parts.append("transient") }
    if let derivation { parts.append("derived from \(derivation.expressionText)") }
    if let defaultValue { parts.append("default \(defaultValue.text)") }
    return parts.joined(separator: ", ")
  }
}

extension Relationship {
  /// The relationship in a few words: `to many Tag, ordered, inverse notes`.
  public var summary: String {
    var parts = ["\(isToMany ? "to many" : "to one") \(destinationEntityName)"]
    if isOrdered { parts.append("ordered") }
    if isOptional { parts.append("optional") }
    if isTransient { parts.append("transient") }
    if let inverseName { parts.append("inverse \(inverseName)") }
    return parts.joined(separator: ", ")
  }
}
