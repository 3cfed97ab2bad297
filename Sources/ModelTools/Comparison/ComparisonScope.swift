import ObjectModel

/// What two models can both express, given the forms they were read from. What one form cannot hold does not count as a
/// difference.
public enum ComparisonScope: Sendable, Hashable, CaseIterable {
  /// Both were read from `.xcdatamodel` files: everything is compared.
  case everything
  /// At least one is a compiled model (`.mom`) or otherwise archived. What only an `.xcdatamodel` holds is not
  /// compared: code generation, the names of composites, and the use with CloudKit or SwiftData. Nor is what a compiler
  /// adds: a class with the entity's name, and the index of a property with the indexed flag.
  case compiled
  /// At least one is a store's cached model, which never has fetch request templates either.
  case cached

  var hasSourceTraits: Bool { self == .everything }
  var hasTemplates: Bool { self != .cached }
}
