package import ObjectModel

/// How a migration makes the objects of one entity from those of another (`NSEntityMapping`).
package struct EntityMapping: Sendable, Hashable {
  /// What an entity mapping does with objects (`NSEntityMappingType`).
  package struct Kind: RawRepresentable, Sendable, Hashable, Codable {
    /// The number in a compiled mapping model (`NSMappingType`).
    package let rawValue: Int

    /// Makes a kind from its number, even from an unknown one.
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

    /// The known kinds, ordered by their number.
    package static let known: [Kind] = [.undefined, .custom, .add, .remove, .copy, .transform]

    /// The kind in Apple's words, as in `mappingtypename` of `xcmapping.xml`: "Transform". For an unknown number it is
    /// "Kind" and the number: "Kind 17".
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

    /// Makes a kind from its name in `mappingtypename`; nil for an unknown name.
    package init?(name: String) {
      guard let kind = Self.known.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }

  /// The mapping's name (`name`), such as `CarToCar`. Property mappings of other entity mappings refer to it.
  package var name: String
  /// What the mapping does (`mappingType`).
  package var kind: Kind
  /// The name of the entity of the old model (`sourceEntityName`); nil for ``Kind/add``.
  package var sourceEntityName: String?
  /// The name of the entity of the new model (`destinationEntityName`); nil for ``Kind/remove``.
  package var destinationEntityName: String?
  /// The version hash that the source entity must have (`sourceEntityVersionHash`). Nil for ``Kind/add``, and if the
  /// mapping is not bound to hashes.
  package var sourceEntityVersionHash: VersionHash?
  /// The version hash that the destination entity must have (`destinationEntityVersionHash`). Nil for ``Kind/remove``,
  /// and if the mapping is not bound to hashes.
  package var destinationEntityVersionHash: VersionHash?
  /// How the attributes of the destination get their values (`attributeMappings`), in order.
  package var attributeMappings: [PropertyMapping]
  /// How the relationships of the destination get their values (`relationshipMappings`), in order.
  package var relationshipMappings: [PropertyMapping]
  /// The expression for the source objects that the mapping takes (`sourceExpression`), usually a `FETCH(…)`; nil for
  /// ``Kind/add``.
  package var sourceExpression: ModelExpression?
  /// The policy class that does the work (`entityMigrationPolicyClassName`), spelled as in the file; nil for Core
  /// Data's own class.
  package var migrationPolicyClassName: String?
  /// The entries of the user info (`userInfo`) whose keys are text.
  package var userInfo: [String: ArchivedValue]
  /// The fields of the file that have no property here, under the file's names.
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
