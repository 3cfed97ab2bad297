package import ObjectModel
import SafeText

extension MappingModel {
  /// Returns the mapping that Core Data infers between two versions of a model (lightweight migration).
  ///
  /// The rules are those of ``LightweightVerdict``. A change does not prevent a mapping if its verdict depends on the
  /// data, or if Apple does not document the change. Renames are followed if a renaming identifier records them;
  /// guessed renames are not.
  ///
  /// Each entity of the destination gets one mapping: `IEM_Add_…` for a new entity, `IEM_Copy_…` if the version hash is
  /// the same, `IEM_Transform_…` otherwise. Each entity that is gone gets `IEM_Remove_…`. Each mapping records the
  /// version hashes of its entities. A hash is nil if the rule for computing it is not confirmed.
  ///
  /// No archive of a mapping that Core Data inferred was found for comparison. The expressions are those that Xcode's
  /// compiler writes for the same purpose, as seen in the real file `V2toV3.cdm`. An attribute takes `$source.name`. A
  /// relationship takes the destination objects that the mapping of its destination entity made from the objects in the
  /// source relationship. If the destination entity has subentities, or if the old relationship leads to another
  /// entity, then the relationship takes the objects that any mapping made from the objects in the source relationship.
  ///
  /// - Throws: ``InferredMappingError`` with every change that prevents the mapping.
  package static func inferred(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) throws(InferredMappingError) -> MappingModel {
    let inference = MappingInference(EntityPairing(old: old, new: new))
    let obstacles = inference.changes.filter {
      if case .notHandled = $0.verdict { true } else { false }
    }
    guard obstacles.isEmpty else {
      throw InferredMappingError(changes: obstacles)
    }
    return inference.mappingModel()
  }
}

/// Infers a mapping between two versions of a model. The mapping is valid only if no change prevents it.
final class MappingInference {
  private let entities: EntityPairing
  let changes: [ModelChange]
  private var oldHashes: ModelHashes { entities.oldIndex.hashes }
  private var newHashes: ModelHashes { entities.newIndex.hashes }

  /// The names of the inferred entity mappings, keyed by the name of the destination entity.
  private lazy var names: [String: String] = {
    var names: [String: String] = [:]
    for entity in entities.added { names[entity.name] = "IEM_Add_" + entity.name }
    for (old, new) in entities.pairs {
      let before = oldHashes.hashes[old.name] ?? oldHashes.unconfirmed[old.name]
      let after = newHashes.hashes[new.name] ?? newHashes.unconfirmed[new.name]
      let isSame = before != nil && before == after
      names[new.name] = (isSame ? "IEM_Copy_" : "IEM_Transform_") + new.name
    }
    return names
  }()
  private lazy var parents = Set(entities.newIndex.entities.compactMap(\.superentityName))

  init(_ entities: EntityPairing) {
    self.entities = entities
    var comparison = ModelComparison(entities, .everything)
    comparison.run()
    changes = comparison.changes
  }

  func mappingModel() -> MappingModel {
    var mappings: [EntityMapping] = []
    for name in entities.new.entityNames {
      guard let entity = entities.new.entities[name] else { continue }
      if let oldName = entities.oldName(ofNew: name), let old = entities.old.entities[oldName] {
        mappings.append(mapping(from: old, to: entity))
      } else {
        mappings.append(
          EntityMapping(
            name: names[name] ?? name, kind: .add, destinationEntityName: name,
            destinationEntityVersionHash: newHashes.hashes[name]))
      }
    }
    for entity in entities.removed {
      mappings.append(
        EntityMapping(
          name: "IEM_Remove_" + entity.name, kind: .remove, sourceEntityName: entity.name,
          sourceEntityVersionHash: oldHashes.hashes[entity.name]))
    }
    return MappingModel(
      entityMappings: mappings, sourceModel: entities.old, destinationModel: entities.new)
  }

  /// Returns the losses of ``mappingModel()``, found without making the mapping. See ``MappingModel/losses(of:to:)``.
  func losses() -> [MappingLoss] {
    var losses: [String: [MappingLoss]] = [:]
    for entity in entities.removed where !entity.isAbstract {
      losses[entity.name] = [MappingLoss(entityName: entity.name, propertyName: nil)]
    }
    for (old, new) in entities.pairs where !old.isAbstract && !isUntouched(old, new) {
      let lost =
        attributePairing(from: old, to: new).removed.filter { !$0.isDerived }.map(\.name)
        + relationshipPairing(from: old, to: new).removed.map(\.name)
      if !lost.isEmpty {
        losses[old.name] = lost.map { MappingLoss(entityName: old.name, propertyName: $0) }
      }
    }
    return entities.oldIndex.entities.flatMap { losses[$0.name] ?? [] }
      .withoutCarriedInverses(in: entities.old)
  }

  /// Whether an entity and all of its ancestors are equal in both models.
  private func isUntouched(_ old: Entity, _ new: Entity) -> Bool {
    old == new
      && (old.superentityName == nil
        || entities.old.ancestors(of: old.name) == entities.new.ancestors(of: new.name))
  }

  private func mapping(from old: Entity, to new: Entity) -> EntityMapping {
    let name = names[new.name] ?? new.name
    return EntityMapping(
      name: name, kind: PathText.starts(name, with: "IEM_Copy_") ? .copy : .transform,
      sourceEntityName: old.name, destinationEntityName: new.name,
      sourceEntityVersionHash: oldHashes.hashes[old.name],
      destinationEntityVersionHash: newHashes.hashes[new.name],
      attributeMappings: attributes(from: old, to: new),
      relationshipMappings: relationships(from: old, to: new),
      sourceExpression: GeneratedExpression.allObjects(of: old.name))
  }

  // MARK: Properties

  /// Returns a mapping for each attribute of `new`, inherited ones included, except transient and derived attributes.
  /// An attribute that `old` has too, also by inheritance, keeps its value. A new attribute has no expression and gets
  /// its default value.
  private func attributes(from old: Entity, to new: Entity) -> [PropertyMapping] {
    let sources = Dictionary(
      attributePairing(from: old, to: new).pairs.map { ($0.new.name, $0.old.name) }
    ) { first, _ in first }
    return entities.new.allAttributes(of: new.name).filter { !$0.isTransient && !$0.isDerived }
      .map { attribute in
        PropertyMapping(
          name: attribute.name,
          valueExpression: sources[attribute.name].map(GeneratedExpression.sourceValue))
      }
  }

  private func attributePairing(from old: Entity, to new: Entity) -> Pairing<Attribute> {
    Pairing(
      old: entities.old.allAttributes(of: old.name).filter { !$0.isTransient },
      new: entities.new.allAttributes(of: new.name).filter { !$0.isTransient }, name: \.name,
      identifier: \.renamingIdentifier)
  }

  private func relationshipPairing(from old: Entity, to new: Entity) -> Pairing<Relationship> {
    Pairing(
      old: entities.old.allRelationships(of: old.name).filter { !$0.isTransient },
      new: entities.new.allRelationships(of: new.name).filter { !$0.isTransient }, name: \.name,
      identifier: \.renamingIdentifier)
  }

  private func relationships(from old: Entity, to new: Entity) -> [PropertyMapping] {
    let pairing = relationshipPairing(from: old, to: new)
    let sources = Dictionary(pairing.pairs.map { ($0.new.name, $0.old) }) { first, _ in first }
    return entities.new.allRelationships(of: new.name).filter { !$0.isTransient }
      .map { relationship in
        PropertyMapping(
          name: relationship.name,
          valueExpression: sources[relationship.name].map { instances(of: $0, for: relationship) })
      }
  }

  private func instances(of source: Relationship, for relationship: Relationship) -> ModelExpression
  {
    let destination = relationship.destinationEntityName
    // The mapping of the destination entity makes the related objects only if the relationship led to that entity in
    // the old model too.
    if let mapping = names[destination], !parents.contains(destination),
      entities.newName(ofOld: source.destinationEntityName) == destination
    {
      return GeneratedExpression.destinations(mappingName: mapping, keyPath: source.name)
    }
    return GeneratedExpression.destinations(relationshipName: source.name)
  }
}
