import ModelTools
import SQLiteFile
import SQLiteForensics
import Terminal

/// A map of the pages of a database, as squares from the first page to the last, with crosses where there is damage. In
/// a large file, each square stands for several consecutive pages.
struct PageStrip {
  /// The uses of pages that the picture shows with different colours. Each use covers one or more kinds of pages.
  enum Group: String, CaseIterable {
    case damaged, orphan, table, index, overflow, free, other

    init(_ kind: PageKind) {
      self =
        switch kind {
        case .unreadable: .damaged
        case .orphan: .orphan
        case .leafTable, .interiorTable: .table
        case .leafIndex, .interiorIndex: .index
        case .overflow: .overflow
        case .freelistTrunk, .freelistLeaf: .free
        default: .other
        }
    }

    var words: String {
      switch self {
      case .damaged: "not readable"
      case .orphan: "pages that nothing leads to"
      case .table: "rows"
      case .index: "index entries"
      case .overflow: "long values"
      case .free: "free"
      case .other: "other"
      }
    }
  }

  private struct Cell {
    var counts: [Group: Int] = [:]
    var findingCount = 0
  }

  private var cells: [Cell] = []
  private(set) var pagesPerCell = 1
  private(set) var pageCount = 0
  private(set) var totals: [Group: Int] = [:]

  private static let maxCells = 400
  private static let columns = 50
  /// The distance from one square of the map to the next, in pixels: the width of a square and of a gap.
  private static let side = 18
  /// The width of the left margin, in pixels. In the margin, each line of the map has the number of its first page.
  private static let margin = 68

  init() {}

  /// Adds every page of the database, with the kind of its content. Then marks the pages that have findings of damage.
  init(_ database: SQLiteDatabase, _ findings: [Finding]) throws {
    _ = try database.listPages { add($0) }
    mark(findings)
  }

  mutating func add(_ entry: PageEntry) {
    let group = Group(entry.kind)
    pageCount += 1
    totals[group, default: 0] += 1
    var cell = (Int(entry.page) - 1) / pagesPerCell
    while cell >= Self.maxCells {
      halve()
      cell = (Int(entry.page) - 1) / pagesPerCell
    }
    while cells.count <= cell { cells.append(Cell()) }
    cells[cell].counts[group, default: 0] += 1
  }

  /// Counts the findings of damage for each square of the picture, which stands for one or more pages. Must be called
  /// after the last page was added.
  mutating func mark(_ findings: [Finding]) {
    for finding in findings where finding.severity == .damage {
      guard let page = finding.page, page >= 1 else { continue }
      let cell = (Int(page) - 1) / pagesPerCell
      if cell < cells.count { cells[cell].findingCount += 1 }
    }
  }

  /// Halves the number of squares. Each new square stands for the pages of two consecutive old squares.
  private mutating func halve() {
    pagesPerCell *= 2
    cells = stride(from: 0, to: cells.count, by: 2).map { place in
      var cell = cells[place]
      if place + 1 < cells.count {
        cell.counts.merge(cells[place + 1].counts, uniquingKeysWith: +)
      }
      return cell
    }
  }

  /// The part of a template that shows the map of pages. Its values are ``context``.
  static let template = """
    <p class="key">{{scale}} A cross marks findings.
    {{#groups}}<span class="chip page-{{class}}">{{name}} {{count}}</span>
    {{/groups}}</p>
    <div class="strip" tabindex="0" role="group" aria-label="Map of the pages">{{{svg}}}</div>
    """

  /// The template values for the map of pages: the picture, its scale and its legend.
  var context: [String: Any] {
    [
      "svg": svg, "scale": scale,
      "groups": groups.map { group -> [String: Any] in
        ["class": group.rawValue, "name": group.words, "count": Quantity.count(totals[group] ?? 0)]
      },
    ]
  }

  var scale: String {
    pagesPerCell == 1
      ? "One square stands for one page."
      : "One square stands for \(pagesPerCell) pages and is divided by the uses of the pages."
  }

  /// The kinds of page use that occur in the file, in the order of the legend.
  var groups: [Group] { Group.allCases.filter { totals[$0] != nil } }

  // MARK: - The picture

  static let width = margin + columns * side
  var height: Int { max(1, (cells.count + Self.columns - 1) / Self.columns) * Self.side }

  private var svg: String {
    let title = "The pages of the file, \(Quantity.count(pageCount)) in all"
    return PictureStyle.svg(Self.width, height, "strip", title: title, body)
  }

  /// The SVG elements between the tags of the `<svg>` element.
  var body: String {
    var text = ""
    for (place, cell) in cells.enumerated() {
      let x = Self.margin + place % Self.columns * Self.side
      let y = place / Self.columns * Self.side
      let first = place * pagesPerCell + 1
      if place % Self.columns == 0 {
        text +=
          "<text class=\"label quiet end\" x=\"\(Self.margin - 8)\" y=\"\(y + 13)\">\(Quantity.count(first))</text>"
      }
      text += "<g><title>\(words(cell, first))</title>"
      text += Self.bands(cell, x + 1, y + 1)
      if cell.findingCount > 0 {
        let cross = "M\(x + 4) \(y + 4)l10 10m0 -10l-10 10"
        text += "<path class=\"mark halo\" d=\"\(cross)\"/><path class=\"mark\" d=\"\(cross)\"/>"
      }
      text += "</g>"
    }
    return text
  }

  private func words(_ cell: Cell, _ first: Int) -> String {
    let used = Group.allCases.filter { cell.counts[$0] != nil }
    let last = min(first + pagesPerCell - 1, pageCount)
    let pages = first == last ? "page \(first)" : "pages \(first) to \(last)"
    let uses = used.map { group in
      used.count == 1 ? group.words : "\(group.words) \(cell.counts[group] ?? 0)"
    }
    let found = cell.findingCount == 0 ? "" : ", findings: \(cell.findingCount)"
    return "\(pages): \(uses.joined(separator: ", "))\(found)"
  }

  /// Returns the rectangles that together fill the square of `cell`, one for each use of its pages. The width of a
  /// rectangle is proportional to the number of pages with this use.
  private static func bands(_ cell: Cell, _ x: Int, _ y: Int) -> String {
    let side = Self.side - 2
    let used = Group.allCases.filter { cell.counts[$0] != nil }
    let total = max(1, cell.counts.values.reduce(0, +))
    // Each rectangle is at least 2 pixels wide, so that the use of a single page is visible.
    var widths = used.map { max(2, side * (cell.counts[$0] ?? 0) / total) }
    if let widest = widths.indices.max(by: { widths[$0] < widths[$1] }) {
      widths[widest] += side - widths.reduce(0, +)
    }
    var text = ""
    var left = x
    for (group, width) in zip(used, widths) {
      text +=
        "<rect class=\"page \(group.rawValue)\" x=\"\(left)\" y=\"\(y)\" width=\"\(width)\" height=\"\(side)\"/>"
      left += width
    }
    return text
  }
}
