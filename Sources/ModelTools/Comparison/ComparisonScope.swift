import ObjectModel

/// The parts of two models that a comparison covers. A part that one of the two file formats cannot hold is not
/// compared.
public enum ComparisonScope: Sendable, Hashable, CaseIterable {
  /// Both models were read from `.xcdatamodel` files. Everything is compared.
  case everything
  /// At least one of the models is a compiled model (`.mom`) or another archive. What only an `.xcdatamodel` holds is
  /// not compared: code generation, the names of composites, and whether the model is used with CloudKit or SwiftData.
  /// What only a compiler adds is not compared either: a class name that equals the entity's name, and an index for a
  /// property whose `indexed` flag is set.
  case compiled
  /// At least one of the models is a store's cached model. The comparison covers the same parts as ``compiled``, except
  /// fetch request templates. A cached model never has templates.
  case cached

  var hasSourceTraits: Bool { self == .everything }
  var hasTemplates: Bool { self != .cached }
}
