import ModelTools
import ObjectModel
import SafeText
import Terminal

/// Writes a mapping model as text and as JSON, for `lifeboat model show X.xcmappingmodel`.
enum MappingModelText {
  /// The JSON output of `lifeboat model show` for a mapping model.
  struct Report: Encodable {
    struct Entity: Encodable {
      let name: String
      let kind: String
      let source: String?
      let destination: String?
      let sourceHash: String?
      let destinationHash: String?
      let policy: String?
      let sourceExpression: String?
      let attributes: [Property]
      let relationships: [Property]
      let userInfo: [String: String]
      let others: [String: String]
    }

    struct Property: Encodable {
      let name: String
      let expression: String?
      let userInfo: [String: String]
    }

    let schema = "lifeboat.mappingModel"
    let version = 1
    let name: String
    let sourceModelPath: String?
    let destinationModelPath: String?
    let sourceModelHashes: [String: String]?
    let destinationModelHashes: [String: String]?
    let entityMappings: [Entity]
    let others: [String: String]
  }

  /// Writes the first mapping model at a path, as text or, with `--json`, as JSON. Throws `model.notAMapping` when no
  /// mapping model can be read there.
  static func show(_ path: String, display: DisplayOptions) throws {
    guard let item = try MappingModelSet(at: path).items.first, let mapping = item.mapping,
      let compiled = item.compiled
    else { throw Failure(65, "model.notAMapping", "\(path) holds no mapping model") }
    if display.json {
      try display.write(json: Report(name: item.name, mapping: mapping, compiled: compiled))
    } else {
      try display.write(text(item.fileName, mapping, compiled, display: display))
    }
  }

  private static func text(
    _ name: String, _ mapping: MappingModel, _ compiled: MappingModel, display: DisplayOptions
  ) -> String {
    var text = display.style.apply(VisibleText.visible(name), .bold)
    text += ", \(Quantity.count(mapping.entityMappings.count, "entity mapping"))\n"
    for (word, path, model) in [
      ("from", mapping.sourceModelPath, mapping.sourceModel),
      ("to", mapping.destinationModelPath, mapping.destinationModel),
    ] {
      guard path != nil || model != nil else { continue }
      text += "\(word) \(VisibleText.visible(path ?? "a model without a name"))"
      if let model {
        text += ", \(Quantity.count(model.entities.count, "entity", "entities")), embedded"
      }
      text += "\n"
    }
    for entity in compiled.entityMappings {
      text += "\n" + display.style.apply(VisibleText.visible(entity.name), .bold)
      text += ": " + VisibleText.visible(summary(of: entity)) + "\n"
      guard !entity.attributeMappings.isEmpty || !entity.relationshipMappings.isEmpty else {
        continue
      }
      var table = TextTable([
        .init("Property", isFlexible: true), .init("Value", isFlexible: true),
      ])
      for property in entity.attributeMappings {
        table.add([property.name, value(of: property, none: "its default")])
      }
      for property in entity.relationshipMappings {
        table.add([property.name, value(of: property, none: "nothing")])
      }
      text += table.text(width: display.width, style: display.style)
    }
    return text
  }

  /// What an entity mapping does, in words, for example `Car → Car, custom, by the app's class CarPolicy`.
  static func summary(of entity: EntityMapping) -> String {
    var parts: [String] = []
    switch (entity.sourceEntityName, entity.destinationEntityName) {
    case (let source?, let destination?): parts.append("\(source) → \(destination)")
    case (let source?, nil): parts.append("\(source) is removed")
    case (nil, let destination?): parts.append("\(destination) is new")
    case (nil, nil): parts.append("no entity")
    }
    parts.append(entity.kind.name.lowercased())
    if let policy = entity.migrationPolicyClassName { parts.append("by the app's class \(policy)") }
    return parts.joined(separator: ", ")
  }

  private static func value(of property: PropertyMapping, none: String) -> String {
    guard let expression = property.valueExpression else { return none }
    return words(for: expression)
  }

  /// Describes an expression. Two calls of the migration manager occur in most mapping models; they are described in
  /// words. Any other expression is written in Apple's predicate format.
  static func words(for expression: ModelExpression) -> String {
    guard case .function(.variable("manager")?, let selector, let arguments) = expression,
      arguments.count == 2, let name = arguments[0].stringConstant
    else { return expression.text }
    switch selector {
    case "destinationInstancesForEntityMappingNamed:sourceInstances:":
      return "what \(name) makes of \(arguments[1].text)"
    case "destinationInstancesForSourceRelationshipNamed:sourceInstances:":
      return "what becomes of \(arguments[1].text)"
    default: return expression.text
    }
  }
}

extension MappingModelText.Report {
  init(name: String, mapping: MappingModel, compiled: MappingModel) {
    func texts(_ values: [String: ArchivedValue]) -> [String: String] { values.mapValues(\.text) }
    func properties(_ mappings: [PropertyMapping]) -> [Property] {
      mappings.map {
        Property(
          name: $0.name, expression: $0.valueExpression?.text, userInfo: texts($0.userInfo))
      }
    }
    func hashes(_ model: ManagedObjectModel?) -> [String: String]? {
      model?.versionHashes().hashes.mapValues(\.hex)
    }
    self.init(
      name: name, sourceModelPath: mapping.sourceModelPath,
      destinationModelPath: mapping.destinationModelPath,
      sourceModelHashes: hashes(mapping.sourceModel),
      destinationModelHashes: hashes(mapping.destinationModel),
      entityMappings: compiled.entityMappings.map { entity in
        Entity(
          name: entity.name, kind: entity.kind.name.lowercased(), source: entity.sourceEntityName,
          destination: entity.destinationEntityName,
          sourceHash: entity.sourceEntityVersionHash?.hex,
          destinationHash: entity.destinationEntityVersionHash?.hex,
          policy: entity.migrationPolicyClassName, sourceExpression: entity.sourceExpression?.text,
          attributes: properties(entity.attributeMappings),
          relationships: properties(entity.relationshipMappings),
          userInfo: texts(entity.userInfo), others: texts(entity.others))
      }, others: texts(mapping.others))
  }
}
