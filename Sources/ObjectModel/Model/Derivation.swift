/// How the store computes the value of a derived attribute (iOS 13): an expression and an optional filter.
package struct Derivation: Sendable, Hashable {
  /// The expression of the rule: a key path (`chat.serverId`) or a function of a key path (`count:(pages)`).
  package var expression: ModelExpression
  package var filterPredicate: ModelPredicate?

  package init(expression: ModelExpression, filterPredicate: ModelPredicate? = nil) {
    self.expression = expression
    self.filterPredicate = filterPredicate
  }

  /// The text of the expression, which is part of the version hash.
  package var expressionText: String { expression.predicateFormat }
  /// The text of the filter's predicate, which is part of the version hash; nil if there is no filter.
  package var filterText: String? { filterPredicate?.predicateFormat }
}
