package import ObjectModel

/// A mapping model (`NSMappingModel`): how the objects of a store of one model become those of a
/// store of another.
///
/// It comes from `.xcmappingmodel` (`xcmapping.xml`), from a compiled `.cdm`, or is inferred.
package struct MappingModel: Sendable, Hashable {
  /// The entity mappings in the order in which they run (`NSMappingModel.entityMappings`).
  package var entityMappings: [EntityMapping]
  /// The model of the old store, if the mapping carries it (`sourcemodeldata` of `xcmapping.xml`);
  /// nil in a `.cdm`.
  package var sourceModel: ManagedObjectModel?
  /// The model of the new store, if the mapping carries it (`destinationmodeldata` of
  /// `xcmapping.xml`); nil in a `.cdm`.
  package var destinationModel: ManagedObjectModel?
  /// Where the old model was on the developer's machine (`sourcemodelpath`): a hint only.
  package var sourceModelPath: String?
  /// Where the new model was on the developer's machine (`destinationmodelpath`): a hint only.
  package var destinationModelPath: String?
  /// The other fields of the file, under the file's names.
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

  /// The first entity mapping with a name (`entityMappingsByName`); nil when there is none.
  package func entityMapping(named name: String) -> EntityMapping? {
    entityMappings.first { $0.name == name }
  }
}
