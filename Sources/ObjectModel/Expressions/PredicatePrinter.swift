/// Writes expressions and predicates as `predicateFormat` text.
struct PredicatePrinter {
  enum Style {
    /// Exact text, from which parsing gives the same tree: true is written `YES`, and 5.0 is written `5.0`.
    case exact
    /// Text as Apple's `predicateFormat` has it. This text is part of the version hash: true is written `1`, and 5.0
    /// is written `5`.
    case apple
  }

  let style: Style
  private(set) var text = ""

  private init(_ style: Style) { self.style = style }

  static func text(_ style: Style, _ write: (inout PredicatePrinter) -> Void) -> String {
    var printer = PredicatePrinter(style)
    write(&printer)
    return printer.text
  }

  // MARK: Predicates

  mutating func write(_ predicate: ModelPredicate) {
    switch predicate {
    case .comparison(let comparison): write(comparison)
    case .and(let parts): write(parts, joiner: " AND ", empty: "TRUEPREDICATE")
    case .or(let parts): write(parts, joiner: " OR ", empty: "FALSEPREDICATE")
    case .not(let part):
      text += "NOT "
      writePart(part)
    case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .opaque(let className): writeOpaque(className)
    case .unparsed(let verbatim): text += verbatim
    }
  }

  private mutating func write(_ parts: [ModelPredicate], joiner: String, empty: String) {
    guard !parts.isEmpty else {
      text += empty
      return
    }
    for (index, part) in parts.enumerated() {
      if index > 0 { text += joiner }
      writePart(part)
    }
  }

  private mutating func writePart(_ part: ModelPredicate) {
    let isCompound: Bool
    switch part {
    case .and(let parts), .or(let parts): isCompound = !parts.isEmpty
    case .not: isCompound = style == .exact
    case .unparsed: isCompound = true
    default: isCompound = false
    }
    if isCompound { text += "(" }
    write(part)
    if isCompound { text += ")" }
  }

  private mutating func write(_ comparison: ModelPredicate.Comparison) {
    switch comparison.modifier {
    case .direct: break
    case .all: text += "ALL "
    case .any: text += "ANY "
    }
    write(comparison.left)
    text += " " + Self.name(of: comparison.operator)
    var letters = ""
    for (option, letter) in Self.optionLetters where comparison.options.contains(option) {
      letters += letter
    }
    if !letters.isEmpty { text += "[\(letters)]" }
    text += " "
    write(comparison.right)
  }

  private static let optionLetters: [(ModelPredicate.Options, String)] = [
    (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"),
    (.localeSensitive, "l"),
  ]

  private static func name(of operator: ModelPredicate.Operator) -> String {
    if case .selector(let selector) = `operator` { return selector }
    if let sign = PredicateSyntax.operators.first(where: { $0.operator == `operator` }) {
      return sign.names[0]
    }
    return PredicateSyntax.wordOperators.first { $0.value == `operator` }?.key ?? ""
  }

  // MARK: Expressions

  mutating func write(_ expression: ModelExpression) {
    switch expression {
    case .constant(let constant): write(constant)
    case .evaluatedObject: text += "SELF"
    case .variable(let name): text += "$" + name
    case .keyPath(let path, of: let object): write(path, of: object)
    case .function(let target, let selector, let arguments):
      write(target, selector, arguments)
    case .aggregate(let parts):
      text += "{"
      write(parts)
      text += "}"
    case .subquery(let collection, let variable, let predicate):
      text += "SUBQUERY("
      write(collection)
      text += ", $\(variable), "
      write(predicate)
      text += ")"
    case .set(let operation, let left, let right):
      writeOperand(left)
      text += " \(operation.rawValue) "
      writeOperand(right)
    case .ternary(let predicate, let first, let second):
      text += "TERNARY("
      write(predicate)
      text += ", "
      write([first, second])
      text += ")"
    case .fetch(let request, let context, let countOnly):
      text += "FETCH("
      write([request, context])
      text += ", \(countOnly ? "YES" : "NO"))"
    case .symbol(let name): text += name
    case .anyKey: text += "ANYKEY"
    case .opaque(let className): writeOpaque(className)
    case .unparsed(let verbatim): text += verbatim
    }
  }

  private mutating func write(_ list: [ModelExpression]) {
    for (index, part) in list.enumerated() {
      if index > 0 { text += ", " }
      write(part)
    }
  }

  private mutating func writeOpaque(_ className: String) {
    text += "<opaque "
    writeQuoted(className)
    text += ">"
  }

  private mutating func write(_ path: String, of object: ModelExpression) {
    if case .keyPath = object {
      // `a.b` is a single key path. If the object of a key path is itself a key path, the inner key path gets brackets.
      text += "("
      write(object)
      text += ")."
    } else if object != .evaluatedObject {
      writeOperand(object)
      text += "."
    }
    guard PredicateSyntax.isKeyPath(path) else {
      // A key path with a key that is not a name cannot be in an `.xcdatamodel`. Apple prints such a key path
      // unchanged.
      if style == .apple {
        text += path
      } else {
        text += "#"
        writeQuoted(path)
      }
      return
    }
    for (index, part) in PredicateSyntax.keys(of: path).enumerated() {
      if index > 0 { text += "." }
      if PredicateSyntax.reserved.contains(part.uppercased()) { text += "#" }
      text += part
    }
  }

  private mutating func write(
    _ target: ModelExpression?, _ selector: String, _ arguments: [ModelExpression]
  ) {
    if let target {
      text += "FUNCTION("
      write([target, .constant(.string(selector))] + arguments)
      text += ")"
      return
    }
    if arguments.count == 2 {
      if let sign = PredicateSyntax.arithmetic.first(where: { $0.selector == selector }) {
        write(arguments[0], sign, arguments[1])
        return
      }
      if selector == PredicateSyntax.index {
        writeOperand(arguments[0])
        text += "["
        write(arguments[1])
        text += "]"
        return
      }
      // If the parser would read the `CAST` as a constant, then it is printed as an ordinary function call.
      if selector == PredicateSyntax.cast,
        PredicateSyntax.constant(arguments[0], castTo: arguments[1]) == nil
      {
        text += "CAST("
        write(arguments)
        text += ")"
        return
      }
    }
    if PredicateSyntax.isSelector(selector),
      !PredicateSyntax.reserved.contains(selector.uppercased())
    {
      text += selector
    } else {
      text += "#"
      writeQuoted(selector)
    }
    text += "("
    write(arguments)
    text += ")"
  }

  private mutating func write(
    _ left: ModelExpression, _ sign: (sign: String, selector: String, level: Int),
    _ right: ModelExpression
  ) {
    // The operators are left-associative, so a right operand of the same precedence gets brackets. Negative numbers
    // and set operations get brackets too.
    writeOperand(left, level: sign.level)
    text += " \(sign.sign) "
    writeOperand(right, level: sign.level + 1)
  }

  /// Writes an operand. The operand gets brackets if the parser would otherwise read a different tree.
  private mutating func writeOperand(_ expression: ModelExpression, level: Int = 9) {
    var needsBrackets = false
    switch expression {
    case .function(target: nil, let selector, let arguments) where arguments.count == 2:
      if let inner = PredicateSyntax.arithmetic.first(where: { $0.selector == selector }) {
        needsBrackets = inner.level < level || (inner.level == 3 && level == 3)
      }
    case .set: needsBrackets = true
    case .constant(.integer(let value)): needsBrackets = value < 0
    case .constant(.real(let value)): needsBrackets = value.sign == .minus || level == 9
    case .constant(.decimal): needsBrackets = level == 9
    default: break
    }
    if needsBrackets { text += "(" }
    write(expression)
    if needsBrackets { text += ")" }
  }

  // MARK: Constants

  private mutating func write(_ constant: ExpressionConstant) {
    switch constant {
    case .null: text += "nil"
    case .bool(let value):
      text += style == .apple ? (value ? "1" : "0") : (value ? "YES" : "NO")
    case .integer(let value): text += String(value)
    case .real(let value): write(value)
    case .decimal(let digits):
      if style == .apple { text += digits } else { writeCast(digits, PredicateSyntax.decimalClass) }
    case .string(let value): writeQuoted(value)
    case .date(let seconds):
      text += "CAST("
      if style == .apple, seconds.isFinite, abs(seconds) < 1e15 {
        text += Self.sixDigits(seconds)
      } else {
        write(seconds)
      }
      text += ", \"\(PredicateSyntax.dateClass)\")"
    case .data(let bytes): writeCast(Hex.string(bytes), PredicateSyntax.dataClass)
    case .uuid(let value): writeCast(value, PredicateSyntax.uuidClass)
    case .url(let value): writeCast(value, PredicateSyntax.urlClass)
    case .type(let name):
      text += "CAST("
      writeQuoted(name)
      text += ", \"Class\")"
    }
  }

  private mutating func writeCast(_ value: String, _ className: String) {
    text += "CAST("
    writeQuoted(value)
    text += ", \"\(className)\")"
  }

  private mutating func write(_ value: Double) {
    if style == .apple, let whole = Int64(exactly: value) {
      text += String(whole)
    } else if value.isNaN || value.isInfinite {
      // Apple's format has no literals for these values. Only `PredicateParser` reads these words.
      text += value.isNaN ? "#nan" : (value < 0 ? "#-inf" : "#inf")
    } else {
      text += value.description
    }
  }

  /// Returns the number with six decimal places, as `%f` prints it. A number of 9.2e12 or more is printed as Swift
  /// prints it.
  private static func sixDigits(_ value: Double) -> String {
    let millionths = (abs(value) * 1_000_000).rounded()
    guard let scaled = Int64(exactly: millionths) else { return value.description }
    let fraction = String(scaled % 1_000_000)
    let padded = String(repeating: "0", count: 6 - fraction.count) + fraction
    return (value < 0 ? "-" : "") + "\(scaled / 1_000_000).\(padded)"
  }

  private mutating func writeQuoted(_ value: String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        text += "\\"
        text.unicodeScalars.append(scalar)
      case "\n" where style == .exact: text += "\\n"
      case "\r" where style == .exact: text += "\\r"
      case "\t" where style == .exact: text += "\\t"
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

extension ModelExpression {
  /// The expression in Apple's predicate format. ``init(parsing:)`` turns the text into the same tree again.
  package var text: String {
    PredicatePrinter.text(.exact) { $0.write(self) }
  }

  /// The expression as Apple's `predicateFormat` prints it. The version hash includes this text. Unlike in ``text``,
  /// true is written `1`, like the number 1.
  package var predicateFormat: String {
    PredicatePrinter.text(.apple) { $0.write(self) }
  }
}

extension ModelPredicate {
  /// The predicate in Apple's predicate format. ``init(parsing:)`` turns the text into the same tree again, except
  /// that an AND or OR with fewer than two parts becomes a simpler predicate.
  package var text: String {
    PredicatePrinter.text(.exact) { $0.write(self) }
  }

  /// The predicate as Apple's `predicateFormat` prints it. The version hash includes this text. Unlike in ``text``,
  /// true is written `1`, like the number 1.
  package var predicateFormat: String {
    PredicatePrinter.text(.apple) { $0.write(self) }
  }
}
