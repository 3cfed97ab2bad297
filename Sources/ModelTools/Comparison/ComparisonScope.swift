import ObjectModel

/// Which parts of two models are compared: those that the file forms of both can hold. What one form cannot hold does
/// not count as a difference.
public enum ComparisonScope: Sendable, Hashable, CaseIterable {
  /// Both models were read from `.xcdatamodel` files. Everything is compared.
  case everything
  /// At least one of the models is a compiled model (`.mom`) or another archive. What only an `.xcdatamodel` holds is
  /// not compared: code generation, the names of composites, and the use with CloudKit or SwiftData. What only a
  /// compiler adds is not compared either: a class with the entity's name, and the index of a property with the indexed
  /// flag.
  case compiled
  /// At least one of the models is a store's cached model. Fetch request templates are not compared either, because a
  /// cached model never has any.
  case cached

  var hasSourceTraits: Bool { self == .everything }
  var hasTemplates: Bool { self != .cached }
}
