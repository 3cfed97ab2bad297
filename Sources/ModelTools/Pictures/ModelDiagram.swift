package import ObjectModel

/// A picture of a model, or of the difference between two versions of a model. Entities are boxes; relationships and
/// parents are lines. Each box and line has a status that says what happened to the entity, relationship or parent.
package struct ModelDiagram: Sendable {
  /// The change of an entity, property, relationship or parent between two versions of a model, as the diagram shows
  /// it.
  package enum Status: String, Sendable, Hashable, CaseIterable {
    case same
    case added
    case removed
    case changed

    /// A sign that is shown beside the colour, for readers who cannot distinguish colours; empty for ``same``.
    var sign: String {
      switch self {
      case .same: ""
      case .added: "+"
      case .removed: "−"
      case .changed: "~"
      }
    }

    func signed(_ text: String) -> String { sign.isEmpty ? text : "\(sign) \(text)" }
  }

  /// A line of text in a box.
  package struct Row: Sendable, Hashable {
    /// The text of the line: a property with its type, or a change of another part of the entity.
    package let text: String
    package let status: Status

    var signed: String { status.signed(text) }
  }

  /// The box of an entity.
  package struct Box: Sendable, Hashable {
    /// The entity's name. For a renamed entity, this is the new name.
    package let name: String
    /// The old name of a renamed entity; nil if the entity was not renamed.
    package let oldName: String?
    package let isAbstract: Bool
    package let status: Status
    /// The lines of text in the box: the entity's changes, or its properties in a schema.
    package let rows: [Row]
    /// The number of the entity's unchanged properties that ``rows`` leaves out.
    package let unchangedCount: Int
  }

  package struct Line: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
      /// The line leads from an entity to its parent.
      case parent
      case relationship(isToMany: Bool)
    }

    /// The index in ``boxes`` of the box where the line starts.
    package let source: Int
    /// The index in ``boxes`` of the box that the line leads to.
    package let target: Int
    package let kind: Kind
    /// The name of the relationship that the line stands for. A line for a relationship and its inverse has both names.
    /// Empty for a line to a parent entity.
    package let label: String
    package let status: Status
  }

  /// The boxes of the entities, including removed ones.
  package let boxes: [Box]
  package let lines: [Line]
  /// The number of entities that are left out because the picture would be too large. In a comparison, unchanged
  /// entities that are not linked to a changed entity are left out first.
  package let leftOutCount: Int
  /// Whether the picture compares two versions. If false, the picture shows a single model.
  private(set) var isComparison = true

  /// The maximum number of entities for which the picture of a comparison shows all entities. If there are more, the
  /// picture shows only the changed entities and their neighbours.
  static let roomyCount = 40
  static let maximumBoxCount = 300
  static let maximumRowCount = 60
  /// The maximum total size in bytes of the property rows in a picture.
  static let maximumListedBytes = 300_000

  /// The diagram as an SVG element that needs the style sheet of ``DifferencePageStyle``.
  package var svg: String { DiagramSVG(self).text }

  /// Draws a model, without the properties of its entities.
  package init(of model: ManagedObjectModel) {
    self.init(drawn: ModelSketch(of: model, about: Set(model.entityNames)))
    isComparison = false
  }

  /// Draws a model as a schema: the boxes of the entities in `names` list the properties with their types. Entities
  /// linked to these are drawn without properties.
  package init(schemaOf model: ManagedObjectModel, about names: [String]) {
    var sketch = ModelSketch(of: model, about: Set(names))
    sketch.listsProperties = true
    self.init(drawn: sketch)
    isComparison = false
  }

  package init(
    from old: ManagedObjectModel, to new: ManagedObjectModel, _ difference: ModelDifference
  ) {
    self.init(drawn: ModelSketch(old, new, difference))
  }

  private init(drawn sketch: consuming ModelSketch) {
    sketch.draw()
    let chosen = sketch.chosenNames()
    let numbers = Dictionary(
      uniqueKeysWithValues: chosen.enumerated().map { ($0.element, $0.offset) })
    boxes = chosen.compactMap { sketch.boxes[$0] }
    lines = sketch.lines.compactMap { line in
      guard let source = numbers[line.source], let target = numbers[line.target] else { return nil }
      return Line(
        source: source, target: target, kind: line.kind, label: line.label, status: line.status)
    }
    leftOutCount = sketch.boxes.count - chosen.count
  }
}

/// A model diagram in preparation, which still has all entities. Its lines refer to entities by name, not by index.
private struct ModelSketch {
  struct NamedLine {
    let source: String
    let target: String
    let kind: ModelDiagram.Line.Kind
    let label: String
    let status: ModelDiagram.Status
  }

  private let old: ManagedObjectModel
  private let new: ManagedObjectModel
  private let changes: [String: [ModelChange]]
  private let renamed: [String: String]
  private(set) var boxes: [String: ModelDiagram.Box] = [:]
  private(set) var lines: [NamedLine] = []
  /// The names of the entities that the picture shows; nil for a picture that compares two models.
  private var subject: Set<String>?
  /// Whether the boxes of the entities in ``subject`` list their properties.
  var listsProperties = false
  /// The number of bytes of property rows that can still be added to the picture.
  private var room = ModelDiagram.maximumListedBytes

  init(
    _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ difference: ModelDifference
  ) {
    self.old = old
    self.new = new
    changes = Dictionary(grouping: difference.changes.filter { $0.entityName != nil }) {
      $0.entityName ?? ""
    }
    renamed = Dictionary(
      difference.changes.filter { $0.kind == .entityRenamed }
        .map { ($0.oldValue ?? "", $0.newValue ?? "") }
    ) { first, _ in first }
  }

  init(of model: ManagedObjectModel, about subject: Set<String>) {
    self.init(model, model, ModelDifference(from: model, to: model))
    self.subject = subject
  }

  mutating func draw() {
    for name in new.entityNames {
      guard let entity = new.entities[name] else { continue }
      boxes[name] = box(entity)
      drawLines(of: entity)
    }
    for name in old.entityNames {
      guard let entity = old.entities[name] else { continue }
      let isGone = new.entities[name] == nil && renamed[name] == nil
      if isGone {
        boxes[name] = ModelDiagram.Box(
          name: name, oldName: nil, isAbstract: entity.isAbstract, status: .removed, rows: [],
          unchangedCount: entity.attributes.count + entity.relationships.count)
      }
      drawRemovedLines(of: entity, isGone: isGone)
    }
  }

  private mutating func box(_ entity: Entity) -> ModelDiagram.Box {
    let own = changes[entity.name] ?? []
    let isNew = own.contains { $0.kind == .entityAdded }
    var rows: [ModelDiagram.Row] = []
    var touched: Set<String> = []
    for change in own where change.part != .entity || change.action == .changed {
      if change.action != .removed, let name = change.propertyName { touched.insert(name) }
      rows.append(ModelDiagram.Row(text: Self.text(change), status: Self.status(change)))
    }
    if rows.count > ModelDiagram.maximumRowCount {
      let rest = rows.count - ModelDiagram.maximumRowCount
      rows = Array(rows.prefix(ModelDiagram.maximumRowCount))
      rows.append(ModelDiagram.Row(text: "and \(rest) more", status: .changed))
    }
    let count = entity.attributes.count + entity.relationships.count
    var listed = 0
    if listsProperties, subject?.contains(entity.name) ?? false {
      for row in ModelDiagram.properties(of: entity).prefix(ModelDiagram.maximumRowCount) {
        room -= row.text.utf8.count
        guard room >= 0 else { break }
        rows.append(row)
        listed += 1
      }
    }
    return ModelDiagram.Box(
      name: entity.name, oldName: own.first { $0.kind == .entityRenamed }?.oldValue,
      isAbstract: entity.isAbstract,
      status: isNew ? .added : own.isEmpty ? .same : .changed, rows: rows,
      unchangedCount: max(0, count - touched.count - listed))
  }

  private static func status(_ change: ModelChange) -> ModelDiagram.Status {
    switch change.action {
    case .added: .added
    case .removed: .removed
    case .renamed, .changed: .changed
    }
  }

  private static func text(_ change: ModelChange) -> String {
    let name = change.name ?? ""
    switch (change.part, change.action) {
    case (.attribute, .added), (.relationship, .added): return "\(name): \(change.newValue ?? "")"
    case (.attribute, .removed), (.relationship, .removed):
      return "\(name): \(change.oldValue ?? "")"
    case (_, .renamed): return "\(change.oldValue ?? "") → \(change.newValue ?? "")"
    case (_, .changed):
      let prefix = change.name.map { $0 + " " } ?? ""
      return "\(prefix)\(change.field ?? ""): \(change.oldValue ?? "none") → "
        + (change.newValue ?? "none")
    case (.uniquenessConstraint, _): return "unique \(name)"
    case (.fetchIndex, _), (.compoundIndex, _): return "index \(name)"
    case (.userInfoEntry, _): return "user info \(name)"
    default: return name
    }
  }

  // MARK: Lines

  private mutating func drawLines(of entity: Entity) {
    let own = changes[entity.name] ?? []
    let isNew = own.contains { $0.kind == .entityAdded }
    if let parent = entity.superentityName, new.entities[parent] != nil {
      let change = own.first {
        $0.trait == .parent && $0.part == .entity && renamed[$0.oldValue ?? ""] != parent
      }
      lines.append(
        NamedLine(
          source: entity.name, target: parent, kind: .parent, label: "",
          status: isNew || change != nil ? .added : .same))
    }
    for relationship in entity.relationships {
      let destination = relationship.destinationEntityName
      guard let target = new.entities[destination] else { continue }
      let inverse = target.relationships.first { $0.name == relationship.inverseName }
      // A relationship and its inverse are drawn as one line. The line starts at the relationship that comes first in
      // the order of entity name and relationship name.
      if let inverse, inverse.destinationEntityName == entity.name,
        (destination, inverse.name) < (entity.name, relationship.name)
      {
        continue
      }
      var statuses = [status(of: relationship.name, own)]
      var label = relationship.name
      if let inverse, inverse.destinationEntityName == entity.name {
        statuses.append(status(of: inverse.name, changes[destination] ?? []))
        if inverse.name != relationship.name || destination != entity.name {
          label += " / " + inverse.name
        }
      }
      lines.append(
        NamedLine(
          source: entity.name, target: destination,
          kind: .relationship(isToMany: relationship.isToMany), label: label,
          status: isNew ? .added : statuses.first { $0 != .same } ?? .same))
    }
  }

  private func status(of relationship: String, _ changes: [ModelChange]) -> ModelDiagram.Status {
    if changes.contains(where: { $0.kind == .entityAdded }) { return .added }
    let own = changes.filter { $0.part == .relationship && $0.name == relationship }
    if own.contains(where: { $0.action == .added }) { return .added }
    return own.isEmpty ? .same : .changed
  }

  private mutating func drawRemovedLines(of entity: Entity, isGone: Bool) {
    let name = renamed[entity.name] ?? entity.name
    let own = changes[name] ?? []
    let parent = entity.superentityName.map { renamed[$0] ?? $0 }
    let hasLeft = !isGone && parent != new.entities[name]?.superentityName
    if isGone || hasLeft, let parent {
      lines.append(
        NamedLine(
          source: name, target: parent, kind: .parent, label: "", status: .removed))
    }
    for relationship in entity.relationships {
      let isRemoved = own.contains {
        $0.kind == .relationshipRemoved && $0.name == relationship.name
      }
      guard isGone || isRemoved else { continue }
      let destination = relationship.destinationEntityName
      lines.append(
        NamedLine(
          source: name, target: renamed[destination] ?? destination,
          kind: .relationship(isToMany: relationship.isToMany), label: relationship.name,
          status: .removed))
    }
  }

  // MARK: Choosing

  /// Returns the names of the entities to draw. A picture of one model shows the entities in ``subject`` and their
  /// neighbours. A comparison shows all entities if there are few enough, otherwise the changed entities and their
  /// neighbours. Entities that lines connect follow one another in the list.
  func chosenNames() -> [String] {
    let names = ByteOrder.sorted(boxes.keys)
    var wanted = Set(names)
    if let subject {
      if subject.count < names.count {
        wanted = subject
        for line in lines where subject.contains(line.source) || subject.contains(line.target) {
          wanted.formUnion([line.source, line.target])
        }
        if wanted.count > ModelDiagram.maximumBoxCount { wanted = subject }
      }
    } else if names.count > ModelDiagram.roomyCount {
      let changed = Set(names.filter { boxes[$0]?.status != .same })
      wanted = changed
      for line in lines {
        if changed.contains(line.source), boxes[line.target] != nil { wanted.insert(line.target) }
        if changed.contains(line.target), boxes[line.source] != nil { wanted.insert(line.source) }
      }
      if wanted.count > ModelDiagram.maximumBoxCount { wanted = changed }
    }
    var neighbours: [String: [String]] = [:]
    for line in lines {
      neighbours[line.source, default: []].append(line.target)
      neighbours[line.target, default: []].append(line.source)
    }
    var ordered: [String] = []
    var met: Set<String> = []
    for start in names where wanted.contains(start) && met.insert(start).inserted {
      var queue = [start]
      var next = 0
      while next < queue.count {
        let name = queue[next]
        next += 1
        ordered.append(name)
        for neighbour in ByteOrder.sorted(neighbours[name] ?? [])
        where wanted.contains(neighbour) && met.insert(neighbour).inserted {
          queue.append(neighbour)
        }
      }
    }
    return Array(ordered.prefix(ModelDiagram.maximumBoxCount))
  }
}
