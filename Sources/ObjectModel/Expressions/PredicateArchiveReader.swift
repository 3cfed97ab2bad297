import SafeText

/// Reads expressions and predicates from keyed archives.
///
/// The class names and keys come from real models, model caches and mapping models. No such file contains an
/// `NSAggregateExpression`, `NSSetExpression`, `NSSubqueryExpression` or `NSTernaryExpression`. The keys of these four
/// classes are guesses, made from the keys of similar classes. An object of these classes with other keys is read as
/// opaque.
package struct PredicateArchiveReader {
  package let archive: KeyedArchive
  /// The number of parts that were read. Each nil in a list counts. A shared part counts each time that it is reached.
  package private(set) var partCount = 0
  /// The number of bytes of text and data that were read from the archive.
  package private(set) var textLength = 0

  private static let maximumTextLength = 1 << 16

  package init(archive: KeyedArchive) { self.archive = archive }

  private var isFull: Bool {
    partCount > ModelExpression.maximumPartCount || textLength > Self.maximumTextLength
  }

  // MARK: Expressions

  /// Reads an expression; nil if `value` is nil. If the object graph is cyclic, too deep or too large, then opaque
  /// parts replace the parts that are not read.
  package mutating func expression(_ value: PropertyList?, depth: Int = 0) -> ModelExpression? {
    guard archive.resolve(value) != nil else { return nil }
    partCount += 1
    let className = archive.className(of: value) ?? "unknown"
    let opaque = ModelExpression.opaque(className: className)
    guard depth < ModelExpression.maximumDepth, !isFull else { return opaque }
    switch className {
    case "NSConstantValueExpression": return constant(value, depth: depth)
    case "NSSelfExpression": return .evaluatedObject
    case "NSVariableExpression":
      guard let name = text("NSVariable", value), PredicateSyntax.isName(name) else {
        return opaque
      }
      return .variable(name)
    case "NSKeyPathExpression": return keyPath(value, depth: depth) ?? opaque
    case "NSFunctionExpression": return function(value, depth: depth) ?? opaque
    case "NSAggregateExpression":
      return list("NSCollection", value, depth: depth).map { .aggregate($0) } ?? opaque
    case "NSSetExpression":
      let operations: [Int64: ExpressionSetOperation] = [5: .union, 6: .intersect, 7: .minus]
      guard let type = archive.integer(archive.field("NSExpressionType", of: value)),
        let operation = operations[type],
        let left = part("NSLeftExpression", value, depth: depth),
        let right = part("NSRightExpression", value, depth: depth)
      else { return opaque }
      return .set(operation, left, right)
    case "NSSubqueryExpression":
      guard let collection = part("NSCollection", value, depth: depth),
        let variable = text("NSVariable", value), PredicateSyntax.isName(variable),
        let predicate = predicate(archive.field("NSPredicate", of: value), depth: depth + 1)
      else { return opaque }
      return .subquery(collection, variable: variable, predicate: predicate)
    case "NSTernaryExpression":
      guard let predicate = predicate(archive.field("NSPredicate", of: value), depth: depth + 1),
        let first = part("NSTrueExpression", value, depth: depth),
        let second = part("NSFalseExpression", value, depth: depth)
      else { return opaque }
      return .ternary(predicate, first, second)
    case "NSFetchRequestExpression":
      guard let request = part("NSFRExpression", value, depth: depth),
        let context = part("NSMOCExpression", value, depth: depth),
        let countOnly = archive.bool(archive.field("NSCountOnlyFlag", of: value))
      else { return opaque }
      return .fetch(request: request, context: context, countOnly: countOnly)
    case "NSAnyKeyExpression": return .anyKey
    default: return opaque
    }
  }

  private mutating func part(_ key: String, _ value: PropertyList?, depth: Int) -> ModelExpression?
  {
    expression(archive.field(key, of: value), depth: depth + 1)
  }

  private mutating func list(
    _ key: String, _ value: PropertyList?, depth: Int
  ) -> [ModelExpression]? {
    guard let elements = archive.elements(archive.field(key, of: value)) else { return nil }
    var parts: [ModelExpression] = []
    for element in elements {
      guard !isFull else { return nil }
      if archive.resolve(element) == nil { partCount += 1 }
      parts.append(expression(element, depth: depth + 1) ?? .constant(.null))
    }
    return parts
  }

  private mutating func keyPath(_ value: PropertyList?, depth: Int) -> ModelExpression? {
    guard let arguments = archive.elements(archive.field("NSArguments", of: value)),
      arguments.count == 1,
      archive.className(of: arguments[0]) == "NSKeyPathSpecifierExpression",
      let path = text("NSKeyPath", arguments[0]),
      let object = part("NSOperand", value, depth: depth)
    else { return nil }
    return .keyPath(path, of: object)
  }

  private mutating func function(_ value: PropertyList?, depth: Int) -> ModelExpression? {
    guard let selector = text("NSSelectorName", value) else { return nil }
    let operand = archive.field("NSOperand", of: value)
    var target: ModelExpression?
    if text("NSConstantValueClassName", archive.resolve(operand)) != Self.utilities {
      guard let object = expression(operand, depth: depth + 1) else { return nil }
      target = object
    }
    guard let arguments = list("NSArguments", value, depth: depth) else { return nil }
    return .function(target: target, selector: selector, arguments: arguments)
  }

  /// The class whose methods are the built-in functions, such as `sum:`, in archived expressions.
  package static let utilities = "_NSPredicateUtilities"

  // MARK: Constants

  private mutating func constant(_ value: PropertyList?, depth: Int) -> ModelExpression {
    if let name = text("NSConstantValueClassName", value) { return .constant(.type(name)) }
    return constantValue(archive.field("NSConstantValue", of: value), depth: depth)
  }

  private mutating func constantValue(_ value: PropertyList?, depth: Int) -> ModelExpression {
    partCount += 1
    guard let object = archive.resolve(value) else { return .constant(.null) }
    let className = archive.className(of: object)
    switch className {
    case nil, "NSNumber", "NSString", "NSMutableString": break
    case "NSDate":
      if let date = archive.date(object) { return .constant(.date(date)) }
    case "NSData", "NSMutableData":
      if let bytes = archive.data(object) {
        textLength += bytes.count
        return .constant(.data(bytes))
      }
    case "NSUUID":
      if let uuid = archive.uuid(object) { return .constant(.uuid(uuid)) }
    case "NSURL":
      if let url = text("NS.relative", object) { return .constant(.url(url)) }
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      if let digits = archive.decimal(object) { return .constant(.decimal(digits)) }
    case "NSNull": return .constant(.null)
    default:
      let isList = ["NSArray", "NSSet", "NSOrderedSet"].contains {
        archive.isKind(object, of: $0)
      }
      if isList, depth < ModelExpression.maximumDepth, let elements = archive.elements(object) {
        var parts: [ModelExpression] = []
        for element in elements where !isFull {
          parts.append(constantValue(element, depth: depth + 1))
        }
        if parts.count == elements.count { return .aggregate(parts) }
      }
    }
    if className == nil || className == "NSNumber" || PathText.ends(className ?? "", with: "String")
    {
      if let text = archive.string(object) {
        textLength += text.utf8.count
        return .constant(.string(text))
      }
      if case .bool(let flag) = object { return .constant(.bool(flag)) }
      switch object {
      case .date(let date): return .constant(.date(date))
      case .data(let bytes):
        textLength += bytes.count
        return .constant(.data(bytes))
      default: break
      }
      if let number = archive.integer(object), !Self.isReal(object) {
        return .constant(.integer(number))
      }
      if let number = archive.real(object) { return .constant(.real(number)) }
    }
    return .opaque(className: className ?? "unknown")
  }

  private static func isReal(_ object: PropertyList) -> Bool {
    if case .real = object { return true }
    if case .real? = object["NS.dblval"] { return true }
    return false
  }

  // MARK: Predicates

  /// Reads a predicate; nil if `value` is nil. If the object graph is cyclic, too deep or too large, then opaque parts
  /// replace the parts that are not read.
  package mutating func predicate(_ value: PropertyList?, depth: Int = 0) -> ModelPredicate? {
    guard archive.resolve(value) != nil else { return nil }
    partCount += 1
    let className = archive.className(of: value) ?? "unknown"
    let opaque = ModelPredicate.opaque(className: className)
    guard depth < ModelExpression.maximumDepth, !isFull else { return opaque }
    switch className {
    case "NSComparisonPredicate": return comparison(value, depth: depth) ?? opaque
    case "NSCompoundPredicate": return compound(value, depth: depth) ?? opaque
    case "NSTruePredicate": return .constant(true)
    case "NSFalsePredicate": return .constant(false)
    default: return opaque
    }
  }

  private mutating func compound(_ value: PropertyList?, depth: Int) -> ModelPredicate? {
    guard let type = archive.integer(archive.field("NSCompoundPredicateType", of: value)),
      let elements = archive.elements(archive.field("NSSubpredicates", of: value))
    else { return nil }
    var parts: [ModelPredicate] = []
    for element in elements {
      guard !isFull, let part = predicate(element, depth: depth + 1) else { return nil }
      parts.append(part)
    }
    switch type {
    case 0 where parts.count == 1: return .not(parts[0])
    case 1: return .and(parts)
    case 2: return .or(parts)
    default: return nil
    }
  }

  /// The operators by `NSPredicateOperatorType`. Number 11 is not listed, because that operator needs a selector too.
  package static let operators: [Int64: ModelPredicate.Operator] = [
    0: .lessThan, 1: .lessThanOrEqual, 2: .greaterThan, 3: .greaterThanOrEqual, 4: .equal,
    5: .notEqual, 6: .matches, 7: .like, 8: .beginsWith, 9: .endsWith, 10: .in, 99: .contains,
    100: .between,
  ]

  private mutating func comparison(_ value: PropertyList?, depth: Int) -> ModelPredicate? {
    let stored = archive.field("NSPredicateOperator", of: value)
    guard let type = archive.integer(archive.field("NSOperatorType", of: stored)),
      let modifier = number("NSModifier", stored).flatMap(
        ModelPredicate.Modifier.init(rawValue:)),
      let left = part("NSLeftExpression", value, depth: depth),
      let right = part("NSRightExpression", value, depth: depth)
    else { return nil }
    var found = Self.operators[type]
    if type == 11, let selector = text("NSSelectorName", stored),
      PredicateSyntax.takesArgument(selector),
      PredicateSyntax.isSelector(selector)
    {
      found = .selector(selector)
    }
    guard let found else { return nil }
    // Archives keep the options of `==` under `NSOptions`, and those of CONTAINS and IN under `NSFlags`.
    let key = archive.field("NSOptions", of: stored) == nil ? "NSFlags" : "NSOptions"
    guard let bits = number(key, stored), (0...15).contains(bits) else { return nil }
    return .compare(
      left, found, right, modifier: modifier, options: ModelPredicate.Options(rawValue: bits))
  }

  /// Returns the integer in the field `key` of an archived object. Returns 0 if the object does not have the field, and
  /// nil if the field contains anything but an integer.
  private func number(_ key: String, _ value: PropertyList?) -> Int64? {
    guard let field = archive.field(key, of: value) else { return 0 }
    return archive.integer(field)
  }

  private mutating func text(_ key: String, _ value: PropertyList?) -> String? {
    guard let text = archive.string(archive.field(key, of: value)) else { return nil }
    textLength += text.utf8.count
    return text
  }
}
