/// How a derived attribute (iOS 13) gets its value.
package struct Derivation: Sendable, Hashable {
  /// The expression: a key path (`chat.serverId`) or a function of one (`count:(pages)`).
  package var expression: ModelExpression
  /// The filtering predicate; nil when there is none.
  package var filterPredicate: ModelPredicate?

  /// Makes a derivation.
  package init(expression: ModelExpression, filterPredicate: ModelPredicate? = nil) {
    self.expression = expression
    self.filterPredicate = filterPredicate
  }

  /// The expression as text, which is part of the version hash.
  package var expressionText: String { expression.predicateFormat }
  /// The filtering predicate as text, which is part of the version hash.
  package var filterText: String? { filterPredicate?.predicateFormat }
}
