/// How a derived attribute (iOS 13) gets its value.
public struct Derivation: Sendable, Hashable {
  /// The expression: a key path (`chat.serverId`) or a function of one (`count:(pages)`).
  public var expression: ModelExpression
  /// The filtering predicate; nil when there is none.
  public var filterPredicate: ModelPredicate?

  /// Makes a derivation.
  public init(expression: ModelExpression, filterPredicate: ModelPredicate? = nil) {
    self.expression = expression
    self.filterPredicate = filterPredicate
  }

  /// Makes a derivation from the text that a model's source has: `pages.@count`.
  public init(text: String, filter: String? = nil) {
    self.init(
      expression: DerivationText.expression(text),
      filterPredicate: filter.map { ModelPredicate(text: $0) })
  }

  /// The expression as text; the version hash takes it in.
  public var expressionText: String { expression.predicateFormat }
  /// The filtering predicate as text; the version hash takes it in.
  public var filterText: String? { filterPredicate?.predicateFormat }
  /// The expression in the words of a model's source: `pages.@count` for `count:(pages)`.
  public var sourceText: String { DerivationText.source(expression) }
}
