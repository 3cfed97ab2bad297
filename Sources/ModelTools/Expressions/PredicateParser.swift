package import ObjectModel

/// Parses Apple's predicate format by recursive descent.
struct PredicateParser {
  /// The maximum depth of nested grammar rules. It is higher than ``ModelExpression/maximumDepth``, because each
  /// bracket counts as a level here but adds no level to the expression tree.
  private static let maximumNesting = ModelExpression.maximumDepth * 2 + 8
  /// The maximum number of left-nesting operators (`a + b + c`, `a[0][1]`) in one text.
  private static let maximumFolds = 200

  private let tokens: [PredicateTokens.Token]
  private let closing: [Int: Int]
  private var place = 0
  private var nesting = 0
  private var folds = 0
  /// The number of times that a grammar rule was entered, as a measure of the work done.
  private(set) var parts = 0

  init(_ text: String) throws(PredicateFormatError) {
    let scanned = try PredicateTokens(text)
    tokens = scanned.tokens
    closing = scanned.closing
  }

  mutating func wholePredicate() throws(PredicateFormatError) -> ModelPredicate {
    let predicate = try predicate()
    guard kind == .end else { throw error("There is more text after the end of the predicate.") }
    return predicate
  }

  mutating func wholeExpression() throws(PredicateFormatError) -> ModelExpression {
    let expression = try expression()
    guard kind == .end else { throw error("There is more text after the end of the expression.") }
    return expression
  }

  // MARK: Predicates

  private mutating func predicate() throws(PredicateFormatError) -> ModelPredicate {
    try enter()
    defer { nesting -= 1 }
    let first = try conjunction()
    guard isWord("OR") || kind == .sign("||") else { return first }
    var parts = [first]
    while takeWord("OR") || take("||") { parts.append(try conjunction()) }
    return .or(parts)
  }

  private mutating func conjunction() throws(PredicateFormatError) -> ModelPredicate {
    let first = try negation()
    guard isWord("AND") || kind == .sign("&&") else { return first }
    var parts = [first]
    while takeWord("AND") || take("&&") { parts.append(try negation()) }
    return .and(parts)
  }

  private mutating func negation() throws(PredicateFormatError) -> ModelPredicate {
    try enter()
    defer { nesting -= 1 }
    if takeWord("NOT") || take("!") { return .not(try negation()) }
    if takeWord("TRUEPREDICATE") { return .constant(true) }
    if takeWord("FALSEPREDICATE") { return .constant(false) }
    if kind == .sign("("), let end = closing[place], !startsOperator(at: end + 1) {
      place += 1
      let inner = try predicate()
      try expect(")")
      return inner
    }
    if let className = opaqueName(), !startsOperator(at: place + 4) {
      place += 4
      return .opaque(className: className)
    }
    return try comparison()
  }

  private mutating func comparison() throws(PredicateFormatError) -> ModelPredicate {
    var modifier = ModelPredicate.Modifier.direct
    var isNegated = false
    if takeWord("ANY") || takeWord("SOME") {
      modifier = .any
    } else if takeWord("ALL") {
      modifier = .all
    } else if takeWord("NONE") {
      modifier = .any
      isNegated = true
    }
    let left = try expression()
    guard let found = comparisonOperator(at: place) else {
      throw error("An operator such as == or CONTAINS is missing here.")
    }
    place += 1
    let options = try options()
    let right = try expression()
    let comparison = ModelPredicate.compare(
      left, found, right, modifier: modifier, options: options)
    return isNegated ? .not(comparison) : comparison
  }

  private func comparisonOperator(at place: Int) -> ModelPredicate.Operator? {
    switch tokens[place].kind {
    case .sign(let sign):
      return PredicateSyntax.operators.first { $0.names.contains(sign) }?.operator
    case .name(let name, isEscaped: false):
      if let known = PredicateSyntax.wordOperators[name.uppercased()] { return known }
      return PredicateSyntax.takesArgument(name) ? .selector(name) : nil
    default: return nil
    }
  }

  /// Whether the token at index `place` is an operator, a dot or a subscript. If so, the part in brackets before this
  /// token is an operand of an expression; otherwise this part is a predicate. The same holds for an ``opaqueName()``
  /// before the token.
  private func startsOperator(at place: Int) -> Bool {
    guard place < tokens.count else { return false }
    if comparisonOperator(at: place) != nil { return true }
    switch tokens[place].kind {
    case .sign(let sign): return ["+", "-", "*", "/", "**", ".", "["].contains(sign)
    case .name(let name, isEscaped: false):
      return ExpressionSetOperation(rawValue: name.uppercased()) != nil
    default: return false
    }
  }

  private mutating func options() throws(PredicateFormatError) -> ModelPredicate.Options {
    guard take("[") else { return [] }
    guard case .name(let letters, _) = kind else {
      throw error("An option is missing here: c, d, n or l.")
    }
    var options: ModelPredicate.Options = []
    for letter in letters.lowercased() {
      switch letter {
      case "c": options.insert(.caseInsensitive)
      case "d": options.insert(.diacriticInsensitive)
      case "n": options.insert(.normalized)
      case "l": options.insert(.localeSensitive)
      default: throw error("There is no option \(letter); the options are c, d, n and l.")
      }
    }
    place += 1
    try expect("]")
    return options
  }

  // MARK: Expressions

  private mutating func expression() throws(PredicateFormatError) -> ModelExpression {
    try enter()
    defer { nesting -= 1 }
    var left = try arithmetic(level: 1)
    while case .name(let name, isEscaped: false) = kind,
      let operation = ExpressionSetOperation(rawValue: name.uppercased())
    {
      try fold()
      place += 1
      left = .set(operation, left, try arithmetic(level: 1))
    }
    return left
  }

  private mutating func arithmetic(level: Int) throws(PredicateFormatError) -> ModelExpression {
    guard level <= 3 else { return try suffixed() }
    var left = try arithmetic(level: level + 1)
    while case .sign(let sign) = kind,
      let found = PredicateSyntax.arithmetic.first(where: { $0.sign == sign && $0.level == level })
    {
      try fold()
      place += 1
      let right = try arithmetic(level: level + 1)
      left = .function(target: nil, selector: found.selector, arguments: [left, right])
    }
    return left
  }

  /// Parses a primary expression, and the key paths and subscripts that follow it.
  private mutating func suffixed() throws(PredicateFormatError) -> ModelExpression {
    var object = try primary()
    // A name and the keys that follow it, separated by dots, form one key path.
    var path: String?
    if case .keyPath(let first, of: .evaluatedObject) = object,
      tokens[place - 1].kind != .sign(")")
    {
      path = first
      object = .evaluatedObject
    }
    func closed() -> ModelExpression {
      path.map { .keyPath($0, of: object) } ?? object
    }
    while true {
      if take(".") {
        guard case .name(let name, _) = kind, !PredicateSyntax.takesArgument(name) else {
          throw error("A key is missing after the dot.")
        }
        place += 1
        if path == nil { try fold() }
        path = path.map { $0 + "." + name } ?? name
      } else if kind == .sign("[") {
        try fold()
        place += 1
        let index = try expression()
        try expect("]")
        object = .function(
          target: nil, selector: PredicateSyntax.index, arguments: [closed(), index])
        path = nil
      } else {
        return closed()
      }
    }
  }

  private mutating func primary() throws(PredicateFormatError) -> ModelExpression {
    try count()
    switch kind {
    case .string(let text):
      place += 1
      return .constant(.string(text))
    case .integer(let value):
      place += 1
      return .constant(.integer(value))
    case .smallestWithoutSign: throw error("This number is too big.")
    case .real(let value):
      place += 1
      return .constant(.real(value))
    case .variable(let name):
      place += 1
      return .variable(name)
    case .sign("-"): return try negativeNumber()
    case .sign("("):
      place += 1
      let inner = try expression()
      try expect(")")
      return inner
    case .sign("{"):
      place += 1
      return .aggregate(try list(closedBy: "}"))
    case .sign("<"):
      guard let className = opaqueName() else { throw error("A value is missing here.") }
      place += 4
      return .opaque(className: className)
    case .name(let name, let isEscaped):
      return try named(name, isEscaped: isEscaped)
    case .sign, .end: throw error("A value is missing here.")
    }
  }

  private mutating func negativeNumber() throws(PredicateFormatError) -> ModelExpression {
    place += 1
    switch kind {
    case .integer(let value):
      place += 1
      return .constant(.integer(-value))
    case .smallestWithoutSign:
      place += 1
      return .constant(.integer(.min))
    case .real(let value):
      place += 1
      return .constant(.real(-value))
    default: throw error("Only a number can follow a minus sign here.")
    }
  }

  private mutating func named(
    _ name: String, isEscaped: Bool
  ) throws(PredicateFormatError) -> ModelExpression {
    place += 1
    if kind == .sign("(") { return try call(name, isEscaped: isEscaped) }
    guard !isEscaped else { return .path(name) }
    switch name.uppercased() {
    case "SELF": return .evaluatedObject
    case "NIL", "NULL": return .constant(.null)
    case "YES", "TRUE": return .constant(.bool(true))
    case "NO", "FALSE": return .constant(.bool(false))
    case "ANYKEY": return .anyKey
    case "FIRST", "LAST", "SIZE": return .symbol(name.uppercased())
    case let word:
      guard !PredicateSyntax.reserved.contains(word), !PredicateSyntax.takesArgument(name) else {
        place -= 1
        throw error("\(name) is not a name; write #\(name) if it is a key.")
      }
      return .path(name)
    }
  }

  private mutating func call(
    _ name: String, isEscaped: Bool
  ) throws(PredicateFormatError) -> ModelExpression {
    let start = tokens[place]
    place += 1
    switch isEscaped ? "" : name.uppercased() {
    case "SUBQUERY":
      let collection = try expression()
      try expect(",")
      guard case .variable(let variable) = kind else { throw error("A variable is missing here.") }
      place += 1
      try expect(",")
      let condition = try predicate()
      try expect(")")
      return .subquery(collection, variable: variable, predicate: condition)
    case "TERNARY":
      let condition = try predicate()
      try expect(",")
      let first = try expression()
      try expect(",")
      let second = try expression()
      try expect(")")
      return .ternary(condition, first, second)
    case "FUNCTION":
      let arguments = try list(closedBy: ")")
      guard arguments.count >= 2, let selector = arguments[1].stringConstant else {
        throw error("FUNCTION takes a target and a selector in quotation marks.", at: start)
      }
      return .function(
        target: arguments[0], selector: selector, arguments: Array(arguments.dropFirst(2)))
    case "FETCH":
      let arguments = try list(closedBy: ")")
      guard arguments.count == 3, case .constant(.bool(let countOnly)) = arguments[2] else {
        throw error("FETCH takes a request, a context, and YES or NO.", at: start)
      }
      return .fetch(request: arguments[0], context: arguments[1], countOnly: countOnly)
    case "CAST":
      let arguments = try list(closedBy: ")")
      guard arguments.count == 2 else { throw error("CAST takes a value and a class.", at: start) }
      if let constant = PredicateSyntax.constant(arguments[0], castTo: arguments[1]) {
        return .constant(constant)
      }
      return .function(target: nil, selector: PredicateSyntax.cast, arguments: arguments)
    case let word:
      guard isEscaped || !PredicateSyntax.reserved.contains(word) else {
        throw error("\(name) is not a function.", at: start)
      }
      return .function(target: nil, selector: name, arguments: try list(closedBy: ")"))
    }
  }

  private mutating func list(closedBy end: String) throws(PredicateFormatError) -> [ModelExpression]
  {
    if take(end) { return [] }
    var list = [try expression()]
    while take(",") { list.append(try expression()) }
    try expect(end)
    return list
  }

  // MARK: Tokens

  private var kind: PredicateTokens.Kind { tokens[place].kind }

  /// Returns the class name, if the next tokens are `<opaque "Name">`. This notation stands for an archived object that
  /// was not read. Nil for any other tokens.
  private func opaqueName() -> String? {
    guard place + 3 < tokens.count, kind == .sign("<"),
      tokens[place + 1].kind == .name("opaque", isEscaped: false),
      case .string(let name) = tokens[place + 2].kind, tokens[place + 3].kind == .sign(">")
    else { return nil }
    return name
  }

  private func isWord(_ word: String) -> Bool {
    guard case .name(let name, isEscaped: false) = kind else { return false }
    return name.uppercased() == word
  }

  private mutating func takeWord(_ word: String) -> Bool {
    guard isWord(word) else { return false }
    place += 1
    return true
  }

  private mutating func take(_ sign: String) -> Bool {
    guard kind == .sign(sign) else { return false }
    place += 1
    return true
  }

  private mutating func expect(_ sign: String) throws(PredicateFormatError) {
    guard take(sign) else { throw error("A \(sign) is missing here.") }
  }

  private mutating func enter() throws(PredicateFormatError) {
    nesting += 1
    try count()
    guard nesting <= Self.maximumNesting else {
      throw error("The text is nested too deeply.", code: .tooComplex)
    }
  }

  private mutating func fold() throws(PredicateFormatError) {
    folds += 1
    guard folds <= Self.maximumFolds else {
      throw error("The text has too many operators in a row.", code: .tooComplex)
    }
  }

  private mutating func count() throws(PredicateFormatError) {
    parts += 1
    guard parts <= ModelExpression.maximumPartCount * 6 else {
      throw error("The text has too many parts.", code: .tooComplex)
    }
  }

  private func error(
    _ message: String, at token: PredicateTokens.Token? = nil,
    code: PredicateFormatError.Code = .syntax
  ) -> PredicateFormatError {
    PredicateFormatError(
      code: code, message: message, offset: (token ?? tokens[place]).offset)
  }
}

extension ModelExpression {
  /// Parses an expression in Apple's predicate format, as a developer types it into an `.xcdatamodel`.
  package init(parsing text: String) throws(PredicateFormatError) {
    var parser = try PredicateParser(text)
    self = try parser.wholeExpression()
  }

  /// Parses an expression in Apple's predicate format. A string that cannot be parsed becomes ``unparsed(_:)``.
  package init(text: String) {
    self = (try? ModelExpression(parsing: text)) ?? .unparsed(text)
  }
}

extension ModelPredicate {
  /// Parses a predicate in Apple's predicate format, as a developer types it into an `.xcdatamodel`.
  package init(parsing text: String) throws(PredicateFormatError) {
    var parser = try PredicateParser(text)
    self = try parser.wholePredicate()
  }

  /// Parses a predicate in Apple's predicate format. A string that cannot be parsed becomes ``unparsed(_:)``.
  package init(text: String) {
    self = (try? ModelPredicate(parsing: text)) ?? .unparsed(text)
  }
}
