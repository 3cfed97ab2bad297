import ModelTools
import SQLiteFile
import SQLiteForensics
import SafeText
import StoreExtraction
import Terminal

/// A picture that shows where in the file the pages of each b-tree are. Each of the largest b-trees has a lane, which
/// is divided into stretches of the file. The more pages of a stretch belong to the b-tree, the darker the stretch.
struct TreeLanes {
  /// The owner of a page: a b-tree, the freelist, or neither. Each owner has its own lane in the picture.
  private enum Place: Hashable {
    case tree(ExactText)
    case free
    /// The page belongs neither to a b-tree nor to the freelist. It is a pointer-map page, an orphan, or a page that
    /// cannot be read.
    case outside
  }

  private struct Lane {
    var bins: [Int: Int] = [:]
    var pageCount = 0
    var first = 0
    var last = 0
  }

  private var lanes: [Place: Lane] = [:]
  private var findings: [Int: Int] = [:]
  private var pagesPerBin = 1
  private var pageCount = 0
  private var indexes: Set<ExactText> = []

  private static let maxLanes = 16
  /// The maximum number of stretches into which the lane of a b-tree is divided in the picture. Each stretch stands for
  /// the same number of neighbouring pages of the file.
  private static let maxBins = 120
  /// The width in pixels of the lane in which the pages of a b-tree are drawn.
  private static let track = 600
  private static let labelWidth = 240
  private static let laneHeight = 20
  static let width = labelWidth + track + 188

  mutating func add(_ entry: PageEntry) {
    pageCount = max(pageCount, Int(entry.page))
    let place: Place =
      entry.owner.map { .tree(ExactText($0)) }
      ?? (PageStrip.Group(entry.kind) == .free ? .free : .outside)
    while (Int(entry.page) - 1) / pagesPerBin >= Self.maxBins { halve() }
    let bin = (Int(entry.page) - 1) / pagesPerBin
    var lane = lanes.removeValue(forKey: place) ?? Lane(first: Int(entry.page))
    lane.bins[bin, default: 0] += 1
    lane.pageCount += 1
    lane.last = Int(entry.page)
    lanes[place] = lane
  }

  /// Adds the b-trees and the findings. Must be called after the last page was added.
  mutating func finish(_ owners: [PageOwner], _ findings: [Finding]) {
    indexes = Set(owners.filter(\.isIndex).map { ExactText($0.name) })
    for finding in findings where finding.severity == .damage {
      guard let page = finding.page, page >= 1, page <= pageCount else { continue }
      self.findings[(Int(page) - 1) / pagesPerBin, default: 0] += 1
    }
  }

  /// Doubles the number of pages for which a stretch of the picture stands, by joining stretches in pairs.
  private mutating func halve() {
    pagesPerBin *= 2
    for (place, lane) in lanes {
      var half = lane
      half.bins = [:]
      for (bin, count) in lane.bins { half.bins[bin / 2, default: 0] += count }
      lanes[place] = half
    }
  }

  // MARK: - The picture

  /// A line of the picture: a lane with its labels.
  private struct Line {
    let name: String
    let what: String
    let style: String
    let lane: Lane
  }

  /// The lines of the picture, from top to bottom: each of the largest b-trees, all other b-trees together, free pages,
  /// and pages that belong to no b-tree.
  private var lines: [Line] {
    var trees: [(name: String, lane: Lane)] = []
    for (place, lane) in lanes {
      if case .tree(let name) = place { trees.append((name.text, lane)) }
    }
    trees.sort {
      $0.lane.pageCount == $1.lane.pageCount
        ? $0.name.utf8.lexicographicallyPrecedes($1.name.utf8)
        : $0.lane.pageCount > $1.lane.pageCount
    }
    var lines = trees.prefix(Self.maxLanes).map { tree in
      let isIndex = indexes.contains(ExactText(tree.name))
      return Line(
        name: tree.name, what: isIndex ? "index" : "table", style: isIndex ? "index" : "table",
        lane: tree.lane)
    }
    let others = trees.dropFirst(Self.maxLanes)
    if var rest = others.first?.lane {
      for other in others.dropFirst() {
        rest.bins.merge(other.lane.bins, uniquingKeysWith: +)
        rest.pageCount += other.lane.pageCount
        rest.first = min(rest.first, other.lane.first)
        rest.last = max(rest.last, other.lane.last)
      }
      lines.append(
        Line(
          name: "\(Quantity.count(others.count)) more", what: "tables and indexes", style: "other",
          lane: rest))
    }
    if let free = lanes[.free] {
      lines.append(Line(name: "free pages", what: "freelist", style: "free", lane: free))
    }
    if let outside = lanes[.outside] {
      lines.append(Line(name: "in no tree", what: "other pages", style: "orphan", lane: outside))
    }
    return lines
  }

  /// The width, in pixels, of a stretch of ``pagesPerBin`` pages in the picture.
  private var step: Int {
    let count = max(1, (pageCount + pagesPerBin - 1) / pagesPerBin)
    return min(40, Self.track / count)
  }

  var height: Int { (lines.count + (findings.isEmpty ? 0 : 1)) * Self.laneHeight + 20 }

  var scale: String {
    pagesPerBin == 1
      ? "Each lane shows the file from left to right; each step is one page."
      : "Each lane shows the file from left to right; each step is "
        + "\(Quantity.count(pagesPerBin)) pages. The stronger the colour, the more of these pages belong to the tree."
  }

  var svg: String {
    let title = "Where the pages of each tree are; the table below has the page numbers"
    return PictureStyle.svg(Self.width, height, "lanes", title: title, body)
  }

  /// The SVG elements between the tags of the `<svg>` element.
  var body: String {
    var text = ""
    var y = 0
    let step = step
    let used = (pageCount + pagesPerBin - 1) / pagesPerBin * step
    for line in lines {
      let lane = line.lane
      let name = PictureText.html(PictureText.clipped(line.name, to: 30))
      let pages = Quantity.count(lane.pageCount, "page")
      let whole = PictureText.html(line.name)
      text +=
        "<g><title>\(whole), \(line.what): \(pages), from page \(Quantity.count(lane.first)) to \(Quantity.count(lane.last))</title>"
      text +=
        "<text class=\"label end\" x=\"\(Self.labelWidth - 8)\" y=\"\(y + 14)\">\(name)</text>"
      text +=
        "<rect class=\"lane\" x=\"\(Self.labelWidth)\" y=\"\(y + 2)\" width=\"\(used)\" height=\"\(Self.laneHeight - 4)\"/>"
      for (part, path) in paths(lane, y + 2) {
        text += "<path class=\"page \(line.style) part\(part)\" d=\"\(path)\"/>"
      }
      text +=
        "<text class=\"label quiet\" x=\"\(Self.labelWidth + used + 8)\" y=\"\(y + 14)\">\(pages), \(line.what)</text></g>"
      y += Self.laneHeight
    }
    if !findings.isEmpty {
      text +=
        "<g><title>Findings of damage</title><text class=\"label end\" x=\"\(Self.labelWidth - 8)\" y=\"\(y + 14)\">findings</text>"
      for bin in findings.keys.sorted() {
        text +=
          "<path class=\"mark\" d=\"M\(Self.labelWidth + bin * step + step / 2 - 3) \(y + 6)l7 7m0 -7l-7 7\"/>"
      }
      text += "</g>"
      y += Self.laneHeight
    }
    text +=
      "<text class=\"label quiet\" x=\"\(Self.labelWidth)\" y=\"\(y + 14)\">page 1</text>"
    if used > 160 {
      text +=
        "<text class=\"label quiet end\" x=\"\(Self.labelWidth + used)\" y=\"\(y + 14)\">page \(Quantity.count(pageCount))</text>"
    }
    return text
  }

  /// Returns the SVG paths that draw a lane. One path draws all stretches of pages with the same shade. The shade,
  /// `part`, shows how many pages of a stretch belong to the lane: from 1 for up to a quarter to 4 for more than three
  /// quarters.
  private func paths(_ lane: Lane, _ y: Int) -> [(part: Int, path: String)] {
    let step = step
    var paths: [Int: String] = [:]
    var open: (part: Int, start: Int, end: Int)?
    func close(_ paths: inout [Int: String]) {
      guard let run = open else { return }
      let width = (run.end - run.start) * step
      paths[run.part, default: ""] +=
        "M\(Self.labelWidth + run.start * step) \(y)h\(width)v\(Self.laneHeight - 4)h-\(width)z"
    }
    for bin in lane.bins.keys.sorted() {
      let size = max(1, min(pagesPerBin, pageCount - bin * pagesPerBin))
      let part = min(4, max(1, ((lane.bins[bin] ?? 0) * 4 + size - 1) / size))
      if let run = open, run.part == part, run.end == bin {
        open = (part, run.start, bin + 1)
      } else {
        close(&paths)
        open = (part, bin, bin + 1)
      }
    }
    close(&paths)
    return paths.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
