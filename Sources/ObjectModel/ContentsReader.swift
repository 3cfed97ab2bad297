extension ManagedObjectModel {
  /// Reads the XML source of a model: the file `contents` inside of an `.xcdatamodel`.
  ///
  /// Unknown elements and attributes are passed over. Entities are refused.
  ///
  /// - Throws: ``ModelError`` when the bytes are no such XML, or two things have the same name.
  public init(contentsXML bytes: [UInt8]) throws(ModelError) {
    let document: HardenedXML
    do {
      document = try HardenedXML(bytes)
    } catch {
      throw error.code == .notAPropertyList
        ? ModelError(code: .notAModel, message: error.message) : ModelError(error)
    }
    var reader = ContentsReader()
    for event in document.events { try reader.take(event) }
    self = try reader.model()
  }
}

/// Builds a model from the events of a `contents` file.
///
/// Element and attribute names as found in several hundred real files; an absent attribute means NO
/// or the default everywhere.
private struct ContentsReader {
  private typealias Attributes = [String: String]

  private var path: [String] = []
  private var isModel = false
  private var versionIdentifiers: [String] = []
  private var entities: [Entity] = []
  private var entityNames: Set<String> = []
  private var configurations: [String: [String]] = [:]
  private var templates: [FetchRequestTemplate] = []
  private var composites: [String: [Attribute]] = [:]

  // What is being read; nil outside of the element.
  private var entity: Entity?
  private var propertyNames: Set<String> = []
  private var attribute: Attribute?
  private var relationship: Relationship?
  private var fetchedProperty: FetchedProperty?
  private var fetchIndex: FetchIndex?
  private var composite: (name: String, elements: [Attribute])?
  private var configurationName: String?
  /// The property names of a uniqueness constraint or of a compound index.
  private var propertyList: [String] = []

  mutating func take(_ event: HardenedXML.Event) throws(ModelError) {
    switch event {
    case .start(let name, let attributes, let line):
      try start(name, attributes, line)
      path.append(name)
    case .end:
      if let name = path.popLast() { end(name) }
    case .text: break
    }
  }

  func model() throws(ModelError) -> ManagedObjectModel {
    guard isModel else {
      throw ModelError(code: .notAModel, message: "The XML holds no <model>.")
    }
    var expanded = entities
    // Composites within composites multiply.
    var remainingElements = 100_000
    for index in expanded.indices {
      for place in expanded[index].attributes.indices {
        try expand(&expanded[index].attributes[place], &remainingElements)
      }
    }
    return ManagedObjectModel(
      entities: expanded, versionIdentifiers: versionIdentifiers,
      configurations: configurations, fetchRequestTemplates: templates)
  }

  // MARK: Elements

  private mutating func start(
    _ name: String, _ attributes: Attributes, _ line: Int
  ) throws(ModelError) {
    switch (path.last, name) {
    case (nil, "model"):
      isModel = true
      if let identifier = attributes["userDefinedModelVersionIdentifier"] {
        versionIdentifiers = [identifier]
      }
    case (nil, _):
      throw ModelError(
        code: .notAModel, message: "The XML is a <\(name)>, not a <model>.", line: line)
    case ("model", "entity"): try startEntity(attributes, line)
    case ("model", "composite"):
      composite = (try self.name(attributes, name, line), [])
    case ("model", "configuration"):
      let name = try self.name(attributes, name, line)
      configurationName = name
      configurations[name] = configurations[name] ?? []
    case ("model", "fetchRequest"):
      templates.append(
        FetchRequestTemplate(
          name: try self.name(attributes, name, line), request: request(attributes)))
    case ("configuration", "memberEntity"):
      if let configurationName, let member = attributes["name"] {
        configurations[configurationName, default: []].append(member)
      }
    case ("composite", "attribute"):
      attribute = try readAttribute(attributes, line)
    case ("entity", "attribute"):
      attribute = try readAttribute(attributes, line)
      try claim(attribute?.name, line)
    case ("entity", "relationship"):
      relationship = try readRelationship(attributes, line)
      try claim(relationship?.name, line)
    case ("entity", "fetchedProperty"):
      fetchedProperty = FetchedProperty(
        name: try self.name(attributes, name, line), isOptional: isSet(attributes["optional"]))
      try claim(fetchedProperty?.name, line)
    case ("fetchedProperty", "fetchRequest"):
      let request = request(attributes)
      let requestName = nonEmpty(attributes["name"])
      fetchedProperty?.request = request
      fetchedProperty?.requestName = requestName
    case ("entity", "fetchIndex"):
      fetchIndex = FetchIndex(
        name: try self.name(attributes, name, line), elements: [],
        partialPredicate: nonEmpty(attributes["partialIndexPredicate"]).map { Predicate(text: $0) })
    case ("fetchIndex", "fetchIndexElement"):
      fetchIndex?.elements.append(
        FetchIndex.Element(
          propertyName: attributes["property"] ?? attributes["expression"] ?? "",
          isAscending: attributes["order"] != "descending",
          kind: attributes["type"] == "RTree" ? .rTree : .binary))
    default: startDetail(name, attributes)
    }
  }

  private mutating func startDetail(_ name: String, _ attributes: Attributes) {
    switch (path.last, name) {
    case ("uniquenessConstraints", "uniquenessConstraint"), ("compoundIndexes", "compoundIndex"):
      propertyList = []
    case ("uniquenessConstraint", "constraint"), ("compoundIndex", "index"):
      if let value = attributes["value"] { propertyList.append(value) }
    case ("userInfo", "entry"):
      guard let key = attributes["key"] else { return }
      let value = attributes["value"] ?? ""
      switch path.dropLast().last {
      case "attribute": attribute?.userInfo[key] = .string(value)
      case "relationship": relationship?.userInfo[key] = .string(value)
      case "fetchedProperty": fetchedProperty?.userInfo[key] = .string(value)
      case "entity": entity?.userInfo[key] = .string(value)
      default: break
      }
    default: break
    }
  }

  private mutating func end(_ name: String) {
    switch (path.last, name) {
    case ("model", "entity"):
      if let entity {
        // Made anew so that its lists are sorted.
        entities.append(
          Entity(
            name: entity.name, className: entity.className, isAbstract: entity.isAbstract,
            superentityName: entity.superentityName, attributes: entity.attributes,
            relationships: entity.relationships, fetchedProperties: entity.fetchedProperties,
            uniquenessConstraints: entity.uniquenessConstraints,
            fetchIndexes: entity.fetchIndexes,
            compoundIndexes: entity.compoundIndexes,
            versionHashModifier: entity.versionHashModifier,
            renamingIdentifier: entity.renamingIdentifier, userInfo: entity.userInfo))
      }
      entity = nil
    case ("uniquenessConstraints", "uniquenessConstraint"):
      if !propertyList.isEmpty { entity?.uniquenessConstraints.append(propertyList) }
    case ("compoundIndexes", "compoundIndex"):
      if !propertyList.isEmpty { entity?.compoundIndexes.append(propertyList) }
    case ("model", "composite"):
      if let composite { composites[composite.name] = composite.elements }
      composite = nil
    case ("model", "configuration"): configurationName = nil
    case ("composite", "attribute"):
      if let attribute { composite?.elements.append(attribute) }
      attribute = nil
    case ("entity", "attribute"):
      if let attribute { entity?.attributes.append(attribute) }
      attribute = nil
    case ("entity", "relationship"):
      if let relationship { entity?.relationships.append(relationship) }
      relationship = nil
    case ("entity", "fetchedProperty"):
      if let fetchedProperty { entity?.fetchedProperties.append(fetchedProperty) }
      fetchedProperty = nil
    case ("entity", "fetchIndex"):
      if let fetchIndex { entity?.fetchIndexes.append(fetchIndex) }
      fetchIndex = nil
    default: break
    }
  }

  private mutating func startEntity(_ attributes: Attributes, _ line: Int) throws(ModelError) {
    let name = try name(attributes, "entity", line)
    guard entityNames.insert(name).inserted else {
      throw ModelError(
        code: .duplicateName, message: "There are two entities called \(name).", line: line)
    }
    propertyNames = []
    let className = nonEmpty(attributes["representedClassName"])
    entity = Entity(
      name: name, className: className == "NSManagedObject" ? nil : className,
      isAbstract: isSet(attributes["isAbstract"]),
      superentityName: nonEmpty(attributes["parentEntity"]),
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name))
  }

  // MARK: Properties

  private func readAttribute(
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
      // Xcode has no such switch; the compiler marks derived attributes.
      isReadOnly: derivation != nil, isIndexed: isSet(attributes["indexed"]),
      allowsExternalBinaryDataStorage: isSet(attributes["allowsExternalBinaryDataStorage"]),
      preservesValueInHistoryOnDeletion: isSet(attributes["preserveAfterDeletion"]),
      defaultValue: defaultValue,
      valueTransformerName: nonEmpty(attributes["valueTransformerName"]),
      valueClassName: valueClassName == type.standardValueClassName ? nil : valueClassName,
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name), derivation: derivation)
    if type == .composite, let reference = nonEmpty(attributes["composite"]) {
      // Replaced by the composite's elements when all of them are known.
      read.elements = [Attribute(name: reference, type: .undefined)]
    }
    return read
  }

  private func request(_ attributes: Attributes) -> FetchRequest {
    FetchRequest(
      entityName: nonEmpty(attributes["entity"]),
      predicate: nonEmpty(attributes["predicateString"]).map { Predicate(text: $0) })
  }

  private func readRelationship(
    _ attributes: Attributes, _ line: Int
  ) throws(ModelError) -> Relationship {
    let name = try name(attributes, "relationship", line)
    let maxCount = try count(attributes, "maxCount", line) ?? (isSet(attributes["toMany"]) ? 0 : 1)
    var rule = DeleteRule.noAction
    if let text = nonEmpty(attributes["deletionRule"]) {
      rule = DeleteRule(name: text) ?? .noAction
    }
    let inverse = nonEmpty(attributes["inverseName"])
    return Relationship(
      name: name, destinationEntityName: attributes["destinationEntity"] ?? "",
      inverseName: inverse,
      inverseEntityName: inverse == nil ? nil : nonEmpty(attributes["inverseEntity"]),
      minCount: try count(attributes, "minCount", line) ?? 0, maxCount: maxCount,
      isOrdered: isSet(attributes["ordered"]), isOptional: isSet(attributes["optional"]),
      isTransient: isSet(attributes["transient"]), deleteRule: rule,
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name))
  }

  /// Replaces references to composites by their elements, composites within composites too.
  private func expand(
    _ attribute: inout Attribute, _ remainingElements: inout Int
  ) throws(ModelError) {
    guard attribute.type == .composite else { return }
    attribute.elements = try elements(of: attribute, depth: 0, remaining: &remainingElements)
  }

  private func elements(
    of attribute: Attribute, depth: Int, remaining: inout Int
  ) throws(ModelError) -> [Attribute] {
    guard let reference = attribute.elements.first?.name else { return [] }
    guard let declared = composites[reference] else {
      throw ModelError(
        code: .malformed,
        message: "Attribute \(attribute.name) is of the unknown composite \(reference).")
    }
    remaining -= declared.count
    guard depth < 8, remaining > 0 else {
      throw ModelError(
        code: .malformed, message: "The composite \(reference) is nested without end.")
    }
    var expanded: [Attribute] = []
    for var element in declared {
      if element.type == .composite {
        element.elements = try elements(of: element, depth: depth + 1, remaining: &remaining)
      }
      expanded.append(element)
    }
    return expanded.sorted { ByteOrder.precedes($0.name, $1.name) }
  }

  // MARK: Values

  private mutating func claim(_ name: String?, _ line: Int) throws(ModelError) {
    guard let name, !propertyNames.insert(name).inserted else { return }
    throw ModelError(
      code: .duplicateName,
      message: "Entity \(entity?.name ?? "") has two properties called \(name).", line: line)
  }

  private func name(
    _ attributes: Attributes, _ element: String, _ line: Int
  ) throws(ModelError) -> String {
    guard let name = nonEmpty(attributes["name"]) else {
      throw ModelError(
        code: .malformed, message: "There is a <\(element)> without a name.", line: line)
    }
    return name
  }

  private func count(
    _ attributes: Attributes, _ key: String, _ line: Int
  ) throws(ModelError) -> Int32? {
    guard let text = nonEmpty(attributes[key]) else { return nil }
    guard let value = Int32(text) else {
      throw ModelError(code: .malformed, message: "\(key) is \(text), no number.", line: line)
    }
    return value
  }

  /// `elementID` is the renaming identifier; equal to the name it says nothing.
  private func renaming(_ attributes: Attributes, _ name: String) -> String? {
    let identifier = nonEmpty(attributes["elementID"])
    return identifier == name ? nil : identifier
  }

  private func isSet(_ text: String?) -> Bool { text == "YES" }

  private func nonEmpty(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }
}
