public import ObjectModel

extension ManagedObjectModel {
  /// Reads the XML of an uncompiled model: the file `contents` inside an `.xcdatamodel`.
  ///
  /// Unknown elements and attributes are ignored. XML that declares entities of its own is refused.
  ///
  /// - Throws: ``ModelError`` if the bytes are not the XML of a model, or if two entities, two composites or two
  ///   properties of an entity have the same name.
  public init(contentsXML bytes: [UInt8]) throws(ModelError) {
    var known = KnownEntities()
    self = try Self.read(contentsXML: bytes, knowing: &known).model
  }

  /// Reads the XML of an uncompiled model. Also returns a problem for each value that could not be read. The model is
  /// returned without this value, which affects neither version hashes nor the tables of a store.
  ///
  /// `known`: the entities of earlier calls, which are not parsed again. The call adds each entity that it parses.
  static func read(
    contentsXML bytes: [UInt8], knowing known: inout KnownEntities
  ) throws(ModelError) -> (model: ManagedObjectModel, unread: [ModelProblem]) {
    let document: HardenedXML
    do {
      document = try HardenedXML(bytes, knowing: known)
    } catch {
      throw error.code == .notAPropertyList
        ? ModelError(code: .notAModel, message: error.message) : ModelError(error)
    }
    var reader = ContentsReader()
    var places = document.entities.makeIterator()
    var place = places.next()
    var before = reader.state
    for (index, event) in document.events.enumerated() {
      if index == place?.firstEvent { before = reader.state }
      try reader.take(event)
      guard let read = place, index == read.lastEvent else { continue }
      if let element = reader.element(since: before, at: read, of: bytes) {
        known.remember(element)
      }
      place = places.next()
    }
    return (try reader.model(), reader.unread)
  }
}

/// Builds a model from the XML events of a `contents` file.
///
/// The names of elements and attributes are those found in several hundred real files. If an XML attribute is absent,
/// its value is NO or the default.
struct ContentsReader {
  typealias Attributes = [String: String]

  private var path: [String] = []
  private var isModel = false
  private var isUsedWithCloudKit = false
  private var isUsedWithSwiftData = false
  private var cloudKitConfigurations: [String] = []
  private var versionIdentifiers: [String] = []
  private var entities: [Entity] = []
  private var entityNames: Set<String> = []
  private var configurations: [String: [String]] = [:]
  private var templates: [FetchRequestTemplate] = []
  private(set) var composites: [String: [Attribute]] = [:]

  // The elements that are being read. Each property is nil outside of the corresponding XML element.
  private(set) var entity: Entity?
  var propertyNames: Set<String> = []
  private var attribute: Attribute?
  private var relationship: Relationship?
  private var fetchedProperty: FetchedProperty?
  private var fetchIndex: FetchIndex?
  private var composite: (name: String, elements: [Attribute])?
  private var configurationName: String?
  /// The property names of the uniqueness constraint or compound index that is being read.
  private var propertyList: [String] = []

  typealias Cost = KnownEntities.Cost
  private var cost = Cost()

  mutating func take(_ event: HardenedXML.Event) throws(ModelError) {
    switch event {
    case .start(let name, let attributes, let line):
      try spend(attributes, line)
      try start(name, attributes, line)
      try checkValues(name, attributes, line)
      path.append(name)
    case .end:
      if let name = path.popLast() { end(name) }
    case .known(let element, let line):
      try spend(element.cost, line)
      try entityNames.claim(element.entity.name, "There are two entities", line: line)
      entities.append(element.entity)
    case .text: break
    }
  }

  // MARK: Known entities

  /// The reader's counts at one moment. ``element(since:at:of:)`` subtracts the counts before an XML element from the
  /// counts after it.
  struct State {
    let entityCount: Int
    let unreadCount: Int
    let cost: Cost
  }

  var state: State {
    State(entityCount: entities.count, unreadCount: unread.count, cost: cost)
  }

  /// Returns the entity that was read since the reader had the state `before`, so that ``KnownEntities`` can reuse it.
  /// Nil if a value of the entity could not be read, because such an entity must be parsed, and its problem reported,
  /// each time.
  func element(
    since before: State, at place: XMLScanner.Place, of bytes: [UInt8]
  ) -> KnownEntities.Element? {
    guard entities.count == before.entityCount + 1, unread.count == before.unreadCount,
      let entity = entities.last
    else { return nil }
    return KnownEntities.Element(
      bytes: Array(bytes[place.start..<place.end]), tagLength: place.tagEnd - place.start,
      eventCount: place.lastEvent - place.firstEvent + 1, entity: entity,
      cost: Cost(
        parts: cost.parts - before.cost.parts,
        predicateLength: cost.predicateLength - before.cost.predicateLength))
  }

  // MARK: Values

  /// The XML attributes whose values are predicates, expressions or regular expressions.
  private static let predicateKeys = [
    "predicateString", "derivationExpression", "derivationFilterPredicate", "expression",
    "partialIndexPredicate", "coreSpotlightDisplayNameExpression", "regularExpressionString",
  ]
  /// The XML attributes that give an attribute a validation rule.
  private static let limitKeys = [
    "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval",
    "regularExpressionString",
  ]

  /// The YES/NO attributes of `<entity>`, `<attribute>` and `<relationship>` that affect a version hash or a table.
  private static let hashedSwitches: Set<String> = [
    "isAbstract", "optional", "transient", "derived", "ordered", "toMany",
    "allowsExternalBinaryDataStorage", "preserveAfterDeletion",
  ]
  /// The YES/NO attributes that affect neither a version hash nor a table, by element name. For a `fetchedProperty`
  /// element, these are all YES/NO attributes.
  private static let quietSwitches: [String: Set<String>] = [
    "model": ["usedWithCloudKit", "usedWithSwiftData"], "configuration": ["usedWithCloudKit"],
    "entity": [],
    "attribute": [
      "indexed", "storedInTruthFile", "usesScalarValueType", "spotlightIndexingEnabled",
    ],
    "relationship": ["indexed", "storedInTruthFile", "spotlightIndexingEnabled"],
    "fetchedProperty": ["optional", "spotlightIndexingEnabled"],
    "fetchRequest": Set(requestSwitches.flatMap { $0.names }),
  ]
  /// The numeric XML attributes that are treated as absent if their value is not a number, by element name.
  private static let quietNumbers: [String: Set<String>] = [
    "fetchRequest": ["fetchLimit", "fetchOffset", "fetchBatchSize", "resultType"]
  ]

  private(set) var unread: [ModelProblem] = []
  private static let maximumUnread = 1_000

  /// Throws if an XML attribute that version hashes depend on is neither YES nor NO. Adds other values that cannot be
  /// read to ``unread``.
  private mutating func checkValues(
    _ element: String, _ attributes: Attributes, _ line: Int
  ) throws(ModelError) {
    guard let quiet = Self.quietSwitches[element] else { return }
    let isHashed = ["entity", "attribute", "relationship"].contains(element)
    for key in ByteOrder.sorted(attributes.keys) {
      guard let text = attributes[key] else { continue }
      if isHashed, Self.hashedSwitches.contains(key), SwitchText.value(text) == nil {
        let name = attributes["name"].map { " \($0)" } ?? ""
        throw ModelError(
          code: .malformed,
          message: "\(key) of <\(element)>\(name) is \"\(text)\"; it must be YES or NO.",
          line: line)
      }
      let isUnread =
        quiet.contains(key) && SwitchText.value(text) == nil
        || Self.quietNumbers[element]?.contains(key) == true && Int64(text) == nil && !text.isEmpty
      if isUnread { note(key, element, text, attributes["name"]) }
    }
  }

  /// Adds a problem to ``unread``: the value `text` of the XML attribute `key` cannot be read and is ignored.
  mutating func note(_ key: String, _ element: String, _ text: String, _ name: String?) {
    guard unread.count < Self.maximumUnread else { return }
    let isProperty = ["attribute", "relationship", "fetchedProperty"].contains(element)
    let own = ["model", "entity"].contains(element) ? nil : nonEmpty(name)
    let place = [entity?.name, own].compactMap { $0 }
    let subject = place.isEmpty ? "the model" : place.joined(separator: ".")
    unread.append(
      ModelProblem(
        kind: .unreadValue, entityName: entity?.name, propertyName: isProperty ? name : nil,
        sentence: "\(key) of \(subject) is \"\(text)\", which is not understood; it is ignored."))
  }

  /// Adds the cost of an element to the total cost. Throws if the total exceeds that of any real model.
  private mutating func spend(_ attributes: Attributes, _ line: Int) throws(ModelError) {
    var more = Cost(parts: 1)
    for key in Self.limitKeys where attributes[key] != nil { more.parts += 1 }
    for key in Self.predicateKeys {
      if let text = attributes[key] { more.predicateLength += text.utf8.count }
    }
    try spend(more, line)
  }

  private mutating func spend(_ more: Cost, _ line: Int) throws(ModelError) {
    cost.parts += more.parts
    cost.predicateLength += more.predicateLength
    let hasTooMany = cost.parts > ManagedObjectModel.maximumPartCount
    guard !hasTooMany, cost.predicateLength <= ManagedObjectModel.maximumPredicateLength else {
      throw ModelError(
        code: .tooLarge,
        message: hasTooMany
          ? "The model is too large to be read: it has too many parts."
          : "The model is too large to be read: its predicates are too long.", line: line)
    }
  }

  func model() throws(ModelError) -> ManagedObjectModel {
    guard isModel else {
      throw ModelError(code: .notAModel, message: "The XML does not contain a <model>.")
    }
    var expanded = entities
    // Each use of a composite inside a composite repeats its elements, so the total number of elements is limited.
    var remainingElements = 100_000
    for index in expanded.indices {
      for place in expanded[index].attributes.indices {
        try expand(&expanded[index].attributes[place], &remainingElements)
      }
    }
    return ManagedObjectModel(
      entities: expanded, versionIdentifiers: versionIdentifiers,
      configurations: configurations, cloudKitConfigurations: cloudKitConfigurations,
      isUsedWithCloudKit: isUsedWithCloudKit, isUsedWithSwiftData: isUsedWithSwiftData,
      fetchRequestTemplates: templates)
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
      isUsedWithCloudKit = isSet(attributes["usedWithCloudKit"])
      isUsedWithSwiftData = isSet(attributes["usedWithSwiftData"])
    case (nil, _):
      throw ModelError(
        code: .notAModel, message: "The root element of the XML is <\(name)>, not <model>.",
        line: line)
    case ("model", "entity"): try startEntity(attributes, line)
    case ("model", "composite"):
      let name = try self.name(attributes, name, line)
      if let other = composites.index(forKey: name) {
        throw .duplicate(
          "There are two composites", name, like: composites.keys[other], line: line)
      }
      composite = (name, [])
    case ("model", "configuration"):
      let name = try self.name(attributes, name, line)
      configurationName = name
      configurations[name] = configurations[name] ?? []
      if isSet(attributes["usedWithCloudKit"]) { cloudKitConfigurations.append(name) }
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
      fetchedProperty = try readFetchedProperty(attributes, line)
      try claim(fetchedProperty?.name, line)
    case ("fetchedProperty", "fetchRequest"):
      let request = request(attributes)
      let requestName = nonEmpty(attributes["name"])
        .flatMap { $0 == FetchedProperty.standardRequestName ? nil : $0 }
      fetchedProperty?.request = request
      fetchedProperty?.requestName = requestName
    case ("entity", "fetchIndex"):
      fetchIndex = FetchIndex(
        name: try self.name(attributes, name, line), elements: [],
        partialPredicate: nonEmpty(attributes["partialIndexPredicate"]).map {
          ModelPredicate(text: $0)
        })
    case ("fetchIndex", "fetchIndexElement"):
      let element = readIndexElement(attributes)
      fetchIndex?.elements.append(element)
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
      if entity != nil {
        // Like the attributes of every `Entity`, these are sorted by name.
        entity?.attributes.sort { ByteOrder.precedes($0.name, $1.name) }
        entity?.relationships.sort { ByteOrder.precedes($0.name, $1.name) }
        entity?.fetchedProperties.sort { ByteOrder.precedes($0.name, $1.name) }
        if let entity { entities.append(entity) }
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
    try entityNames.claim(name, "There are two entities", line: line)
    propertyNames = []
    let className = nonEmpty(attributes["representedClassName"])
    entity = Entity(
      name: name, className: className == "NSManagedObject" ? nil : className,
      isAbstract: isSet(attributes["isAbstract"]),
      superentityName: nonEmpty(attributes["parentEntity"]),
      versionHashModifier: nonEmpty(attributes["versionHashModifier"]),
      renamingIdentifier: renaming(attributes, name),
      spotlightDisplayNameExpression: nonEmpty(attributes["coreSpotlightDisplayNameExpression"])
        .map { ModelExpression(text: $0) },
      codeGenerationType: nonEmpty(attributes["codeGenerationType"]))
  }
}
