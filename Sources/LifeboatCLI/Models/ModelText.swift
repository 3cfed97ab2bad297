import ModelTools
import ObjectModel
import SafeText
import StoreReport
import Terminal

/// Describes a model as text: first facts about the model, then each entity with its rules and its properties. Each
/// property takes a line, which reads like a sentence.
struct ModelText {
  let version: ModelCollection.Version
  let model: ManagedObjectModel
  /// The names of the entities that the text describes, in this order.
  let names: [String]
  let input: ModelInput
  let display: DisplayOptions

  var text: String {
    var text = heading
    for name in names {
      if let entity = model.entities[name] { text += "\n" + self.text(entity) }
    }
    return text
  }

  // MARK: The page

  var diagram: ModelDiagram { ModelDiagram(schemaOf: model, about: names) }

  var page: ModelPage {
    let problems = problems
    var facts = modelFacts
    facts.insert((title.name, title.what), at: 0)
    if problems.isEmpty { facts.append(("Problems", "none found")) }
    if version.optimised != nil { facts.append(("Optimised", Self.optimised)) }
    return ModelPage(
      name: title.name, facts: facts, problems: problems.map(\.sentence),
      entities: names.compactMap { model.entities[$0] }.map { entity in
        ModelPage.Entity(
          entity.name, parent: entity.superentityName, isAbstract: entity.isAbstract,
          facts: Self.facts(of: entity), properties: Self.properties(of: entity))
      }, diagram: diagram)
  }

  // MARK: The model

  private var heading: String {
    var block = KeyValueBlock()
    block.add(title.name, title.what)
    for fact in modelFacts { block.add(fact.name, fact.value) }
    let problems = problems
    for problem in problems { block.add("Problem", problem.sentence, tone: .red) }
    if problems.isEmpty { block.add("Problems", "none found") }
    if version.optimised != nil { block.add("Optimised", Self.optimised) }
    return block.text(width: display.width, style: display.style)
  }

  var title: (name: String, what: String) {
    if let store = input.store { return (store.name, "the model that this store carries") }
    guard input.versions.count > 1 else { return (version.name, "managed object model") }
    let others = Quantity.count(input.versions.count, "version", "versions")
    return (
      version.name,
      "managed object model"
        + (version.isMarkedCurrent ? ", the current one of \(others)" : ", one of \(others)")
    )
  }

  var problems: [ModelProblem] { version.unreadValues + model.validate() }

  static let optimised =
    "the folder also holds an .omo of this version; of the .omo, only the hashes are read"

  var modelFacts: [(name: String, value: String)] {
    let entities = model.entities.values
    var facts = [
      (
        name: "Holds",
        value: [
          Quantity.count(entities.count, "entity", "entities"),
          Quantity.count(
            entities.reduce(0) { $0 + $1.attributes.count }, "attribute", "attributes"),
          Quantity.count(
            entities.reduce(0) { $0 + $1.relationships.count }, "relationship", "relationships"),
        ].joined(separator: ", ")
      )
    ]
    func add(_ name: String, _ value: String) { facts.append((name, value)) }
    let identifiers = model.versionIdentifiers.filter { !$0.isEmpty }
    if !identifiers.isEmpty { add("Identifier", identifiers.joined(separator: ", ")) }
    if model.isUsedWithSwiftData { add("Used with", "SwiftData") }
    if model.isUsedWithCloudKit { add("Used with", "CloudKit") }
    for name in model.configurations.keys.sorted() {
      let members = (model.configurations[name] ?? []).joined(separator: ", ")
      let cloud = model.cloudKitConfigurations.contains(name) ? " (with CloudKit)" : ""
      add("Configuration", "\(name)\(cloud): \(members.isEmpty ? "no entities" : members)")
    }
    for template in model.fetchRequestTemplates {
      add("Fetch request", "\(template.name): \(Self.text(template.request))")
    }
    return facts
  }

  static func text(_ request: FetchRequest) -> String {
    var text = request.entityName ?? "no entity"
    if let predicate = request.predicate { text += " where \(predicate.text)" }
    for (index, sort) in request.sortDescriptors.enumerated() {
      text += (index == 0 ? ", ordered by " : ", then ") + sort.key
      if !sort.isAscending { text += " descending" }
    }
    if request.fetchLimit > 0 { text += ", at most \(Quantity.count(request.fetchLimit))" }
    if request.fetchOffset > 0 {
      text += ", without the first \(Quantity.count(request.fetchOffset))"
    }
    if request.batchSize > 0 { text += ", \(Quantity.count(request.batchSize)) at a time" }
    switch request.resultType {
    case .objects: break
    case .objectIDs: text += ", as object IDs"
    case .dictionaries: text += ", as dictionaries"
    case .count: text += ", counted only"
    default: text += ", as result type \(request.resultType.rawValue)"
    }
    if !request.propertiesToFetch.isEmpty {
      text += ", only \(request.propertiesToFetch.joined(separator: ", "))"
    }
    if !request.propertiesToGroupBy.isEmpty {
      text += ", grouped by \(request.propertiesToGroupBy.joined(separator: ", "))"
    }
    if let having = request.havingPredicate { text += " having \(having.text)" }
    if !request.prefetchedKeyPaths.isEmpty {
      text += ", with \(request.prefetchedKeyPaths.joined(separator: ", "))"
    }
    let standard = FetchRequest.Options.standard
    if !request.options.contains(.includesSubentities) { text += ", without subentities" }
    if request.options.contains(.returnsDistinctResults) { text += ", each result once" }
    let rest: FetchRequest.Options = [
      .includesPropertyValues, .returnsObjectsAsFaults, .includesPendingChanges,
    ]
    if request.options.intersection(rest) != standard.intersection(rest)
      || request.archivedFlags != nil
    {
      text += ", with non-default options"
    }
    return text
  }

  // MARK: Entities

  private func text(_ entity: Entity) -> String {
    var title = entity.name
    if let parent = entity.superentityName { title += ", a kind of \(parent)" }
    if entity.isAbstract { title += ", abstract" }
    var text = display.style.apply(VisibleText.visible(title), .bold) + "\n"

    var facts = KeyValueBlock()
    for fact in Self.facts(of: entity) { facts.add(fact.name, fact.value) }
    var properties = KeyValueBlock()
    for property in Self.properties(of: entity) { properties.add(property.name, property.sentence) }
    let width = display.width - 2
    var lines = facts.lines(width: width, style: display.style)
    let propertyLines = properties.lines(width: width, style: display.style)
    if !lines.isEmpty, !propertyLines.isEmpty { lines.append("") }
    lines += propertyLines
    if propertyLines.isEmpty {
      lines.append(
        entity.superentityName == nil ? "no properties" : "no properties except inherited ones")
    }
    for line in lines { text += line.isEmpty ? "\n" : "  \(line)\n" }
    return text
  }

  static func facts(of entity: Entity) -> [(name: String, value: String)] {
    var facts: [(name: String, value: String)] = []
    func add(_ name: String, _ value: String) { facts.append((name, value)) }
    var className = entity.className
    if let type = entity.codeGenerationType {
      className = (className ?? "NSManagedObject") + " (generated: \(type))"
    }
    if let className { add("Class", className) }
    if let name = entity.renamingIdentifier { add("Was called", name) }
    if let modifier = entity.versionHashModifier { add("Hash modifier", modifier) }
    for constraint in entity.uniquenessConstraints {
      add("Unique", constraint.joined(separator: " with "))
    }
    for index in entity.fetchIndexes {
      var parts = index.elements.map { element in
        element.text + (element.isAscending ? "" : " descending")
          + (element.kind == .rTree ? " in an R-tree" : "")
      }.joined(separator: ", ")
      if let predicate = index.partialPredicate { parts += ", only where \(predicate.text)" }
      add("Index", "\(index.name): \(parts)")
    }
    for index in entity.compoundIndexes { add("Index", index.joined(separator: ", ")) }
    if let expression = entity.spotlightDisplayNameExpression {
      add("Spotlight", "shows \(expression.text)")
    }
    for key in entity.userInfo.keys.sorted() {
      add("User info", "\(key): \(entity.userInfo[key]?.text ?? "")")
    }
    return facts
  }

  /// The properties that an entity itself declares, without inherited properties. Each property is described in a
  /// sentence.
  static func properties(of entity: Entity) -> [ModelPage.Property] {
    var properties: [ModelPage.Property] = []
    for attribute in entity.attributes {
      properties.append((attribute.name, "attribute", sentence(attribute)))
      add(attribute.elements, of: attribute.name, depth: 1, to: &properties)
    }
    for relationship in entity.relationships {
      properties.append((relationship.name, "relationship", sentence(relationship)))
    }
    for property in entity.fetchedProperties {
      var parts = ["fetches " + text(property.request)]
      if property.isOptional { parts.append("optional") }
      parts += common(property.renamingIdentifier, property.versionHashModifier, property.userInfo)
      properties.append((property.name, "fetched", parts.joined(separator: ", ")))
    }
    return properties
  }

  /// Adds the elements of a composite attribute, then the elements of each element, and so on, to a depth of 7. Each
  /// element is named by its path, for example `address.city`.
  private static func add(
    _ elements: [Attribute], of name: String, depth: Int, to properties: inout [ModelPage.Property]
  ) {
    guard depth < 8 else { return }
    for element in elements {
      let path = name + "." + element.name
      properties.append((path, "element", sentence(element)))
      add(element.elements, of: path, depth: depth + 1, to: &properties)
    }
  }

  private static func sentence(_ relationship: Relationship) -> String {
    let destination = relationship.destinationEntityName
    var parts = [
      (relationship.isToMany ? "many " : "one ")
        + (destination.isEmpty ? "without a destination" : destination)
    ]
    if relationship.isOrdered { parts.append("ordered") }
    if relationship.isOptional { parts.append("optional") }
    if relationship.isTransient { parts.append("transient") }
    let least = relationship.minCount > (relationship.isOptional ? 0 : 1)
    if least { parts.append("at least \(Quantity.count(relationship.minCount))") }
    if relationship.maxCount > 1 {
      parts.append("at most \(Quantity.count(relationship.maxCount))")
    }
    parts.append(relationship.inverseName.map { "inverse \($0)" } ?? "no inverse")
    parts.append("on deletion \(relationship.deleteRule.name)")
    if relationship.isIndexedBySpotlight { parts.append("in Spotlight") }
    if relationship.isStoredInTruthFile { parts.append("in the truth file") }
    parts += common(
      relationship.renamingIdentifier, relationship.versionHashModifier, relationship.userInfo)
    return parts.joined(separator: ", ")
  }

  /// Returns the former name, the hash modifier and the user info of a property as text.
  private static func common(
    _ renaming: String?, _ modifier: String?, _ info: [String: ArchivedValue]
  ) -> [String] {
    var parts: [String] = []
    if let renaming { parts.append("was called \(renaming)") }
    if let modifier { parts.append("hash modifier \(modifier)") }
    for key in info.keys.sorted() { parts.append("\(key) = \(info[key]?.text ?? "")") }
    return parts
  }

  // MARK: Attributes

  private static func sentence(_ attribute: Attribute) -> String {
    var parts = [attribute.type == .undefined ? "no type" : attribute.type.name]
    if attribute.type == .composite, let name = attribute.compositeName { parts[0] += " \(name)" }
    if attribute.isOptional { parts.append("optional") }
    if attribute.isTransient { parts.append("transient (never stored)") }
    if let derivation = attribute.derivation {
      var text = "derived: \(derivation.expressionText)"
      if let filter = derivation.filterText { text += " where \(filter)" }
      parts.append(text)
    } else if attribute.isReadOnly {
      parts.append("read-only")
    }
    if let value = attribute.defaultValue { parts.append("default \(text(value))") }
    parts += attribute.validations.map { text($0) }
    if let name = attribute.valueTransformerName { parts.append("transformed by \(name)") }
    if let name = attribute.valueClassName { parts.append("of class \(name)") }
    if attribute.allowsExternalBinaryDataStorage { parts.append("may be in an external file") }
    if attribute.preservesValueInHistoryOnDeletion { parts.append("kept in history on deletion") }
    if attribute.isIndexed { parts.append("indexed") }
    if attribute.isIndexedBySpotlight { parts.append("in Spotlight") }
    if attribute.isStoredInTruthFile { parts.append("in the truth file") }
    parts += common(
      attribute.renamingIdentifier, attribute.versionHashModifier, attribute.userInfo)
    return parts.joined(separator: ", ")
  }

  private static func text(_ value: DefaultValue) -> String {
    if case .string(let text) = value { return "\"\(text)\"" }
    if case .date(let seconds) = value { return "\(seconds) s after 2001-01-01 00:00 UTC" }
    return value.text
  }

  private static func text(_ validation: AttributeValidation) -> String {
    switch validation.form {
    case .minimumNumber(let limit): "at least \(ModelExpression.constant(limit).text)"
    case .maximumNumber(let limit): "at most \(ModelExpression.constant(limit).text)"
    case .earliestDate(let date): "not earlier than \(date) s after 2001-01-01 00:00 UTC"
    case .latestDate(let date): "not later than \(date) s after 2001-01-01 00:00 UTC"
    case .minimumLength(let count): "at least \(Quantity.count(count, "character"))"
    case .maximumLength(let count): "at most \(Quantity.count(count, "character"))"
    case .pattern(let pattern): "must match \(pattern)"
    case nil: "must satisfy: \(validation.predicate.text)"
    }
  }
}
