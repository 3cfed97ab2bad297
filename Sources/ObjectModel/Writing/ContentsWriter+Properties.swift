/// Attributes, relationships and fetched properties.
extension ContentsWriter {
  /// An attribute of an entity, or with `entity` nil an element of a composite.
  mutating func write(_ attribute: Attribute, of entity: String?) {
    let own = setting(entity, attribute.name)
    let isDate = attribute.type == .date
    let text = defaultText(attribute, of: entity)
    var composite: String?
    if attribute.type == .composite {
      let suggestion = attribute.name.prefix(1).uppercased() + attribute.name.dropFirst()
      composite = composites.name(for: attribute.elements, suggestion: suggestion)
    }
    noteLosses(attribute, of: entity)
    output.start(
      "attribute",
      [
        ("name", attribute.name), ("optional", yes(attribute.isOptional)),
        ("transient", yes(attribute.isTransient)), ("attributeType", typeName(attribute)),
        ("composite", composite), ("valueTransformerName", attribute.valueTransformerName),
        (
          "allowsExternalBinaryDataStorage", yes(attribute.allowsExternalBinaryDataStorage)
        ),
        ("customClassName", attribute.valueClassName),
        ("derived", yes(attribute.isDerived)),
        (
          "derivationExpression",
          attribute.derivation.map { DerivationText.typed($0.expression) }
        ),
        ("derivationFilterPredicate", attribute.derivation?.filterPredicate),
        ("defaultValueString", isDate ? nil : text),
        ("defaultDateTimeInterval", isDate ? text : nil),
        ("usesScalarValueType", own["usesScalarValueType"]),
        ("indexed", yes(attribute.isIndexed)),
        ("spotlightIndexingEnabled", own["spotlightIndexingEnabled"]),
        ("storedInTruthFile", own["storedInTruthFile"]),
        ("preserveAfterDeletion", yes(attribute.preservesValueInHistoryOnDeletion)),
        ("elementID", attribute.renamingIdentifier),
        ("versionHashModifier", attribute.versionHashModifier), ("syncable", own["syncable"]),
      ])
    writeUserInfo(attribute.userInfo)
    output.end()
  }

  private func typeName(_ attribute: Attribute) -> String? {
    guard attribute.type != .undefined, AttributeType.known.contains(attribute.type) else {
      return nil
    }
    return attribute.type.name
  }

  private mutating func noteLosses(_ attribute: Attribute, of entity: String?) {
    if !AttributeType.known.contains(attribute.type) {
      lose(
        entity, attribute.name,
        "The source has no name for attribute type \(attribute.type.rawValue); no type is written, "
          + "which changes the version hash.")
    }
    if attribute.isReadOnly != attribute.isDerived {
      lose(
        entity, attribute.name,
        attribute.isReadOnly
          ? "The source cannot mark an attribute read-only, which changes the version hash."
          : "In the source every derived attribute is read-only.")
    }
    let typed = attribute.derivation.map { DerivationText.typed($0.expression) }
    if let typed, DerivationText.canonical(typed) != attribute.derivation?.expression {
      lose(entity, attribute.name, "The derivation expression cannot be written as it is typed.")
    }
  }

  /// The text of a default value. Noted as a loss where reading the text does not give the value back.
  private mutating func defaultText(_ attribute: Attribute, of entity: String?) -> String? {
    guard let value = attribute.defaultValue else { return nil }
    let text: String
    switch value {
    case .integer(let number): text = String(number)
    case .real(let number): text = number.description
    case .boolean(let flag): text = flag ? "YES" : "NO"
    case .decimal(let digits): text = digits
    case .string(let string), .uuid(let string), .uri(let string): text = string
    case .date(let seconds):
      text = Int64(exactly: seconds).map { String($0) } ?? seconds.description
    case .data(let bytes):
      lose(
        entity, attribute.name,
        "The source has no form for a default of \(bytes.count) bytes; it is left out.")
      return nil
    case .opaque(let className):
      lose(
        entity, attribute.name,
        "The default is an object of class \(className), which is not decoded; it is left out.")
      return nil
    }
    if DefaultValue(text: text, type: attribute.type) != value {
      lose(
        entity, attribute.name,
        "The default \(value.text) is of another kind than the attribute's type, and is read back "
          + "as that type.")
    }
    return text
  }

  mutating func write(_ relationship: Relationship, of entity: String) {
    let own = setting(entity, relationship.name)
    let count = relationship.maxCount
    if count == -1 {
      lose(
        entity, relationship.name,
        "Its greatest count is -1, as code sets it for unbounded; the source stands for 0, which "
          + "changes the version hash.")
    }
    let rule = relationship.deleteRule
    if DeleteRule(name: rule.name) == nil {
      lose(entity, relationship.name, "The source has no name for delete rule \(rule.rawValue).")
    }
    let isNamed = rule != .noAction && DeleteRule(name: rule.name) != nil
    output.start(
      "relationship",
      [
        ("name", relationship.name), ("optional", yes(relationship.isOptional)),
        ("transient", yes(relationship.isTransient)), ("toMany", yes(relationship.isToMany)),
        (
          "minCount", relationship.minCount == 0 ? nil : String(relationship.minCount)
        ),
        ("maxCount", count == 0 || count == -1 ? nil : String(count)),
        ("deletionRule", isNamed ? rule.name : nil),
        ("ordered", yes(relationship.isOrdered)),
        (
          "destinationEntity",
          relationship.destinationEntityName.isEmpty ? nil : relationship.destinationEntityName
        ), ("inverseName", relationship.inverseName),
        ("inverseEntity", relationship.inverseEntityName),
        ("indexed", own["indexed"]),
        ("spotlightIndexingEnabled", own["spotlightIndexingEnabled"]),
        ("storedInTruthFile", own["storedInTruthFile"]),
        ("elementID", relationship.renamingIdentifier),
        ("versionHashModifier", relationship.versionHashModifier), ("syncable", own["syncable"]),
      ])
    writeUserInfo(relationship.userInfo)
    output.end()
  }

  mutating func write(_ property: FetchedProperty, of entity: String) {
    let own = setting(entity, property.name)
    output.start(
      "fetchedProperty",
      [
        ("name", property.name), ("optional", yes(property.isOptional)),
        ("syncable", own["syncable"]),
      ])
    if property.destinationEntityName != nil || property.predicate != nil {
      output.element(
        "fetchRequest",
        [
          ("name", "fetchedPropertyFetchRequest"), ("entity", property.destinationEntityName),
          ("predicateString", property.predicate),
        ])
    }
    writeUserInfo(property.userInfo)
    output.end()
  }

  private func setting(_ entity: String?, _ property: String) -> [String: String] {
    entity.flatMap { settings.properties[$0]?[property] } ?? [:]
  }
}

extension DerivationText {
  /// What is typed in a source for a `predicateFormat` text: `count:(pages)` is `pages.@count`,
  /// `sum:(pages.words)` is `pages.@sum.words`; anything else stays as it is.
  static func typed(_ text: String) -> String {
    let operators = [
      "count:": "@count", "sum:": "@sum", "min:": "@min", "max:": "@max", "average:": "@avg",
    ]
    guard let (selector, argument) = call(text), let argument, let name = operators[selector] else {
      return text
    }
    var parts = argument.split(separator: ".").map(String.init)
    guard let last = parts.popLast() else { return text }
    if selector == "count:" || parts.isEmpty { return "\(argument).\(name)" }
    return "\(parts.joined(separator: ".")).\(name).\(last)"
  }
}
