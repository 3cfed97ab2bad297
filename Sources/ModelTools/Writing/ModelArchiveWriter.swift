import ObjectModel

/// Writes a model as a keyed archive with the classes and keys found in real `.mom` files and cached models.
struct ModelArchiveWriter {
  /// The maximum number of inherited properties that are written, counted for each entity that inherits them. Beyond
  /// this number, each entity contains only the properties that it declares, as in a compiled model.
  private static let maximumCopies = 200_000
  /// The maximum depth of nested composites that are written. The reader has the same limit.
  static let maximumCompositeDepth = 8

  private let model: ManagedObjectModel
  private let form: ModelArchiveForm
  private let names: [String]
  private let subentityNames: [String: [String]]
  private var builder = KeyedArchiveBuilder()
  private var root = KeyedArchiveBuilder.null
  private var entityPlaces: [String: PropertyList] = [:]
  /// The references to relationships in the archive. The outer key is the declaring entity, the inner key the
  /// relationship.
  private var relationshipPlaces: [String: [String: PropertyList]] = [:]

  init(model: ManagedObjectModel, form: ModelArchiveForm) {
    self.model = model
    self.form = form
    names = model.entityNames
    subentityNames = model.subentityNames()
  }

  mutating func list() -> PropertyList {
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
    let identifiers = model.versionIdentifiers.map { builder.string($0) }
    var fields: [String: PropertyList] = [
      "NSEntities": entitiesTable(), "NSFetchRequestTemplates": templates(),
      "NSVersionIdentifiers": builder.set(identifiers),
    ]
    if !model.configurations.isEmpty { fields["NSConfigurations"] = configurations() }
    builder.fill(root, ["NSManagedObjectModel", "NSObject"], fields)
    return builder.list(root: root)
  }

  private mutating func entitiesTable() -> PropertyList {
    let places = names.map { entityPlaces[$0] ?? KeyedArchiveBuilder.null }
    if form == .compiled { return builder.dictionary(Array(zip(names, places))) }
    let keys = names.map { builder.string($0) }
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

  private mutating func templates() -> PropertyList {
    guard !model.fetchRequestTemplates.isEmpty else { return KeyedArchiveBuilder.null }
    let entries = model.fetchRequestTemplates.map { ($0.name, fetchRequest($0.request)) }
    return builder.dictionary(entries)
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
    let children = (subentityNames[entity.name] ?? []).compactMap { child in
      entityPlaces[child].map { (child, $0) }
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
      let elements = index.elements.map { element in
        builder.add(
          ["NSFetchIndexElementDescription", "NSObject"],
          [
            "NSPropertyName": builder.string(element.propertyName),
            "NSFetchIndexElementType": .integer(Int64(element.kind.rawValue)),
            "NSAscending": .bool(element.isAscending), "NSFetchIndexDescription": own,
          ])
      }
      builder.fill(
        own, ["NSFetchIndexDescription", "NSObject"],
        [
          "NSIndexName": builder.string(index.name),
          "NSPartialIndexPredicate": predicate(index.partialPredicate),
          "NSIndexElements": builder.mutableArray(elements), "NSEntity": place,
        ])
      indexes.append(own)
    }
    return builder.mutableArray(indexes)
  }

  private mutating func lists(_ lists: [[String]]) -> PropertyList {
    let tuples = lists.map { list in
      let parts = list.map { builder.string($0) }
      return builder.mutableArray(parts)
    }
    return builder.mutableArray(tuples)
  }

  private mutating func userInfo(_ entries: [String: ArchivedValue]) -> PropertyList {
    var keys: [PropertyList] = []
    var values: [PropertyList] = []
    for key in ByteOrder.sorted(entries.keys) {
      keys.append(builder.string(key))
      values.append(builder.value(entries[key] ?? .null))
    }
    return builder.add(
      ["NSDictionary", "NSObject"], ["NS.keys": .array(keys), "NS.objects": .array(values)])
  }
}

// MARK: - Properties

extension ModelArchiveWriter {
  /// The bits of the field `_P`, which repeats the flags of a property. The bits in ``base`` are set in every real
  /// archive.
  private struct Packed: OptionSet {
    let rawValue: Int64
    static let base = Self(rawValue: 0xF1)
    static let optional = Self(rawValue: 0x2)
    static let readOnly = Self(rawValue: 0x4)
    static let transient = Self(rawValue: 0x8)
    static let indexedBySpotlight = Self(rawValue: 0x100)
    static let ordered = Self(rawValue: 0x400)

    init(rawValue: Int64) { self.rawValue = rawValue }

    init(isOptional: Bool, isTransient: Bool, isReadOnly: Bool) {
      self = .base
      if isOptional { insert(.optional) }
      if isTransient { insert(.transient) }
      if isReadOnly { insert(.readOnly) }
    }
  }

  private func indexBySpotlight(_ fields: inout [String: PropertyList]) {
    fields["NSIndexedBySpotlight"] = .bool(true)
    if case .integer(let packed)? = fields["_P"] {
      fields["_P"] = .integer(packed | Packed.indexedBySpotlight.rawValue)
    }
  }

  private mutating func common(
    name: String, entity: PropertyList, _ flags: Packed, renamingIdentifier: String?,
    modifier: String?, info: [String: ArchivedValue]
  ) -> [String: PropertyList] {
    var fields: [String: PropertyList] = [
      "NSPropertyName": builder.string(name), "NSEntity": entity,
      "NSRenamingIdentifier": builder.string(renamingIdentifier ?? name),
    ]
    if flags.contains(.optional) { fields["NSIsOptional"] = .bool(true) }
    if flags.contains(.transient) { fields["NSIsTransient"] = .bool(true) }
    if flags.contains(.readOnly) { fields["NSIsReadOnly"] = .bool(true) }
    if let modifier { fields["NSVersionHashModifier"] = builder.string(modifier) }
    if !info.isEmpty { fields["NSUserInfo"] = userInfo(info) }
    fields["_P"] = .integer(flags.rawValue)
    return fields
  }

  private mutating func attribute(
    _ attribute: Attribute, of entity: PropertyList, depth: Int = 0
  ) -> PropertyList {
    var fields = common(
      name: attribute.name, entity: entity,
      Packed(
        isOptional: attribute.isOptional, isTransient: attribute.isTransient,
        isReadOnly: attribute.isReadOnly),
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
    if attribute.isIndexedBySpotlight { indexBySpotlight(&fields) }
    if !attribute.validations.isEmpty {
      var predicates: [PropertyList] = []
      var warnings: [PropertyList] = []
      for validation in attribute.validations {
        predicates.append(predicate(validation.predicate))
        warnings.append(builder.value(validation.warning))
      }
      fields["NSValidationPredicates"] = builder.array(predicates)
      fields["NSValidationWarnings"] = builder.array(warnings)
    }
    var classNames = ["NSAttributeDescription", "NSPropertyDescription", "NSObject"]
    if let derivation = attribute.derivation {
      classNames.insert("NSDerivedAttributeDescription", at: 0)
      fields["NSDerivationExpression"] = PredicateArchiveWriter.write(
        derivation.expression, into: &builder)
      fields["NSFilteringPredicate"] = predicate(derivation.filterPredicate)
    } else if attribute.type == .composite {
      classNames.insert("NSCompositeAttributeDescription", at: 0)
      var elements: [PropertyList] = []
      for element in attribute.elements where depth < Self.maximumCompositeDepth {
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
      name: relationship.name, entity: entity,
      Packed(
        isOptional: relationship.isOptional, isTransient: relationship.isTransient,
        isReadOnly: false),
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
    if relationship.isIndexed { fields["NSIsIndexed"] = .bool(true) }
    if relationship.isIndexedBySpotlight { indexBySpotlight(&fields) }
    if relationship.isOrdered {
      fields["NSIsOrdered"] = .bool(true)
      if case .integer(let packed)? = fields["_P"] {
        fields["_P"] = .integer(packed | Packed.ordered.rawValue)
      }
    }
    builder.fill(
      place, ["NSRelationshipDescription", "NSPropertyDescription", "NSObject"], fields)
  }

  private mutating func fetchedProperty(
    _ property: FetchedProperty, of entity: PropertyList
  ) -> PropertyList {
    var fields = common(
      name: property.name, entity: entity,
      Packed(isOptional: property.isOptional, isTransient: true, isReadOnly: true),
      renamingIdentifier: property.renamingIdentifier,
      modifier: property.versionHashModifier, info: property.userInfo)
    if property.isIndexedBySpotlight { indexBySpotlight(&fields) }
    fields["_NSFetchRequestEntityName"] = builder.string(property.destinationEntityName)
    fields["NSFetchRequest"] = fetchRequest(property.request)
    return builder.add(
      ["NSFetchedPropertyDescription", "NSPropertyDescription", "NSObject"], fields)
  }

  private mutating func fetchRequest(_ request: FetchRequest) -> PropertyList {
    let descriptors = request.sortDescriptors.map { descriptor in
      builder.add(
        ["NSSortDescriptor", "NSObject"],
        [
          "NSKey": builder.string(descriptor.key), "NSAscending": .bool(descriptor.isAscending),
          "NSSelector": builder.string(descriptor.selector),
          "NSReverseNullOrder": .bool(descriptor.reversesNullOrder),
        ])
    }
    return builder.add(
      ["NSFetchRequest", "NSPersistentStoreRequest", "NSObject"],
      [
        "NSEntity": request.entityName.flatMap { entityPlaces[$0] } ?? KeyedArchiveBuilder.null,
        "NSPredicate": predicate(request.predicate),
        "NSSortDescriptors": descriptors.isEmpty
          ? KeyedArchiveBuilder.null : builder.array(descriptors),
        "NSHasFetchRequestFlags": .bool(true),
        "NSFetchRequestFlags": .integer(
          request.archivedFlags ?? FetchRequest.standardFlags),
        "NSResultType": .integer(request.resultType.rawValue),
        "NSFetchLimit": .integer(request.fetchLimit),
        "NSFetchOffset": .integer(request.fetchOffset),
        "NSBatchSize": .integer(request.batchSize),
        "NSAllocationType": .integer(request.allocationType),
        "NSValuesToFetch": names(request.propertiesToFetch),
        "NSValuesToGroupBy": names(request.propertiesToGroupBy),
        "NSHavingPredicate": predicate(request.havingPredicate),
        "NSRelationshipKeyPathsForPrefetching": names(request.prefetchedKeyPaths),
      ])
  }

  private mutating func names(_ list: [String]) -> PropertyList {
    guard !list.isEmpty else { return KeyedArchiveBuilder.null }
    let parts = list.map { builder.string($0) }
    return builder.array(parts)
  }

  private mutating func predicate(_ predicate: ModelPredicate?) -> PropertyList {
    predicate.map { PredicateArchiveWriter.write($0, into: &builder) } ?? KeyedArchiveBuilder.null
  }

  private mutating func defaultValue(_ value: DefaultValue) -> PropertyList {
    switch value {
    case .integer(let number): builder.scalar(.integer(number))
    case .real(let number): builder.scalar(.real(number))
    case .boolean(let flag): builder.scalar(.bool(flag))
    case .string(let text): builder.string(text)
    case .data(let bytes): builder.scalar(.data(bytes))
    case .date(let seconds): builder.date(seconds)
    case .uuid(let text): builder.uuid(text)
    case .uri(let text): builder.url(text)
    case .decimal(let text): builder.decimal(text)
    case .object(let object): builder.value(.object(object))
    case .opaque: KeyedArchiveBuilder.null
    }
  }
}
