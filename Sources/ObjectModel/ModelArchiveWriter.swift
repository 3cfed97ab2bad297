/// Writes a model as a keyed archive with the classes and keys found in real `.mom` files and
/// cached models.
struct ModelArchiveWriter {
  /// The most copies of inherited properties that are written; beyond, entities get their own
  /// properties only, as in a compiled model.
  private static let maximumCopies = 200_000

  private let model: ManagedObjectModel
  private let form: ModelArchiveForm
  private let names: [String]
  private let subentityNames: [String: [String]]
  private var builder = KeyedArchiveBuilder()
  private var root = KeyedArchiveBuilder.null
  private var entityPlaces: [String: PropertyList] = [:]
  /// The places of relationships, by declaring entity and name.
  private var relationshipPlaces: [String: [String: PropertyList]] = [:]

  init(model: ManagedObjectModel, form: ModelArchiveForm) {
    self.model = model
    self.form = form
    names = model.entityNames
    subentityNames = model.subentityNames()
  }

  mutating func bytes() -> [UInt8] {
    root = builder.reserve()
    for name in names {
      entityPlaces[name] = builder.reserve()
      for relationship in model.entities[name]?.relationships ?? [] {
        relationshipPlaces[name, default: [:]][relationship.name] = builder.reserve()
      }
    }
    var copies = 0
    for name in names {
      guard let entity = model.entities[name], let place = entityPlaces[name] else { continue }
      var inherited: [Entity] = []
      if form == .modelCache {
        inherited = model.ancestors(of: name)
        copies += inherited.reduce(0) { $0 + $1.propertyNames.count }
        if copies > Self.maximumCopies { inherited = [] }
      }
      fill(place, entity, inherited)
    }
    var identifiers: [PropertyList] = []
    for identifier in model.versionIdentifiers { identifiers.append(builder.string(identifier)) }
    var fields: [String: PropertyList] = [
      "NSEntities": entitiesTable(), "NSFetchRequestTemplates": KeyedArchiveBuilder.null,
      "NSVersionIdentifiers": builder.set(identifiers),
    ]
    if !model.configurations.isEmpty { fields["NSConfigurations"] = configurations() }
    builder.fill(root, ["NSManagedObjectModel", "NSObject"], fields)
    return builder.bytes(root: root)
  }

  private mutating func entitiesTable() -> PropertyList {
    let places = names.map { entityPlaces[$0] ?? KeyedArchiveBuilder.null }
    if form == .compiled { return builder.dictionary(Array(zip(names, places))) }
    var keys: [PropertyList] = []
    for name in names { keys.append(builder.string(name)) }
    let mapping = builder.add(
      ["NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy", "NSObject"],
      [
        "keys": builder.array(keys), "length": .integer(Int64(names.count)), "version": .integer(1),
      ])
    return builder.add(
      [
        "NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary",
        "NSObject",
      ],
      [
        "searchMapping": mapping, "values": builder.array(places), "version": .integer(1),
        "emptyToken": builder.string("__empty_slot_token_4c24_98dc_ac1e_b773__"),
      ])
  }

  private mutating func configurations() -> PropertyList {
    var entries: [(String, PropertyList)] = []
    for name in ByteOrder.sorted(model.configurations.keys) {
      let members = model.configurations[name] ?? []
      entries.append((name, builder.set(members.compactMap { entityPlaces[$0] })))
    }
    return builder.dictionary(entries)
  }

  // MARK: Entities

  private mutating func fill(_ place: PropertyList, _ entity: Entity, _ inherited: [Entity]) {
    var properties: [(String, PropertyList)] = []
    for attribute in entity.attributes {
      properties.append((attribute.name, self.attribute(attribute, of: place)))
    }
    for relationship in entity.relationships {
      let own = relationshipPlaces[entity.name]?[relationship.name] ?? builder.reserve()
      fill(own, relationship, of: place)
      properties.append((relationship.name, own))
    }
    for property in entity.fetchedProperties {
      properties.append((property.name, fetchedProperty(property, of: place)))
    }
    var met = Set(properties.map(\.0))
    for ancestor in inherited {
      for attribute in ancestor.attributes where met.insert(attribute.name).inserted {
        properties.append((attribute.name, self.attribute(attribute, of: place)))
      }
      for relationship in ancestor.relationships where met.insert(relationship.name).inserted {
        let copy = builder.reserve()
        fill(copy, relationship, of: place)
        properties.append((relationship.name, copy))
      }
      for property in ancestor.fetchedProperties where met.insert(property.name).inserted {
        properties.append((property.name, fetchedProperty(property, of: place)))
      }
    }
    var children: [(String, PropertyList)] = []
    for child in subentityNames[entity.name] ?? [] {
      if let childPlace = entityPlaces[child] { children.append((child, childPlace)) }
    }
    var fields: [String: PropertyList] = [
      "NSEntityName": builder.string(entity.name),
      "NSClassNameForEntity": builder.string(entity.className),
      "NSManagedObjectModel": root,
      "NSSuperentity": entity.superentityName.flatMap { entityPlaces[$0] }
        ?? KeyedArchiveBuilder.null,
      "NSSubentities": builder.dictionary(children),
      "NSProperties": builder.dictionary(properties),
      "NSRenamingIdentifier": builder.string(entity.renamingIdentifier ?? entity.name),
      "NSVersionHashModifier": builder.string(entity.versionHashModifier),
      "NSUserInfo": userInfo(entity.userInfo),
      "NSFetchIndexDescriptions": fetchIndexes(entity, of: place),
      "NSCompoundIndexes": lists(entity.compoundIndexes),
    ]
    if entity.isAbstract { fields["NSIsAbstract"] = .bool(true) }
    if !entity.uniquenessConstraints.isEmpty {
      fields["NSUniqueTuples"] = lists(entity.uniquenessConstraints)
    }
    builder.fill(place, ["NSEntityDescription", "NSObject"], fields)
  }

  private mutating func fetchIndexes(_ entity: Entity, of place: PropertyList) -> PropertyList {
    var indexes: [PropertyList] = []
    for index in entity.fetchIndexes {
      let own = builder.reserve()
      var elements: [PropertyList] = []
      for element in index.elements {
        elements.append(
          builder.add(
            ["NSFetchIndexElementDescription", "NSObject"],
            [
              "NSPropertyName": builder.string(element.propertyName),
              "NSFetchIndexElementType": .integer(Int64(element.kind.rawValue)),
              "NSAscending": .bool(element.isAscending), "NSFetchIndexDescription": own,
            ]))
      }
      builder.fill(
        own, ["NSFetchIndexDescription", "NSObject"],
        [
          "NSIndexName": builder.string(index.name),
          "NSPartialIndexPredicate": KeyedArchiveBuilder.null,
          "NSIndexElements": builder.mutableArray(elements), "NSEntity": place,
        ])
      indexes.append(own)
    }
    return builder.mutableArray(indexes)
  }

  private mutating func lists(_ lists: [[String]]) -> PropertyList {
    var tuples: [PropertyList] = []
    for list in lists {
      var parts: [PropertyList] = []
      for name in list { parts.append(builder.string(name)) }
      tuples.append(builder.mutableArray(parts))
    }
    return builder.mutableArray(tuples)
  }

  private mutating func userInfo(_ entries: [String: ArchivedValue]) -> PropertyList {
    var stored: [(String, PropertyList)] = []
    for key in ByteOrder.sorted(entries.keys) {
      stored.append((key, builder.string(entries[key]?.stringValue)))
    }
    return builder.dictionary(stored)
  }
}

// MARK: - Properties

extension ModelArchiveWriter {
  /// Bits of `_P` that repeat the flags; the others are the same in every real archive.
  private enum Packed {
    static let base: Int64 = 0xF1
    static let optional: Int64 = 0x2
    static let readOnly: Int64 = 0x4
    static let transient: Int64 = 0x8
    static let ordered: Int64 = 0x400
  }

  private mutating func common(
    name: String, entity: PropertyList, isOptional: Bool, isTransient: Bool, isReadOnly: Bool,
    renamingIdentifier: String?, modifier: String?, info: [String: ArchivedValue]
  ) -> [String: PropertyList] {
    var packed = Packed.base
    var fields: [String: PropertyList] = [
      "NSPropertyName": builder.string(name), "NSEntity": entity,
      "NSRenamingIdentifier": builder.string(renamingIdentifier ?? name),
    ]
    if isOptional {
      fields["NSIsOptional"] = .bool(true)
      packed |= Packed.optional
    }
    if isTransient {
      fields["NSIsTransient"] = .bool(true)
      packed |= Packed.transient
    }
    if isReadOnly {
      fields["NSIsReadOnly"] = .bool(true)
      packed |= Packed.readOnly
    }
    if let modifier { fields["NSVersionHashModifier"] = builder.string(modifier) }
    if !info.isEmpty { fields["NSUserInfo"] = userInfo(info) }
    fields["_P"] = .integer(packed)
    return fields
  }

  private mutating func attribute(
    _ attribute: Attribute, of entity: PropertyList, depth: Int = 0
  ) -> PropertyList {
    var fields = common(
      name: attribute.name, entity: entity, isOptional: attribute.isOptional,
      isTransient: attribute.isTransient, isReadOnly: attribute.isReadOnly,
      renamingIdentifier: attribute.renamingIdentifier, modifier: attribute.versionHashModifier,
      info: attribute.userInfo)
    fields["NSAttributeType"] = .integer(Int64(attribute.type.rawValue))
    fields["NSAttributeValueClassName"] = builder.string(
      attribute.valueClassName ?? attribute.type.standardValueClassName)
    fields["NSValueTransformerName"] = builder.string(attribute.valueTransformerName)
    fields["NSDefaultValue"] =
      attribute.defaultValue.map { defaultValue($0) }
      ?? KeyedArchiveBuilder.null
    var flags: Int64 = 0
    if attribute.allowsExternalBinaryDataStorage { flags |= 4 }
    if attribute.preservesValueInHistoryOnDeletion { flags |= 16 }
    fields["NSFlagsKey"] = .integer(flags)
    if attribute.isIndexed { fields["NSIsIndexed"] = .bool(true) }
    var classNames = ["NSAttributeDescription", "NSPropertyDescription", "NSObject"]
    if let derivation = attribute.derivation {
      classNames.insert("NSDerivedAttributeDescription", at: 0)
      fields["NSDerivationExpression"] = expression(derivation.expression)
      fields["NSFilteringPredicate"] = KeyedArchiveBuilder.null
    } else if attribute.type == .composite {
      classNames.insert("NSCompositeAttributeDescription", at: 0)
      var elements: [PropertyList] = []
      // The reader follows composites no deeper.
      for element in attribute.elements where depth < 8 {
        elements.append(self.attribute(element, of: entity, depth: depth + 1))
      }
      fields["NSCompositeElements"] = builder.array(elements)
    }
    return builder.add(classNames, fields)
  }

  private mutating func fill(
    _ place: PropertyList, _ relationship: Relationship, of entity: PropertyList
  ) {
    var fields = common(
      name: relationship.name, entity: entity, isOptional: relationship.isOptional,
      isTransient: relationship.isTransient, isReadOnly: false,
      renamingIdentifier: relationship.renamingIdentifier,
      modifier: relationship.versionHashModifier, info: relationship.userInfo)
    let holder = relationship.inverseEntityName ?? relationship.destinationEntityName
    let inverse = relationship.inverseName.flatMap { relationshipPlaces[holder]?[$0] }
    fields["NSDestinationEntity"] =
      entityPlaces[relationship.destinationEntityName] ?? KeyedArchiveBuilder.null
    fields["_NSDestinationEntityName"] = builder.string(
      relationship.destinationEntityName.isEmpty ? nil : relationship.destinationEntityName)
    fields["NSInverseRelationship"] = inverse ?? KeyedArchiveBuilder.null
    fields["_NSInverseRelationshipName"] = builder.string(relationship.inverseName)
    fields["NSMinCount"] = .integer(Int64(relationship.minCount))
    fields["NSMaxCount"] = .integer(Int64(relationship.maxCount))
    fields["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
    if relationship.isOrdered {
      fields["NSIsOrdered"] = .bool(true)
      if case .integer(let packed)? = fields["_P"] {
        fields["_P"] = .integer(packed | Packed.ordered)
      }
    }
    builder.fill(
      place, ["NSRelationshipDescription", "NSPropertyDescription", "NSObject"], fields)
  }

  private mutating func fetchedProperty(
    _ property: FetchedProperty, of entity: PropertyList
  ) -> PropertyList {
    var fields = common(
      name: property.name, entity: entity, isOptional: property.isOptional, isTransient: true,
      isReadOnly: true, renamingIdentifier: nil, modifier: nil, info: property.userInfo)
    fields["_NSFetchRequestEntityName"] = builder.string(property.destinationEntityName)
    fields["NSFetchRequest"] = builder.add(
      ["NSFetchRequest", "NSPersistentStoreRequest", "NSObject"],
      [
        "NSEntity": property.destinationEntityName.flatMap { entityPlaces[$0] }
          ?? KeyedArchiveBuilder.null, "NSPredicate": KeyedArchiveBuilder.null,
      ])
    return builder.add(
      ["NSFetchedPropertyDescription", "NSPropertyDescription", "NSObject"], fields)
  }

  private mutating func defaultValue(_ value: DefaultValue) -> PropertyList {
    switch value {
    case .integer(let number): return builder.scalar(.integer(number))
    case .real(let number): return builder.scalar(.real(number))
    case .boolean(let flag): return builder.scalar(.bool(flag))
    case .string(let text): return builder.string(text)
    case .data(let bytes): return builder.scalar(.data(bytes))
    case .date(let seconds):
      return builder.add(["NSDate", "NSObject"], ["NS.time": .real(seconds)])
    case .uuid(let text):
      guard let bytes = Hex.bytes(text.filter { $0 != "-" }), bytes.count == 16 else {
        return builder.string(text)
      }
      return builder.add(["NSUUID", "NSObject"], ["NS.uuidbytes": .data(bytes)])
    case .uri(let text):
      return builder.add(
        ["NSURL", "NSObject"],
        ["NS.base": KeyedArchiveBuilder.null, "NS.relative": builder.string(text)])
    case .decimal(let text):
      guard let parts = DecimalText.parts(text) else { return builder.string(text) }
      let used = parts.mantissa.lastIndex { $0 != 0 } ?? -1
      return builder.add(
        ["NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue", "NSObject"],
        [
          "NS.mantissa": .data(parts.mantissa), "NS.mantissa.bo": .integer(1),
          "NS.exponent": .integer(parts.exponent), "NS.negative": .bool(parts.negative),
          "NS.length": .integer(Int64((used + 2) / 2)), "NS.compact": .bool(true),
        ])
    case .object, .opaque: return KeyedArchiveBuilder.null
    }
  }

  /// The expression of a derived attribute: a key path, or a function of at most one. Any other
  /// text is kept as a key path, so that reading gives it back.
  private mutating func expression(_ expression: Expression) -> PropertyList {
    guard case .function(target: nil, let selector, let list) = expression, list.count < 2 else {
      return keyPath(expression.text)
    }
    let call = (selector: selector, argument: list.first?.plainKeyPath)
    let operand = builder.add(
      ["NSConstantValueExpression", "NSExpression", "NSObject"],
      [
        "NSExpressionType": .integer(0),
        "NSConstantValueClassName": builder.string("_NSPredicateUtilities"),
      ])
    var arguments: [PropertyList] = []
    if let argument = call.argument { arguments.append(keyPath(argument)) }
    return builder.add(
      ["NSFunctionExpression", "NSExpression", "NSObject"],
      [
        "NSExpressionType": .integer(4), "NSSelectorName": builder.string(call.selector),
        "NSOperand": operand, "NSArguments": builder.array(arguments),
      ])
  }

  private mutating func keyPath(_ path: String) -> PropertyList {
    let specifier = builder.add(
      ["NSKeyPathSpecifierExpression", "NSExpression", "NSObject"],
      ["NSExpressionType": .integer(10), "NSKeyPath": builder.string(path)])
    let itself = builder.add(
      ["NSSelfExpression", "NSExpression", "NSObject"], ["NSExpressionType": .integer(1)])
    return builder.add(
      ["NSKeyPathExpression", "NSFunctionExpression", "NSExpression", "NSObject"],
      [
        "NSExpressionType": .integer(3), "NSOperand": itself,
        "NSSelectorName": builder.string(path.contains(".") ? "valueForKeyPath:" : "valueForKey:"),
        "NSArguments": builder.mutableArray([specifier]),
      ])
  }
}
