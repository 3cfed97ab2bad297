import ObjectModel

/// The parts of two models that are compared: those that the file formats of both models can hold. If one format
/// cannot hold a part, then the part does not count as a difference.
public enum ComparisonScope: Sendable, Hashable, CaseIterable {
  /// Both models were read from `.xcdatamodel` files. Everything is compared.
  case everything
  /// At least one of the models is a compiled model (`.mom`) or another archive. The comparison leaves out what only
  /// an `.xcdatamodel` holds: code generation, the names of composites, and the use with CloudKit or SwiftData. It
  /// also leaves out what only a compiler adds: a class name that equals the entity's name, and an index for a
  /// property whose `indexed` flag is set.
  case compiled
  /// At least one of the models is a store's cached model. In addition to the parts left out for ``compiled``, fetch
  /// request templates are not compared, because a cached model never has any.
  case cached

  var hasSourceTraits: Bool { self == .everything }
  var hasTemplates: Bool { self != .cached }
}
