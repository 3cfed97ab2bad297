import ObjectModel

/// What two models can both say, by the form they were read from. What one form has no room for is no
/// difference to a form that says it.
public enum ComparisonScope: Sendable, Hashable, CaseIterable {
  /// Both were read from sources: all is compared.
  case everything
  /// One of them at least is a compiled model (`.mom`), or was otherwise archived: what only a source
  /// says is not compared, which is code generation, the names of composites, and the use with
  /// CloudKit or SwiftData. Neither is what a compiler adds: the class named as the entity, and the
  /// index of a property that the source calls indexed.
  case compiled
  /// One of them at least is a store's cached model, which never has fetch request templates either.
  case cached

  var hasSourceTraits: Bool { self == .everything }
  var hasTemplates: Bool { self != .cached }
}
