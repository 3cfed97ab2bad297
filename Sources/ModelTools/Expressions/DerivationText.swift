package import ObjectModel

/// Reads and writes derivation expressions as a developer types them into an `.xcdatamodel`.
enum DerivationText {
  /// The collection operators of key paths, each with the function into which Core Data turns the operator. Where two
  /// operators have the same function, the function is turned back into the first of them.
  private static let functions = [
    ("@count", "count:"), ("@sum", "sum:"), ("@total", "sum:"), ("@min", "min:"),
    ("@max", "max:"), ("@average", "average:"), ("@avg", "average:"),
  ]

  /// Parses a typed expression. `pages.@count` becomes `count:(pages)`, and `pages.@sum.words` becomes
  /// `sum:(pages.words)`. Any other expression stays as it is.
  static func expression(_ typed: String) -> ModelExpression {
    let parsed = ModelExpression(text: typed)
    guard let path = parsed.plainKeyPath else { return parsed }
    var parts = PredicateSyntax.keys(of: path)
    let operators = parts.indices.filter { parts[$0].utf8.first == UInt8(ascii: "@") }
    guard operators.count == 1, let index = operators.first, index > 0,
      let function = functions.first(where: { $0.0 == parts[index] })?.1
    else { return parsed }
    parts.remove(at: index)
    return .call(function, .path(parts.joined(separator: ".")))
  }

  /// Returns the text of an expression in an `.xcdatamodel`. A collection operator is written after the first key of
  /// the path, which names the relationship.
  static func source(_ expression: ModelExpression) -> String {
    guard case .function(target: nil, let selector, let arguments) = expression,
      arguments.count == 1, let path = arguments.first?.plainKeyPath,
      let sign = functions.first(where: { $0.1 == selector })?.0
    else { return expression.text }
    var parts = PredicateSyntax.keys(of: path)
    parts.insert(sign, at: min(1, parts.count))
    let source = parts.joined(separator: ".")
    return self.expression(source) == expression ? source : expression.text
  }
}

extension Derivation {
  /// Makes a derivation from its text in an `.xcdatamodel`: `pages.@count`.
  package init(text: String, filter: String? = nil) {
    self.init(
      expression: DerivationText.expression(text),
      filterPredicate: filter.map { ModelPredicate(text: $0) })
  }

  /// The expression as an `.xcdatamodel` contains it: `pages.@count` for `count:(pages)`.
  package var sourceText: String { DerivationText.source(expression) }
}
