import ObjectModel

extension ModelComparison {
  mutating func compareFetchedProperties(_ old: Entity, _ new: Entity) {
    let pairing = Pairing(
      old: old.fetchedProperties, new: new.fetchedProperties, name: \.name,
      identifier: \.renamingIdentifier)
    addUnpaired(pairing, .fetchedProperty, entity: new.name, name: \.name) { Self.text($0) }
    for (before, after) in pairing.pairs {
      if before.name != after.name {
        add(
          ModelChange(
            .fetchedProperty, .renamed, entity: new.name, name: after.name, old: before.name,
            new: after.name))
      }
      var traits = TraitComparison(.fetchedProperty, entity: new.name, name: after.name)
      traits.compare(.destination, before.destinationEntityName, after.destinationEntityName)
      traits.compare(.predicate, before.predicate?.text, after.predicate?.text)
      traits.compare(.request, Self.rest(before.request), Self.rest(after.request))
      traits.compare(.isOptional, before.isOptional, after.isOptional)
      traits.compare(
        .isIndexedBySpotlight, before.isIndexedBySpotlight, after.isIndexedBySpotlight)
      traits.compare(.versionHashModifier, before.versionHashModifier, after.versionHashModifier)
      traits.compare(.renamingIdentifier, before.renamingIdentifier, after.renamingIdentifier)
      add(traits)
      compareUserInfo(before.userInfo, after.userInfo, entity: new.name, owner: after.name)
    }
  }

  mutating func compareIndexes(_ old: Entity, _ new: Entity) {
    let pairing = Pairing(
      old: Self.indexes(of: old, besides: new, scope),
      new: Self.indexes(of: new, besides: old, scope), name: \.name, identifier: { _ in nil })
    addUnpaired(pairing, .fetchIndex, entity: new.name, name: \.name) { Self.text($0) }
    for (before, after) in pairing.pairs {
      var traits = TraitComparison(.fetchIndex, entity: new.name, name: after.name)
      traits.compare(.columns, Self.columns(before), Self.columns(after))
      traits.compare(
        .partialPredicate, before.partialPredicate?.text, after.partialPredicate?.text)
      add(traits)
    }
    let compound = Self.difference(
      old.compoundIndexes.map { $0.joined(separator: ", ") },
      new.compoundIndexes.map { $0.joined(separator: ", ") })
    for names in compound.removed {
      add(ModelChange(.compoundIndex, .removed, entity: new.name, name: names))
    }
    for names in compound.added {
      add(ModelChange(.compoundIndex, .added, entity: new.name, name: names))
    }
  }

  /// Returns the fetch indexes of `entity` that are compared with those of `other`, the same entity in the other model.
  ///
  /// A fetch index of `entity` is left out if it only stands for the flag `indexed="YES"` of a property in `other`:
  /// Xcode's compiler replaces this flag by a fetch index with the property's name. (The examined cached models of real
  /// stores have 168 such indexes.)
  private static func indexes(
    of entity: Entity, besides other: Entity, _ scope: ComparisonScope
  ) -> [FetchIndex] {
    guard !scope.hasSourceTraits, !entity.fetchIndexes.isEmpty else { return entity.fetchIndexes }
    let flagged = Set(
      other.attributes.filter(\.isIndexed).map(\.name)
        + other.relationships.filter(\.isIndexed).map(\.name)
    ).subtracting(other.fetchIndexes.map(\.name))
    return entity.fetchIndexes.filter { index in
      index.elements != [FetchIndex.Element(propertyName: index.name)]
        || index.partialPredicate != nil || !flagged.contains(index.name)
    }
  }

  /// Compares two user info dictionaries. `owner` is the name of the property to which the dictionaries belong, or
  /// empty for the user info of the entity itself.
  mutating func compareUserInfo(
    _ old: [String: ArchivedValue], _ new: [String: ArchivedValue], entity: String, owner: String
  ) {
    for key in ByteOrder.sorted(Set(old.keys).union(new.keys)) where old[key] != new[key] {
      let name = owner + "/" + key
      let remark =
        key == ManagedObjectModel.tombstoneKey
        ? "Core Data computes the version hashes with and without this entry and accepts both, so stores open as before."
        : nil
      addChange(
        .userInfoEntry, entity: entity, name: name, .value, old[key]?.text, new[key]?.text,
        remark: remark)
    }
  }

  /// Adds a change of a part that has a text in each model, its `trait`; nil in a model that lacks the part.
  private mutating func addChange(
    _ part: ModelChange.Part, entity: String? = nil, name: String, _ trait: ModelTrait,
    _ old: String?, _ new: String?, remark: String? = nil
  ) {
    let action: ModelChange.Action = old == nil ? .added : new == nil ? .removed : .changed
    add(
      ModelChange(
        part, action, entity: entity, name: name, trait: action == .changed ? trait : nil,
        old: old, new: new, remark: remark))
  }

  // MARK: The model itself

  mutating func compareModels() {
    let (old, new) = (entities.old, entities.new)
    for name in ByteOrder.sorted(
      Set(old.configurations.keys).union(new.configurations.keys))
    {
      let before = old.configurations[name]?.joined(separator: ", ")
      let after = new.configurations[name]?.joined(separator: ", ")
      if before != after { addChange(.configuration, name: name, .members, before, after) }
    }
    if scope.hasTemplates {
      compareTemplates(old.fetchRequestTemplates, new.fetchRequestTemplates)
    }
    var traits = TraitComparison(.model, entity: nil, name: nil)
    traits.compare(
      .versionIdentifiers, Self.list(old.versionIdentifiers), Self.list(new.versionIdentifiers))
    if scope.hasSourceTraits {
      traits.compare(
        .cloudKitConfigurations, Self.list(old.cloudKitConfigurations),
        Self.list(new.cloudKitConfigurations))
      traits.compare(.isUsedWithCloudKit, old.isUsedWithCloudKit, new.isUsedWithCloudKit)
      traits.compare(.isUsedWithSwiftData, old.isUsedWithSwiftData, new.isUsedWithSwiftData)
    }
    add(traits)
  }

  private mutating func compareTemplates(
    _ old: [FetchRequestTemplate], _ new: [FetchRequestTemplate]
  ) {
    let pairing = Pairing(old: old, new: new, name: \.name, identifier: { _ in nil })
    addUnpaired(pairing, .fetchRequest, entity: nil, name: \.name) { Self.text($0) }
    for (before, after) in pairing.pairs {
      var traits = TraitComparison(.fetchRequest, entity: nil, name: after.name)
      traits.compare(
        .destination, before.request.entityName, after.request.entityName)
      traits.compare(.predicate, before.predicate?.text, after.predicate?.text)
      traits.compare(.request, Self.rest(before.request), Self.rest(after.request))
      add(traits)
    }
  }

  /// Adds the removal or addition of each element without a partner. `text` describes the element.
  private mutating func addUnpaired<Element: Hashable>(
    _ pairing: Pairing<Element>, _ part: ModelChange.Part, entity: String?,
    name: (Element) -> String, text: (Element) -> String
  ) {
    for element in pairing.removed {
      add(ModelChange(part, .removed, entity: entity, name: name(element), old: text(element)))
    }
    for element in pairing.added {
      add(ModelChange(part, .added, entity: entity, name: name(element), new: text(element)))
    }
  }

  // MARK: Texts

  /// Returns the settings of a fetch request, without its entity and predicate, as text. Nil if all settings have their
  /// default values.
  private static func rest(_ request: FetchRequest) -> String? {
    var parts: [String] = []
    if !request.sortDescriptors.isEmpty {
      let keys = request.sortDescriptors.map { $0.key + ($0.isAscending ? "" : " descending") }
      parts.append("sorted by " + keys.joined(separator: ", "))
    }
    if request.fetchLimit != 0 { parts.append("limit \(request.fetchLimit)") }
    if request.fetchOffset != 0 { parts.append("offset \(request.fetchOffset)") }
    if request.batchSize != 0 { parts.append("batches of \(request.batchSize)") }
    if request.resultType != .objects { parts.append("result type \(request.resultType.rawValue)") }
    if request.options != .standard { parts.append("options \(request.options.rawValue)") }
    if let flags = request.archivedFlags { parts.append("archived options \(flags)") }
    if !request.propertiesToFetch.isEmpty {
      parts.append("only " + request.propertiesToFetch.joined(separator: ", "))
    }
    if !request.propertiesToGroupBy.isEmpty {
      parts.append("grouped by " + request.propertiesToGroupBy.joined(separator: ", "))
    }
    if let having = request.havingPredicate { parts.append("having \(having.text)") }
    if !request.prefetchedKeyPaths.isEmpty {
      parts.append("with " + request.prefetchedKeyPaths.joined(separator: ", "))
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private static func list(_ parts: [String]) -> String? {
    let parts = parts.filter { !$0.isEmpty }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  private static func columns(_ index: FetchIndex) -> String {
    index.elements.map { element in
      element.text + (element.isAscending ? "" : " descending")
        + (element.kind == .rTree ? " R-tree" : "")
    }.joined(separator: ", ")
  }

  private static func text(_ index: FetchIndex) -> String {
    "on \(columns(index))" + (index.partialPredicate.map { " where \($0.text)" } ?? "")
  }

  private static func text(_ property: FetchedProperty) -> String {
    "fetches \(property.destinationEntityName ?? "no entity")"
      + (property.predicate.map { " where \($0.text)" } ?? "")
  }

  private static func text(_ template: FetchRequestTemplate) -> String {
    "for \(template.entityName.isEmpty ? "no entity" : template.entityName)"
      + (template.predicate.map { " where \($0.text)" } ?? "")
  }
}
