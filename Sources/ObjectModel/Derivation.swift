/// How a derived attribute (iOS 13) gets its value.
public struct Derivation: Sendable, Hashable {
  /// The expression as `predicateFormat` text: `chat.serverId`, `count:(pages)`. It is what the
  /// version hash takes in.
  public var expression: String
  /// The filtering predicate as text; nil when there is none.
  public var filterPredicate: String?

  /// Makes a derivation from the `predicateFormat` text of its parts.
  public init(expression: String, filterPredicate: String? = nil) {
    self.expression = expression
    self.filterPredicate = filterPredicate
  }
}
