extension ManagedObjectModel {
  /// The model as the XML source that Xcode opens: the file `contents` inside of an `.xcdatamodel`.
  ///
  /// Attributes stand in the order in which Xcode writes them, entities and properties in the order of
  /// their names, so that equal models give equal bytes. Reading back gives an equal model, apart from
  /// the losses.
  ///
  /// - Parameter settings: what the source is to say beyond the model; by default what Xcode says of a
  ///   new model.
  public func contentsXML(settings: SourceSettings = SourceSettings()) -> WrittenModel {
    var writer = ContentsWriter(model: self, settings: settings)
    return writer.written()
  }
}

/// Writes a `contents` file. Element and attribute names, their order and spelling are those found in
/// several hundred real files.
struct ContentsWriter {
  typealias Attributes = [(name: String, value: String?)]

  let model: ManagedObjectModel
  let settings: SourceSettings
  var output = XMLOutput()
  var losses: [ModelLoss] = []
  /// The composites that attributes refer to, in the order in which they are met.
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
        "The source holds one version identifier, not \(identifiers.count); the first is kept.")
    }
    var attributes: Attributes = [("type", "com.apple.IDECoreDataModeler.DataModel")]
    for name in SourceSettings.modelAttributes {
      attributes.append((name, settings.model[name]))
    }
    attributes.append(("userDefinedModelVersionIdentifier", identifiers.first))
    output.start("model", attributes)
    for name in model.entityNames {
      if let entity = model.entities[name] { write(entity) }
    }
    for template in model.fetchRequestTemplates { write(template) }
    for name in ByteOrder.sorted(model.configurations.keys) {
      output.start("configuration", [("name", name)])
      for member in model.configurations[name] ?? [] {
        output.element("memberEntity", [("name", member)])
      }
      output.end()
    }
    writeComposites()
    output.end()
    if output.droppedCount > 0 {
      lose(
        nil, nil,
        "XML cannot hold control characters; \(output.droppedCount) are left out of names or values.")
    }
    return WrittenModel(bytes: Array(output.text.utf8), losses: losses)
  }

  // MARK: Entities

  private mutating func write(_ entity: Entity) {
    let own = settings.entities[entity.name] ?? [:]
    output.start(
      "entity",
      [
        ("name", entity.name),
        ("representedClassName", entity.className ?? own["representedClassName"]),
        ("parentEntity", entity.superentityName), ("elementID", entity.renamingIdentifier),
        ("isAbstract", yes(entity.isAbstract)),
        ("versionHashModifier", entity.versionHashModifier),
        ("syncable", settings.entities.isEmpty ? "YES" : own["syncable"]),
        ("codeGenerationType", own["codeGenerationType"]),
      ])
    for attribute in entity.attributes { write(attribute, of: entity.name) }
    for relationship in entity.relationships { write(relationship, of: entity.name) }
    for property in entity.fetchedProperties { write(property, of: entity.name) }
    for index in entity.fetchIndexes { write(index) }
    writeLists(
      entity.compoundIndexes, "compoundIndexes", "compoundIndex", "index", of: entity.name)
    writeLists(
      entity.uniquenessConstraints, "uniquenessConstraints", "uniquenessConstraint", "constraint",
      of: entity.name)
    writeUserInfo(entity.userInfo)
    output.end()
  }

  private mutating func write(_ index: FetchIndex) {
    output.start(
      "fetchIndex",
      [("name", index.name), ("partialIndexPredicate", index.partialPredicate)])
    for element in index.elements {
      let isProperty = DerivationText.isKeyPath(element.propertyName)
      output.element(
        "fetchIndexElement",
        [
          (isProperty ? "property" : "expression", element.propertyName),
          ("type", element.kind == .rTree ? "RTree" : "Binary"),
          ("order", element.isAscending ? "ascending" : "descending"),
        ])
    }
    output.end()
  }

  private mutating func writeLists(
    _ lists: [[String]], _ outer: String, _ middle: String, _ inner: String, of entity: String
  ) {
    let filled = lists.filter { !$0.isEmpty }
    guard !filled.isEmpty else { return }
    output.start(outer)
    for list in filled {
      output.start(middle)
      for name in list { output.element(inner, [("value", name)]) }
      output.end()
    }
    output.end()
  }

  mutating func writeUserInfo(_ entries: [String: String]) {
    guard !entries.isEmpty else { return }
    output.start("userInfo")
    for key in ByteOrder.sorted(entries.keys) {
      output.element("entry", [("key", key), ("value", entries[key])])
    }
    output.end()
  }

  // MARK: The rest of the model

  private mutating func write(_ template: FetchRequestTemplate) {
    output.element(
      "fetchRequest",
      [
        ("name", template.name),
        ("entity", template.entityName.isEmpty ? nil : template.entityName),
        ("predicateString", template.predicate),
      ])
  }

  private mutating func writeComposites() {
    // Writing one may bring in those nested in it.
    while let (name, elements) = composites.next() {
      output.start("composite", [("name", name)])
      for element in elements { write(element, of: nil) }
      output.end()
    }
  }

  // MARK: Small parts

  mutating func lose(_ entity: String?, _ property: String?, _ sentence: String) {
    losses.append(ModelLoss(entityName: entity, propertyName: property, sentence: sentence))
  }

  /// `YES`, or nothing: absence means NO everywhere.
  func yes(_ value: Bool) -> String? { value ? "YES" : nil }
}

/// Names for the composites of a model: equal lists of elements are one composite.
struct CompositeNames {
  private var names: [[Attribute]: String] = [:]
  private var taken: Set<String> = []
  private var pending: [(name: String, elements: [Attribute])] = []

  /// The name of the composite with these elements; a new one is called like `suggestion`, with a number
  /// where that is taken.
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

  /// The next composite that is not written yet.
  mutating func next() -> (name: String, elements: [Attribute])? {
    pending.isEmpty ? nil : pending.removeFirst()
  }
}
