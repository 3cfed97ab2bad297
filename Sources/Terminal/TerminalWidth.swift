/// Decides how many columns a line of output may have.
package enum TerminalWidth {
  /// The minimum and the maximum width of output, in columns. With fewer columns, tables are unreadable. With more
  /// columns, lines are too long to read.
  package static let bounds = 40...400
  /// The width of output, in columns, when neither the terminal nor the variable `COLUMNS` gives a width.
  package static let fallback = 80

  /// Returns the width in columns of the terminal at `descriptor`. If the terminal's width is not known, returns the
  /// value of the variable `COLUMNS`, or 80 if the variable is not set. The result is limited to 40...400.
  package static func columns(of descriptor: Int32) -> Int {
    columns(
      window: System.windowSize(descriptor)?.columns, variable: System.environment("COLUMNS"))
  }

  /// Returns the width of output in columns, limited to 40...400. `window` is the width that the terminal reports; nil
  /// without a terminal. If `window` is nil or 0, the width is `variable`, the value of `COLUMNS`. If `variable` is not
  /// a positive number either, the width is 80.
  package static func columns(window: Int?, variable: String?) -> Int {
    let stated = variable.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let columns = window.flatMap { $0 > 0 ? $0 : nil } ?? stated ?? fallback
    return min(max(columns, bounds.lowerBound), bounds.upperBound)
  }
}
