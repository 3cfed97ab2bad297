extension Entity {
  /// Whether a relationship declared here is its own way back.
  func isSelfInverse(_ relationship: Relationship) -> Bool {
    relationship.inverseName == relationship.name
      && relationship.destinationEntityName == name
      && (relationship.inverseEntityName ?? name) == name
  }

  /// Why no recorded hash confirms the rule for this entity, looking at what it declares itself;
  /// nil when all of it is confirmed.
  var hashDoubt: String? {
    if !ByteOrder.isASCII(name) { return "its name is not ASCII" }
    if let modifier = versionHashModifier, !ByteOrder.isASCII(modifier) {
      return "its version hash modifier is not ASCII"
    }
    for attribute in attributes where !attribute.isTransient {
      if let doubt = attribute.hashDoubt { return "attribute \(attribute.name): \(doubt)" }
    }
    for relationship in relationships where !relationship.isTransient {
      if let doubt = hashDoubt(of: relationship) {
        return "relationship \(relationship.name): \(doubt)"
      }
    }
    return nil
  }

  private func hashDoubt(of relationship: Relationship) -> String? {
    let texts = [
      relationship.name, relationship.destinationEntityName, relationship.inverseName ?? "",
      relationship.versionHashModifier ?? "",
    ]
    if !texts.allSatisfy(ByteOrder.isASCII) { return "a name is not ASCII" }
    if relationship.destinationEntityName.isEmpty { return "it leads to no entity" }
    if isSelfInverse(relationship) { return "it is its own inverse" }
    return nil
  }
}

extension Attribute {
  /// Why no recorded hash confirms the rule for this attribute; nil when it is confirmed.
  fileprivate var hashDoubt: String? {
    if !ByteOrder.isASCII(name) || !ByteOrder.isASCII(versionHashModifier ?? "") {
      return "a name is not ASCII"
    }
    if let derivation {
      if derivation.filterPredicate != nil { return "it is derived with a filtering predicate" }
      if !DerivationText.isConfirmed(derivation.expression) {
        return "it is derived by \(derivation.expressionText)"
      }
      return nil
    }
    if isReadOnly { return "it is read-only" }
    switch type {
    case .composite: return "it is a composite"
    case .objectID: return "its type is Object ID"
    case .undefined: return "it has no type"
    default: return AttributeType.known.contains(type) ? nil : "its type \(type) is not known"
    }
  }
}
