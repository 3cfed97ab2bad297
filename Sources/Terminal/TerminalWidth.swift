/// Decides how many columns a line of output may have.
package enum TerminalWidth {
  /// The smallest and the largest width. Tables are unreadable in fewer columns, and lines in more.
  package static let bounds = 40...400
  /// The width when neither a terminal nor `COLUMNS` states one.
  package static let fallback = 80

  /// The width in columns of the terminal at `descriptor`. If the terminal's width is not known, returns the value of
  /// the variable `COLUMNS`, or 80 if the variable is not set. The result is limited to 40...400.
  package static func columns(of descriptor: Int32) -> Int {
    columns(
      window: System.windowColumns(descriptor), variable: System.environment("COLUMNS"))
  }

  /// The width that follows from the terminal's answer and from `COLUMNS`, in 40...400. `window` is nil without a
  /// terminal. `variable`, the value of `COLUMNS`, is ignored unless it is a positive number.
  package static func columns(window: Int?, variable: String?) -> Int {
    let stated = variable.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let columns = window.flatMap { $0 > 0 ? $0 : nil } ?? stated ?? fallback
    return min(max(columns, bounds.lowerBound), bounds.upperBound)
  }
}
