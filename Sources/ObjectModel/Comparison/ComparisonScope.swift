/// What both models can hold, by the form they were read from. What one form cannot say is no
/// difference to a form that says it.
struct ComparisonScope {
  /// What only a model's source says: code generation, the names of composites, CloudKit.
  let hasSourceTraits: Bool
  /// Fetch request templates, which a store's cached model never has.
  let hasTemplates: Bool

  init(_ old: ManagedObjectModel, _ new: ManagedObjectModel, isFromStore: Bool) {
    hasTemplates = !isFromStore
    hasSourceTraits = !isFromStore && old.hasSourceTraits && new.hasSourceTraits
  }
}

extension ManagedObjectModel {
  /// Whether anything in the model is of the kind that only a source says. A source without any
  /// says as little as a compiled model.
  fileprivate var hasSourceTraits: Bool {
    isUsedWithCloudKit || isUsedWithSwiftData || !cloudKitConfigurations.isEmpty
      || entities.values.contains { entity in
        entity.codeGenerationType != nil
          || entity.attributes.contains {
            $0.usesScalarValueType != nil || $0.compositeName != nil
          }
      }
  }
}
