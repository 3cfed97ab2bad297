import ObjectModel

/// Reduces a model to the parts that an archive can hold, and lists the losses.
struct ModelArchiveReduction {
  /// The model without the parts that the archive cannot hold. Reading the archive gives exactly this model.
  private(set) var model: ManagedObjectModel
  /// The parts of the model that the archive does not hold, and the parts that it holds in a form that was seen in no
  /// real archive.
  private(set) var losses: [ModelLoss] = []

  private let form: ModelArchiveForm
  private var entityName: String?
  /// The number of attributes that lose their setting for scalar types in generated code, because only an
  /// `.xcdatamodel` can hold this setting.
  private var scalarCount = 0
  private var generatedCount = 0

  init(_ model: ManagedObjectModel, form: ModelArchiveForm) {
    self.model = model
    self.form = form
    let names = model.entityNames
    for name in names { reduce(entity: name) }
    entityName = nil
    reduceModel()
  }

  // MARK: The model

  private mutating func reduceModel() {
    if scalarCount > 0 {
      lose(
        "A compiled model does not say which attributes are scalar in generated code; "
          + "attributes with this setting: \(scalarCount).")
    }
    if generatedCount > 0 {
      lose(
        "A compiled model does not say how Xcode generates classes; entities with this setting: "
          + "\(generatedCount).")
    }
    if model.isUsedWithCloudKit || !model.cloudKitConfigurations.isEmpty {
      lose("A compiled model does not say that it is used with CloudKit.")
      model.isUsedWithCloudKit = false
      model.cloudKitConfigurations = []
    }
    if model.isUsedWithSwiftData {
      lose("A compiled model does not say that it is used with SwiftData.")
      model.isUsedWithSwiftData = false
    }
    for name in ByteOrder.sorted(model.configurations.keys) {
      let members = model.configurations[name] ?? []
      for member in members where model.entities[member] == nil {
        lose("Configuration \(name) names the entity \(member), which is not in the model.")
      }
      model.configurations[name] = members.filter { model.entities[$0] != nil }
    }
    let templates = model.fetchRequestTemplates
    model.fetchRequestTemplates = templates.compactMap { template in
      guard form == .compiled else {
        lose(
          "The template is left out: a store's cached model holds no fetch request templates.",
          template.name)
        return nil
      }
      return reduced(template)
    }
    if !model.fetchRequestTemplates.isEmpty {
      lose(
        "Fetch request templates are written in a form that no compiled model seen so far confirms; "
          + "check them in Xcode."
      )
    }
  }

  private mutating func reduced(_ template: FetchRequestTemplate) -> FetchRequestTemplate? {
    var copy = template
    guard reduce(&copy.request, of: template.name) else {
      lose(
        "The template is left out: its predicate cannot be written, and without it the template "
          + "would fetch more objects.", copy.name)
      return nil
    }
    if let entity = copy.request.entityName, model.entities[entity] == nil {
      lose("The template is left out: its entity \(entity) is not in the model.", copy.name)
      return nil
    }
    return copy
  }

  // MARK: Entities

  private mutating func reduce(entity name: String) {
    guard var entity = model.entities[name] else { return }
    entityName = name
    if let parent = entity.superentityName, model.entities[parent] == nil {
      lose(
        "The parent \(parent) is not in the model, so the entity is written without a parent; the "
          + "hash of the entity changes.")
      entity.superentityName = nil
    }
    if entity.codeGenerationType != nil {
      generatedCount += 1
      entity.codeGenerationType = nil
    }
    if entity.spotlightDisplayNameExpression != nil {
      lose(
        "The expression for the Spotlight display name is left out: it is not known how an archive "
          + "holds it.")
      entity.spotlightDisplayNameExpression = nil
    }
    reduce(userInfo: &entity.userInfo, nil)
    dropShadowed(&entity)
    for index in entity.attributes.indices { reduce(&entity.attributes[index], depth: 0) }
    for index in entity.relationships.indices { reduce(&entity.relationships[index]) }
    entity.fetchedProperties = entity.fetchedProperties.compactMap { reduced($0) }
    entity.fetchIndexes = entity.fetchIndexes.filter { isKept($0) }
    let columns = Set(entity.fetchIndexes.map { $0.elements.map(\.propertyName) })
    entity.compoundIndexes = entity.compoundIndexes.filter { list in
      guard columns.contains(list) else { return true }
      lose("The compound index on \(list.joined(separator: ", ")) repeats a fetch index.")
      return false
    }
    model.entities[name] = entity
  }

  /// Removes each property whose name is also the name of an ancestor's property. A reader would take the property for
  /// a copy of the ancestor's.
  private mutating func dropShadowed(_ entity: inout Entity) {
    guard entity.superentityName != nil else { return }
    var inherited: Set<String> = []
    for ancestor in model.ancestors(of: entity.name) {
      inherited.formUnion(ancestor.propertyNames)
    }
    guard !inherited.isEmpty, entity.propertyNames.contains(where: inherited.contains) else {
      return
    }
    for name in entity.propertyNames where inherited.contains(name) {
      lose(
        "The property has the name of an inherited property; only the inherited one is written.",
        name)
    }
    entity.attributes.removeAll { inherited.contains($0.name) }
    entity.relationships.removeAll { inherited.contains($0.name) }
    entity.fetchedProperties.removeAll { inherited.contains($0.name) }
  }

  private mutating func isKept(_ index: FetchIndex) -> Bool {
    if index.elements.contains(where: { $0.expression != nil }) {
      lose(
        "The index is left out: it is not known how an archive holds an index on an expression.",
        index.name)
      return false
    }
    guard let predicate = index.partialPredicate else { return true }
    guard note(predicate, index.name) else {
      lose(
        "The index is left out: its predicate cannot be written, and without it the index would "
          + "cover all rows.", index.name)
      return false
    }
    return true
  }

  // MARK: Properties

  private mutating func reduce(_ attribute: inout Attribute, depth: Int) {
    let name = attribute.name
    if attribute.usesScalarValueType != nil {
      scalarCount += 1
      attribute.usesScalarValueType = nil
    }
    reduce(truthFile: &attribute.isStoredInTruthFile, name)
    if let composite = attribute.compositeName {
      lose("A compiled model does not keep the composite's name, \(composite).", name)
      attribute.compositeName = nil
    }
    if case .opaque(let className)? = attribute.defaultValue {
      lose(
        "The default value, an object of class \(className), could not be read; it is left out.",
        name)
      attribute.defaultValue = nil
    }
    reduce(userInfo: &attribute.userInfo, name)
    if case .object(let object)? = attribute.defaultValue,
      ArchivedValue.object(object).hasOpaqueParts
    {
      lose("Some parts of the default value could not be read; they are left out.", name)
      if case .object(let reduced) = ArchivedValue.object(object).withoutOpaqueParts {
        attribute.defaultValue = .object(reduced)
      }
    }
    attribute.validations = attribute.validations.filter { rule in
      if note(rule.predicate, name) { return true }
      lose("The validation rule is left out, because its predicate cannot be written.", name)
      return false
    }
    for index in attribute.validations.indices
    where attribute.validations[index].warning.hasOpaqueParts {
      lose("Some parts of a validation warning could not be read; they are left out.", name)
      let warning = attribute.validations[index].warning
      attribute.validations[index].warning = warning.withoutOpaqueParts
    }
    if let derivation = attribute.derivation { reduce(derivation, of: &attribute) }
    guard !attribute.elements.isEmpty else { return }
    guard attribute.type == .composite, depth < ModelArchiveWriter.maximumCompositeDepth else {
      lose(
        "The elements are left out: they are nested too deeply, or the attribute is not a composite.",
        name)
      attribute.elements = []
      return
    }
    for index in attribute.elements.indices {
      reduce(&attribute.elements[index], depth: depth + 1)
    }
  }

  private mutating func reduce(_ derivation: Derivation, of attribute: inout Attribute) {
    let standing = PredicateStanding(derivation.expression)
    if !standing.isWritable {
      lose(
        "The derivation `\(derivation.expressionText)` was not understood; it is written as if it "
          + "were a key path, which keeps the hash.", attribute.name)
      attribute.derivation?.expression = .path(derivation.expressionText)
    } else {
      note(standing, attribute.name)
    }
    if let filter = derivation.filterPredicate, !note(filter, attribute.name) {
      attribute.derivation?.filterPredicate = nil
      lose("The filter of the derivation is left out, which changes the hash.", attribute.name)
    }
  }

  private mutating func reduce(_ relationship: inout Relationship) {
    reduce(truthFile: &relationship.isStoredInTruthFile, relationship.name)
    reduce(userInfo: &relationship.userInfo, relationship.name)
    let inverseEntity = archivedInverseEntity(of: relationship)
    if inverseEntity != relationship.inverseEntityName {
      lose(
        "The inverse is looked up in \(inverseEntity ?? "no entity") instead of "
          + "\(relationship.inverseEntityName ?? "no entity").", relationship.name)
      relationship.inverseEntityName = inverseEntity
    }
  }

  /// Returns the name of the entity that the archive records as the owner of the relationship's inverse; nil if the
  /// relationship has no inverse. Among the entity that has the inverse and its ancestors, the owner is the topmost one
  /// that declares a property with the inverse's name.
  private func archivedInverseEntity(of relationship: Relationship) -> String? {
    guard let inverse = relationship.inverseName else { return nil }
    let holder = relationship.inverseEntityName ?? relationship.destinationEntityName
    let isThere =
      model.entities[holder]?.relationships.contains { $0.name == inverse } == true
    let start = isThere ? holder : relationship.destinationEntityName
    let lineage = [start] + model.ancestors(of: start).map(\.name)
    return lineage.last { model.entities[$0]?.propertyNames.contains(inverse) == true } ?? start
  }

  private mutating func reduced(_ property: FetchedProperty) -> FetchedProperty? {
    var copy = property
    if let name = copy.requestName {
      lose(
        "The fetch request \(name) loses its name: a compiled model does not keep it.", copy.name)
      copy.requestName = nil
    }
    reduce(userInfo: &copy.userInfo, copy.name)
    guard reduce(&copy.request, of: copy.name) else {
      lose(
        "The fetched property is left out: its predicate cannot be written, and without it the "
          + "property would fetch more objects.",
        copy.name)
      return nil
    }
    return copy
  }

  /// Reduces a fetch request to what an archive can hold. Returns false if one of its predicates cannot be written.
  private mutating func reduce(_ request: inout FetchRequest, of name: String) -> Bool {
    if let predicate = request.predicate, !note(predicate, name) { return false }
    if let predicate = request.havingPredicate, !note(predicate, name) { return false }
    if request.options != .standard {
      lose(
        "It is not known how a compiled model holds fetch request options; the default options "
          + "are written.",
        name)
      request.options = .standard
    }
    return true
  }

  // MARK: Values

  private mutating func reduce(truthFile isStored: inout Bool, _ name: String) {
    guard isStored else { return }
    lose(
      "The setting that keeps values in record files for Spotlight is left out: it is not known "
        + "how an archive holds it.", name)
    isStored = false
  }

  private mutating func reduce(userInfo: inout [String: ArchivedValue], _ name: String?) {
    for key in ByteOrder.sorted(userInfo.keys) {
      guard let value = userInfo[key], value.hasOpaqueParts else { continue }
      lose("Some parts of the user info \(key) could not be read; they are left out.", name)
      userInfo[key] = value.withoutOpaqueParts
    }
  }

  /// Whether a predicate can be written to an archive. If it cannot, the loss is recorded.
  private mutating func note(_ predicate: ModelPredicate, _ name: String) -> Bool {
    let standing = PredicateStanding(predicate)
    guard standing.isWritable else {
      lose("The predicate `\(predicate.text)` was not understood and cannot be written.", name)
      return false
    }
    note(standing, name)
    return true
  }

  private mutating func note(_ standing: PredicateStanding, _ name: String) {
    guard !standing.unconfirmed.isEmpty else { return }
    let parts = ByteOrder.sorted(standing.unconfirmed).joined(separator: ", ")
    lose(
      "\(parts): written in a form that no archive seen so far confirms; check the result in "
        + "Xcode.", name)
  }

  private mutating func lose(_ sentence: String, _ propertyName: String? = nil) {
    losses.append(
      ModelLoss(entityName: entityName, propertyName: propertyName, sentence: sentence))
  }
}

extension ArchivedValue {
  var hasOpaqueParts: Bool {
    switch self {
    case .opaque: true
    case .array(let values), .set(let values): values.contains(where: \.hasOpaqueParts)
    case .dictionary(let entries):
      entries.contains { $0.key.hasOpaqueParts || $0.value.hasOpaqueParts }
    case .object(let object): object.fields.values.contains(where: \.hasOpaqueParts)
    default: false
    }
  }

  /// The value with null in place of each part that was not decoded.
  var withoutOpaqueParts: ArchivedValue {
    guard hasOpaqueParts else { return self }
    switch self {
    case .array(let values): return .array(values.map(\.withoutOpaqueParts))
    case .set(let values): return .set(values.map(\.withoutOpaqueParts))
    case .dictionary(let entries):
      return .dictionary(
        entries.map {
          Entry(key: $0.key.withoutOpaqueParts, value: $0.value.withoutOpaqueParts)
        })
    case .object(let object):
      return .object(
        ArchivedObject(
          classNames: object.classNames, fields: object.fields.mapValues(\.withoutOpaqueParts)))
    default: return .null
    }
  }
}
