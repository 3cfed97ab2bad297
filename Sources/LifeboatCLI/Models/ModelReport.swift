import ModelTools
import ObjectModel

/// The JSON output of `lifeboat model show`: a model with its entities, properties, configurations and problems.
struct ModelReport: Encodable {
  struct Entity: Encodable {
    let name: String
    let className: String?
    let codeGeneration: String?
    let parent: String?
    let isAbstract: Bool
    let renamingIdentifier: String?
    let versionHashModifier: String?
    /// The version hash in hexadecimal. Null when the way in which Core Data computes the hash is not confirmed by a
    /// real store.
    let versionHash: String?
    let spotlightDisplayName: String?
    let attributes: [Attribute]
    let relationships: [Relationship]
    let fetchedProperties: [FetchedProperty]
    let uniquenessConstraints: [[String]]
    let indexes: [Index]
    let compoundIndexes: [[String]]
    let userInfo: [String: String]
  }

  struct Attribute: Encodable {
    let name: String
    let type: String
    let isOptional: Bool
    let isTransient: Bool
    let isDerived: Bool
    let isReadOnly: Bool
    let isIndexed: Bool
    let isIndexedBySpotlight: Bool
    let isStoredInTruthFile: Bool
    let allowsExternalBinaryDataStorage: Bool
    let preservesValueInHistoryOnDeletion: Bool
    let usesScalarValueType: Bool?
    let defaultValue: String?
    let validations: [Validation]
    let derivation: String?
    let derivationFilter: String?
    let valueTransformer: String?
    let valueClass: String?
    let renamingIdentifier: String?
    let versionHashModifier: String?
    let composite: String?
    let elements: [Attribute]?
    let userInfo: [String: String]
  }

  struct Validation: Encodable {
    let predicate: String
    let warning: String
  }

  struct Relationship: Encodable {
    let name: String
    let destination: String
    let inverse: String?
    let inverseEntity: String?
    let minCount: Int32
    let maxCount: Int32
    let isToMany: Bool
    let isOrdered: Bool
    let isOptional: Bool
    let isTransient: Bool
    let isIndexed: Bool
    let isIndexedBySpotlight: Bool
    let isStoredInTruthFile: Bool
    let deleteRule: String
    let renamingIdentifier: String?
    let versionHashModifier: String?
    let userInfo: [String: String]
  }

  struct FetchedProperty: Encodable {
    let name: String
    let isOptional: Bool
    let request: Request
    let renamingIdentifier: String?
    let userInfo: [String: String]
  }

  struct Request: Encodable {
    let name: String?
    let entity: String?
    let predicate: String?
    let sortDescriptors: [Sort]
    let fetchLimit: Int64
    let fetchOffset: Int64
    let batchSize: Int64
    let resultType: Int64
    let switches: [String]
    let archivedFlags: Int64?
    let propertiesToFetch: [String]
    let propertiesToGroupBy: [String]
    let havingPredicate: String?
    let prefetchedKeyPaths: [String]
  }

  struct Sort: Encodable {
    let key: String
    let isAscending: Bool
    let selector: String?
  }

  struct Index: Encodable {
    struct Element: Encodable {
      let property: String?
      let expression: String?
      let isAscending: Bool
      let kind: String
    }

    let name: String
    let elements: [Element]
    let partialPredicate: String?
  }

  struct Problem: Encodable {
    let kind: String
    let entity: String?
    let property: String?
    let sentence: String
  }

  /// The parts of an optimised model (`.omo`) that can be read.
  struct Optimised: Encodable {
    let entityCount: Int
    let propertyCount: Int
    let belongsTo: [String]
    let entityStrings: [String]
    let strings: [String]
    let hashes: [String]
    let problems: [String]
  }

  let schema = "lifeboat.model"
  let version = 1
  let name: String
  let path: String
  let isCurrent: Bool
  let versionNames: [String]
  let versionIdentifiers: [String]
  let checksum: String?
  let digest: String?
  let entities: [Entity]
  let configurations: [String: [String]]
  let cloudKitConfigurations: [String]
  let isUsedWithCloudKit: Bool
  let isUsedWithSwiftData: Bool
  let fetchRequests: [Request]
  let problems: [Problem]
  let optimised: Optimised?
}

extension ModelReport {
  init(
    _ version: ModelCollection.Version, _ model: ManagedObjectModel, _ names: [String],
    _ input: ModelInput
  ) {
    let hashes = version.hashes ?? model.versionHashes()
    name = version.name
    path = version.path
    isCurrent = version.isMarkedCurrent
    versionNames = input.versions.map(\.name)
    versionIdentifiers = model.versionIdentifiers
    checksum = hashes.checksum
    digest = hashes.digest
    entities = names.compactMap { model.entities[$0] }.map {
      Entity($0, hash: hashes.hashes[$0.name]?.hex)
    }
    configurations = model.configurations
    cloudKitConfigurations = model.cloudKitConfigurations
    isUsedWithCloudKit = model.isUsedWithCloudKit
    isUsedWithSwiftData = model.isUsedWithSwiftData
    fetchRequests = model.fetchRequestTemplates.map { Request($0.request, name: $0.name) }
    problems = (version.unreadValues + model.validate()).map {
      Problem(
        kind: $0.kind.rawValue, entity: $0.entityName, property: $0.propertyName,
        sentence: $0.sentence)
    }
    optimised = version.optimised.map { Optimised($0, belongsTo: [version.name]) }
  }

  init(
    _ version: ModelCollection.Version, _ optimised: OptimisedModel, belongsTo names: [String]
  ) {
    name = version.name
    path = version.path
    isCurrent = version.isMarkedCurrent
    versionNames = [version.name]
    versionIdentifiers = optimised.versionIdentifiers
    checksum = nil
    digest = nil
    entities = []
    configurations = [:]
    cloudKitConfigurations = []
    isUsedWithCloudKit = false
    isUsedWithSwiftData = false
    fetchRequests = []
    problems = []
    self.optimised = Optimised(optimised, belongsTo: names)
  }
}

extension ModelReport.Optimised {
  init(_ model: OptimisedModel, belongsTo names: [String]) {
    self.init(
      entityCount: model.entityCount, propertyCount: model.propertyCount, belongsTo: names,
      entityStrings: model.entityStrings, strings: model.strings,
      hashes: model.hashes.map(\.hex).sorted(), problems: model.problems)
  }
}

extension ModelReport.Entity {
  init(_ entity: Entity, hash: String?) {
    self.init(
      name: entity.name, className: entity.className, codeGeneration: entity.codeGenerationType,
      parent: entity.superentityName, isAbstract: entity.isAbstract,
      renamingIdentifier: entity.renamingIdentifier,
      versionHashModifier: entity.versionHashModifier, versionHash: hash,
      spotlightDisplayName: entity.spotlightDisplayNameExpression?.text,
      attributes: entity.attributes.map(ModelReport.Attribute.init),
      relationships: entity.relationships.map(ModelReport.Relationship.init),
      fetchedProperties: entity.fetchedProperties.map {
        .init(
          name: $0.name, isOptional: $0.isOptional,
          request: .init($0.request, name: $0.requestName),
          renamingIdentifier: $0.renamingIdentifier, userInfo: $0.userInfo.mapValues(\.text))
      },
      uniquenessConstraints: entity.uniquenessConstraints,
      indexes: entity.fetchIndexes.map(ModelReport.Index.init),
      compoundIndexes: entity.compoundIndexes, userInfo: entity.userInfo.mapValues(\.text))
  }
}

extension ModelReport.Attribute {
  init(_ attribute: Attribute) {
    self.init(
      name: attribute.name, type: attribute.type.name, isOptional: attribute.isOptional,
      isTransient: attribute.isTransient, isDerived: attribute.isDerived,
      isReadOnly: attribute.isReadOnly, isIndexed: attribute.isIndexed,
      isIndexedBySpotlight: attribute.isIndexedBySpotlight,
      isStoredInTruthFile: attribute.isStoredInTruthFile,
      allowsExternalBinaryDataStorage: attribute.allowsExternalBinaryDataStorage,
      preservesValueInHistoryOnDeletion: attribute.preservesValueInHistoryOnDeletion,
      usesScalarValueType: attribute.usesScalarValueType,
      defaultValue: attribute.defaultValue?.text,
      validations: attribute.validations.map {
        .init(predicate: $0.predicate.text, warning: $0.warning.text)
      },
      derivation: attribute.derivation?.expressionText,
      derivationFilter: attribute.derivation?.filterText,
      valueTransformer: attribute.valueTransformerName, valueClass: attribute.valueClassName,
      renamingIdentifier: attribute.renamingIdentifier,
      versionHashModifier: attribute.versionHashModifier, composite: attribute.compositeName,
      elements: attribute.elements.isEmpty
        ? nil : attribute.elements.map(ModelReport.Attribute.init),
      userInfo: attribute.userInfo.mapValues(\.text))
  }
}

extension ModelReport.Relationship {
  init(_ relationship: Relationship) {
    self.init(
      name: relationship.name, destination: relationship.destinationEntityName,
      inverse: relationship.inverseName, inverseEntity: relationship.inverseEntityName,
      minCount: relationship.minCount, maxCount: relationship.maxCount,
      isToMany: relationship.isToMany, isOrdered: relationship.isOrdered,
      isOptional: relationship.isOptional, isTransient: relationship.isTransient,
      isIndexed: relationship.isIndexed, isIndexedBySpotlight: relationship.isIndexedBySpotlight,
      isStoredInTruthFile: relationship.isStoredInTruthFile,
      deleteRule: relationship.deleteRule.name,
      renamingIdentifier: relationship.renamingIdentifier,
      versionHashModifier: relationship.versionHashModifier,
      userInfo: relationship.userInfo.mapValues(\.text))
  }
}

extension ModelReport.Request {
  init(_ request: FetchRequest, name: String?) {
    self.init(
      name: name, entity: request.entityName, predicate: request.predicate?.text,
      sortDescriptors: request.sortDescriptors.map {
        .init(key: $0.key, isAscending: $0.isAscending, selector: $0.selector)
      },
      fetchLimit: request.fetchLimit, fetchOffset: request.fetchOffset,
      batchSize: request.batchSize, resultType: request.resultType.rawValue,
      switches: request.options.names, archivedFlags: request.archivedFlags,
      propertiesToFetch: request.propertiesToFetch,
      propertiesToGroupBy: request.propertiesToGroupBy,
      havingPredicate: request.havingPredicate?.text,
      prefetchedKeyPaths: request.prefetchedKeyPaths)
  }
}

extension ModelReport.Index {
  init(_ index: FetchIndex) {
    self.init(
      name: index.name,
      elements: index.elements.map {
        .init(
          property: $0.expression == nil ? $0.propertyName : nil, expression: $0.expression?.text,
          isAscending: $0.isAscending, kind: $0.kind == .rTree ? "rTree" : "binary")
      },
      partialPredicate: index.partialPredicate?.text)
  }
}

extension FetchRequest.Options {
  /// The names of the options that are set. Each is the name of a property of Apple's `NSFetchRequest`.
  fileprivate var names: [String] {
    let all: [(FetchRequest.Options, String)] = [
      (.includesSubentities, "includesSubentities"),
      (.includesPendingChanges, "includesPendingChanges"),
      (.includesPropertyValues, "includesPropertyValues"),
      (.returnsObjectsAsFaults, "returnsObjectsAsFaults"),
      (.returnsDistinctResults, "returnsDistinctResults"),
    ]
    return all.filter { contains($0.0) }.map(\.1)
  }
}
