extension ArchiveModelReader {
  /// The maximum depth of nested composites. Models made with Xcode stay far below this depth.
  private static let maximumCompositeDepth = 8

  mutating func attribute(
    _ name: String, _ value: PropertyList?, depth: Int
  ) throws(ModelError) -> Attribute {
    let type = AttributeType(
      rawValue: try neededInteger("NSAttributeType", value, in: 0...Int32.max))
    // Flag 4 means external storage, flag 16 preservation in history. In old models the flags may be absent.
    let flags = try integer("NSFlagsKey", value, in: 0...Int32.max) ?? 0
    var derivation: Derivation?
    if archive.isKind(value, of: "NSDerivedAttributeDescription") {
      derivation = Derivation(
        expression: try expression("NSDerivationExpression", value) ?? .unparsed(""),
        filterPredicate: try predicate(archive.field("NSFilteringPredicate", of: value)))
    }
    var elements: [Attribute] = []
    if depth < Self.maximumCompositeDepth {
      for element in try self.elements("NSCompositeElements", of: value) {
        try spend(Cost.property)
        elements.append(
          try attribute(try text("NSPropertyName", element) ?? "", element, depth: depth + 1))
      }
    }
    let valueClassName = try text("NSAttributeValueClassName", value)
    return Attribute(
      name: name, type: type, isOptional: try flag("NSIsOptional", value),
      isTransient: try flag("NSIsTransient", value), isReadOnly: try flag("NSIsReadOnly", value),
      isIndexed: try flag("NSIsIndexed", value),
      isIndexedBySpotlight: try flag("NSIndexedBySpotlight", value),
      allowsExternalBinaryDataStorage: flags & 4 != 0,
      preservesValueInHistoryOnDeletion: flags & 16 != 0,
      defaultValue: try defaultValue(archive.field("NSDefaultValue", of: value), type),
      validations: try validations(value),
      valueTransformerName: try text("NSValueTransformerName", value),
      valueClassName: valueClassName == type.standardValueClassName ? nil : valueClassName,
      versionHashModifier: try text("NSVersionHashModifier", value),
      renamingIdentifier: try renaming(value, name), userInfo: try userInfo(value),
      derivation: derivation, elements: elements)
  }

  mutating func relationship(
    _ name: String, _ value: PropertyList?
  ) throws(ModelError) -> Relationship {
    let destination = archive.field("NSDestinationEntity", of: value)
    let inverse = archive.field("NSInverseRelationship", of: value)
    var inverseName = try text("_NSInverseRelationshipName", value)
    if inverseName == nil { inverseName = try text("NSPropertyName", inverse) }
    var destinationName = try text("_NSDestinationEntityName", value)
    if destinationName == nil { destinationName = try entityName(destination) }
    var inverseEntity: String?
    if let inverseName {
      // In a cached model, the inverse may be a subentity's copy. An ancestor has the original declaration.
      let holder = try entityName(archive.field("NSEntity", of: inverse.flatMap(underlying)))
      inverseEntity = declaring(inverseName, from: holder ?? destinationName ?? "")
    }
    return Relationship(
      name: name, destinationEntityName: destinationName ?? "", inverseName: inverseName,
      inverseEntityName: inverseEntity,
      minCount: try neededInteger("NSMinCount", value, in: -1...Int32.max),
      maxCount: try neededInteger("NSMaxCount", value, in: -1...Int32.max),
      isOrdered: try flag("NSIsOrdered", value),
      isOptional: try flag("NSIsOptional", value), isTransient: try flag("NSIsTransient", value),
      isIndexed: try flag("NSIsIndexed", value),
      isIndexedBySpotlight: try flag("NSIndexedBySpotlight", value),
      deleteRule: DeleteRule(rawValue: try integer("NSDeleteRule", value, in: 0...Int32.max) ?? 0),
      versionHashModifier: try text("NSVersionHashModifier", value),
      renamingIdentifier: try renaming(value, name), userInfo: try userInfo(value))
  }

  /// Returns the topmost entity, among `entity` and its ancestors, that has the property; `entity` if the property is
  /// in no such entity.
  private func declaring(_ property: String, from entity: String) -> String {
    lineage(of: entity).last { names[$0]?.contains(property) == true } ?? entity
  }

  mutating func fetchedProperty(
    _ name: String, _ value: PropertyList?
  ) throws(ModelError) -> FetchedProperty {
    var request = try fetchRequest(archive.field("NSFetchRequest", of: value))
    if let destination = try text("_NSFetchRequestEntityName", value) {
      request.entityName = destination
    }
    return FetchedProperty(
      name: name, request: request, isOptional: try flag("NSIsOptional", value),
      isIndexedBySpotlight: try flag("NSIndexedBySpotlight", value),
      versionHashModifier: try text("NSVersionHashModifier", value),
      renamingIdentifier: try renaming(value, name), userInfo: try userInfo(value))
  }

  /// Reads the validation rules of an attribute. Predicates and warnings are stored as two lists in the same order.
  private mutating func validations(
    _ value: PropertyList?
  ) throws(ModelError) -> [AttributeValidation] {
    let predicates = try elements("NSValidationPredicates", of: value)
    guard !predicates.isEmpty else { return [] }
    let warnings = try elements("NSValidationWarnings", of: value)
    var found: [AttributeValidation] = []
    for (index, stored) in predicates.enumerated() {
      guard let predicate = try predicate(stored) else { continue }
      found.append(
        AttributeValidation(
          predicate: predicate,
          warning: index < warnings.count ? try decoded(warnings[index]) : .null))
    }
    return found
  }

  private mutating func defaultValue(
    _ value: PropertyList?, _ type: AttributeType
  ) throws(ModelError) -> DefaultValue? {
    guard let object = archive.resolve(value) else { return nil }
    let exact: DefaultValue?
    switch type {
    case .integer16, .integer32, .integer64: exact = archive.integer(object).map { .integer($0) }
    case .double, .float: exact = archive.real(object).map { .real($0) }
    case .boolean: exact = archive.bool(object).map { .boolean($0) }
    case .decimal: exact = archive.decimal(object).map { .decimal($0) }
    case .date: exact = archive.date(object).map { .date($0) }
    case .binary: exact = archive.data(object).map { .data($0) }
    case .uuid: exact = archive.uuid(object).map { .uuid($0) }
    case .uri:
      exact =
        (archive.string(archive.field("NS.relative", of: object)) ?? archive.string(object))
        .map { .uri($0) }
    default: exact = nil
    }
    if let exact { return exact }
    if let text = archive.string(object) { return DefaultValue(text: text, type: type) }
    if let number = archive.integer(object) { return .integer(number) }
    if let number = archive.real(object) { return .real(number) }
    if case .object(let decoded) = try decoded(object) { return .object(decoded) }
    return .opaque(className: archive.className(of: object) ?? "unknown")
  }
}
