package import ObjectModel

extension ManagedObjectModel {
  /// Returns the problems of the model: what Core Data would refuse, and signs of damage. The problems of entities come
  /// first, in the order of the entity names; the problems of configurations follow. The list is empty for a sound
  /// model.
  package func validate() -> [ModelProblem] {
    var validation = ModelValidation(model: self)
    for name in entityNames {
      if let entity = entities[name] { validation.check(entity) }
    }
    validation.checkConfigurations()
    return validation.problems
  }
}

private struct ModelValidation {
  let model: ManagedObjectModel
  private(set) var problems: [ModelProblem] = []
  private var names: [String: Set<String>]

  init(model: ManagedObjectModel) {
    self.model = model
    names = model.entities.mapValues { Set($0.propertyNames) }
  }

  mutating func check(_ entity: Entity) {
    let lineage = model.ancestors(of: entity.name)
    checkParent(entity, lineage)
    var own: Set<String> = []
    for property in entity.propertyNames {
      let isInherited = lineage.contains { names[$0.name]?.contains(property) == true }
      if isInherited || !own.insert(property).inserted {
        add(
          .duplicateProperty, entity, property,
          "\(entity.name).\(property) is declared twice, or is both declared and inherited.")
      }
    }
    for attribute in entity.attributes where !attribute.isTransient {
      if attribute.type == .undefined {
        add(
          .missingType, entity, attribute.name,
          "\(entity.name).\(attribute.name) is stored but has no type.")
      }
    }
    for relationship in entity.relationships { check(relationship, of: entity) }
    checkNamedProperties(of: entity, lineage)
  }

  private mutating func checkParent(_ entity: Entity, _ lineage: [Entity]) {
    guard let beyond = (lineage.last ?? entity).superentityName else { return }
    if model.entities[beyond] == nil {
      guard lineage.isEmpty else { return }
      add(
        .missingParent, entity, nil,
        "\(entity.name) has the parent \(beyond), which is not in the model.")
    } else if lineage.count >= ManagedObjectModel.maximumInheritanceDepth {
      add(.deepInheritance, entity, nil, "\(entity.name) has too many ancestors.")
    } else {
      add(.cyclicInheritance, entity, nil, "The ancestors of \(entity.name) form a cycle.")
    }
  }

  private mutating func check(_ relationship: Relationship, of entity: Entity) {
    let place = "\(entity.name).\(relationship.name)"
    guard model.entities[relationship.destinationEntityName] != nil else {
      let destination = relationship.destinationEntityName
      add(
        .missingDestination, entity, relationship.name,
        destination.isEmpty
          ? "\(place) has no destination entity."
          : "\(place) has the destination \(destination), which is not in the model.")
      return
    }
    guard let inverse = relationship.inverseName else { return }
    let holder = relationship.inverseEntityName ?? relationship.destinationEntityName
    let lineage = [holder] + model.ancestors(of: holder).map(\.name)
    if !lineage.contains(where: { names[$0]?.contains(inverse) == true }) {
      add(
        .missingInverse, entity, relationship.name,
        "\(place) has the inverse \(holder).\(inverse), which is not in the model.")
    }
  }

  private mutating func checkNamedProperties(of entity: Entity, _ lineage: [Entity]) {
    let lists =
      entity.uniquenessConstraints.map { ("A uniqueness constraint", $0) }
      + entity.fetchIndexes.map { ("Index \($0.name)", $0.elements.map(\.propertyName)) }
    for (what, list) in lists {
      for property in list {
        // An index column may also be an expression, or `self` for the object itself.
        guard PredicateSyntax.isKeyPath(property), property != "self" else { continue }
        let first = PredicateSyntax.keys(of: property).first ?? property
        let isKnown =
          names[entity.name]?.contains(first) == true
          || lineage.contains { names[$0.name]?.contains(first) == true }
        if !isKnown {
          add(
            .missingProperty, entity, property,
            "\(what) of \(entity.name) names the property \(property), which is not in the model.")
        }
      }
    }
  }

  mutating func checkConfigurations() {
    for name in ByteOrder.sorted(model.configurations.keys) {
      for member in model.configurations[name] ?? [] where model.entities[member] == nil {
        problems.append(
          ModelProblem(
            kind: .missingMember, entityName: nil, propertyName: nil,
            sentence: "Configuration \(name) names the entity \(member), which is not in the model."
          ))
      }
    }
  }

  private mutating func add(
    _ kind: ModelProblem.Kind, _ entity: Entity, _ property: String?, _ sentence: String
  ) {
    problems.append(
      ModelProblem(
        kind: kind, entityName: entity.name, propertyName: property, sentence: sentence))
  }
}
