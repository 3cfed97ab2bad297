@testable import ModelTools
@testable import ObjectModel

// What only tests ask of these types.

extension KeyedArchive {
  /// The entries of a dictionary object whose keys are text, in stored order; nil for any other object.
  func namedEntries(_ value: PropertyList?) -> [(name: String, value: PropertyList)]? {
    entries(value)?.compactMap { entry in string(entry.key).map { ($0, entry.value) } }
  }

  func decoded(_ value: PropertyList?) -> ArchivedValue { decodedWithCount(value).value }
}

extension ModelExpression {
  /// Reads an archived `NSExpression`; nil if the value is nil.
  init?(archived value: PropertyList?, in archive: KeyedArchive) {
    var reader = PredicateArchiveReader(archive: archive)
    guard let expression = reader.expression(value) else { return nil }
    self = expression
  }
}

extension ModelPredicate {
  /// Reads an archived `NSPredicate`; nil if the value is nil.
  init?(archived value: PropertyList?, in archive: KeyedArchive) {
    var reader = PredicateArchiveReader(archive: archive)
    guard let predicate = reader.predicate(value) else { return nil }
    self = predicate
  }
}

extension FetchRequestTemplate {
  /// Makes a template that fetches objects of one entity.
  init(name: String, entityName: String, predicate: ModelPredicate? = nil) {
    self.init(name: name, request: FetchRequest(entityName: entityName, predicate: predicate))
  }
}

extension FetchedProperty {
  /// Makes a fetched property that fetches objects of one entity.
  init(name: String, destinationEntityName: String?, isOptional: Bool = true) {
    self.init(
      name: name, request: FetchRequest(entityName: destinationEntityName), isOptional: isOptional)
  }
}

extension ModelDifference {
  /// The names of the entities whose version hash differs between the models, under the new and the old name. Entities
  /// that only one model has are included.
  var namesWithOtherHash: Set<String> {
    Set(hashEffects.flatMap { [$0.entityName, $0.oldName ?? $0.entityName] })
  }
}

extension MappingModel {
  /// The first entity mapping with a name; nil if no mapping has it.
  func entityMapping(named name: String) -> EntityMapping? {
    entityMappings.first { $0.name == name }
  }
}

extension MappingModelSet {
  /// The mapping models that fit the step from one version to another. Recorded hashes are used if there are any.
  func items(
    fittingFrom source: ModelCollection.Version, to destination: ModelCollection.Version
  ) -> [Item] {
    let from = HashedModel(source)
    let to = HashedModel(destination)
    return items.filter { item in
      guard let mapping = item.compiled else { return false }
      let sides = [
        mapping.agreement(with: from, on: .source), mapping.agreement(with: to, on: .destination),
      ]
      return sides.allSatisfy { $0.mismatches.isEmpty && $0.unverified.isEmpty }
        && sides.contains { $0.agreeing > 0 }
    }
  }
}
