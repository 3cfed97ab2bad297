package import ObjectModel
import SafeText

extension EntityMapping {
  /// The name that Xcode gives an entity mapping: `CarToCar`, or the entity's name if the mapping has only one entity.
  static func standardName(_ source: String?, _ destination: String?) -> String {
    guard let source, let destination else { return source ?? destination ?? "" }
    return "\(source)To\(destination)"
  }

  /// Whether Xcode's compiler generates the source expression of this mapping (`autogenerateexpression` in Xcode's
  /// form).
  var generatesSourceExpression: Bool { others[Self.generatesName] == .bool(true) }

  static let generatesName = "autogenerateexpression"
}

extension PropertyMapping {
  /// Whether Xcode's compiler generates the value expression of this mapping (`autogenerateexpression` in Xcode's
  /// form). A missing expression of an attribute mapping is generated without this flag too.
  var generatesExpression: Bool { others[EntityMapping.generatesName] == .bool(true) }
}

/// The expressions that Xcode's compiler writes, as in `V2toV3.cdm`.
enum GeneratedExpression {
  static let manager = ModelExpression.variable("manager")
  static let source = ModelExpression.variable("source")

  /// The value at a key path of the source object: `$source.key.path`.
  static func sourceValue(_ keyPath: String) -> ModelExpression { .keyPath(keyPath, of: source) }

  /// The expression for all objects of a source entity: `FETCH(FUNCTION($manager,
  /// "fetchRequestForSourceEntityNamed:predicateString:", "Car", "TRUEPREDICATE"), $manager.sourceContext, NO)`.
  static func allObjects(of entityName: String) -> ModelExpression {
    .fetch(
      request: .function(
        target: manager, selector: "fetchRequestForSourceEntityNamed:predicateString:",
        arguments: [.constant(.string(entityName)), .constant(.string("TRUEPREDICATE"))]),
      context: .keyPath("sourceContext", of: manager), countOnly: false)
  }

  /// The expression for the destination objects that one entity mapping made from the source objects at a key path.
  /// Without a key path, it is for those made from the source object itself.
  static func destinations(mappingName: String, keyPath: String?) -> ModelExpression {
    .function(
      target: manager, selector: "destinationInstancesForEntityMappingNamed:sourceInstances:",
      arguments: [.constant(.string(mappingName)), keyPath.map(sourceValue) ?? source])
  }

  /// The expression for the destination objects that any mapping made from the objects of a source relationship.
  static func destinations(relationshipName: String) -> ModelExpression {
    .function(
      target: manager, selector: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      arguments: [.constant(.string(relationshipName)), sourceValue(relationshipName)])
  }
}

extension MappingModel {
  /// Whether every entity mapping has a hash for each of its entities, as in a `.cdm`.
  package var isBound: Bool {
    entityMappings.allSatisfy { mapping in
      (mapping.sourceEntityName == nil) == (mapping.sourceEntityVersionHash == nil)
        && (mapping.destinationEntityName == nil) == (mapping.destinationEntityVersionHash == nil)
    }
  }

  /// The mapping as Xcode's compiler would write it for two models: bound to their hashes, with kinds and generated
  /// expressions.
  ///
  /// Existing values stay. A model that is not given is replaced by the one that the mapping carries; without either,
  /// hashes stay nil. An entity whose hash follows no confirmed rule gets no hash.
  ///
  /// The rules are those by which `V2toV3.xcmappingmodel` became `V2toV3.cdm`, the only pair known. A mapping with a
  /// policy is custom, one without a source adds, one without a destination removes. Any other mapping is a copy, even
  /// if the hashes differ. An attribute takes `$source.name`. A relationship takes the destination objects of the
  /// source relationship with the same name, if the source entity has one. If the relationship's destination entity has
  /// subentities, these objects are found by relationship, otherwise by mapping name.
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
  /// The names of all properties of each source entity, inherited ones included, by entity name.
  let sourceProperties: [String: Set<String>]
  /// The destination of each relationship, by destination entity of a mapping and by relationship name. Inherited
  /// relationships are included.
  let destinationEntities: [String: [String: String]]
  let parents: Set<String>
  /// The name of the entity mapping of each destination entity that has exactly one, by entity name.
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
      // The editor shows and stores the whole text `$source.country`. The text `$source` is the object itself.
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
