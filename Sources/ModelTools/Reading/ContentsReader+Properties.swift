import ObjectModel

/// Reads attributes, relationships, fetched properties and index elements.
extension ContentsReader {
  func readAttribute(
    _ attributes: Attributes, _ line: Int
  ) throws(ModelError) -> Attribute {
    let name = try name(attributes, "attribute", line)
    var type = AttributeType.undefined
    if let typeName = nonEmpty(attributes["attributeType"]) {
      guard let known = AttributeType(name: typeName) else {
        throw ModelError(
          code: .malformed, message: "Attribute \(name) is of the unknown type \(typeName).",
          line: line)
      }
      type = known
    }
    var derivation: Derivation?
    if isSet(attributes["derived"]) || attributes["derivationExpression"] != nil {
      derivation = Derivation(
        text: attributes["derivationExpression"] ?? "",
        filter: nonEmpty(attributes["derivationFilterPredicate"]))
    }
    var defaultValue: DefaultValue?
    if let text = attributes["defaultValueString"] {
      defaultValue = DefaultValue(text: text, type: type)
    } else if let text = attributes["defaultDateTimeInterval"] {
      defaultValue = DefaultValue(text: text, type: .date)
    }
    let valueClassName = nonEmpty(attributes["customClassName"])
    var read = Attribute(
      name: name, type: type, isOptional: isSet(attributes["optional"]),
      isTransient: isSet(attributes["transient"]),
      // Xcode has no option for this flag; the compiler sets it for derived attributes.
      isReadOnly: derivation != nil, isIndexed: isSet(attributes["indexed"]),
      isIndexedBySpotlight: isSpotlight(attributes),
      isStoredInTruthFile: isSet(attributes["storedInTruthFile"]),
      allowsExternalBinaryDataStorage: isSet(attributes["allowsExternalBinaryDataStorage"]),
      preservesValueInHistoryOnDeletion: isSet(attributes["preserveAfterDeletion"]),
      defaultValue: defaultValue, validations: validations(attributes, type),
      usesScalarValueType: attributes["usesScalarValueType"].flatMap(SwitchText.value),
      valueTransformerName: nonEmpty(attributes["valueTransformerName"]),
      valueClassName: valueClassName == type.standardValueClassName ? nil : valueClassName,
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name), derivation: derivation)
    if type == .composite, let reference = nonEmpty(attributes["composite"]) {
      // Until all composites are known, the name of the composite is kept in place of the elements.
      read.compositeName = reference
      read.elements = [Attribute(name: reference, type: .undefined)]
    }
    return read
  }

  /// Returns the validation rules of an attribute, as far as an `.xcdatamodel` can express them, in the order minimum,
  /// maximum, pattern.
  private func validations(
    _ attributes: Attributes, _ type: AttributeType
  ) -> [AttributeValidation] {
    var forms: [AttributeValidation.Form] = []
    if let text = attributes["minValueString"] {
      let limit = limit(text, type)
      if type == .string, case .integer(let count) = limit {
        forms.append(.minimumLength(count))
      } else {
        forms.append(.minimumNumber(limit))
      }
    }
    if let text = attributes["minDateTimeInterval"] {
      forms.append(Double(text).map { .earliestDate($0) } ?? .minimumNumber(.string(text)))
    }
    if let text = attributes["maxValueString"] {
      let limit = limit(text, type)
      if type == .string, case .integer(let count) = limit {
        forms.append(.maximumLength(count))
      } else {
        forms.append(.maximumNumber(limit))
      }
    }
    if let text = attributes["maxDateTimeInterval"] {
      forms.append(Double(text).map { .latestDate($0) } ?? .maximumNumber(.string(text)))
    }
    if let pattern = nonEmpty(attributes["regularExpressionString"]) {
      forms.append(.pattern(pattern))
    }
    return forms.map(\.validation)
  }

  /// Reads a limit as a value of the attribute's type. A limit that does not fit the type stays a string.
  private func limit(_ text: String, _ type: AttributeType) -> ExpressionConstant {
    switch type {
    case .decimal: DecimalText.canonical(text).map { .decimal($0) } ?? .string(text)
    case .double, .float: Double(text).map { .real($0) } ?? .string(text)
    default: Int64(text).map { .integer($0) } ?? .string(text)
    }
  }

  func readFetchedProperty(
    _ attributes: Attributes, _ line: Int
  ) throws(ModelError) -> FetchedProperty {
    let name = try name(attributes, "fetchedProperty", line)
    return FetchedProperty(
      name: name, isOptional: isSet(attributes["optional"]),
      isIndexedBySpotlight: isSpotlight(attributes),
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name))
  }

  /// The options of a fetch request, each with the possible names of the XML attribute that sets the option.
  static let requestSwitches: [(names: [String], option: FetchRequest.Options)] = [
    (["returnsDistinctResults", "returnDistinctResults"], .returnsDistinctResults),
    (["includesSubentities", "includeSubentities"], .includesSubentities),
    (["includesPropertyValues", "includePropertyValues"], .includesPropertyValues),
    (["returnsObjectsAsFaults", "returnObjectsAsFaults"], .returnsObjectsAsFaults),
    (["includesPendingChanges", "includePendingChanges"], .includesPendingChanges),
  ]

  /// Reads a fetch request. An option whose XML attribute is missing has Apple's default.
  func request(_ attributes: Attributes) -> FetchRequest {
    var options = FetchRequest.Options.standard
    for (names, option) in Self.requestSwitches {
      guard let text = names.compactMap({ attributes[$0] }).first,
        let value = SwitchText.value(text)
      else { continue }
      if value { options.insert(option) } else { options.remove(option) }
    }
    func number(_ key: String) -> Int64 { attributes[key].flatMap { Int64($0) } ?? 0 }
    return FetchRequest(
      entityName: nonEmpty(attributes["entity"]),
      predicate: nonEmpty(attributes["predicateString"]).map { ModelPredicate(text: $0) },
      fetchLimit: number("fetchLimit"), fetchOffset: number("fetchOffset"),
      batchSize: number("fetchBatchSize"),
      resultType: FetchRequest.ResultType(rawValue: number("resultType")), options: options)
  }

  mutating func readIndexElement(_ attributes: Attributes) -> FetchIndex.Element {
    for (key, known) in [("order", ["ascending", "descending"]), ("type", ["Binary", "RTree"])] {
      if let text = attributes[key], !text.isEmpty, !known.contains(text) {
        note(key, "fetchIndexElement", text, attributes["property"] ?? attributes["expression"])
      }
    }
    if let text = nonEmpty(attributes["expressionType"]), AttributeType(name: text) == nil {
      note("expressionType", "fetchIndexElement", text, attributes["expression"])
    }
    let isAscending = attributes["order"] != "descending"
    let kind: FetchIndex.Element.Kind = attributes["type"] == "RTree" ? .rTree : .binary
    if let property = attributes["property"] {
      return FetchIndex.Element(propertyName: property, isAscending: isAscending, kind: kind)
    }
    let type = attributes["expressionType"].flatMap { AttributeType(name: $0) } ?? .undefined
    return FetchIndex.Element(
      expression: ModelExpression(text: attributes["expression"] ?? ""), type: type,
      isAscending: isAscending, kind: kind)
  }

  mutating func readRelationship(
    _ attributes: Attributes, _ line: Int
  ) throws(ModelError) -> Relationship {
    let name = try name(attributes, "relationship", line)
    let maxCount = try count(attributes, "maxCount", line) ?? (isSet(attributes["toMany"]) ? 0 : 1)
    var rule = DeleteRule.noAction
    if let text = nonEmpty(attributes["deletionRule"]) {
      if let known = DeleteRule(name: text) {
        rule = known
      } else {
        note("deletionRule", "relationship", text, name)
      }
    }
    let inverse = nonEmpty(attributes["inverseName"])
    return Relationship(
      name: name, destinationEntityName: attributes["destinationEntity"] ?? "",
      inverseName: inverse,
      inverseEntityName: inverse == nil ? nil : nonEmpty(attributes["inverseEntity"]),
      minCount: try count(attributes, "minCount", line) ?? 0, maxCount: maxCount,
      isOrdered: isSet(attributes["ordered"]), isOptional: isSet(attributes["optional"]),
      isTransient: isSet(attributes["transient"]),
      isIndexed: isSet(attributes["indexed"]), isIndexedBySpotlight: isSpotlight(attributes),
      isStoredInTruthFile: isSet(attributes["storedInTruthFile"]), deleteRule: rule,
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name))
  }

  /// Replaces the reference to a composite by the elements of the composite. References inside these elements are
  /// replaced too.
  func expand(
    _ attribute: inout Attribute, depth: Int = 0, _ remainingElements: inout Int
  ) throws(ModelError) {
    guard attribute.type == .composite, let reference = attribute.elements.first?.name else {
      return
    }
    guard var elements = composites[reference] else {
      throw ModelError(
        code: .malformed,
        message: "Attribute \(attribute.name) refers to composite \(reference), which is "
          + "not in the model.")
    }
    remainingElements -= elements.count
    guard depth < 8, remainingElements > 0 else {
      throw ModelError(
        code: .malformed, message: "The composite \(reference) is nested too deeply.")
    }
    for index in elements.indices {
      try expand(&elements[index], depth: depth + 1, &remainingElements)
    }
    attribute.elements = elements
  }

  // MARK: Values

  mutating func claim(_ name: String?, _ line: Int) throws(ModelError) {
    guard let name else { return }
    let owner = entity?.name ?? ""
    try propertyNames.claim(name, "Entity \(owner) has two properties", line: line)
  }

  func name(
    _ attributes: Attributes, _ element: String, _ line: Int
  ) throws(ModelError) -> String {
    guard let name = nonEmpty(attributes["name"]) else {
      throw ModelError(
        code: .malformed, message: "There is a <\(element)> without a name.", line: line)
    }
    return name
  }

  func count(
    _ attributes: Attributes, _ key: String, _ line: Int
  ) throws(ModelError) -> Int32? {
    guard let text = nonEmpty(attributes[key]) else { return nil }
    guard let value = Int32(text) else {
      throw ModelError(
        code: .malformed, message: "\(key) is \(text), not a whole number of 32 bits.", line: line)
    }
    return value
  }

  /// Returns the renaming identifier (`elementID`); nil if the identifier is missing, or equals the name and so has no
  /// effect.
  func renaming(_ attributes: Attributes, _ name: String) -> String? {
    let identifier = nonEmpty(attributes["elementID"])
    return identifier == name ? nil : identifier
  }

  private func isSpotlight(_ attributes: Attributes) -> Bool {
    isSet(attributes["spotlightIndexingEnabled"])
  }

  func isSet(_ text: String?) -> Bool { text.flatMap(SwitchText.value) == true }

  func nonEmpty(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
}
