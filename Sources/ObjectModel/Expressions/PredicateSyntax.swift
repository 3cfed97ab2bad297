/// The words and signs of Apple's predicate format (Predicate Programming Guide, "Predicate Format String Syntax").
/// `PredicatePrinter` and `PredicateParser` use these tables.
package enum PredicateSyntax {
  /// The operators that are written as signs. If an operator has several signs, the first one is printed.
  package static let operators: [(names: [String], operator: ModelPredicate.Operator)] = [
    (["=="], .equal), (["="], .equal), (["!="], .notEqual), (["<>"], .notEqual),
    (["<="], .lessThanOrEqual), (["=<"], .lessThanOrEqual), ([">="], .greaterThanOrEqual),
    (["=>"], .greaterThanOrEqual), (["<"], .lessThan), ([">"], .greaterThan),
  ]

  /// The operators that are written as words, keyed by the word in capitals.
  package static let wordOperators: [String: ModelPredicate.Operator] = [
    "MATCHES": .matches, "LIKE": .like, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
    "IN": .in, "CONTAINS": .contains, "BETWEEN": .between,
  ]

  /// The reserved words, in capitals. A name that equals a reserved word is written with a `#` before it.
  package static let reserved: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "CASEINSENSITIVE", "CI",
    "MATCHES", "CONTAINS", "BEGINSWITH", "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE",
    "YES", "FALSE", "NO", "FIRST", "LAST", "SIZE", "ANYKEY", "SUBQUERY", "CAST", "TRUEPREDICATE",
    "FALSEPREDICATE", "FUNCTION", "FETCH", "TERNARY", "UNION", "INTERSECT", "MINUS",
  ]

  /// The two-argument functions that are printed as operators, in ascending order of precedence. The first argument
  /// always precedes the sign: `from:subtract:` is `a - b`.
  package static let arithmetic: [(sign: String, selector: String, level: Int)] = [
    ("+", "add:to:", 1), ("-", "from:subtract:", 1), ("*", "multiply:by:", 2),
    ("/", "divide:by:", 2), ("**", "raise:toPower:", 3),
  ]

  package static let cast = "castObject:toType:"
  package static let index = "objectFrom:withIndex:"

  /// The class name that a `CAST` contains to make a date constant from a number.
  package static let dateClass = "NSDate"
  package static let decimalClass = "NSDecimalNumber"
  package static let dataClass = "NSData"
  package static let uuidClass = "NSUUID"
  package static let urlClass = "NSURL"

  package static func isNameStart(_ byte: UInt8) -> Bool {
    switch byte {
    case 65...90, 97...122, UInt8(ascii: "_"): true
    default: byte >= 0x80
    }
  }

  package static func isNamePart(_ byte: UInt8) -> Bool {
    isNameStart(byte) || (48...57).contains(byte)
  }

  /// Whether a string has the form of a name. A reserved word has this form too.
  package static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, isNameStart(first) else { return false }
    return text.utf8.allSatisfy(isNamePart)
  }

  /// Whether a string has the form of a selector: a single name, or a sequence of names that each end with a colon.
  package static func isSelector(_ text: String) -> Bool {
    var parts = text.utf8.split(separator: colon, omittingEmptySubsequences: false)
    if parts.count > 1, parts.popLast()?.isEmpty == false { return false }
    return parts.allSatisfy { isName(String(Substring($0))) }
  }

  package static func takesArgument(_ name: String) -> Bool { name.utf8.last == colon }

  /// Returns the keys of a key path, in order, including empty keys. The path is split at every byte that is a dot.
  package static func keys(of path: String) -> [String] {
    path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
  }

  /// Whether a string is a valid key path: names separated by dots. A name may start with `@`.
  package static func isKeyPath(_ text: String) -> Bool {
    keys(of: text).allSatisfy { key in
      isName(key.utf8.first == UInt8(ascii: "@") ? String(Substring(key.utf8.dropFirst())) : key)
    }
  }

  private static let colon = UInt8(ascii: ":")

  /// Returns the constant that `CAST(value, type)` stands for if `value` is a literal; nil for any other cast.
  package static func constant(_ value: ModelExpression, castTo type: ModelExpression)
    -> ExpressionConstant?
  {
    switch (type.stringConstant, value) {
    case (dateClass, .constant(.integer(let seconds))): .date(Double(seconds))
    case (dateClass, .constant(.real(let seconds))): .date(seconds)
    case (decimalClass, .constant(.string(let digits))):
      DecimalText.canonical(digits) == digits ? .decimal(digits) : nil
    case (dataClass, .constant(.string(let hex))):
      Hex.bytes(hex).flatMap { Hex.string($0) == hex ? .data($0) : nil }
    case (uuidClass, .constant(.string(let text))): .uuid(text)
    case (urlClass, .constant(.string(let text))): .url(text)
    case ("Class", .constant(.string(let text))): .type(text)
    default: nil
    }
  }
}
