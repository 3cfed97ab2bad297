package import ObjectModel

/// The result of checking whether an expression or predicate can be archived. Names the parts whose archived form was
/// not seen in any real file.
package struct PredicateStanding {
  /// Whether every part of the expression or predicate has an archived form.
  package private(set) var isWritable = true
  /// The names of the parts whose archived form was not seen in any real model, cache or mapping model.
  package private(set) var unconfirmed: Set<String> = []

  package init(_ expression: ModelExpression) { visit(expression) }

  package init(_ predicate: ModelPredicate) { visit(predicate) }

  private mutating func visit(_ expression: ModelExpression) {
    switch expression {
    case .opaque, .unparsed, .symbol: isWritable = false
    case .aggregate: unconfirmed.insert("a list of values")
    case .set(let operation, _, _): unconfirmed.insert(operation.rawValue)
    case .subquery: unconfirmed.insert("SUBQUERY")
    case .ternary: unconfirmed.insert("TERNARY")
    case .anyKey: unconfirmed.insert("ANYKEY")
    default: break
    }
    let (expressions, predicates) = expression.children
    for part in expressions { visit(part) }
    for part in predicates { visit(part) }
  }

  private mutating func visit(_ predicate: ModelPredicate) {
    switch predicate {
    case .comparison(let comparison):
      switch comparison.operator {
      case .matches: unconfirmed.insert("MATCHES")
      case .like: unconfirmed.insert("LIKE")
      case .beginsWith: unconfirmed.insert("BEGINSWITH")
      case .endsWith: unconfirmed.insert("ENDSWITH")
      case .between: unconfirmed.insert("BETWEEN")
      case .selector(let selector): unconfirmed.insert(selector)
      default: break
      }
      visit(comparison.left)
      visit(comparison.right)
    case .and(let parts), .or(let parts): for part in parts { visit(part) }
    case .not(let part): visit(part)
    case .constant(let isTrue): unconfirmed.insert(isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE")
    case .opaque, .unparsed: isWritable = false
    }
  }
}
