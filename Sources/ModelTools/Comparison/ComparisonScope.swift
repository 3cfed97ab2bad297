import ObjectModel

/// What two models can both say, by the form they were read from. What one form cannot hold is not
/// counted as a difference.
public enum ComparisonScope: Sendable, Hashable, CaseIterable {
  /// Both were read from sources: all is compared.
  case everything
  /// At least one is a compiled model (`.mom`), or was otherwise archived: what only a source says is
  /// not compared, which is code generation, the names of composites, and the use with CloudKit or
  /// SwiftData. What a compiler adds is not compared either: a class with the entity's name, and the
  /// index of a property that the source calls indexed.
  case compiled
  /// At least one is a store's cached model, which never has fetch request templates either.
  case cached

  var hasSourceTraits: Bool { self == .everything }
  var hasTemplates: Bool { self != .cached }
}
