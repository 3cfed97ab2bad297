import Terminal
import SQLiteFile
import SQLiteForensics

/// The pages of a file as a strip, from the first to the last, with the findings on it. A cell stands for a range of pages
/// where there are many.
struct PageStrip {
  /// The groups of page kinds that are told apart; the first one that a range has gives its cell the colour.
  private enum Group: String, CaseIterable {
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
      case .orphan: "nothing leads there"
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
  private var pagesPerCell = 1
  private var pageCount = 0
  private var totals: [Group: Int] = [:]

  /// The most cells of a strip.
  private static let maxCells = 400
  private static let columns = 50
  private static let side = 18

  private init() {}

  /// Reads which page is for what. How many pages there are, only they say: the count in the header may be a lie.
  init(_ database: SQLiteDatabase, _ findings: [Finding]) throws {
    var strip = PageStrip()
    _ = try database.listPages { strip.add(Group($0.kind), page: $0.page) }
    for finding in findings where finding.severity == .damage {
      guard let page = finding.page, page >= 1 else { continue }
      let cell = (Int(page) - 1) / strip.pagesPerCell
      if cell < strip.cells.count { strip.cells[cell].findingCount += 1 }
    }
    self = strip
  }

  private mutating func add(_ group: Group, page: UInt32) {
    pageCount += 1
    totals[group, default: 0] += 1
    var cell = (Int(page) - 1) / pagesPerCell
    while cell >= Self.maxCells {
      halve()
      cell = (Int(page) - 1) / pagesPerCell
    }
    while cells.count <= cell { cells.append(Cell()) }
    cells[cell].counts[group, default: 0] += 1
  }

  /// Makes one cell of each two.
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

  /// What the template needs.
  var context: [String: Any] {
    [
      "svg": svg,
      "scale": pagesPerCell == 1
        ? "One square for each page." : "One square for \(pagesPerCell) pages.",
      "groups": Group.allCases.compactMap { group -> [String: Any]? in
        totals[group].map {
          ["class": group.rawValue, "name": group.words, "count": Quantity.count($0)]
        }
      },
    ]
  }

  private var svg: String {
    let rows = (cells.count + Self.columns - 1) / Self.columns
    let (width, height) = (Self.columns * Self.side, max(1, rows) * Self.side)
    var text =
      "<svg viewBox=\"0 0 \(width) \(height)\" width=\"\(width)\" height=\"\(height)\" role=\"img\" aria-labelledby=\"strip-title\">"
    text +=
      "<title id=\"strip-title\">The pages of the file, \(Quantity.count(pageCount)) in all</title>"
    for (place, cell) in cells.enumerated() {
      let x = place % Self.columns * Self.side
      let y = place / Self.columns * Self.side
      let group = Group.allCases.first { cell.counts[$0] != nil } ?? .other
      let first = place * pagesPerCell + 1
      let last = first + pagesPerCell - 1
      let pages = first == last ? "page \(first)" : "pages \(first) to \(last)"
      let found = cell.findingCount == 0 ? "" : ", findings: \(cell.findingCount)"
      text +=
        "<g><title>\(pages): \(group.words)\(found)</title><rect class=\"page \(group.rawValue)\" x=\"\(x + 1)\" y=\"\(y + 1)\" width=\"\(Self.side - 2)\" height=\"\(Self.side - 2)\"/>"
      if cell.findingCount > 0 {
        text +=
          "<path class=\"mark\" d=\"M\(x + 4) \(y + 4)l10 10m0 -10l-10 10\"/>"
      }
      text += "</g>"
    }
    return text + "</svg>"
  }
}
