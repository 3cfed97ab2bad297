extension Entity {
  /// Whether a relationship declared here is its own inverse.
  package func isSelfInverse(_ relationship: Relationship) -> Bool {
    relationship.inverseName == relationship.name
      && relationship.destinationEntityName == name
      && (relationship.inverseEntityName ?? name) == name
  }

  /// Why no recorded hash confirms the rule for what this entity declares itself; nil if all of it is confirmed.
  /// Inherited properties are checked where entities are hashed.
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
    if relationship.destinationEntityName.isEmpty { return "it has no destination entity" }
    return nil
  }

  /// The name of a persistent relationship declared here that is its own inverse; nil when there is none.
  ///
  /// The hash of the declaring entity leaves out the inverse's name: both such entities in a store of framework 851
  /// (`AircraftEntity`, `FlightRecord`) confirm it. No recorded hash is known of an entity that inherits such a
  /// relationship.
  var selfInverseName: String? {
    relationships.first { !$0.isTransient && isSelfInverse($0) }?.name
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
      if !derivation.isConfirmed {
        return "it is derived by \(derivation.expressionText)"
      }
      return nil
    }
    if isReadOnly { return "it is read-only" }
    switch type {
    case .composite: return compositeDoubt
    case .objectID: return "its type is Object ID"
    case .undefined: return "it has no type"
    default: return AttributeType.known.contains(type) ? nil : "its type \(type) is not known"
    }
  }

  /// Why no recorded hash confirms the rule for this composite; nil when it is confirmed.
  ///
  /// Confirmed by 24 composites in 7 recorded hashes of two SwiftData stores (frameworks 1403 and 1414), of 1 to 15
  /// elements each, optional and not. None of them holds another composite, a transient or a derived element.
  private var compositeDoubt: String? {
    if elements.isEmpty { return "it is a composite without elements" }
    for element in elements {
      let doubt: String? =
        if element.type == .composite {
          "it is a composite inside a composite"
        } else if element.isTransient {
          "it is transient"
        } else if element.isDerived {
          "it is derived"
        } else {
          element.hashDoubt
        }
      if let doubt { return "element \(element.name): \(doubt)" }
    }
    return nil
  }
}

extension Derivation {
  /// Whether recorded hashes confirm expressions of this kind: key paths, and counts of them.
  fileprivate var isConfirmed: Bool {
    if case .function(target: nil, "count:", let arguments) = expression, arguments.count == 1 {
      return Self.isKeyPath(arguments[0])
    }
    return Self.isKeyPath(expression)
  }

  /// Whether an expression is ASCII names joined by dots.
  private static func isKeyPath(_ expression: ModelExpression) -> Bool {
    guard let path = expression.plainKeyPath else { return false }
    return PredicateSyntax.isKeyPath(path) && !path.utf8.contains(UInt8(ascii: "@"))
      && path.utf8.allSatisfy { $0 < 0x80 }
  }
}
