import ModelTools
import ObjectModel

/// A model reduced to the parts that describe the structure of the app's data. Parts that could contain data are left
/// out, so that the model can be put into a bundle.
///
/// The code in this file names every part that is kept. So a new part of ``ManagedObjectModel`` is left out until
/// someone adds the part here. Default values and user info are left out. Everything that has a predicate is left out,
/// too: validation rules, fetched properties, fetch request templates, partial indexes. A derivation is kept if it has
/// no string literal. A string that the developer chose freely, such as a version hash modifier, is kept only if it has
/// the form of a few names (``NameForm/isCode(_:)``).
struct BundledModel {
  /// The model as the `contents` of an `.xcdatamodel`.
  let contents: [UInt8]
  /// The number of entities whose version hash differs from the version hash in the full model. The hash of such an
  /// entity covers a part that was left out of the model, or that cannot be expressed in ``contents``.
  let changedHashCount: Int

  /// Copies the parts of a model that cannot contain the app's data. Returns nil when a name in the model is not an
  /// identifier (``NameForm/isIdentifier(_:)``), because a forged model could hide data in its names.
  init?(_ model: ManagedObjectModel) {
    guard model.entityNames.allSatisfy(Self.isName) else { return nil }
    var entities: [Entity] = []
    for entity in model.entities.values {
      guard let reduced = Self.reduced(entity) else { return nil }
      entities.append(reduced)
    }
    let configurations = model.configurations.filter { Self.isName($0.key) }
    let reduced = ManagedObjectModel(
      entities: entities,
      versionIdentifiers: model.versionIdentifiers.filter(NameForm.isVersionName),
      configurations: configurations, isUsedWithCloudKit: model.isUsedWithCloudKit,
      isUsedWithSwiftData: model.isUsedWithSwiftData)
    contents = reduced.contentsXML().bytes
    guard let read = try? ManagedObjectModel(contentsXML: contents) else { return nil }
    let hashes = read.versionHashes().hashes
    changedHashCount = model.versionHashes().hashes.count { hashes[$0.key] != $0.value }
  }

  private static func isName(_ text: String) -> Bool { NameForm.isIdentifier(text) }

  private static func code(_ text: String?) -> String? {
    text.flatMap { NameForm.isCode($0) ? $0 : nil }
  }

  private static func reduced(_ entity: Entity) -> Entity? {
    guard entity.propertyNames.allSatisfy(isName) else { return nil }
    var attributes: [Attribute] = []
    for attribute in entity.attributes {
      guard let reduced = reduced(attribute) else { return nil }
      attributes.append(reduced)
    }
    let relationships = entity.relationships.map { relationship in
      Relationship(
        name: relationship.name, destinationEntityName: relationship.destinationEntityName,
        inverseName: relationship.inverseName, inverseEntityName: relationship.inverseEntityName,
        minCount: relationship.minCount, maxCount: relationship.maxCount,
        isOrdered: relationship.isOrdered, isOptional: relationship.isOptional,
        isTransient: relationship.isTransient, isIndexed: relationship.isIndexed,
        isIndexedBySpotlight: relationship.isIndexedBySpotlight,
        isStoredInTruthFile: relationship.isStoredInTruthFile,
        deleteRule: relationship.deleteRule,
        versionHashModifier: code(relationship.versionHashModifier),
        renamingIdentifier: code(relationship.renamingIdentifier))
    }
    let names = relationships.flatMap {
      [$0.destinationEntityName, $0.inverseName, $0.inverseEntityName].compactMap { $0 }
    }
    let constraints = entity.uniquenessConstraints + entity.compoundIndexes
    guard names.allSatisfy(isName), entity.superentityName.map(isName) ?? true,
      constraints.allSatisfy({ $0.allSatisfy(isName) })
    else { return nil }
    let indexes = entity.fetchIndexes.filter { index in
      isName(index.name) && index.partialPredicate == nil
        && index.elements.allSatisfy { $0.expression == nil && isName($0.propertyName) }
    }
    return Entity(
      name: entity.name, className: code(entity.className), isAbstract: entity.isAbstract,
      superentityName: entity.superentityName, attributes: attributes,
      relationships: relationships, uniquenessConstraints: entity.uniquenessConstraints,
      fetchIndexes: indexes, compoundIndexes: entity.compoundIndexes,
      versionHashModifier: code(entity.versionHashModifier),
      renamingIdentifier: code(entity.renamingIdentifier))
  }

  private static func reduced(_ attribute: Attribute) -> Attribute? {
    var elements: [Attribute] = []
    for element in attribute.elements {
      guard isName(element.name), let reduced = reduced(element) else { return nil }
      elements.append(reduced)
    }
    return Attribute(
      name: attribute.name, type: attribute.type, isOptional: attribute.isOptional,
      isTransient: attribute.isTransient, isReadOnly: attribute.isReadOnly,
      isIndexed: attribute.isIndexed, isIndexedBySpotlight: attribute.isIndexedBySpotlight,
      isStoredInTruthFile: attribute.isStoredInTruthFile,
      allowsExternalBinaryDataStorage: attribute.allowsExternalBinaryDataStorage,
      preservesValueInHistoryOnDeletion: attribute.preservesValueInHistoryOnDeletion,
      usesScalarValueType: attribute.usesScalarValueType,
      valueTransformerName: code(attribute.valueTransformerName),
      valueClassName: code(attribute.valueClassName),
      versionHashModifier: code(attribute.versionHashModifier),
      renamingIdentifier: code(attribute.renamingIdentifier),
      derivation: attribute.derivation.flatMap(reduced), elements: elements,
      compositeName: code(attribute.compositeName))
  }

  private static func reduced(_ derivation: Derivation) -> Derivation? {
    let text = derivation.expressionText
    guard derivation.filterPredicate == nil, !text.utf8.contains(where: { "\"'".utf8.contains($0) })
    else { return nil }
    return derivation
  }
}
