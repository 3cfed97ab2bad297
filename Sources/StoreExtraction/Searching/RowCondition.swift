import CoreDataStore
import Foundation
import ModelTools
import ObjectModel

/// A condition on rows in Apple's predicate format: `title CONTAINS[c] "milk" AND when > "2026-11-20"`.
///
/// Missing values are compared as in Core Data: `== nil` and `!=` with any value are true, and all other comparisons
/// are false. `NOT` turns false into true, as in NSPredicate, even where SQL would give NULL because a value is
/// missing. A text in the form of a date counts as a date when it is compared with a date.
package struct RowCondition {
  let predicate: ModelPredicate
  /// The compiled regular expressions of the condition. A pattern is compiled separately for each set of options.
  private var expressions: [ExactText: TextExpression] = [:]

  /// Parses a condition.
  ///
  /// - Throws: ``ExtractionError`` with `usage.badCondition` when `text` is not in the predicate format, or uses a part
  ///   of the format that cannot be evaluated on rows.
  package init(_ text: String) throws(ExtractionError) {
    do throws(PredicateFormatError) {
      predicate = try ModelPredicate(parsing: text)
    } catch {
      throw ExtractionError(
        .badCondition, "the condition cannot be read: \(error.message) (at byte \(error.offset))")
    }
    try check(predicate)
  }

  static func refusal(_ what: String) -> ExtractionError {
    ExtractionError(.badCondition, "the condition cannot be applied to rows: \(what)")
  }

  // MARK: - What can be evaluated on rows

  private static let functions: Set<String> = [
    "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "lowercase", "uppercase", "length",
    "abs", "now",
  ]

  private mutating func check(_ predicate: ModelPredicate) throws(ExtractionError) {
    switch predicate {
    case .comparison(let comparison):
      try check(comparison.left)
      try check(comparison.right)
      switch comparison.operator {
      case .selector(let name): throw Self.refusal("it calls the method \(name)")
      case .matches:
        guard let text = comparison.right.stringConstant else {
          throw Self.refusal("MATCHES takes a text")
        }
        guard
          let expression = TextExpression(
            comparison.options.contains(.diacriticInsensitive)
              ? ConditionValue.withoutDiacritics(text) : text,
            isCaseSensitive: !comparison.options.contains(.caseInsensitive))
        else {
          throw Self.refusal("\(text) is not a valid regular expression")
        }
        expressions[Self.key(of: text, comparison)] = expression
      case .between:
        guard case .aggregate(let bounds) = comparison.right, bounds.count == 2 else {
          throw Self.refusal("BETWEEN takes two values, as in {1, 9}")
        }
      default: break
      }
    case .and(let parts), .or(let parts): for part in parts { try check(part) }
    case .not(let part): try check(part)
    case .constant: break
    case .opaque, .unparsed: throw Self.refusal("a part of the condition is not understood")
    }
  }

  private static func key(
    of text: String, _ comparison: ModelPredicate.Comparison
  ) -> ExactText {
    let marks =
      (comparison.options.contains(.caseInsensitive) ? "c" : "")
      + (comparison.options.contains(.diacriticInsensitive) ? "d" : "")
    return ExactText("[\(marks)]" + text)
  }

  /// Returns the name of a function without the colon at its end, which a selector with one argument has.
  private static func name(_ selector: String) -> String {
    let bytes = selector.utf8
    let colons = bytes.count { $0 == UInt8(ascii: ":") }
    return colons == 1 ? String(decoding: bytes.dropLast(), as: UTF8.self) : selector
  }

  private func check(_ expression: ModelExpression) throws(ExtractionError) {
    switch expression {
    case .constant(let constant):
      guard ConditionValue(constant) != nil else { throw Self.refusal("it names a class") }
    case .keyPath(_, of: .evaluatedObject): break
    case .aggregate(let parts): for part in parts { try check(part) }
    case .function(target: nil, let selector, let arguments)
    where Self.functions.contains(Self.name(selector)):
      for argument in arguments { try check(argument) }
    case .function(_, let selector, _): throw Self.refusal("it calls the function \(selector)")
    default: throw Self.refusal("it uses \(expression.text)")
    }
  }

  /// All key paths in the condition, in the order of the condition. A path that occurs twice is listed twice.
  var keyPaths: [String] {
    var paths: [String] = []
    func add(_ expression: ModelExpression) {
      if let path = expression.plainKeyPath { paths.append(path) }
      for child in expression.children.expressions { add(child) }
    }
    for comparison in Self.comparisons(in: predicate) {
      add(comparison.left)
      add(comparison.right)
    }
    return paths
  }

  /// The key paths that are compared directly with a constant, and the constants.
  var comparisons: [(path: String, constant: ExpressionConstant)] {
    var found: [(String, ExpressionConstant)] = []
    func add(_ path: ModelExpression, _ other: ModelExpression) {
      guard let path = path.plainKeyPath else { return }
      switch other {
      case .constant(let constant): found.append((path, constant))
      case .aggregate(let parts): for part in parts { add(.path(path), part) }
      default: break
      }
    }
    for comparison in Self.comparisons(in: predicate) {
      add(comparison.left, comparison.right)
      add(comparison.right, comparison.left)
    }
    return found
  }

  /// Returns all comparisons in a predicate, in its order.
  private static func comparisons(in predicate: ModelPredicate) -> [ModelPredicate.Comparison] {
    switch predicate {
    case .comparison(let comparison): [comparison]
    case .and(let parts), .or(let parts): parts.flatMap(comparisons(in:))
    case .not(let part): comparisons(in: part)
    case .constant, .opaque, .unparsed: []
    }
  }

  // MARK: - Evaluating the condition on a row

  /// Whether the condition is true for a row. `value` returns the value of a key path in the row.
  func holds(_ value: (_ keyPath: String) -> ConditionValue) -> Bool {
    holds(predicate, value)
  }

  private func holds(
    _ predicate: ModelPredicate, _ value: (String) -> ConditionValue
  ) -> Bool {
    switch predicate {
    case .comparison(let comparison):
      let left = Self.result(comparison.left, value)
      let right = Self.result(comparison.right, value)
      guard case .list(let elements) = left, comparison.modifier != .direct else {
        return compare(left, right, comparison)
      }
      return comparison.modifier == .all
        ? elements.allSatisfy { compare($0, right, comparison) }
        : elements.contains { compare($0, right, comparison) }
    case .and(let parts): return parts.allSatisfy { holds($0, value) }
    case .or(let parts): return parts.contains { holds($0, value) }
    case .not(let part): return !holds(part, value)
    case .constant(let flag): return flag
    case .opaque, .unparsed: return false
    }
  }

  private static func result(
    _ expression: ModelExpression, _ value: (String) -> ConditionValue
  ) -> ConditionValue {
    switch expression {
    case .constant(let constant): return ConditionValue(constant) ?? .null
    case .keyPath(let path, _): return value(path)
    case .aggregate(let parts): return .list(parts.map { result($0, value) })
    case .function(_, let selector, let arguments):
      return call(name(selector), arguments.map { result($0, value) })
    default: return .null
    }
  }

  private static func call(_ selector: String, _ values: [ConditionValue]) -> ConditionValue {
    switch (selector, values.first?.text) {
    case ("now", _): return .date(Date().timeIntervalSinceReferenceDate)
    case ("lowercase", let text?): return .text(text.lowercased())
    case ("uppercase", let text?): return .text(text.uppercased())
    case ("length", let text?): return .integer(Int64(text.utf16.count))
    default: break
    }
    if selector == "abs", let number = values.first?.number { return .real(number.magnitude) }
    guard values.count == 2 else { return .null }
    if case .date(let date) = values[0], let seconds = values[1].number {
      return selector == "add:to:"
        ? .date(date + seconds) : selector == "from:subtract:" ? .date(date - seconds) : .null
    }
    if case (.integer(let one), .integer(let other)) = (values[0], values[1]) {
      let (exact, overflow) =
        switch selector {
        case "add:to:": one.addingReportingOverflow(other)
        case "from:subtract:": one.subtractingReportingOverflow(other)
        case "multiply:by:": one.multipliedReportingOverflow(by: other)
        default: (Int64(0), true)
        }
      if !overflow { return .integer(exact) }
    }
    guard let one = values[0].number, let other = values[1].number else { return .null }
    switch selector {
    case "add:to:": return .real(one + other)
    case "from:subtract:": return .real(one - other)
    case "multiply:by:": return .real(one * other)
    case "divide:by:": return other == 0 ? .null : .real(one / other)
    default: return .null
    }
  }

  private func compare(
    _ left: ConditionValue, _ right: ConditionValue, _ comparison: ModelPredicate.Comparison
  ) -> Bool {
    var (left, right) = (Self.dated(left, beside: right), Self.dated(right, beside: left))
    var options = comparison.options
    // A regular expression ignores case by itself. In lower case, some letters have more scalars than before.
    if comparison.operator == .matches { options.remove(.caseInsensitive) }
    if !options.isEmpty {
      (left, right) = (left.folded(options), right.folded(options))
    }
    let order = ConditionValue.order(left, right)
    let hasValues = left != .null && right != .null
    switch comparison.operator {
    case .equal: return order == 0
    case .notEqual: return order != 0
    case .lessThan: return hasValues && order.map { $0 < 0 } ?? false
    case .lessThanOrEqual: return hasValues && order.map { $0 <= 0 } ?? false
    case .greaterThan: return hasValues && order.map { $0 > 0 } ?? false
    case .greaterThanOrEqual: return hasValues && order.map { $0 >= 0 } ?? false
    case .between:
      guard case .list(let bounds) = right, bounds.count == 2, left != .null else { return false }
      guard let low = ConditionValue.order(left, bounds[0]),
        let high = ConditionValue.order(left, bounds[1])
      else { return false }
      return low >= 0 && high <= 0
    case .in:
      if case .list(let elements) = right {
        return elements.contains { ConditionValue.order(left, $0) == 0 }
      }
      return Self.contains(right, left)
    case .contains:
      if case .list(let elements) = left {
        return elements.contains { ConditionValue.order($0, right) == 0 }
      }
      return Self.contains(left, right)
    case .beginsWith:
      guard let left = left.text, let right = right.text else { return false }
      return left.utf8.starts(with: right.utf8)
    case .endsWith:
      guard let left = left.text, let right = right.text else { return false }
      return left.utf8.reversed().starts(with: right.utf8.reversed())
    case .like:
      guard let left = left.text, let right = right.text else { return false }
      return Self.isLike(Array(left.unicodeScalars), Array(right.unicodeScalars))
    case .matches:
      guard let left = left.text, let right = comparison.right.stringConstant else { return false }
      return expressions[Self.key(of: right, comparison)]?.matchesWhole(left) ?? false
    case .selector: return false
    }
  }

  /// Returns `value` as it is compared with `other`. If `other` is a date, a text such as `2026-11-20` becomes the
  /// period that it names, also inside a list. Any other value is returned unchanged.
  private static func dated(_ value: ConditionValue, beside other: ConditionValue) -> ConditionValue
  {
    guard case .date = other else { return value }
    switch value {
    case .list(let elements): return .list(elements.map { dated($0, beside: other) })
    case .text(let text): return DateText.seconds(in: text).map(ConditionValue.period) ?? value
    default: return value
    }
  }

  private static func contains(_ whole: ConditionValue, _ part: ConditionValue) -> Bool {
    guard let whole = whole.text, let part = part.text else { return false }
    return part.isEmpty || whole.utf8.firstRange(of: part.utf8) != nil
  }

  /// Whether `text` matches a `LIKE` pattern. `?` stands for one scalar and `*` for any number of them; a backslash
  /// makes the next scalar literal. The running time is at most proportional to the product of the lengths of `text`
  /// and `pattern`.
  private static func isLike(_ text: [Unicode.Scalar], _ pattern: [Unicode.Scalar]) -> Bool {
    var (place, at) = (0, 0)
    var retry: (place: Int, at: Int)?
    while place < text.count {
      let isQuoted = at + 1 < pattern.count && pattern[at] == "\\"
      if at < pattern.count, !isQuoted, pattern[at] == "*" {
        at += 1
        retry = (place, at)
        continue
      }
      if at < pattern.count,
        !isQuoted && pattern[at] == "?" || pattern[at + (isQuoted ? 1 : 0)] == text[place]
      {
        place += 1
        at += isQuoted ? 2 : 1
        continue
      }
      guard let last = retry else { return false }
      retry = (last.place + 1, last.at)
      (place, at) = (last.place + 1, last.at)
    }
    while at < pattern.count, pattern[at] == "*" { at += 1 }
    return at == pattern.count
  }
}
