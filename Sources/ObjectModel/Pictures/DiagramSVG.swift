/// A diagram as SVG, laid out in columns: boxes that are connected stand near each other, lines run
/// behind the boxes. Colours come from the style sheet around it, by the class of the status.
struct DiagramSVG {
  private enum Measure {
    static let boxWidth = 300
    static let columnGap = 110
    static let rowGap = 36
    static let titleHeight = 28
    static let rowHeight = 17
    static let padding = 8
    static let margin = 24
    static let titleCharacters = 33
    static let rowCharacters = 40
    static let mostColumns = 4
  }

  private struct Frame {
    var x = 0
    var y = 0
    var height = 0
    var column = 0

    var middle: Int { y + height / 2 }
  }

  private let diagram: ModelDiagram
  private var frames: [Frame] = []
  private var width = 0
  private var height = 0

  init(_ diagram: ModelDiagram) {
    self.diagram = diagram
    layOut()
  }

  private mutating func layOut() {
    let count = diagram.boxes.count
    var columns = 1
    while columns < Measure.mostColumns, columns * columns < count { columns += 1 }
    var bottoms = Array(repeating: Measure.margin, count: columns)
    for box in diagram.boxes {
      let column = bottoms.indices.min { bottoms[$0] < bottoms[$1] } ?? 0
      let rows = box.rows.count + (diagram.rest(box) == nil ? 0 : 1)
      let height = Measure.titleHeight + rows * Measure.rowHeight + (rows > 0 ? Measure.padding : 0)
      let x = Measure.margin + column * (Measure.boxWidth + Measure.columnGap)
      frames.append(Frame(x: x, y: bottoms[column], height: height, column: column))
      bottoms[column] += height + Measure.rowGap
    }
    width =
      2 * Measure.margin + columns * Measure.boxWidth + (columns - 1) * Measure.columnGap
      + Measure.columnGap / 2
    height = (bottoms.max() ?? 0) + Measure.margin
  }

  /// The `<svg>` element.
  var text: String {
    var text =
      "<svg viewBox=\"0 0 \(width) \(height)\" width=\"\(width)\" height=\"\(height)\" role=\"img\" "
      + "aria-label=\"Entities and their relationships; the same is told in words below\">\n"
    text += """
      <defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" \
      markerHeight="7" orient="auto-start-reverse"><path d="M0 1L9 5L0 9" class="head"/></marker>
      <marker id="many" viewBox="0 0 12 10" refX="11" refY="5" markerWidth="9" markerHeight="8" \
      orient="auto-start-reverse"><path d="M11 0L1 5L11 10M1 5H11" class="head"/></marker>
      <marker id="parent" viewBox="0 0 12 12" refX="11" refY="6" markerWidth="10" \
      markerHeight="10" orient="auto-start-reverse"><path d="M0 0L11 6L0 12Z" class="hollow"/>\
      </marker></defs>

      """
    for line in diagram.lines { text += self.line(line) }
    for (number, box) in diagram.boxes.enumerated() { text += self.box(box, frames[number]) }
    return text + "</svg>\n"
  }

  // MARK: Parts

  private func box(_ box: ModelDiagram.Box, _ frame: Frame) -> String {
    let title = diagram.title(box)
    var text = "<g class=\"box \(box.status.rawValue)\">"
    text += "<title>\(PictureText.html(title))</title>"
    text += "<rect x=\"\(frame.x)\" y=\"\(frame.y)\" width=\"\(Measure.boxWidth)\" "
    text += "height=\"\(frame.height)\" rx=\"6\"/>"
    let name = PictureText.html(PictureText.clipped(title, to: Measure.titleCharacters))
    text += "<text class=\"name\" x=\"\(frame.x + 10)\" y=\"\(frame.y + 19)\">\(name)</text>"
    var y = frame.y + Measure.titleHeight + 12
    for row in box.rows {
      let whole = [row.status.sign, row.text].joined(separator: " ")
      let shown = PictureText.html(PictureText.clipped(whole, to: Measure.rowCharacters))
      text += "<text class=\"row \(row.status.rawValue)\" x=\"\(frame.x + 10)\" y=\"\(y)\">"
      text += "<title>\(PictureText.html(whole))</title>\(shown)</text>"
      y += Measure.rowHeight
    }
    if let rest = diagram.rest(box) {
      text +=
        "<text class=\"rest\" x=\"\(frame.x + 10)\" y=\"\(y)\">\(PictureText.html(rest))</text>"
    }
    return text + "</g>\n"
  }

  private func line(_ line: ModelDiagram.Line) -> String {
    let (from, to) = (frames[line.source], frames[line.target])
    let path: String
    let middle: (x: Int, y: Int)
    let right = Measure.boxWidth
    if from.column == to.column {
      // Around the right side; a line to the same box is a loop.
      let x = from.x + right
      let start = line.source == line.target ? from.y + 8 : from.middle
      let end = line.source == line.target ? from.y + min(from.height - 4, 24) : to.middle
      let bulge = x + 30 + min(30, abs(end - start) / 12)
      path = "M\(x) \(start)C\(bulge) \(start) \(bulge) \(end) \(x) \(end)"
      middle = (bulge - 4, (start + end) / 2)
    } else {
      let isRightward = from.column < to.column
      let x1 = isRightward ? from.x + right : from.x
      let x2 = isRightward ? to.x : to.x + right
      let half = (x1 + x2) / 2
      path = "M\(x1) \(from.middle)C\(half) \(from.middle) \(half) \(to.middle) \(x2) \(to.middle)"
      middle = (half, (from.middle + to.middle) / 2)
    }
    let marker: String
    switch line.kind {
    case .parent: marker = "parent"
    case .relationship(let isToMany): marker = isToMany ? "many" : "arrow"
    }
    let label = [line.status.sign, line.kind == .parent ? "parent" : line.label]
      .filter { !$0.isEmpty }.joined(separator: " ")
    var text = "<g class=\"line \(line.status.rawValue)\">"
    text += "<title>\(PictureText.html(label))</title>"
    text += "<path d=\"\(path)\" marker-end=\"url(#\(marker))\"/>"
    if line.status != .same {
      let shown = PictureText.html(PictureText.clipped(label, to: 26))
      text += "<text x=\"\(middle.x)\" y=\"\(middle.y - 3)\">\(shown)</text>"
    }
    return text + "</g>\n"
  }
}
