package import ObjectModel

/// A mapping model (`NSMappingModel`): how a migration makes the objects of a new store from those of an old one with a
/// different model.
///
/// A mapping model is read from an `.xcmappingmodel` (`xcmapping.xml`) or a compiled `.cdm`, or is inferred.
package struct MappingModel: Sendable, Hashable {
  /// The entity mappings in the order in which they run (`NSMappingModel.entityMappings`).
  package var entityMappings: [EntityMapping]
  /// The model of the old store (`sourcemodeldata` of `xcmapping.xml`); nil if the mapping does not carry it, and in a
  /// `.cdm`.
  package var sourceModel: ManagedObjectModel?
  /// The model of the new store (`destinationmodeldata` of `xcmapping.xml`); nil if the mapping does not carry it, and
  /// in a `.cdm`.
  package var destinationModel: ManagedObjectModel?
  /// The path of the old model on the developer's machine (`sourcemodelpath`). It is only a hint.
  package var sourceModelPath: String?
  /// The path of the new model on the developer's machine (`destinationmodelpath`). It is only a hint.
  package var destinationModelPath: String?
  /// The fields of the file that have no property here, under the file's names.
  package var others: [String: ArchivedValue]

  /// Makes a mapping model.
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

  /// The first entity mapping with a name (`entityMappingsByName`); nil if there is none.
  package func entityMapping(named name: String) -> EntityMapping? {
    entityMappings.first { $0.name == name }
  }
}
