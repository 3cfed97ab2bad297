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

  private var cells: [Cell]
  private let pagesPerCell: UInt32
  private let pageCount: UInt32
  private var totals: [Group: Int] = [:]

  /// The most cells of a strip.
  private static let maxCells: UInt32 = 400
  private static let columns = 50
  private static let side = 18

  /// Reads which page is for what.
  init(_ database: SQLiteDatabase, _ findings: [Finding]) throws {
    pageCount = database.pageCount
    pagesPerCell = max(1, (pageCount + Self.maxCells - 1) / Self.maxCells)
    let count = (pageCount + pagesPerCell - 1) / pagesPerCell
    var cells = [Cell](repeating: Cell(), count: Int(count))
    var totals: [Group: Int] = [:]
    let perCell = pagesPerCell
    _ = try database.listPages { entry in
      let cell = Int((entry.page - 1) / perCell)
      let group = Group(entry.kind)
      totals[group, default: 0] += 1
      if cell < cells.count { cells[cell].counts[group, default: 0] += 1 }
    }
    for finding in findings where finding.severity == .damage {
      guard let page = finding.page, page >= 1 else { continue }
      let cell = Int((page - 1) / perCell)
      if cell < cells.count { cells[cell].findingCount += 1 }
    }
    self.cells = cells
    self.totals = totals
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
      let first = UInt64(place) * UInt64(pagesPerCell) + 1
      let last = min(first + UInt64(pagesPerCell) - 1, UInt64(pageCount))
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
