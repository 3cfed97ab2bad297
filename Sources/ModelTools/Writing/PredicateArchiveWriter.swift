import ObjectModel

/// Writes expressions and predicates into a keyed archive, in the form found in real archives.
struct PredicateArchiveWriter {
  private var builder: KeyedArchiveBuilder

  /// Adds an expression to an archive, and returns a reference to it. If any part of the expression cannot be archived,
  /// adds nothing, and returns the reference that stands for nil in a keyed archive.
  static func write(
    _ expression: ModelExpression, into builder: inout KeyedArchiveBuilder
  ) -> PropertyList {
    guard PredicateStanding(expression).isWritable else { return KeyedArchiveBuilder.null }
    return write(into: &builder) { $0.expression(expression) }
  }

  /// Adds a predicate to an archive, and returns a reference to it. If any part of the predicate cannot be archived,
  /// adds nothing, and returns the reference that stands for nil in a keyed archive.
  static func write(
    _ predicate: ModelPredicate, into builder: inout KeyedArchiveBuilder
  ) -> PropertyList {
    guard PredicateStanding(predicate).isWritable else { return KeyedArchiveBuilder.null }
    return write(into: &builder) { $0.predicate(predicate) }
  }

  /// Runs `body` with a writer that owns the builder until `body` returns. If the caller owned the builder as well,
  /// Swift would copy it.
  private static func write(
    into builder: inout KeyedArchiveBuilder, _ body: (inout PredicateArchiveWriter) -> PropertyList
  ) -> PropertyList {
    var writer = PredicateArchiveWriter(builder: builder)
    builder = KeyedArchiveBuilder()
    let reference = body(&writer)
    builder = writer.builder
    return reference
  }

  // MARK: Expressions

  /// The values of `NSExpressionType` that this writer uses.
  private enum Number {
    static let constant: Int64 = 0
    static let evaluatedObject: Int64 = 1
    static let variable: Int64 = 2
    static let keyPath: Int64 = 3
    static let function: Int64 = 4
    static let keyPathSpecifier: Int64 = 10
    static let subquery: Int64 = 13
    static let aggregate: Int64 = 14
    static let anyKey: Int64 = 15
    static let conditional: Int64 = 20
    static let fetch: Int64 = 50
  }

  private mutating func expression(_ expression: ModelExpression) -> PropertyList {
    switch expression {
    case .constant(.type(let name)):
      return add(
        "NSConstantValueExpression", Number.constant,
        ["NSConstantValueClassName": builder.string(name)])
    case .constant(let constant):
      return add(
        "NSConstantValueExpression", Number.constant, ["NSConstantValue": value(constant)])
    case .evaluatedObject: return add("NSSelfExpression", Number.evaluatedObject, [:])
    case .variable(let name):
      return add(
        "NSVariableExpression", Number.variable, ["NSVariable": builder.string(name)])
    case .keyPath(let path, of: let object): return keyPath(path, of: object)
    case .function(let target, let selector, let arguments):
      let operand = self.expression(
        target ?? .constant(.type(PredicateArchiveReader.utilities)))
      return add(
        "NSFunctionExpression", Number.function,
        [
          "NSSelectorName": builder.string(selector), "NSOperand": operand,
          "NSArguments": list(arguments),
        ])
    case .fetch(let request, let context, let countOnly):
      return add(
        "NSFetchRequestExpression", Number.fetch,
        [
          "NSFRExpression": self.expression(request), "NSMOCExpression": self.expression(context),
          "NSCountOnlyFlag": .bool(countOnly),
        ])
    case .aggregate, .set, .subquery, .ternary, .anyKey: return byAnalogy(expression)
    case .symbol, .opaque, .unparsed: return KeyedArchiveBuilder.null
    }
  }

  private mutating func byAnalogy(_ expression: ModelExpression) -> PropertyList {
    switch expression {
    case .aggregate(let parts):
      return add("NSAggregateExpression", Number.aggregate, ["NSCollection": list(parts)])
    case .set(let operation, let left, let right):
      let numbers: [ExpressionSetOperation: Int64] = [.union: 5, .intersect: 6, .minus: 7]
      return add(
        "NSSetExpression", numbers[operation] ?? 5,
        [
          "NSLeftExpression": self.expression(left), "NSRightExpression": self.expression(right),
        ])
    case .subquery(let collection, let variable, let predicate):
      return add(
        "NSSubqueryExpression", Number.subquery,
        [
          "NSCollection": self.expression(collection), "NSVariable": builder.string(variable),
          "NSPredicate": self.predicate(predicate),
        ])
    case .ternary(let predicate, let first, let second):
      return add(
        "NSTernaryExpression", Number.conditional,
        [
          "NSPredicate": self.predicate(predicate), "NSTrueExpression": self.expression(first),
          "NSFalseExpression": self.expression(second),
        ])
    default:
      return add("NSAnyKeyExpression", Number.anyKey, [:])
    }
  }

  private mutating func add(
    _ className: String, _ number: Int64, _ fields: [String: PropertyList]
  ) -> PropertyList {
    var fields = fields
    fields["NSExpressionType"] = .integer(number)
    return builder.add([className, "NSExpression", "NSObject"], fields)
  }

  private mutating func list(_ expressions: [ModelExpression]) -> PropertyList {
    let parts = expressions.map { expression($0) }
    return builder.array(parts)
  }

  /// Writes a key path expression. The selector is `valueForKey:` for a single key of `SELF`, and `valueForKeyPath:`
  /// for every other key path.
  private mutating func keyPath(_ path: String, of object: ModelExpression) -> PropertyList {
    let isOwn = object == .evaluatedObject
    let isKey = isOwn && !path.utf8.contains(UInt8(ascii: "."))
    let specifier = add(
      "NSKeyPathSpecifierExpression", Number.keyPathSpecifier,
      ["NSKeyPath": builder.string(path)])
    return builder.add(
      ["NSKeyPathExpression", "NSFunctionExpression", "NSExpression", "NSObject"],
      [
        "NSExpressionType": .integer(isOwn ? Number.keyPath : Number.function),
        "NSOperand": expression(object),
        "NSSelectorName": builder.string(isKey ? "valueForKey:" : "valueForKeyPath:"),
        "NSArguments": builder.mutableArray([specifier]),
      ])
  }

  private mutating func value(_ constant: ExpressionConstant) -> PropertyList {
    switch constant {
    case .null, .type: KeyedArchiveBuilder.null
    case .bool(let value): builder.scalar(.bool(value))
    case .integer(let value): builder.scalar(.integer(value))
    case .real(let value): builder.scalar(.real(value))
    case .decimal(let digits): builder.decimal(digits)
    case .string(let text): builder.string(text)
    case .date(let seconds): builder.date(seconds)
    case .data(let bytes): builder.scalar(.data(bytes))
    case .uuid(let text): builder.uuid(text)
    case .url(let text): builder.url(text)
    }
  }

  // MARK: Predicates

  private mutating func predicate(_ predicate: ModelPredicate) -> PropertyList {
    switch predicate {
    case .comparison(let comparison):
      return builder.add(
        ["NSComparisonPredicate", "NSPredicate", "NSObject"],
        [
          "NSLeftExpression": expression(comparison.left),
          "NSRightExpression": expression(comparison.right),
          "NSPredicateOperator": sign(comparison),
        ])
    case .and(let parts): return compound(1, parts)
    case .or(let parts): return compound(2, parts)
    case .not(let part): return compound(0, [part])
    case .constant(let isTrue):
      return builder.add(
        [isTrue ? "NSTruePredicate" : "NSFalsePredicate", "NSPredicate", "NSObject"], [:])
    case .opaque, .unparsed: return KeyedArchiveBuilder.null
    }
  }

  private mutating func compound(_ type: Int64, _ parts: [ModelPredicate]) -> PropertyList {
    let written = parts.map { predicate($0) }
    return builder.add(
      ["NSCompoundPredicate", "NSPredicate", "NSObject"],
      ["NSCompoundPredicateType": .integer(type), "NSSubpredicates": builder.array(written)])
  }

  private mutating func sign(_ comparison: ModelPredicate.Comparison) -> PropertyList {
    let type =
      PredicateArchiveReader.operators.first { $0.value == comparison.operator }?.key ?? 11
    var fields: [String: PropertyList] = [
      "NSOperatorType": .integer(type), "NSModifier": .integer(comparison.modifier.rawValue),
    ]
    let options = PropertyList.integer(comparison.options.rawValue)
    var className = "NSInPredicateOperator"
    switch comparison.operator {
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      className = "NSComparisonPredicateOperator"
      fields["NSVariant"] = .integer(type)
      fields["NSOptions"] = options
    case .equal, .notEqual:
      className = "NSEqualityPredicateOperator"
      fields["NSNegate"] = .bool(comparison.operator == .notEqual)
      fields["NSOptions"] = options
    case .in, .contains: fields["NSFlags"] = options
    case .matches, .like, .beginsWith, .endsWith, .between, .selector:
      className = byAnalogy(comparison.operator, &fields)
      fields["NSFlags"] = options
    }
    return builder.add([className, "NSPredicateOperator", "NSObject"], fields)
  }

  /// Adds the archived fields of an operator to `fields`, and returns the operator's class name. No real archive
  /// contains these operators, so their form is inferred from similar operators.
  private mutating func byAnalogy(
    _ sign: ModelPredicate.Operator, _ fields: inout [String: PropertyList]
  ) -> String {
    switch sign {
    case .matches:
      return "NSMatchingPredicateOperator"
    case .like:
      return "NSLikePredicateOperator"
    case .beginsWith:
      fields["NSPosition"] = .integer(0)
      return "NSSubstringPredicateOperator"
    case .endsWith:
      fields["NSPosition"] = .integer(1)
      return "NSSubstringPredicateOperator"
    case .selector(let selector):
      fields["NSSelectorName"] = builder.string(selector)
      return "NSCustomPredicateOperator"
    default:
      return "NSBetweenPredicateOperator"
    }
  }
}
