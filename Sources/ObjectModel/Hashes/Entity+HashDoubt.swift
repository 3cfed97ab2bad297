extension Entity {
  package func isSelfInverse(_ relationship: Relationship) -> Bool {
    relationship.inverseName == relationship.name
      && relationship.destinationEntityName == name
      && (relationship.inverseEntityName ?? name) == name
  }

  /// The reason, as a clause, why the computed version hash of this entity is uncertain, for example that a name is not
  /// ASCII. Nil if the hash is certain. Inherited properties are not considered.
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

  /// The name of a persistent relationship of this entity that is its own inverse; nil if the entity has no such
  /// relationship.
  ///
  /// The hash of the declaring entity does not include the inverse's name. Two entities in a store of framework
  /// version 851 (`AircraftEntity`, `FlightRecord`) confirm this rule. There is no recorded hash of an entity that
  /// inherits such a relationship.
  var selfInverseName: String? {
    relationships.first { !$0.isTransient && isSelfInverse($0) }?.name
  }
}

extension Attribute {
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
    case .undefined: return "it has no type"
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
      .binary, .uuid, .uri, .transformable:
      // Recorded hashes confirm the rule for these types.
      return nil
    default: return "its type is \(type)"
    }
  }

  /// The reason, as a clause, why no recorded hash confirms how the hash of this composite attribute is computed. Nil
  /// if recorded hashes confirm it.
  ///
  /// The rule is confirmed by 24 composites in 7 recorded hashes of two SwiftData stores (framework versions 1403 and
  /// 1414). These composites have 1 to 15 elements, optional or not. None of them contains a composite, a transient
  /// element or a derived element.
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
  /// Whether recorded hashes confirm how the hash of a derived attribute with this expression is computed. This is so
  /// for a key path, and for `count:` of a key path.
  fileprivate var isConfirmed: Bool {
    if case .function(target: nil, "count:", let arguments) = expression, arguments.count == 1 {
      return Self.isKeyPath(arguments[0])
    }
    return Self.isKeyPath(expression)
  }

  /// Whether an expression is a key path that consists of ASCII names and has no collection operators.
  private static func isKeyPath(_ expression: ModelExpression) -> Bool {
    guard let path = expression.plainKeyPath else { return false }
    return PredicateSyntax.isKeyPath(path) && !path.utf8.contains(UInt8(ascii: "@"))
      && ByteOrder.isASCII(path)
  }
}
