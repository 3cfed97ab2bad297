import ArgumentParser
import ObjectModel
import Terminal

/// `lifeboat model show`
struct ModelShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "List a model's entities and their properties.",
    discussion: "Example: lifeboat model show Notes.sqlite")

  @Argument(help: "A model, or a store, which carries its own.")
  var path: String

  @Option(name: .customLong("model-version"), help: "Which version.")
  var modelVersion: String?

  @OptionGroup(title: "Display") var display: DisplayOptions

  /// The JSON form.
  struct Report: Encodable {
    struct Entity: Encodable {
      let name: String
      let className: String?
      let parent: String?
      let isAbstract: Bool
      let attributes: [Attribute]
      let relationships: [Relationship]
      let uniquenessConstraints: [[String]]
    }

    struct Attribute: Encodable {
      let name: String
      let type: String
      let isOptional: Bool
      let isTransient: Bool
      let isDerived: Bool
      let allowsExternalBinaryDataStorage: Bool
    }

    struct Relationship: Encodable {
      let name: String
      let destination: String
      let inverse: String?
      let isToMany: Bool
      let isOrdered: Bool
      let isOptional: Bool
      let deleteRule: String
    }

    let schema = "lifeboat.model"
    let version = 1
    let name: String
    let entities: [Entity]
  }

  func run() throws {
    let (version, model) = try ModelInput(path).model(named: modelVersion)
    let name = version.name
    let entities = model.entityNames.compactMap { model.entities[$0] }
    if display.json {
      try display.write(json: Report(name: name, entities: entities.map(Report.Entity.init)))
      return
    }
    var text = display.style.apply(DisplayText.visible(name), .bold)
    text += ", \(Quantity.count(entities.count)) entities\n"
    for entity in entities {
      var title = DisplayText.visible(entity.name)
      if let parent = entity.superentityName { title += " : \(DisplayText.visible(parent))" }
      if entity.isAbstract { title += " (abstract)" }
      text += "\n" + display.style.apply(title, .bold) + "\n"
      var table = TextTable([
        .init("Property", isFlexible: true), .init("Type", isFlexible: true), .init(""),
      ])
      for attribute in entity.attributes {
        table.add([attribute.name, attribute.type.name, traits(of: attribute)])
      }
      for relationship in entity.relationships {
        let arrow = relationship.isToMany ? "⇉ " : "→ "
        table.add([
          relationship.name, arrow + relationship.destinationEntityName, traits(of: relationship),
        ])
      }
      text += table.text(width: display.width, style: display.style)
    }
    try display.write(text)
  }

  private func traits(of attribute: Attribute) -> String {
    var traits: [String] = []
    if attribute.isOptional { traits.append("optional") }
    if attribute.isTransient { traits.append("transient") }
    if let derivation = attribute.derivation { traits.append("derived: \(derivation.expression)") }
    if attribute.allowsExternalBinaryDataStorage { traits.append("may be in a file of its own") }
    return traits.joined(separator: ", ")
  }

  private func traits(of relationship: Relationship) -> String {
    var traits: [String] = []
    if relationship.isOptional { traits.append("optional") }
    if relationship.isOrdered { traits.append("ordered") }
    traits.append(relationship.inverseName.map { "inverse \($0)" } ?? "no inverse")
    return traits.joined(separator: ", ")
  }
}

extension ModelShow.Report.Entity {
  init(_ entity: Entity) {
    self.init(
      name: entity.name, className: entity.className, parent: entity.superentityName,
      isAbstract: entity.isAbstract,
      attributes: entity.attributes.map {
        .init(
          name: $0.name, type: $0.type.name, isOptional: $0.isOptional, isTransient: $0.isTransient,
          isDerived: $0.isDerived,
          allowsExternalBinaryDataStorage: $0.allowsExternalBinaryDataStorage)
      },
      relationships: entity.relationships.map {
        .init(
          name: $0.name, destination: $0.destinationEntityName, inverse: $0.inverseName,
          isToMany: $0.isToMany, isOrdered: $0.isOrdered, isOptional: $0.isOptional,
          deleteRule: $0.deleteRule.name)
      },
      uniquenessConstraints: entity.uniquenessConstraints)
  }
}
