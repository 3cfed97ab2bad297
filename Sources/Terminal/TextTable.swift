import SafeText

/// A table for people: aligned columns with a header, cut to the width of the terminal.
///
/// Cells may come from the files that are examined. So control characters in them are escaped (`VisibleText.visible`)
/// when they are added.
package struct TextTable: Sendable, Equatable {
  package enum Alignment: Sendable, Equatable {
    case leading
    case trailing
  }

  package struct Column: Sendable, Equatable {
    package var title: String
    package var alignment: Alignment
    /// Whether the cells of the column may be cut when the table is too wide.
    package var isFlexible: Bool
    /// Whether the cells of the column are never cut. A cell that is too long for the column stands on a line of its
    /// own, before the other cells of its row.
    package var isWhole: Bool

    /// Creates a column with the heading `title`. Use trailing alignment for numbers, `isFlexible` for strings of
    /// unknown length, and `isWhole` for what people copy, such as paths.
    package init(
      _ title: String, _ alignment: Alignment = .leading, isFlexible: Bool = false,
      isWhole: Bool = false
    ) {
      self.title = VisibleText.visible(title)
      self.alignment = alignment
      self.isFlexible = isFlexible
      self.isWhole = isWhole
    }
  }

  package struct Cell: Sendable, Equatable, ExpressibleByStringLiteral {
    /// The text, with control characters escaped.
    package let text: String
    /// The colour or weight of the text; nil for plain text.
    package let tone: Style.Tone?

    package init(_ text: String, tone: Style.Tone? = nil) {
      self.text = VisibleText.visible(text)
      self.tone = tone
    }

    package init(stringLiteral value: String) {
      self.init(value)
    }
  }

  package let columns: [Column]
  /// The rows, each with one cell for each column.
  package private(set) var rows: [[Cell]] = []

  private static let gap = "  "
  /// The minimum width of a flexible column. If its title is narrower, the width of the title is the minimum.
  private static let minFlexibleWidth = 4
  /// The width, in terminal columns, that a column whose cells are never cut may always have. In a wide table, such a
  /// column may be wider.
  private static let minWholeWidth = 24

  package init(_ columns: [Column]) {
    self.columns = columns
  }

  /// Adds a row. If cells are missing, the last columns stay blank. If there are more cells than columns, the texts of
  /// the surplus cells are appended to the last column.
  package mutating func add(_ cells: [Cell]) {
    guard !columns.isEmpty else { return }
    var row = Array(cells.prefix(columns.count))
    let rest = cells.dropFirst(columns.count)
    if let last = row.last, !rest.isEmpty {
      let text = ([last] + rest).map(\.text).joined(separator: " ")
      row[row.count - 1] = Cell(text, tone: last.tone)
    }
    while row.count < columns.count { row.append("") }
    rows.append(row)
  }

  package mutating func add(_ texts: [String]) {
    add(texts.map { Cell($0) })
  }

  /// Returns the lines of the table without line feeds: the header, a horizontal rule and the rows. Empty for a table
  /// without columns.
  ///
  /// `width`: the maximum number of columns of a line; nil for no limit, as in a file. A line may be longer, for
  /// example if the columns cannot be made narrow enough.
  package func lines(width: Int?, style: Style = .plain) -> [String] {
    guard !columns.isEmpty else { return [] }
    let widths = fittedWidths(width)
    let titles = columns.map { Cell($0.title, tone: .bold) }
    let rule = widths.map { Cell(String(repeating: "─", count: $0), tone: .dim) }
    return [titles, rule].map { line($0, widths: widths, style: style) }
      + rows.flatMap { rowLines($0, widths: widths, style: style) }
  }

  /// Returns the lines of ``lines(width:style:)`` as one string, with a line feed after each line.
  package func text(width: Int?, style: Style = .plain) -> String {
    lines(width: width, style: style).map { $0 + "\n" }.joined()
  }

  /// Returns the lines on which a row is printed. A cell that is too long for its column and may not be cut (`isWhole`)
  /// comes first, on a line of its own. The other cells are together on the last line.
  private func rowLines(_ row: [Cell], widths: [Int], style: Style) -> [String] {
    var cells = row
    var lines: [String] = []
    for index in cells.indices where columns[index].isWhole {
      let cell = cells[index]
      guard DisplayWidth.columns(of: cell.text) > widths[index] else { continue }
      lines.append(style.apply(cell.text, cell.tone))
      cells[index] = ""
    }
    let rest = line(cells, widths: widths, style: style)
    return lines.isEmpty || !rest.isEmpty ? lines + [rest] : lines
  }

  private func line(_ cells: [Cell], widths: [Int], style: Style) -> String {
    var result = ""
    // Spaces are held back until something follows, so that no line ends with them.
    var space = ""
    for (index, cell) in cells.enumerated() {
      let width = widths[index]
      let text = DisplayText.truncated(cell.text, to: width)
      let missing = String(repeating: " ", count: max(width - DisplayWidth.columns(of: text), 0))
      let isTrailing = columns[index].alignment == .trailing
      if !text.isEmpty {
        result += space + (isTrailing ? missing : "")
        result += style.apply(text, cell.tone)
        space = (isTrailing ? "" : missing) + Self.gap
      } else {
        space += missing + Self.gap
      }
    }
    return result
  }

  private func fittedWidths(_ width: Int?) -> [Int] {
    // A whole column takes up to two fifths of the width, so that the other columns stay readable.
    let maxWhole = width.map { max(Self.minWholeWidth, $0 * 2 / 5) } ?? .max
    var widths = columns.indices.map { index in
      rows.reduce(DisplayWidth.columns(of: columns[index].title)) {
        let cell = DisplayWidth.columns(of: $1[index].text)
        return columns[index].isWhole && cell > maxWhole ? $0 : max($0, cell)
      }
    }
    guard let width else { return widths }
    let minWidths = columns.map {
      min(Self.minFlexibleWidth, max(DisplayWidth.columns(of: $0.title), 1))
    }
    var excess = widths.reduce(0, +) + Self.gap.count * (widths.count - 1) - width
    // Each round narrows the widest flexible column to the width of the second widest, so few rounds are needed.
    while excess > 0 {
      let flexible = columns.indices.filter { columns[$0].isFlexible && widths[$0] > minWidths[$0] }
      guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { break }
      let next = flexible.filter { $0 != widest }.map { widths[$0] }.max() ?? 0
      let cut = min(
        excess, widths[widest] - minWidths[widest], max(widths[widest] - next, 1))
      widths[widest] -= cut
      excess -= cut
    }
    return widths
  }
}
