/// What inference (lightweight migration) says of a step between two models.
public enum InferredStep: Sendable {
  /// It can be done. The reasons tell what the data may have against it, each completing
  /// "unless …"; the mapping is nil where only the verdict is known.
  case possible(MappingModel?, unless: [String])
  /// It cannot be done, for these reasons.
  case impossible([String])
  /// Nothing documented decides it; the reasons say what is missing.
  case unknown([String])
}
