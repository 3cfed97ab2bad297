/// Stands in until the expression trees are merged.
public enum Expression: Sendable, Hashable {
  /// Text that is not parsed.
  case unparsed(String)
}
