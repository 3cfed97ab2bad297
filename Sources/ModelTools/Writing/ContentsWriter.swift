package import ObjectModel

extension ManagedObjectModel {
  /// Writes the model as XML that Xcode opens: the file `contents` inside an `.xcdatamodel`.
  ///
  /// XML attributes are in Xcode's order; entities and properties are in the order of their names. Equal models
  /// therefore give equal bytes. Reading the bytes gives an equal model, apart from the losses.
  ///
  /// - Parameter settings: The settings that the file holds in addition to the model. By default, they are those that
  ///   Xcode writes for a new model.
  /// - Returns: The file's bytes, and the parts of the model that the file cannot hold.
  package func contentsXML(settings: SourceSettings = SourceSettings()) -> WrittenModel {
    var writer = ContentsWriter(model: self, settings: settings)
    return writer.written()
  }
}

/// Writes a `contents` file. The names, order and spelling of elements and attributes are those found in several
/// hundred real files.
struct ContentsWriter {
  typealias Attributes = XMLOutput.Attributes

  let model: ManagedObjectModel
  let settings: SourceSettings
  var output = XMLOutput()
  var losses: [ModelLoss] = []
  /// The composites that attributes refer to, in the order in which the attributes were written.
  var composites = CompositeNames()

  init(model: ManagedObjectModel, settings: SourceSettings) {
    self.model = model
    self.settings = settings
  }

  mutating func written() -> WrittenModel {
    let identifiers = model.versionIdentifiers
    if identifiers.count > 1 {
      lose(
        nil, nil,
        "An .xcdatamodel holds only the first of \(identifiers.count) version identifiers.")
    }
    var attributes = Attributes()
    attributes.add("type", "com.apple.IDECoreDataModeler.DataModel")
    for name in SourceSettings.modelAttributes { attributes.add(name, settings.model[name]) }
    attributes.add("usedWithCloudKit", model.isUsedWithCloudKit)
    attributes.add("usedWithSwiftData", model.isUsedWithSwiftData)
    attributes.add("userDefinedModelVersionIdentifier", identifiers.first)
    output.start("model", attributes)
    for name in model.entityNames {
      if let entity = model.entities[name] { write(entity) }
    }
    for template in model.fetchRequestTemplates {
      write(template.request, named: template.name, of: nil, template.name)
    }
    for name in ByteOrder.sorted(model.configurations.keys) {
      var attributes = Attributes()
      attributes.add("name", name)
      attributes.add("usedWithCloudKit", model.cloudKitConfigurations.contains(name))
      output.start("configuration", attributes)
      for member in model.configurations[name] ?? [] {
        output.element("memberEntity", "name", member)
      }
      output.end()
    }
    writeComposites()
    output.end()
    if output.droppedCount > 0 {
      lose(
        nil, nil,
        "XML cannot hold control characters; \(output.droppedCount) are left out of names or values."
      )
    }
    return (Array(output.text.utf8), losses)
  }

  // MARK: Entities

  private mutating func write(_ entity: Entity) {
    let synced = settings.newEntitiesAreSyncable ? ["syncable": "YES"] : [:]
    let own = settings.entities[entity.name] ?? synced
    var attributes = Attributes()
    attributes.add("name", entity.name)
    attributes.add("representedClassName", entity.className ?? own["representedClassName"])
    attributes.add("parentEntity", entity.superentityName)
    attributes.add("elementID", entity.renamingIdentifier)
    attributes.add("isAbstract", entity.isAbstract)
    attributes.add(
      "coreSpotlightDisplayNameExpression",
      text(entity.spotlightDisplayNameExpression, of: entity.name, nil))
    attributes.add("versionHashModifier", entity.versionHashModifier)
    attributes.add("syncable", own["syncable"])
    attributes.add("codeGenerationType", entity.codeGenerationType)
    output.start("entity", attributes)
    for attribute in entity.attributes { write(attribute, of: entity.name) }
    for relationship in entity.relationships { write(relationship, of: entity.name) }
    for property in entity.fetchedProperties { write(property, of: entity.name) }
    for index in entity.fetchIndexes { write(index, of: entity.name) }
    writeLists(entity.compoundIndexes, "compoundIndexes", "compoundIndex", "index")
    writeLists(
      entity.uniquenessConstraints, "uniquenessConstraints", "uniquenessConstraint", "constraint")
    writeUserInfo(entity.userInfo, of: entity.name, nil)
    output.end()
  }

  private mutating func write(_ index: FetchIndex, of entity: String) {
    var attributes = Attributes()
    attributes.add("name", index.name)
    attributes.add("partialIndexPredicate", text(index.partialPredicate, of: entity, index.name))
    output.start("fetchIndex", attributes)
    for element in index.elements {
      var attributes = Attributes()
      if let expression = element.expression {
        attributes.add("expression", text(expression, of: entity, index.name))
        if element.expressionType != .undefined {
          attributes.add("expressionType", element.expressionType.name)
        }
      } else {
        attributes.add("property", element.propertyName)
      }
      attributes.add("type", element.kind == .rTree ? "RTree" : "Binary")
      attributes.add("order", element.isAscending ? "ascending" : "descending")
      output.element("fetchIndexElement", attributes)
    }
    output.end()
  }

  private mutating func writeLists(
    _ lists: [[String]], _ outer: String, _ middle: String, _ inner: String
  ) {
    let filled = lists.filter { !$0.isEmpty }
    guard !filled.isEmpty else { return }
    output.start(outer)
    for list in filled {
      output.start(middle)
      for name in list { output.element(inner, "value", name) }
      output.end()
    }
    output.end()
  }

  mutating func writeUserInfo(
    _ entries: [String: ArchivedValue], of entity: String?, _ property: String?
  ) {
    guard !entries.isEmpty else { return }
    output.start("userInfo")
    for key in ByteOrder.sorted(entries.keys) {
      var attributes = Attributes()
      attributes.add("key", key)
      if let value = entries[key], value.stringValue == nil {
        lose(
          entity, property,
          "An .xcdatamodel can hold only text in user info, so \(key) is left out: \(value.text).")
        continue
      }
      attributes.add("value", entries[key]?.stringValue)
      output.element("entry", attributes)
    }
    output.end()
  }

  // MARK: The rest of the model

  private mutating func writeComposites() {
    // A composite that is written may refer to further composites, which are then added to the list.
    while let (name, elements) = composites.next() {
      var attributes = Attributes()
      attributes.add("name", name)
      output.start("composite", attributes)
      for element in elements { write(element, of: nil) }
      output.end()
    }
  }

  // MARK: Small parts

  mutating func lose(_ entity: String?, _ property: String?, _ sentence: String) {
    losses.append(ModelLoss(entityName: entity, propertyName: property, sentence: sentence))
  }

  /// Returns the text of an expression as a developer types it into an `.xcdatamodel`. Nil if `expression` is nil, or
  /// if the expression has no text form, which is recorded as a loss.
  mutating func text(
    _ expression: ModelExpression?, of entity: String?, _ property: String?
  ) -> String? {
    guard let expression else { return nil }
    if case .unparsed(let text) = expression { return text }
    guard expression.isWhole, ModelExpression(text: expression.text) == expression else {
      lose(entity, property, "The expression \(expression.text) has no text form; it is left out.")
      return nil
    }
    return expression.text
  }

  /// Returns the text of a predicate as a developer types it into an `.xcdatamodel`. Nil if `predicate` is nil, or if
  /// the predicate has no text form, which is recorded as a loss.
  mutating func text(_ predicate: ModelPredicate?, of entity: String?, _ property: String?)
    -> String?
  {
    guard let predicate else { return nil }
    if case .unparsed(let text) = predicate { return text }
    guard predicate.isWhole, ModelPredicate(text: predicate.text) == predicate else {
      lose(entity, property, "The predicate \(predicate.text) has no text form; it is left out.")
      return nil
    }
    return predicate.text
  }
}

/// Gives names to the composites of a model. Equal lists of elements are the same composite.
struct CompositeNames {
  private var names: [[Attribute]: String] = [:]
  private var taken: Set<String> = []
  private var pending: [(name: String, elements: [Attribute])] = []

  /// Returns the name of the composite with these elements. A new composite is named `suggestion`. If another composite
  /// has that name, a number is added.
  mutating func name(for elements: [Attribute], suggestion: String) -> String {
    if let known = names[elements] { return known }
    var name = suggestion
    var number = 2
    while !taken.insert(name).inserted {
      name = "\(suggestion)\(number)"
      number += 1
    }
    names[elements] = name
    pending.append((name, elements))
    return name
  }

  mutating func next() -> (name: String, elements: [Attribute])? {
    pending.isEmpty ? nil : pending.removeFirst()
  }
}
