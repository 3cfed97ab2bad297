/// How a derived attribute (iOS 13) gets its value: an expression and an optional filter.
package struct Derivation: Sendable, Hashable {
  /// The expression: a key path (`chat.serverId`) or a function of one (`count:(pages)`).
  package var expression: ModelExpression
  /// The predicate that filters the related objects; nil if there is none.
  package var filterPredicate: ModelPredicate?

  /// Makes a derivation from an expression and, if there is one, a filtering predicate.
  package init(expression: ModelExpression, filterPredicate: ModelPredicate? = nil) {
    self.expression = expression
    self.filterPredicate = filterPredicate
  }

  /// The text of the expression, which is part of the version hash.
  package var expressionText: String { expression.predicateFormat }
  /// The text of the filtering predicate, which is part of the version hash; nil if there is none.
  package var filterText: String? { filterPredicate?.predicateFormat }
}
