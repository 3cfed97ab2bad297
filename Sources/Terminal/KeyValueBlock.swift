import SafeText

/// Facts in two columns, label and value, for the output of a command.
///
/// Labels and values may come from the files that are examined. So control characters in them are escaped when a fact
/// is added.
package struct KeyValueBlock: Sendable, Equatable {
  /// A command that the user may run next, and its purpose.
  package struct Suggestion: Sendable, Equatable {
    /// The command, ready to be copied.
    package var command: String
    /// What the command does; nil when the command explains itself.
    package var purpose: String?

    package init(_ command: String, _ purpose: String? = nil) {
      self.command = VisibleText.visible(command)
      self.purpose = purpose.map(VisibleText.visible)
    }
  }

  private enum Value: Sendable, Equatable {
    case text(String, Style.Tone?)
    case suggestions([Suggestion])
  }

  private struct Row: Sendable, Equatable {
    var label: String
    var value: Value
  }

  private var rows: [Row] = []

  /// The number of spaces between the widest label and the values.
  private static let labelGap = 3
  /// The number of spaces between the widest command and the purposes.
  private static let purposeGap = 6
  /// The maximum width of a label that shares a line with its value. A longer label has a line of its own, so that it
  /// does not move all values to the right.
  private static let maxLabelWidth = 24
  private static let minValueWidth = 20

  package init() {}

  /// Adds a fact. If a value takes several lines, all of them begin in the column of the values.
  package mutating func add(_ label: String, _ value: String, tone: Style.Tone? = nil) {
    rows.append(
      Row(label: VisibleText.visible(label), value: .text(VisibleText.visible(value), tone)))
  }

  /// Adds commands that the user may run next. A command is one line and is never broken. A purpose that does not fit
  /// beside its command goes into the next line.
  package mutating func add(_ label: String, _ suggestions: [Suggestion]) {
    rows.append(Row(label: VisibleText.visible(label), value: .suggestions(suggestions)))
  }

  /// Returns the lines of the block, without line feeds; empty for a block without facts. `width` is the maximum number
  /// of columns of a line; nil for no limit, as in a file.
  package func lines(width: Int?, style: Style = .plain) -> [String] {
    let labelWidths = rows.map { DisplayWidth.columns(of: $0.label) }
    let labelWidth = labelWidths.filter { $0 <= Self.maxLabelWidth }.max() ?? Self.maxLabelWidth
    let indent = labelWidth + Self.labelGap
    let valueWidth = width.map { max($0 - indent, Self.minValueWidth) }
    var lines: [String] = []
    for (index, row) in rows.enumerated() {
      var values = valueLines(row.value, width: valueWidth, style: style)
      let label = style.apply(row.label, .bold)
      if labelWidths[index] > labelWidth {
        lines.append(label)
      } else {
        let space = String(repeating: " ", count: indent - labelWidths[index])
        let first = values.isEmpty ? "" : values.removeFirst()
        lines.append(first.isEmpty ? label : label + space + first)
      }
      lines += values.map { String(repeating: " ", count: indent) + $0 }
    }
    return lines
  }

  /// Returns the lines of ``lines(width:style:)`` as one string, with a line feed after each line.
  package func text(width: Int?, style: Style = .plain) -> String {
    lines(width: width, style: style).map { $0 + "\n" }.joined()
  }

  private func valueLines(_ value: Value, width: Int?, style: Style) -> [String] {
    switch value {
    case .text(let text, let tone):
      let lines = width.map { DisplayText.wrapped(text, to: $0) } ?? [text]
      return lines.map { style.apply($0, tone) }
    case .suggestions(let suggestions):
      return suggestionLines(suggestions, width: width, style: style)
    }
  }

  private func suggestionLines(
    _ suggestions: [Suggestion], width: Int?, style: Style
  ) -> [String] {
    let commandWidth =
      suggestions.filter { $0.purpose != nil }.map { DisplayWidth.columns(of: $0.command) }.max()
      ?? 0
    var lines: [String] = []
    for suggestion in suggestions {
      guard let purpose = suggestion.purpose else {
        lines.append(suggestion.command)
        continue
      }
      let used = commandWidth + Self.purposeGap + DisplayWidth.columns(of: purpose)
      if let width, used > width {
        lines.append(suggestion.command)
        lines += DisplayText.wrapped(purpose, to: max(width - 2, 1)).map {
          "  " + style.apply($0, .dim)
        }
      } else {
        let padded = DisplayText.padded(suggestion.command, to: commandWidth + Self.purposeGap)
        lines.append(padded + style.apply(purpose, .dim))
      }
    }
    return lines
  }
}
