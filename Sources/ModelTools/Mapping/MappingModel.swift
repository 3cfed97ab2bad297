package import ObjectModel

/// A mapping model (`NSMappingModel`): how a migration makes the objects of a new store from those of an old store
/// that has a different model.
///
/// A mapping model is read from an `.xcmappingmodel` (`xcmapping.xml`) or a compiled `.cdm`, or is inferred.
package struct MappingModel: Sendable, Hashable {
  /// The entity mappings in the order in which they run (`NSMappingModel.entityMappings`).
  package var entityMappings: [EntityMapping]
  /// The model of the old store (`sourcemodeldata` of `xcmapping.xml`); nil if the file does not contain it, as in
  /// every `.cdm`.
  package var sourceModel: ManagedObjectModel?
  /// The model of the new store (`destinationmodeldata` of `xcmapping.xml`); nil if the file does not contain it, as in
  /// every `.cdm`.
  package var destinationModel: ManagedObjectModel?
  /// The path of the old model on the developer's machine (`sourcemodelpath`). The path is only a hint.
  package var sourceModelPath: String?
  /// The path of the new model on the developer's machine (`destinationmodelpath`). The path is only a hint.
  package var destinationModelPath: String?
  /// The fields of the file for which this type has no property, by their names in the file.
  package var others: [String: ArchivedValue]

  package init(
    entityMappings: [EntityMapping] = [], sourceModel: ManagedObjectModel? = nil,
    destinationModel: ManagedObjectModel? = nil, sourceModelPath: String? = nil,
    destinationModelPath: String? = nil, others: [String: ArchivedValue] = [:]
  ) {
    self.entityMappings = entityMappings
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    self.sourceModelPath = sourceModelPath
    self.destinationModelPath = destinationModelPath
    self.others = others
  }
}
