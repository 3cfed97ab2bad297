package import ModelTools
import Terminal

/// A page that shows a model: a picture of its entities, and a section for each entity, with the properties that the
/// entity declares itself.
package struct ModelPage {
  /// A property with a sentence about it. Its kind is `attribute`, `element` (of a composite attribute), `relationship`
  /// or `fetched`.
  package typealias Property = (name: String, kind: String, sentence: String)

  package struct Entity {
    package let name: String
    package let parent: String?
    package let isAbstract: Bool
    package let facts: [(name: String, value: String)]
    /// The properties that the entity declares itself, without inherited properties.
    package let properties: [Property]

    package init(
      _ name: String, parent: String?, isAbstract: Bool, facts: [(name: String, value: String)],
      properties: [Property]
    ) {
      self.name = name
      self.parent = parent
      self.isAbstract = isAbstract
      self.facts = facts
      self.properties = properties
    }
  }

  private let name: String
  private let facts: [(name: String, value: String)]
  private let problems: [String]
  private let entities: [Entity]
  private let diagram: ModelDiagram

  /// The maximum number of entities that have a section on the page.
  private static let maxEntities = 500
  /// The maximum number of properties on the page. The same maximum holds for the facts about entities.
  private static let maxProperties = 5_000
  /// The maximum length of each of these lists: the facts about the model, the problems of the model, and the facts
  /// about one entity.
  private static let maxFacts = 200

  package init(
    name: String, facts: [(name: String, value: String)], problems: [String], entities: [Entity],
    diagram: ModelDiagram
  ) {
    self.name = name
    self.facts = facts
    self.problems = problems
    self.entities = entities
    self.diagram = diagram
  }

  private var title: String { "Schema of \(name)" }

  package var svg: String {
    diagram.svgFile(title: title + ": entities, their properties and how they are linked")
  }

  package func html() throws -> String {
    var content = PageContent([
      "facts": facts.prefix(Self.maxFacts).map { PageFrame.pair($0) },
      "hasProblems": !problems.isEmpty,
      "problems": problems.prefix(Self.maxFacts).map { PageFrame.sentence($0) },
      "svg": diagram.svg, "isDrawn": !diagram.boxes.isEmpty,
    ])
    content.values["moreFacts"] = Self.rest(of: facts.count, "fact")
    content.values["moreProblems"] = Self.rest(of: problems.count, "problem")
    content.values["leftOut"] = diagram.leftOut
    var room = Self.maxProperties
    var roomForFacts = Self.maxProperties
    var listed: [[String: Any]] = []
    for (number, entity) in entities.prefix(Self.maxEntities).enumerated() {
      let shown = entity.properties.prefix(max(0, room))
      room -= shown.count
      let facts = entity.facts.prefix(min(Self.maxFacts, roomForFacts))
      roomForFacts -= facts.count
      listed.append(Self.context(entity, shown, facts, number))
    }
    content.values["entities"] = listed
    content.values["hasEntities"] = !listed.isEmpty
    content.values["note"] =
      entities.isEmpty
      ? "The model has no entities."
      : Quantity.count(entities.count, "entity", "entities") + "."
        + (entities.count > listed.count ? " The first \(listed.count) are shown." : "")
    content.addSection("facts", "The model")
    if !diagram.boxes.isEmpty { content.addSection("picture", "Picture") }
    content.addSection("entities", "Entities")
    return try PageFrame.page(title, by: ".", Self.template, content)
  }

  /// Returns a sentence that says how many of `count` facts or problems of the model are left out; nil when all are
  /// listed.
  private static func rest(of count: Int, _ noun: String) -> String? {
    count > maxFacts ? "And \(Quantity.count(count - maxFacts, "more " + noun))." : nil
  }

  private static func context(
    _ entity: Entity, _ shown: ArraySlice<Property>,
    _ facts: ArraySlice<(name: String, value: String)>, _ number: Int
  ) -> [String: Any] {
    func count(_ kind: String) -> String {
      Quantity.count(entity.properties.count { $0.kind == kind })
    }
    var notes: [String] = []
    if let parent = entity.parent { notes.append("subentity of `\(parent)`") }
    if entity.isAbstract { notes.append("abstract") }
    var context: [String: Any] = [
      "id": "entity\(number)", "name": PageFrame.text(entity.name),
      "parent": PageFrame.text(entity.parent ?? ""),
      "counts": [count("attribute"), count("relationship")],
      "facts": facts.map { PageFrame.pair($0) }
        + (facts.count < entity.facts.count
          ? [PageFrame.pair(("And", "\(Quantity.count(entity.facts.count - facts.count)) more"))]
          : []),
      "hasFacts": !entity.facts.isEmpty, "hasProperties": !shown.isEmpty,
      "properties": shown.map { property -> [String: Any] in
        [
          "name": PageFrame.text(property.name), "kind": property.kind,
          "what": PageFrame.text(property.sentence, limit: 600),
        ]
      },
    ]
    if entity.properties.isEmpty {
      context["remark"] =
        entity.parent == nil ? "No properties." : "No properties except the inherited ones."
    } else if shown.count < entity.properties.count {
      context["remark"] =
        "\(Quantity.count(shown.count)) of \(Quantity.count(entity.properties.count)) properties are shown."
    }
    if !notes.isEmpty { context["nature"] = [PageFrame.sentence(notes.joined(separator: ", "))] }
    return context
  }
}

extension ModelDiagram {
  var leftOut: [String] {
    leftOutCount > 0
      ? ["\(Quantity.count(leftOutCount, "more entity is", "more entities are")) not drawn."] : []
  }
}

extension ModelPage {
  private static let template = """
    \(PageFrame.contents)
    <section aria-labelledby="facts">
    <h2 id="facts">The model</h2>
    \(PageFrame.facts)
    {{#moreFacts}}<p>{{moreFacts}}</p>{{/moreFacts}}
    {{#hasProblems}}<h3>Problems</h3>
    <ul>
    {{#problems}}<li>\(PageFrame.sentence)</li>
    {{/problems}}
    </ul>
    {{#moreProblems}}<p>{{moreProblems}}</p>{{/moreProblems}}{{/hasProblems}}
    </section>
    {{#isDrawn}}<section aria-labelledby="picture">
    <h2 id="picture">Picture</h2>
    <p class="key">An arrow leads to one object, a fork to many; a hollow triangle points to the parent. <code>?</code> means optional.{{#leftOut}} {{.}}{{/leftOut}}</p>
    <div class="diagram schema" tabindex="0" role="group" aria-label="Diagram of the model">{{{svg}}}</div>
    </section>{{/isDrawn}}
    <section aria-labelledby="entities">
    <h2 id="entities">Entities</h2>
    <p>{{note}}</p>
    {{#hasEntities}}<table class="sortable" tabindex="0">
    <thead><tr><th scope="col">Entity</th><th scope="col" class="number">Attributes</th><th scope="col" class="number">Relationships</th><th scope="col">Parent</th></tr></thead>
    <tbody>
    {{#entities}}<tr><th scope="row"><a href="#{{id}}">{{name}}</a></th>{{#counts}}<td class="number">{{.}}</td>{{/counts}}<td>{{parent}}</td></tr>
    {{/entities}}
    </tbody>
    </table>{{/hasEntities}}
    {{#entities}}<section class="entity" aria-labelledby="{{id}}">
    <h3 id="{{id}}">{{name}}</h3>
    {{#nature}}<p class="effect">\(PageFrame.sentence)</p>
    {{/nature}}{{#hasFacts}}\(PageFrame.facts)
    {{/hasFacts}}{{#hasProperties}}<table class="stacked" tabindex="0" aria-labelledby="{{id}}">
    <thead><tr><th scope="col">Property</th><th scope="col">Kind</th><th scope="col">What it is</th></tr></thead>
    <tbody>
    {{#properties}}<tr><th scope="row">{{name}}</th><td class="keep">{{kind}}</td><td>{{what}}</td></tr>
    {{/properties}}
    </tbody>
    </table>
    {{/hasProperties}}{{#remark}}<p>{{remark}}</p>
    {{/remark}}    </section>
    {{/entities}}
    </section>
    """
}
