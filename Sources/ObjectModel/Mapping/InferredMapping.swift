extension MappingModel {
  /// The mapping that Core Data infers between two versions of a model (lightweight migration).
  ///
  /// The rules are those of ``LightweightVerdict``; what only the data decide does not stand against
  /// a mapping, nor does what Apple does not document. Renames are followed where a renaming
  /// identifier tells of them; guesses are not used.
  ///
  /// Each entity of the destination gets one mapping: `IEM_Add_…` for a new one, `IEM_Copy_…` where
  /// the version hash is the same, `IEM_Transform_…` otherwise; each entity that is gone gets
  /// `IEM_Remove_…`. The mappings are bound to the version hashes of both entities; where the rule
  /// of a hash is not confirmed, that hash is nil.
  ///
  /// No archived inferred mapping was found to compare with. The expressions are those that Xcode's
  /// compiler writes for the same purpose (V: `V2toV3.cdm`): `$source.name` for attributes;
  /// for relationships the instances that the destination's mapping made, or, where the
  /// destination has subentities and so more than one mapping, those of the source relationship.
  ///
  /// - Throws: ``InferredMappingError`` with every change that stands against it.
  public static func inferred(
    from old: ManagedObjectModel, to new: ManagedObjectModel
  ) throws(InferredMappingError) -> MappingModel {
    let obstacles = ModelDifference(from: old, to: new).changes.filter {
      if case .notHandled = $0.verdict { true } else { false }
    }
    guard obstacles.isEmpty else {
      throw InferredMappingError(code: .notInferable, changes: obstacles)
    }
    return MappingInference(EntityPairing(old: old, new: new)).mappingModel()
  }
}

/// One run of inference over two versions whose changes allow it.
private struct MappingInference {
  let entities: EntityPairing
  let oldHashes: ModelHashes
  let newHashes: ModelHashes
  /// The mapping names of the destination entities.
  let names: [String: String]
  let parents: Set<String>

  init(_ entities: EntityPairing) {
    self.entities = entities
    oldHashes = entities.old.versionHashes()
    newHashes = entities.new.versionHashes()
    parents = Set(entities.new.entities.values.compactMap(\.superentityName))
    var names: [String: String] = [:]
    for entity in entities.added { names[entity.name] = "IEM_Add_" + entity.name }
    for (old, new) in entities.pairs {
      let before = oldHashes.hashes[old.name] ?? oldHashes.unconfirmed[old.name]
      let after = newHashes.hashes[new.name] ?? newHashes.unconfirmed[new.name]
      let isSame = before != nil && before == after
      names[new.name] = (isSame ? "IEM_Copy_" : "IEM_Transform_") + new.name
    }
    self.names = names
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

  private func mapping(from old: Entity, to new: Entity) -> EntityMapping {
    let name = names[new.name] ?? new.name
    return EntityMapping(
      name: name, kind: name.hasPrefix("IEM_Copy_") ? .copy : .transform,
      sourceEntityName: old.name, destinationEntityName: new.name,
      sourceEntityVersionHash: oldHashes.hashes[old.name],
      destinationEntityVersionHash: newHashes.hashes[new.name],
      attributeMappings: attributes(from: old, to: new),
      relationshipMappings: relationships(from: old, to: new),
      sourceExpression: GeneratedExpression.allObjects(of: old.name))
  }

  // MARK: Properties

  /// One mapping per persistent attribute, inherited ones included: so properties that move up and
  /// down the hierarchy keep their values. A new one has no expression and gets its default.
  private func attributes(from old: Entity, to new: Entity) -> [PropertyMapping] {
    let pairing = Pairing(
      old: entities.old.allAttributes(of: old.name).filter { !$0.isTransient },
      new: entities.new.allAttributes(of: new.name).filter { !$0.isTransient }, name: \.name,
      identifier: \.renamingIdentifier)
    let sources = Dictionary(pairing.pairs.map { ($0.new.name, $0.old.name) }) { first, _ in first }
    return entities.new.allAttributes(of: new.name).filter { !$0.isTransient && !$0.isDerived }
      .map { attribute in
        PropertyMapping(
          name: attribute.name,
          valueExpression: sources[attribute.name].map(GeneratedExpression.sourceValue))
      }
  }

  private func relationships(from old: Entity, to new: Entity) -> [PropertyMapping] {
    let after = entities.new.allRelationships(of: new.name).filter { !$0.isTransient }
    let pairing = Pairing(
      old: entities.old.allRelationships(of: old.name).filter { !$0.isTransient }, new: after,
      name: \.name, identifier: \.renamingIdentifier)
    let sources = Dictionary(pairing.pairs.map { ($0.new.name, $0.old.name) }) { first, _ in first }
    return after.map { relationship in
      PropertyMapping(
        name: relationship.name,
        valueExpression: sources[relationship.name].map { instances(of: $0, for: relationship) })
    }
  }

  private func instances(of source: String, for relationship: Relationship) -> ModelExpression {
    let destination = relationship.destinationEntityName
    if let mapping = names[destination], !parents.contains(destination) {
      return GeneratedExpression.destinations(mappingName: mapping, keyPath: source)
    }
    return GeneratedExpression.destinations(relationshipName: source)
  }
}
