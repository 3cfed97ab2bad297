package import ObjectModel

/// How the objects of one entity become those of another (`NSEntityMapping`).
package struct EntityMapping: Sendable, Hashable {
  /// What a mapping does with its objects (`NSEntityMappingType`).
  package struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The number in a compiled mapping model (`NSMappingType`).
    package let rawValue: Int

    /// Wraps a number, known or not.
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// Undefined (`NSUndefinedEntityMappingType`); Core Data handles it as ``custom``.
    package static let undefined = Kind(rawValue: 0)
    /// Migrated by the policy class or the expressions (`NSCustomEntityMappingType`).
    package static let custom = Kind(rawValue: 1)
    /// A new entity, without objects (`NSAddEntityMappingType`).
    package static let add = Kind(rawValue: 2)
    /// An entity that is removed, with its objects (`NSRemoveEntityMappingType`).
    package static let remove = Kind(rawValue: 3)
    /// Equal in both models: copied (`NSCopyEntityMappingType`).
    package static let copy = Kind(rawValue: 4)
    /// Changed: migrated by the expressions (`NSTransformEntityMappingType`).
    package static let transform = Kind(rawValue: 5)

    /// The known kinds, by number.
    package static let known: [Kind] = [.undefined, .custom, .add, .remove, .copy, .transform]

    /// The kind in Apple's words, as `mappingtypename` of `xcmapping.xml` spells it ("Transform");
    /// "Kind 17" for a number without a name.
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

    /// Reads the name that `mappingtypename` uses; nil for an unknown name.
    package init?(name: String) {
      guard let kind = Self.known.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }

  /// The mapping's name (`name`), `CarToCar`; property mappings of others refer to it.
  package var name: String
  /// What the mapping does (`mappingType`).
  package var kind: Kind
  /// The entity of the old model (`sourceEntityName`); nil for ``Kind/add``.
  package var sourceEntityName: String?
  /// The entity of the new model (`destinationEntityName`); nil for ``Kind/remove``.
  package var destinationEntityName: String?
  /// The version hash that the source entity must have (`sourceEntityVersionHash`); nil for
  /// ``Kind/add``, and if the mapping is not bound to hashes.
  package var sourceEntityVersionHash: VersionHash?
  /// The version hash that the destination entity must have (`destinationEntityVersionHash`); nil
  /// for ``Kind/remove``, and if the mapping is not bound to hashes.
  package var destinationEntityVersionHash: VersionHash?
  /// How the attributes of the destination get their values (`attributeMappings`), in order.
  package var attributeMappings: [PropertyMapping]
  /// How the relationships of the destination get their values (`relationshipMappings`), in order.
  package var relationshipMappings: [PropertyMapping]
  /// The objects that the mapping takes (`sourceExpression`), usually a `FETCH(…)`; nil for
  /// ``Kind/add``.
  package var sourceExpression: ModelExpression?
  /// The class that does the work (`entityMigrationPolicyClassName`), as the file spells it; nil
  /// for Core Data's own.
  package var migrationPolicyClassName: String?
  /// The user info (`userInfo`), by the entries whose keys are text.
  package var userInfo: [String: ArchivedValue]
  /// The other fields of the file, under the file's names.
  package var others: [String: ArchivedValue]

  /// Makes an entity mapping.
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
