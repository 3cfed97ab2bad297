import ObjectModel

/// Draws a diagram as SVG, with its boxes in columns. Connected boxes are near each other, and lines run behind the
/// boxes. The surrounding style sheet gives the colours: the class of each SVG element names the element's status.
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
    static let maximumColumns = 4
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
  /// For each line, the y coordinates at which the line touches its first and its second box.
  private var ends: [(start: Int, end: Int)] = []
  private(set) var width = 0
  private(set) var height = 0

  init(_ diagram: ModelDiagram) {
    self.diagram = diagram
    layOut()
    spreadLines()
  }

  /// Distributes the lines that touch the same side of a box evenly over that side. Their order is the vertical order
  /// of the boxes at their other ends.
  private mutating func spreadLines() {
    ends = diagram.lines.map { (frames[$0.source].middle, frames[$0.target].middle) }
    struct Side: Hashable {
      let box: Int
      let isRight: Bool
    }
    var meetings: [Side: [(line: Int, isStart: Bool, other: Int)]] = [:]
    for (number, line) in diagram.lines.enumerated() where line.source != line.target {
      let (from, to) = (frames[line.source], frames[line.target])
      let leavesRight = from.column <= to.column
      let meetsRight = from.column >= to.column
      meetings[Side(box: line.source, isRight: leavesRight), default: []]
        .append((number, true, to.middle))
      meetings[Side(box: line.target, isRight: meetsRight), default: []]
        .append((number, false, from.middle))
    }
    for (side, lines) in meetings {
      let frame = frames[side.box]
      let sorted = lines.sorted { ($0.other, $0.line) < ($1.other, $1.line) }
      for (place, meeting) in sorted.enumerated() {
        let y = frame.y + frame.height * (place + 1) / (sorted.count + 1)
        if meeting.isStart { ends[meeting.line].start = y } else { ends[meeting.line].end = y }
      }
    }
  }

  private mutating func layOut() {
    let count = diagram.boxes.count
    var columns = 1
    while columns < Measure.maximumColumns, columns * columns < count { columns += 1 }
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

  /// The complete `<svg>` element as text.
  var text: String {
    "<svg viewBox=\"0 0 \(width) \(height)\" width=\"\(width)\" height=\"\(height)\" role=\"img\" "
      + "aria-label=\"Entities and their relationships; the text below describes them\">\n"
      + body + "</svg>\n"
  }

  /// The text between the start and end tags of the `<svg>` element.
  var body: String {
    var text = """
      <defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" \
      markerHeight="7" orient="auto-start-reverse"><path d="M0 1L9 5L0 9" class="head"/></marker>
      <marker id="many" viewBox="0 0 12 10" refX="11" refY="5" markerWidth="9" markerHeight="8" \
      orient="auto-start-reverse"><path d="M11 0L1 5L11 10M1 5H11" class="head"/></marker>
      <marker id="parent" viewBox="0 0 12 12" refX="11" refY="6" markerWidth="10" \
      markerHeight="10" orient="auto-start-reverse"><path d="M0 0L11 6L0 12Z" class="hollow"/>\
      </marker></defs>

      """
    for (number, line) in diagram.lines.enumerated() { text += self.line(line, ends[number]) }
    for (number, box) in diagram.boxes.enumerated() { text += self.box(box, frames[number]) }
    return text
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
      let whole = row.signed
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

  private func line(_ line: ModelDiagram.Line, _ ends: (start: Int, end: Int)) -> String {
    let (from, to) = (frames[line.source], frames[line.target])
    let path: String
    let label: (x: Int, y: Int)
    let right = Measure.boxWidth
    if from.column == to.column {
      // The line runs around the right side of the boxes. A line from a box to itself is a loop.
      let x = from.x + right
      let start = line.source == line.target ? from.y + 8 : ends.start
      let end = line.source == line.target ? from.y + min(from.height - 4, 24) : ends.end
      let bulge = x + 30 + min(30, abs(end - start) / 12)
      path = "M\(x) \(start)C\(bulge) \(start) \(bulge) \(end) \(x) \(end)"
      label = (x + Measure.columnGap / 2, (start + end) / 2)
    } else {
      let isRightward = from.column < to.column
      let x1 = isRightward ? from.x + right : from.x
      let x2 = isRightward ? to.x : to.x + right
      let half = (x1 + x2) / 2
      path = "M\(x1) \(ends.start)C\(half) \(ends.start) \(half) \(ends.end) \(x2) \(ends.end)"
      // The label is in the gap beside the first box, so that no box covers the label.
      label = (x1 + (isRightward ? 1 : -1) * Measure.columnGap / 2, ends.start)
    }
    let marker: String
    switch line.kind {
    case .parent: marker = "parent"
    case .relationship(let isToMany): marker = isToMany ? "many" : "arrow"
    }
    let words = [line.status.sign, line.kind == .parent ? "parent" : line.label]
      .filter { !$0.isEmpty }.joined(separator: " ")
    var text = "<g class=\"line \(line.status.rawValue)\">"
    text += "<title>\(PictureText.html(words))</title>"
    text += "<path d=\"\(path)\" marker-end=\"url(#\(marker))\"/>"
    if line.status != .same {
      let shown = PictureText.html(PictureText.clipped(words, to: 18))
      text += "<text x=\"\(label.x)\" y=\"\(label.y - 4)\">\(shown)</text>"
    }
    return text + "</g>\n"
  }
}
