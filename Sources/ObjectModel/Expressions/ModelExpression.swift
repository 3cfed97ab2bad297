/// An expression (`NSExpression`) as a tree: what mapping models, derived attributes, predicates and
/// index elements compute.
///
/// It is read from `predicateFormat` text (``init(parsing:)``) or from a keyed archive
/// (``init(archived:in:)``). What is not understood stays in the tree as ``opaque(className:)`` or
/// ``unparsed(_:)``. Both readers bound the depth by ``maximumDepth``.
package indirect enum ModelExpression: Sendable, Hashable {
  /// A value.
  case constant(ExpressionConstant)
  /// `SELF`: the object that is evaluated.
  case evaluatedObject
  /// `$name`, by its name without the dollar sign.
  case variable(String)
  /// A key path of another expression: `name`, `$source.owner.name`.
  case keyPath(String, of: ModelExpression)
  /// A call. Without a target it is a built-in function: `count:`, `now`, `add:to:` (printed `a + b`),
  /// `castObject:toType:` (printed `CAST(a, "T")`).
  case function(target: ModelExpression?, selector: String, arguments: [ModelExpression])
  /// `{a, b}`.
  case aggregate([ModelExpression])
  /// `SUBQUERY(collection, $variable, predicate)`, the variable without the dollar sign.
  case subquery(ModelExpression, variable: String, predicate: ModelPredicate)
  /// `a UNION b` and the like.
  case set(ExpressionSetOperation, ModelExpression, ModelExpression)
  /// `TERNARY(predicate, a, b)`.
  case ternary(ModelPredicate, ModelExpression, ModelExpression)
  /// `FETCH(request, context, countOnly)`.
  case fetch(request: ModelExpression, context: ModelExpression, countOnly: Bool)
  /// A keyword used as an index: `FIRST`, `LAST`, `SIZE`.
  case symbol(String)
  /// `ANYKEY`: any key of the object (Spotlight).
  case anyKey
  /// An archived object of a class that is not read: the class name.
  case opaque(className: String)
  /// Text that could not be parsed, verbatim. It occurs only at the root of a tree.
  case unparsed(String)

  /// The deepest nesting, of expressions and predicates together, that is read from text or from
  /// an archive.
  package static let maximumDepth = 48
  /// The most parts, of expressions and predicates together, that are read from text or from an
  /// archive.
  package static let maximumPartCount = 10_000

  /// A key path of the evaluated object.
  package static func path(_ keyPath: String) -> ModelExpression {
    .keyPath(keyPath, of: .evaluatedObject)
  }

  /// A call of a built-in function.
  package static func call(_ selector: String, _ arguments: ModelExpression...) -> ModelExpression {
    .function(target: nil, selector: selector, arguments: arguments)
  }
}

/// How two collections are combined.
package enum ExpressionSetOperation: String, Sendable, Hashable, CaseIterable {
  /// The elements of either collection.
  case union = "UNION"
  /// The elements of both collections.
  case intersect = "INTERSECT"
  /// The elements of the first collection only.
  case minus = "MINUS"
}

/// A constant of an expression or predicate.
///
/// An archived array or set is an ``ModelExpression/aggregate(_:)`` of constants instead.
package enum ExpressionConstant: Sendable, Hashable {
  /// `nil`.
  case null
  /// `YES` or `NO`.
  case bool(Bool)
  /// An integer.
  case integer(Int64)
  /// A floating-point number.
  case real(Double)
  /// A decimal number: plain digits without exponent.
  case decimal(String)
  /// Text.
  case string(String)
  /// Seconds since the start of 2001, UTC.
  case date(Double)
  /// Bytes.
  case data([UInt8])
  /// Uppercase, with hyphens.
  case uuid(String)
  /// A URL's text.
  case url(String)
  /// A class, by its name, as the target of a function.
  case type(String)
}

extension ModelExpression {
  /// The parts directly below; empty for a leaf.
  package var children: (expressions: [ModelExpression], predicates: [ModelPredicate]) {
    switch self {
    case .constant, .evaluatedObject, .variable, .symbol, .anyKey, .opaque, .unparsed: ([], [])
    case .keyPath(_, let object): ([object], [])
    case .function(let target, _, let arguments): ((target.map { [$0] } ?? []) + arguments, [])
    case .aggregate(let parts): (parts, [])
    case .subquery(let collection, _, let predicate): ([collection], [predicate])
    case .set(_, let left, let right): ([left, right], [])
    case .ternary(let predicate, let left, let right): ([left, right], [predicate])
    case .fetch(let request, let context, _): ([request, context], [])
    }
  }

  /// Whether every part is understood: nothing opaque, nothing unparsed.
  package var isWhole: Bool {
    switch self {
    case .opaque, .unparsed: return false
    default:
      let (expressions, predicates) = children
      return expressions.allSatisfy(\.isWhole) && predicates.allSatisfy(\.isWhole)
    }
  }

  /// The text, if this is a text constant; nil otherwise.
  package var stringConstant: String? {
    guard case .constant(.string(let text)) = self else { return nil }
    return text
  }

  /// The key path, if this is a key path of the evaluated object; nil otherwise.
  package var plainKeyPath: String? {
    guard case .keyPath(let path, of: .evaluatedObject) = self else { return nil }
    return path
  }
}

extension ModelExpression: CustomStringConvertible {
  /// ``text``.
  package var description: String { text }
}
