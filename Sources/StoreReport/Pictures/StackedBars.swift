import CoreDataStore
import ModelTools
import Terminal

/// A histogram in which each bar is a stack of parts. It can be shown as an SVG picture and as a table.
struct StackedBars {
  /// One of the parts into which each bar is divided. `words` says what the part counts.
  struct Part {
    /// The part's class in the style sheet.
    let style: String
    let words: String
  }

  /// The id of the picture, which is unique in the page.
  let id: String
  let title: String
  /// The parts of each bar, from bottom to top.
  let parts: [Part]
  /// The bars from left to right. Each bar has a label, and the counts of its parts in the order of ``parts``.
  let bars: [(label: String, counts: [Int])]
  /// Whether the labels of the bars are times in ISO 8601. The axis then shows only the day, or the day and the time to
  /// the minute.
  var isOfTime = true

  /// The part of a template that shows what each colour of the bars means.
  static let legend = """
    {{#chips}}<span class="chip bar-{{class}}">{{name}}</span>
    {{/chips}}
    """
  /// The part of a template that shows the numbers of the bars.
  static let table = """
    {{#table}}<details><summary>The same as a table</summary>
    \(PageFrame.countTable)
    </details>{{/table}}
    """

  /// Returns the values of the variables in a page template: the picture, its legend, and the numbers for
  /// ``PageFrame/countTable``. `unit` says in words what a bar stands for: a span of time, or a group. `holder` is the
  /// heading of the table column with the labels of the bars.
  func context(unit: String, holder: String) -> [String: Any] {
    [
      "svg": svg, "unit": unit, "chips": parts.map { ["class": $0.style, "name": $0.words] },
      "table": [
        "holder": holder, "columns": parts.map(\.words),
        "lines": bars.filter { $0.counts.contains { $0 > 0 } }.map { bar in
          ["name": bar.label, "counts": bar.counts.map { Quantity.count($0) }] as [String: Any]
        },
      ] as [String: Any],
    ]
  }

  private static let width = 900
  /// Sizes in pixels: the width of the numbers at the left, the height of the space above the highest bar, the height
  /// of the highest bar, and the height of the space for the labels below the bars.
  private static let (margin, top, height, foot) = (64, 16, 160, 24)
  /// The minimum width of a label, in pixels.
  private static let labelWidth = 150.0

  /// Returns a time in ISO 8601; empty for a year below 0 or above 9999. `seconds` counts from 2001.
  static func moment(_ seconds: Double) -> String { ReferenceDate(seconds: seconds).iso8601 ?? "" }

  /// The number at the top of the axis: the count of the highest bar, rounded up to one significant digit; for example,
  /// 437 becomes 500.
  private var ceiling: Int {
    let highest = max(1, bars.map { $0.counts.reduce(0, +) }.max() ?? 1)
    var unit = 1
    while highest / unit >= 10 { unit *= 10 }
    let (number, overflow) = ((highest - 1) / unit + 1).multipliedReportingOverflow(by: unit)
    return overflow ? highest : number
  }

  var svg: String {
    let bottom = Self.top + Self.height
    let plot = Self.width - Self.margin
    var text = grid(bottom, plot)
    let step = Double(plot) / Double(max(1, bars.count))
    let scale = Double(Self.height) / Double(ceiling)
    for (place, bar) in bars.enumerated() where bar.counts.contains(where: { $0 > 0 }) {
      let x = Double(Self.margin) + Double(place) * step
      text += "<g><title>\(PictureText.html(words(bar)))</title>"
      var y = Double(bottom)
      for (part, count) in zip(parts, bar.counts) where count > 0 {
        // A part whose count is not zero is at least 2 pixels high, so that it is visible.
        let tall = max(2, Double(count) * scale)
        y -= tall
        text +=
          "<rect class=\"\(part.style)\" x=\"\(Self.rounded(x))\" y=\"\(Self.rounded(y))\" width=\"\(Self.rounded(max(1, min(60, step) - 1)))\" height=\"\(Self.rounded(tall))\"/>"
      }
      text += "</g>"
    }
    text += "<path class=\"axis\" d=\"M\(Self.margin) \(bottom)h\(plot)\"/>"
    text += labels(step, bottom)
    return PictureStyle.svg(Self.width, bottom + Self.foot, id, title: title, text)
  }

  private func words(_ bar: (label: String, counts: [Int])) -> String {
    "\(bar.label): "
      + zip(parts, bar.counts).reversed().map { "\($0.words): \($1)" }.joined(separator: ", ")
  }

  private func grid(_ bottom: Int, _ plot: Int) -> String {
    var text = ""
    let ceiling = ceiling
    for value in ceiling % 2 == 0 ? [ceiling, ceiling / 2] : [ceiling] {
      let y = Double(bottom) - Double(Self.height) * Double(value) / Double(ceiling)
      text +=
        "<path class=\"grid\" d=\"M\(Self.margin) \(Self.rounded(y))h\(plot)\"/><text class=\"label quiet end\" x=\"\(Self.margin - 8)\" y=\"\(Self.rounded(y + 4))\">\(Quantity.count(value))</text>"
    }
    return text
      + "<text class=\"label quiet end\" x=\"\(Self.margin - 8)\" y=\"\(bottom + 4)\">0</text>"
  }

  /// Returns the labels below the axis. If not all labels fit, bars at regular intervals have labels, for example every
  /// third bar. A label begins at the left edge of its bar.
  private func labels(_ step: Double, _ bottom: Int) -> String {
    let every = max(1, Int((Self.labelWidth / step).rounded(.up)))
    var text = ""
    for place in stride(from: 0, to: bars.count, by: every) {
      let x = Double(Self.margin) + Double(place) * step
      guard place == 0 || x + Self.labelWidth <= Double(Self.width) else { break }
      text +=
        "<path class=\"axis\" d=\"M\(Self.rounded(x)) \(bottom)v4\"/><text class=\"label quiet\" x=\"\(Self.rounded(x))\" y=\"\(bottom + 18)\">\(PictureText.html(short(bars[place].label)))</text>"
    }
    return text
  }

  /// Returns the label that the axis shows for a bar. A time is shortened to its day if all labels are at midnight,
  /// else to its day and minute. Any other label stays unchanged.
  private func short(_ label: String) -> String {
    guard isOfTime else { return label }
    let isOfDays = bars.allSatisfy { $0.label.utf8.dropFirst(10).starts(with: "T00:00:00Z".utf8) }
    let bytes = label.utf8
    if isOfDays { return String(decoding: bytes.prefix(10), as: UTF8.self) }
    return String(decoding: bytes.prefix(10), as: UTF8.self) + " "
      + String(decoding: bytes.dropFirst(11).prefix(5), as: UTF8.self)
  }

  private static func rounded(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

extension StackedBars {
  /// Makes a histogram from events counted by time. Parts that are zero in all bars are left out. Returns nil when
  /// there are no events.
  init?(id: String, title: String, parts: [Part], of bins: TimeBins) {
    let all = bins.bins
    guard !all.isEmpty else { return nil }
    let used = parts.indices.filter { part in all.contains { $0.counts[part] > 0 } }
    self.init(
      id: id, title: title, parts: used.map { parts[$0] },
      bars: all.map { bin in (Self.moment(bin.start), used.map { bin.counts[$0] }) })
  }
}
