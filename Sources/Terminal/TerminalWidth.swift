/// How many columns a line may have.
package enum TerminalWidth {
  /// The limits of the result: in fewer columns tables are unreadable, in more columns lines are.
  package static let bounds = 40...400
  /// The result when nothing states a width.
  package static let fallback = 80

  /// The columns of the terminal at `descriptor`, else the variable `COLUMNS`, else 80; in 40...400.
  package static func columns(of descriptor: Int32) -> Int {
    columns(
      window: System.windowColumns(descriptor), variable: System.environment("COLUMNS"))
  }

  /// The columns that follow from these facts.
  ///
  /// - Parameters:
  ///   - window: what the terminal says; nil when there is none.
  ///   - variable: the variable `COLUMNS`; ignored unless it is a positive number.
  /// - Returns: columns, in 40...400.
  package static func columns(window: Int?, variable: String?) -> Int {
    let stated = variable.flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    let columns = window.flatMap { $0 > 0 ? $0 : nil } ?? stated ?? fallback
    return min(max(columns, bounds.lowerBound), bounds.upperBound)
  }
}
