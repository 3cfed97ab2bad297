/// An `NSExpression` as a tree. Mapping models, derived attributes, predicates and fetch indexes contain expressions.
///
/// A tree is read from `predicateFormat` text (``init(parsing:)``) or from a keyed archive
/// (``PredicateArchiveReader``). A part that cannot be interpreted stays in the tree as ``opaque(className:)`` or
/// ``unparsed(_:)``. Both readers limit the depth of a tree.
package indirect enum ModelExpression: Sendable, Hashable {
  case constant(ExpressionConstant)
  /// `SELF`: the object on which the expression is evaluated.
  case evaluatedObject
  /// A variable, for example `$name`. The associated value is the name without the dollar sign.
  case variable(String)
  /// A key path, followed from the object that an expression yields: `name` of `SELF`, `owner.name` of `$source`.
  case keyPath(String, of: ModelExpression)
  /// A function call. If `target` is nil, then the function is built in: `count:`, `now`, `add:to:` (printed `a + b`),
  /// `castObject:toType:` (printed `CAST(a, "T")`).
  case function(target: ModelExpression?, selector: String, arguments: [ModelExpression])
  /// A list of expressions, written `{a, b}`.
  case aggregate([ModelExpression])
  /// `SUBQUERY(collection, $variable, predicate)`. The name of the variable is stored without the dollar sign.
  case subquery(ModelExpression, variable: String, predicate: ModelPredicate)
  /// Two collections combined: `a UNION b`, `a INTERSECT b` or `a MINUS b`.
  case set(ExpressionSetOperation, ModelExpression, ModelExpression)
  /// `TERNARY(predicate, a, b)`: `a` if the predicate is true, otherwise `b`.
  case ternary(ModelPredicate, ModelExpression, ModelExpression)
  /// `FETCH(request, context, countOnly)`.
  case fetch(request: ModelExpression, context: ModelExpression, countOnly: Bool)
  /// A keyword that selects from a collection in place of an index: `FIRST`, `LAST`, `SIZE`.
  case symbol(String)
  /// `ANYKEY`, used in Spotlight queries: any key of the object.
  case anyKey
  /// An archived object that cannot be interpreted or exceeds a limit. The associated value is the name of its class.
  case opaque(className: String)
  /// The whole text, unchanged, if it could not be parsed. This case occurs only at the root of a tree.
  case unparsed(String)

  /// The maximum depth of a tree of expressions and predicates in an archive. `PredicateParser` has its own limit for a
  /// tree in text.
  package static let maximumDepth = 48
  /// The maximum number of parts in a tree of expressions and predicates that is read from an archive.
  package static let maximumPartCount = 10_000

  package static func path(_ keyPath: String) -> ModelExpression {
    .keyPath(keyPath, of: .evaluatedObject)
  }

  package static func call(_ selector: String, _ arguments: ModelExpression...) -> ModelExpression {
    .function(target: nil, selector: selector, arguments: arguments)
  }
}

package enum ExpressionSetOperation: String, Sendable, Hashable, CaseIterable {
  case union = "UNION"
  case intersect = "INTERSECT"
  case minus = "MINUS"
}

/// A constant in an expression or predicate.
///
/// An archived array or set is not a constant but an ``ModelExpression/aggregate(_:)`` of constants.
package enum ExpressionConstant: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case real(Double)
  /// A decimal number: the text of its digits, without an exponent.
  case decimal(String)
  case string(String)
  /// A date: seconds since the start of 2001, UTC.
  case date(Double)
  case data([UInt8])
  /// A UUID, as text. A UUID from an archive is uppercase with hyphens. A UUID from a `CAST` expression is spelled as
  /// in the expression.
  case uuid(String)
  case url(String)
  /// A class on which a function is called. The associated value is the class name.
  case type(String)
}

extension ModelExpression {
  /// The expressions and predicates directly below this expression. Both lists are empty for a leaf of the tree.
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

  /// Whether the expression was read completely: no part of it is opaque or unparsed.
  package var isWhole: Bool {
    switch self {
    case .opaque, .unparsed: return false
    default:
      let (expressions, predicates) = children
      return expressions.allSatisfy(\.isWhole) && predicates.allSatisfy(\.isWhole)
    }
  }

  package var stringConstant: String? {
    guard case .constant(.string(let text)) = self else { return nil }
    return text
  }

  /// The key path, if the expression is a key path from the evaluated object (`SELF`); nil for any other expression.
  package var plainKeyPath: String? {
    guard case .keyPath(let path, of: .evaluatedObject) = self else { return nil }
    return path
  }
}

extension ModelExpression: CustomStringConvertible {
  package var description: String { text }
}
