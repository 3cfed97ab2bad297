package import ObjectModel

/// How a migration makes objects of one destination entity from objects of one source entity (`NSEntityMapping`).
package struct EntityMapping: Sendable, Hashable {
  /// What an entity mapping does with objects (`NSEntityMappingType`).
  package struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The number that stands for the kind in a compiled mapping model (`NSMappingType`).
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The kind is not set (`NSUndefinedEntityMappingType`). Core Data treats it like ``custom``.
    package static let undefined = Kind(rawValue: 0)
    /// The policy class or the expressions migrate the objects (`NSCustomEntityMappingType`).
    package static let custom = Kind(rawValue: 1)
    /// The entity is new and gets no objects (`NSAddEntityMappingType`).
    package static let add = Kind(rawValue: 2)
    /// The entity is removed with its objects (`NSRemoveEntityMappingType`).
    package static let remove = Kind(rawValue: 3)
    /// The entity is equal in both models, and its objects are copied (`NSCopyEntityMappingType`).
    package static let copy = Kind(rawValue: 4)
    /// The entity changed, and the expressions migrate its objects (`NSTransformEntityMappingType`).
    package static let transform = Kind(rawValue: 5)

    package static let known: [Kind] = [.undefined, .custom, .add, .remove, .copy, .transform]

    /// The kind in Apple's words, as in `mappingtypename` of `xcmapping.xml`: "Transform". An unknown number gives text
    /// such as "Kind 17".
    package var name: String {
      switch self {
      case .undefined: "Undefined"
      case .custom: "Custom"
      case .add: "Add"
      case .remove: "Remove"
      case .copy: "Copy"
      case .transform: "Transform"
      default: "Kind \(rawValue)"
      }
    }

    package init?(name: String) {
      guard let kind = Self.known.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }

  /// The mapping's name (`name`), for example `CarToCar`. Property mappings of other entity mappings refer to this
  /// mapping by its name.
  package var name: String
  /// What the mapping does (`mappingType`).
  package var kind: Kind
  /// The name of the entity in the old model (`sourceEntityName`); nil for ``Kind/add``.
  package var sourceEntityName: String?
  /// The name of the entity in the new model (`destinationEntityName`); nil for ``Kind/remove``.
  package var destinationEntityName: String?
  /// The version hash that the source entity must have (`sourceEntityVersionHash`). Nil for ``Kind/add``, and if the
  /// mapping records no hashes.
  package var sourceEntityVersionHash: VersionHash?
  /// The version hash that the destination entity must have (`destinationEntityVersionHash`). Nil for ``Kind/remove``,
  /// and if the mapping records no hashes.
  package var destinationEntityVersionHash: VersionHash?
  /// How the attributes of the destination entity get their values (`attributeMappings`), in order.
  package var attributeMappings: [PropertyMapping]
  /// How the relationships of the destination entity get their values (`relationshipMappings`), in order.
  package var relationshipMappings: [PropertyMapping]
  /// The expression that yields the source objects of the mapping (`sourceExpression`), usually a `FETCH(…)`; nil for
  /// ``Kind/add``.
  package var sourceExpression: ModelExpression?
  /// The name of the migration policy class (`entityMigrationPolicyClassName`), spelled as in the file; nil if Core
  /// Data's own class is used.
  package var migrationPolicyClassName: String?
  /// The entries of the user info dictionary (`userInfo`) whose keys are strings.
  package var userInfo: [String: ArchivedValue]
  /// The fields of the file for which this type has no property, by their names in the file.
  package var others: [String: ArchivedValue]

  package init(
    name: String, kind: Kind, sourceEntityName: String? = nil,
    destinationEntityName: String? = nil, sourceEntityVersionHash: VersionHash? = nil,
    destinationEntityVersionHash: VersionHash? = nil, attributeMappings: [PropertyMapping] = [],
    relationshipMappings: [PropertyMapping] = [], sourceExpression: ModelExpression? = nil,
    migrationPolicyClassName: String? = nil, userInfo: [String: ArchivedValue] = [:],
    others: [String: ArchivedValue] = [:]
  ) {
    self.name = name
    self.kind = kind
    self.sourceEntityName = sourceEntityName
    self.destinationEntityName = destinationEntityName
    self.sourceEntityVersionHash = sourceEntityVersionHash
    self.destinationEntityVersionHash = destinationEntityVersionHash
    self.attributeMappings = attributeMappings
    self.relationshipMappings = relationshipMappings
    self.sourceExpression = sourceExpression
    self.migrationPolicyClassName = migrationPolicyClassName
    self.userInfo = userInfo
    self.others = others
  }
}

extension EntityMapping {
  /// Whether the objects' attributes are copied unchanged: the mapping has the kind ``Kind/copy`` and no attribute
  /// mappings.
  package var copiesAttributes: Bool { kind == .copy && attributeMappings.isEmpty }

  /// Whether the mapping copies attributes and relationships unchanged: it has the kind ``Kind/copy``, no attribute
  /// mappings and no relationship mappings.
  package var copiesAll: Bool { copiesAttributes && relationshipMappings.isEmpty }
}
