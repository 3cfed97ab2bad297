import ObjectModel

extension ContentsWriter {
  /// Writes an attribute of an entity, or an element of a composite if `entity` is nil.
  mutating func write(_ attribute: Attribute, of entity: String?) {
    let defaultText = defaultText(attribute, of: entity)
    noteLosses(attribute, of: entity)
    var attributes = Attributes()
    attributes.add("name", attribute.name)
    attributes.add("optional", attribute.isOptional)
    attributes.add("transient", attribute.isTransient)
    attributes.add("attributeType", typeName(attribute))
    if attribute.type == .composite {
      let suggestion = attribute.name.prefix(1).uppercased() + attribute.name.dropFirst()
      let name = composites.name(
        for: attribute.elements, suggestion: attribute.compositeName ?? suggestion)
      attributes.add("composite", name)
      if name != attribute.compositeName {
        lose(
          entity, attribute.name,
          "An .xcdatamodel needs a name for the composite; the name \(name) is written.")
      }
    }
    addLimits(attribute, of: entity, to: &attributes)
    attributes.add("valueTransformerName", attribute.valueTransformerName)
    attributes.add("allowsExternalBinaryDataStorage", attribute.allowsExternalBinaryDataStorage)
    attributes.add("customClassName", attribute.valueClassName)
    if let derivation = attribute.derivation {
      attributes.add("derived", true)
      attributes.add("derivationExpression", derivation.sourceText)
      attributes.add(
        "derivationFilterPredicate", text(derivation.filterPredicate, of: entity, attribute.name))
    }
    attributes.add(
      attribute.type == .date ? "defaultDateTimeInterval" : "defaultValueString", defaultText)
    attributes.add(
      "usesScalarValueType", attribute.usesScalarValueType.map { $0 ? "YES" : "NO" })
    attributes.add("indexed", attribute.isIndexed)
    attributes.add("spotlightIndexingEnabled", attribute.isIndexedBySpotlight)
    attributes.add("storedInTruthFile", attribute.isStoredInTruthFile)
    attributes.add("preserveAfterDeletion", attribute.preservesValueInHistoryOnDeletion)
    attributes.add("elementID", attribute.renamingIdentifier)
    attributes.add("versionHashModifier", attribute.versionHashModifier)
    attributes.add("syncable", setting("syncable", entity, attribute.name))
    output.start("attribute", attributes)
    writeUserInfo(attribute.userInfo, of: entity, attribute.name)
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
        "An .xcdatamodel has no name for attribute type \(attribute.type.rawValue); no type is "
          + "written, which changes the version hash.")
    }
    if attribute.isReadOnly != attribute.isDerived {
      lose(
        entity, attribute.name,
        attribute.isReadOnly
          ? "An .xcdatamodel cannot mark an attribute read-only; this loss changes the version hash."
          : "In an .xcdatamodel every derived attribute is read-only.")
    }
    if let derivation = attribute.derivation,
      Derivation(text: derivation.sourceText).expression != derivation.expression
    {
      lose(
        entity, attribute.name,
        "An .xcdatamodel cannot hold the expression \(derivation.expressionText) unchanged; it is "
          + "read back as another expression.")
    }
  }

  /// Returns the text of the attribute's default value. Records a loss if reading the text would not give the same
  /// value.
  private mutating func defaultText(_ attribute: Attribute, of entity: String?) -> String? {
    guard let value = attribute.defaultValue else { return nil }
    let text: String
    switch value {
    case .integer(let number): text = String(number)
    case .real(let number): text = number.description
    case .boolean(let flag): text = flag ? "YES" : "NO"
    case .decimal(let digits): text = digits
    case .string(let string), .uuid(let string), .uri(let string): text = string
    case .date(let seconds): text = Self.text(seconds)
    case .data, .object, .opaque:
      lose(
        entity, attribute.name,
        "An .xcdatamodel cannot hold the default value, which is \(value.text); the default is "
          + "left out.")
      return nil
    }
    if DefaultValue(text: text, type: attribute.type) != value {
      lose(
        entity, attribute.name,
        "The default \(value.text) has another type than the attribute; an .xcdatamodel holds it "
          + "as a value of the attribute's type.")
    }
    return text
  }

  /// Returns a number of seconds as Xcode writes it: a whole number has no decimal point.
  private static func text(_ seconds: Double) -> String {
    Int64(exactly: seconds).map { String($0) } ?? seconds.description
  }

  // MARK: Validation

  /// Adds the validation rules that an `.xcdatamodel` can express, at most one of each kind. Records all other rules
  /// as losses.
  private mutating func addLimits(
    _ attribute: Attribute, of entity: String?, to attributes: inout Attributes
  ) {
    // The names are in the order in which ``ContentsReader`` reads the rules.
    let names = [
      "minValueString", "minDateTimeInterval", "maxValueString", "maxDateTimeInterval",
      "regularExpressionString",
    ]
    var limits: [String: String] = [:]
    var last = -1
    var isInOrder = true
    for validation in attribute.validations {
      guard let (name, value) = validation.form.flatMap({ Self.limit($0) }), limits[name] == nil,
        let place = names.firstIndex(of: name)
      else {
        lose(
          entity, attribute.name,
          "An .xcdatamodel cannot hold the validation rule \(validation.predicate.text); it is left out."
        )
        continue
      }
      limits[name] = value
      isInOrder = isInOrder && place > last
      last = place
    }
    if !isInOrder {
      lose(entity, attribute.name, "An .xcdatamodel does not keep the order of validation rules.")
    }
    for name in names { attributes.add(name, limits[name]) }
  }

  private static func limit(_ form: AttributeValidation.Form) -> (name: String, value: String)? {
    switch form {
    case .minimumNumber(let limit): number(limit).map { ("minValueString", $0) }
    case .maximumNumber(let limit): number(limit).map { ("maxValueString", $0) }
    case .earliestDate(let date): ("minDateTimeInterval", text(date))
    case .latestDate(let date): ("maxDateTimeInterval", text(date))
    case .minimumLength(let count): ("minValueString", String(count))
    case .maximumLength(let count): ("maxValueString", String(count))
    case .pattern(let pattern): ("regularExpressionString", pattern)
    }
  }

  private static func number(_ constant: ExpressionConstant) -> String? {
    switch constant {
    case .integer(let value): String(value)
    case .real(let value): value.description
    case .decimal(let digits), .string(let digits): digits
    default: nil
    }
  }

  // MARK: Relationships

  mutating func write(_ relationship: Relationship, of entity: String) {
    let count = relationship.maxCount
    if count == -1 {
      lose(
        entity, relationship.name,
        "The maximum count -1 (no limit) is written as 0, because an .xcdatamodel cannot hold -1; "
          + "this changes the version hash.")
    }
    let rule = relationship.deleteRule
    let isKnown = DeleteRule(name: rule.name) != nil
    if !isKnown {
      lose(
        entity, relationship.name,
        "An .xcdatamodel has no name for delete rule \(rule.rawValue); no rule is written.")
    }
    let destination = relationship.destinationEntityName
    var attributes = Attributes()
    attributes.add("name", relationship.name)
    attributes.add("optional", relationship.isOptional)
    attributes.add("transient", relationship.isTransient)
    attributes.add("toMany", relationship.isToMany)
    attributes.add(
      "minCount", relationship.minCount == 0 ? nil : String(relationship.minCount))
    attributes.add("maxCount", count == 0 || count == -1 ? nil : String(count))
    attributes.add("deletionRule", isKnown && rule != .noAction ? rule.name : nil)
    attributes.add("ordered", relationship.isOrdered)
    attributes.add("destinationEntity", destination.isEmpty ? nil : destination)
    attributes.add("inverseName", relationship.inverseName)
    attributes.add("inverseEntity", relationship.inverseEntityName)
    attributes.add("indexed", relationship.isIndexed)
    attributes.add("spotlightIndexingEnabled", relationship.isIndexedBySpotlight)
    attributes.add("storedInTruthFile", relationship.isStoredInTruthFile)
    attributes.add("elementID", relationship.renamingIdentifier)
    attributes.add("versionHashModifier", relationship.versionHashModifier)
    attributes.add("syncable", setting("syncable", entity, relationship.name))
    output.start("relationship", attributes)
    writeUserInfo(relationship.userInfo, of: entity, relationship.name)
    output.end()
  }

  // MARK: Fetch requests

  mutating func write(_ property: FetchedProperty, of entity: String) {
    var attributes = Attributes()
    attributes.add("name", property.name)
    attributes.add("optional", property.isOptional)
    attributes.add("spotlightIndexingEnabled", property.isIndexedBySpotlight)
    attributes.add("elementID", property.renamingIdentifier)
    attributes.add("versionHashModifier", property.versionHashModifier)
    attributes.add("syncable", setting("syncable", entity, property.name))
    output.start("fetchedProperty", attributes)
    if property.request != FetchRequest() || property.requestName != nil {
      write(
        property.request, named: property.requestName ?? FetchedProperty.standardRequestName,
        of: entity, property.name)
    }
    writeUserInfo(property.userInfo, of: entity, property.name)
    output.end()
  }

  /// Writes a fetch request, either a template or the request of a fetched property. Parts that the file cannot hold
  /// are recorded as losses of `property`, the name of the template or fetched property.
  mutating func write(
    _ request: FetchRequest, named name: String, of entity: String?, _ property: String
  ) {
    var attributes = Attributes()
    attributes.add("name", name)
    attributes.add("entity", request.entityName)
    attributes.add("predicateString", text(request.predicate, of: entity, property))
    func add(_ name: String, _ number: Int64) {
      attributes.add(name, number == 0 ? nil : String(number))
    }
    add("fetchLimit", request.fetchLimit)
    add("fetchOffset", request.fetchOffset)
    add("fetchBatchSize", request.batchSize)
    add("resultType", request.resultType.rawValue)
    // An option with Apple's default is not written.
    let switches: [(name: String, option: FetchRequest.Options)] = [
      ("includeSubentities", .includesSubentities),
      ("includePropertyValues", .includesPropertyValues),
      ("includePendingChanges", .includesPendingChanges),
      ("returnObjectsAsFaults", .returnsObjectsAsFaults),
      ("returnDistinctResults", .returnsDistinctResults),
    ]
    for (name, option) in switches {
      let isSet = request.options.contains(option)
      if isSet != FetchRequest.Options.standard.contains(option) {
        attributes.add(name, isSet ? "YES" : "NO")
      }
    }
    output.element("fetchRequest", attributes)
    let parts: [(what: String, isThere: Bool)] = [
      ("order", !request.sortDescriptors.isEmpty),
      ("list of properties", !request.propertiesToFetch.isEmpty),
      ("grouping", !request.propertiesToGroupBy.isEmpty || request.havingPredicate != nil),
      ("list of relationships to load", !request.prefetchedKeyPaths.isEmpty),
      ("allocation type", request.allocationType != 0),
      ("unknown options", request.archivedFlags != nil),
    ]
    for (what, _) in parts.filter(\.isThere) {
      lose(entity, property, "An .xcdatamodel cannot hold the \(what) of a fetch request.")
    }
  }

  private func setting(_ name: String, _ entity: String?, _ property: String) -> String? {
    entity.flatMap { settings.properties[$0]?[property]?[name] }
  }
}
