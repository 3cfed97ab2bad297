import ObjectModel
import SafeText

extension ModelDiagram {
  private static func colours(_ status: Status) -> (fill: String, line: String) {
    let light = PictureColours.light
    switch status {
    case .same: return (light.same, light.sameLine)
    case .added: return (light.added, light.addedLine)
    case .removed: return (light.removed, light.removedLine)
    case .changed: return (light.changed, light.changedLine)
    }
  }

  /// The diagram in the DOT language of Graphviz.
  package var dotText: String {
    var text = """
      digraph model {
        graph [rankdir=LR, fontname="Helvetica"];
        node [shape=box, style=filled, fontname="Helvetica", fontsize=11];
        edge [fontname="Helvetica", fontsize=9];

      """
    for (number, box) in boxes.enumerated() {
      let colours = Self.colours(box.status)
      var lines = [title(box)]
      lines += box.rows.map(\.signed)
      if let rest = rest(box) { lines.append(rest) }
      let label = lines.map { PictureText.dot($0) + "\\l" }.joined()
      let style = box.status == .removed ? ", style=\"filled,dashed\"" : ""
      text += "  e\(number) [label=\"\(label)\", fillcolor=\"\(colours.fill)\", "
      text += "color=\"\(colours.line)\"\(style)];\n"
    }
    for line in lines {
      let colour = Self.colours(line.status).line
      var traits = ["color=\"\(colour)\"", "fontcolor=\"\(colour)\""]
      switch line.kind {
      case .parent: traits.append("arrowhead=empty")
      case .relationship(let isToMany): traits.append("arrowhead=\(isToMany ? "crow" : "vee")")
      }
      if !line.label.isEmpty {
        traits.append("label=\"\(PictureText.dot(line.status.signed(line.label)))\"")
      }
      if line.status == .removed { traits.append("style=dashed") }
      text += "  e\(line.source) -> e\(line.target) [\(traits.joined(separator: ", "))];\n"
    }
    if leftOutCount > 0 {
      text += "  rest [shape=plaintext, style=\"\", label=\"\(leftOutText)\"];\n"
    }
    return text + "}\n"
  }

  /// The diagram as a Mermaid class diagram.
  package var mermaidText: String {
    var text = "classDiagram\n"
    for (number, box) in boxes.enumerated() {
      text += "  class E\(number)[\"\(PictureText.mermaid(title(box)))\"]\n"
      var rows = box.rows.map { row in
        let sign =
          switch row.status {
          case .same: ""
          case .added: "+ "
          case .removed: "- "
          case .changed: "# "
          }
        return sign + PictureText.mermaid(row.text)
      }
      if let rest = rest(box) { rows.append(PictureText.mermaid(rest)) }
      for row in rows { text += "  E\(number) : \(row)\n" }
    }
    for line in lines {
      let label = line.label.isEmpty ? "" : " : \(PictureText.mermaid(line.label))"
      let isDotted = line.status == .removed
      switch line.kind {
      case .parent: text += "  E\(line.target) <|\(isDotted ? ".." : "--") E\(line.source)\n"
      case .relationship(let isToMany):
        let arrow = isDotted ? "..>" : "-->"
        text += "  E\(line.source) \(arrow) \"\(isToMany ? "*" : "1")\" E\(line.target)\(label)\n"
      }
    }
    if leftOutCount > 0 {
      text += "  class Rest[\"\(PictureText.mermaid(leftOutText))\"]\n"
    }
    for (number, box) in boxes.enumerated() where box.status != .same {
      let colours = Self.colours(box.status)
      text += "  style E\(number) fill:\(colours.fill),stroke:\(colours.line),"
      text += "color:\(PictureColours.light.text)\n"
    }
    return text
  }

  // MARK: Words

  func title(_ box: Box) -> String {
    var title = box.status.signed(box.name)
    if let oldName = box.oldName { title += ", before \(oldName)" }
    return box.isAbstract ? title + ", abstract" : title
  }

  /// Returns the number of properties that the box does not list, in words; nil if the box lists all properties.
  func rest(_ box: Box) -> String? {
    guard box.unchangedCount > 0 else { return nil }
    let isKept = box.status == .same || box.status == .changed
    let word = isComparison && isKept ? " as before" : ""
    let more = !isComparison && !box.rows.isEmpty ? "more " : ""
    return counted(box.unchangedCount, more + "property", more + "properties") + word
  }

  var leftOutText: String {
    counted(leftOutCount, "more entity is", "more entities are") + " not drawn"
  }
}

extension ModelDiagram {
  /// Returns the rows of a schema box for the properties of an entity. The row of an attribute shows the name and type,
  /// the row of a relationship the name and destination.
  static func properties(of entity: Entity) -> [Row] {
    func row(_ name: String, _ what: String, _ isOptional: Bool) -> Row {
      // A box is not wide enough for longer names.
      let name = PictureText.clipped(name, to: 100)
      let what = PictureText.clipped(what, to: 100)
      return Row(text: "\(name): \(what)\(isOptional ? "?" : "")", status: .same)
    }
    return entity.attributes.map { row($0.name, $0.type.name, $0.isOptional) }
      + entity.relationships.map {
        $0.isToMany
          ? row($0.name, "many " + $0.destinationEntityName, false)
          : row($0.name, $0.destinationEntityName, $0.isOptional)
      }
  }

  /// Returns the diagram as an SVG file. `title` says what the picture shows, for readers who cannot see the picture.
  package func svgFile(title: String) -> String {
    let drawing = DiagramSVG(self)
    return SVGFile.text(
      width: drawing.width, height: drawing.height, title: title, body: drawing.body,
      rules: DifferencePageStyle.diagram)
  }
}
