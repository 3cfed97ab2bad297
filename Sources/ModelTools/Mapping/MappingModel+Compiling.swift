package import ObjectModel
import SafeText

extension EntityMapping {
  /// Returns the name that Xcode gives an entity mapping: `CarToCar`, or only the entity's name if one of the two
  /// entities is missing.
  static func standardName(_ source: String?, _ destination: String?) -> String {
    guard let source, let destination else { return source ?? destination ?? "" }
    return "\(source)To\(destination)"
  }

  /// Whether Xcode's compiler generates the source expression of this mapping (`autogenerateexpression` in an
  /// `.xcmappingmodel`).
  var generatesSourceExpression: Bool { others[Self.generatesName] == .bool(true) }

  static let generatesName = "autogenerateexpression"
}

extension PropertyMapping {
  /// Whether Xcode's compiler generates the value expression of this mapping (`autogenerateexpression` in an
  /// `.xcmappingmodel`). For an attribute mapping, the compiler generates a missing expression even if this flag is
  /// not set.
  var generatesExpression: Bool { others[EntityMapping.generatesName] == .bool(true) }
}

/// The expressions that Xcode's compiler generates, as seen in the real file `V2toV3.cdm`.
enum GeneratedExpression {
  static let manager = ModelExpression.variable("manager")
  static let source = ModelExpression.variable("source")

  /// Returns the value at a key path of the source object: `$source.key.path`.
  static func sourceValue(_ keyPath: String) -> ModelExpression { .keyPath(keyPath, of: source) }

  /// Returns the expression for all objects of a source entity: `FETCH(FUNCTION($manager,
  /// "fetchRequestForSourceEntityNamed:predicateString:", "Car", "TRUEPREDICATE"), $manager.sourceContext, NO)`.
  static func allObjects(of entityName: String) -> ModelExpression {
    .fetch(
      request: .function(
        target: manager, selector: "fetchRequestForSourceEntityNamed:predicateString:",
        arguments: [.constant(.string(entityName)), .constant(.string("TRUEPREDICATE"))]),
      context: .keyPath("sourceContext", of: manager), countOnly: false)
  }

  /// Returns the expression for the destination objects that the mapping `mappingName` made from the source objects at
  /// `keyPath`. If `keyPath` is nil, the expression is for the objects made from `$source` itself.
  static func destinations(mappingName: String, keyPath: String?) -> ModelExpression {
    .function(
      target: manager, selector: "destinationInstancesForEntityMappingNamed:sourceInstances:",
      arguments: [.constant(.string(mappingName)), keyPath.map(sourceValue) ?? source])
  }

  /// Returns the expression for the destination objects of a relationship. These are the objects that any entity
  /// mapping made from the objects to which the relationship of the source object leads.
  static func destinations(relationshipName: String) -> ModelExpression {
    .function(
      target: manager, selector: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      arguments: [.constant(.string(relationshipName)), sourceValue(relationshipName)])
  }
}

extension MappingModel {
  /// Whether every entity mapping records a version hash for each of its entities, as in a `.cdm`.
  package var isBound: Bool {
    entityMappings.allSatisfy { mapping in
      (mapping.sourceEntityName == nil) == (mapping.sourceEntityVersionHash == nil)
        && (mapping.destinationEntityName == nil) == (mapping.destinationEntityVersionHash == nil)
    }
  }

  /// Returns the mapping as Xcode's compiler would write it for two models: with version hashes, kinds and generated
  /// expressions.
  ///
  /// Values that are already set do not change. If an argument is nil, the model that the mapping itself contains is
  /// used. Without a model, the hashes stay nil. An entity gets no hash if no confirmed rule computes it.
  ///
  /// The rules are those by which `V2toV3.xcmappingmodel` became `V2toV3.cdm`, the only known pair of such files:
  /// - The kind is custom for a mapping with a policy class, add for one without a source entity, and remove for one
  ///   without a destination entity. The kind of any other mapping is copy, even if the hashes differ.
  /// - Expressions are generated only where the `.xcmappingmodel` asks for them, by `autogenerateexpression`.
  /// - The expression of an attribute is `$source.name`, if the source entity has a property of this name.
  /// - The expression of a relationship leads to the objects that were made from the destinations of a source
  ///   relationship. If the property mapping names an entity mapping and a key path, these are used. Otherwise the
  ///   source relationship has the same name. The objects are then found by the name of the mapping that makes them, if
  ///   it is the only one for the destination entity and this entity has no subentities; otherwise they are found by
  ///   the name of the relationship.
  package func compiled(
    from source: ManagedObjectModel? = nil, to destination: ManagedObjectModel? = nil
  ) -> MappingModel {
    let compiler = MappingCompiler(
      source: source ?? sourceModel, destination: destination ?? destinationModel, mapping: self)
    var copy = self
    for index in copy.entityMappings.indices { compiler.complete(&copy.entityMappings[index]) }
    return copy
  }
}

private struct MappingCompiler {
  let source: ManagedObjectModel?
  let destination: ManagedObjectModel?
  let sourceHashes: [String: VersionHash]
  let destinationHashes: [String: VersionHash]
  /// For each source entity name, the names of all properties of the entity, inherited properties included.
  let sourceProperties: [String: Set<String>]
  /// For each destination entity of a mapping, the names of its relationships, each with the name of the entity to
  /// which the relationship leads. Inherited relationships are included.
  let destinationEntities: [String: [String: String]]
  let parents: Set<String>
  /// For each entity of the destination model: the name of the entity mapping that makes its objects from source
  /// objects. An entity with several such mappings has no entry.
  let mappingNames: [String: String]

  init(source: ManagedObjectModel?, destination: ManagedObjectModel?, mapping: MappingModel) {
    self.source = source
    self.destination = destination
    sourceHashes = source?.versionHashes().hashes ?? [:]
    destinationHashes = destination?.versionHashes().hashes ?? [:]
    var properties: [String: Set<String>] = [:]
    for name in Set(mapping.entityMappings.compactMap(\.sourceEntityName)) {
      guard let source else { continue }
      properties[name] = Set(
        source.allAttributes(of: name).map(\.name) + source.allRelationships(of: name).map(\.name))
    }
    sourceProperties = properties
    var relationships: [String: [String: String]] = [:]
    for name in Set(mapping.entityMappings.compactMap(\.destinationEntityName)) {
      guard let destination else { continue }
      relationships[name] = Dictionary(
        destination.allRelationships(of: name).map { ($0.name, $0.destinationEntityName) }
      ) { first, _ in first }
    }
    destinationEntities = relationships
    parents = Set(destination?.entities.values.compactMap(\.superentityName) ?? [])
    var names: [String: [String]] = [:]
    for part in mapping.entityMappings {
      if let entity = part.destinationEntityName, part.sourceEntityName != nil {
        names[entity, default: []].append(part.name)
      }
    }
    mappingNames = names.compactMapValues { $0.count == 1 ? $0.first : nil }
  }

  func complete(_ mapping: inout EntityMapping) {
    if mapping.kind == .undefined {
      if mapping.migrationPolicyClassName != nil {
        mapping.kind = .custom
      } else if mapping.sourceEntityName == nil {
        mapping.kind = .add
      } else if mapping.destinationEntityName == nil {
        mapping.kind = .remove
      } else {
        mapping.kind = .copy
      }
    }
    if let name = mapping.sourceEntityName {
      mapping.sourceEntityVersionHash = mapping.sourceEntityVersionHash ?? sourceHashes[name]
      if mapping.sourceExpression == nil, mapping.generatesSourceExpression {
        mapping.sourceExpression = GeneratedExpression.allObjects(of: name)
      }
    }
    if let name = mapping.destinationEntityName {
      mapping.destinationEntityVersionHash =
        mapping.destinationEntityVersionHash ?? destinationHashes[name]
    }
    guard let sourceName = mapping.sourceEntityName, mapping.generatesSourceExpression else {
      return
    }
    let known = sourceProperties[sourceName] ?? []
    for index in mapping.attributeMappings.indices {
      let name = mapping.attributeMappings[index].name
      guard mapping.attributeMappings[index].valueExpression == nil, known.contains(name) else {
        continue
      }
      mapping.attributeMappings[index].valueExpression = GeneratedExpression.sourceValue(name)
    }
    let entities = destinationEntities[mapping.destinationEntityName ?? ""] ?? [:]
    for index in mapping.relationshipMappings.indices {
      let property = mapping.relationshipMappings[index]
      guard property.valueExpression == nil, property.generatesExpression else { continue }
      mapping.relationshipMappings[index].valueExpression = generated(
        property, leadsTo: entities[property.name], known: known)
    }
  }

  private func generated(
    _ property: PropertyMapping, leadsTo entityName: String?, known: Set<String>
  ) -> ModelExpression? {
    if let mappingName = property.sourceMappingName, let keyPath = property.sourceKeyPath {
      // The editor shows and stores the whole text, for example `$source.country`. The text `$source` alone means the
      // source object itself.
      let isObject = PathText.isSame(keyPath, "$source")
      return GeneratedExpression.destinations(
        mappingName: mappingName,
        keyPath: isObject ? nil : PathText.dropping(prefix: "$source.", from: keyPath) ?? keyPath)
    }
    guard known.contains(property.name), let entityName else { return nil }
    if !parents.contains(entityName), let mappingName = mappingNames[entityName] {
      return GeneratedExpression.destinations(
        mappingName: mappingName, keyPath: property.name)
    }
    return GeneratedExpression.destinations(relationshipName: property.name)
  }
}
