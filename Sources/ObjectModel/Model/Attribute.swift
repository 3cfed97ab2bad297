/// An attribute of an entity, or an element of a composite attribute.
public struct Attribute: Sendable, Hashable {
  /// The attribute's name.
  public var name: String
  /// The type of the attribute's values, for example ``AttributeType/string``.
  public var type: AttributeType
  /// Whether the value may be null.
  public var isOptional: Bool
  /// Whether the attribute is transient, so that its value is never stored.
  public var isTransient: Bool
  /// Whether the archived model marks the attribute as read-only; true for every derived attribute.
  package var isReadOnly: Bool
  /// Whether the old-style `indexed` flag of the attribute is set.
  package var isIndexed: Bool
  package var isIndexedBySpotlight: Bool
  /// Whether the attribute's values are kept in external record files for Spotlight on macOS (`storedInTruthFile`).
  package var isStoredInTruthFile: Bool
  /// Whether Core Data may store large values of the attribute in files beside the store.
  public var allowsExternalBinaryDataStorage: Bool
  package var preservesValueInHistoryOnDeletion: Bool
  /// The default value; nil for an attribute without a default.
  public var defaultValue: DefaultValue?
  /// The validation rules of the attribute, in the order of the model file.
  package var validations: [AttributeValidation]
  /// Whether generated code uses a scalar, for example `Bool`, instead of an object. Nil if the file format does not
  /// say, as in compiled models.
  package var usesScalarValueType: Bool?
  /// The name of a transformable attribute's value transformer; nil for Core Data's default transformer.
  public var valueTransformerName: String?
  /// The class of the values; nil if the model names no class, or names the standard class of the attribute's type.
  package var valueClassName: String?
  /// A string that the developer sets to change the version hash (`versionHashModifier`); nil if not set.
  public var versionHashModifier: String?
  /// The attribute's name in an earlier version of the model (`renamingIdentifier`); nil if the model gives none.
  public var renamingIdentifier: String?
  /// The user info dictionary; empty if not set.
  public var userInfo: [String: ArchivedValue]
  /// How the store computes a derived attribute; nil if the attribute is not derived.
  package var derivation: Derivation?
  /// The elements of a composite attribute, in the order of their columns; empty for any other attribute.
  package var elements: [Attribute]
  /// The name of the composite type in an `.xcdatamodel`; nil in compiled models.
  package var compositeName: String?

  /// Makes an attribute. The defaults are those of Apple's API: mandatory, persistent, and no option set.
  package init(
    name: String, type: AttributeType, isOptional: Bool = false, isTransient: Bool = false,
    isReadOnly: Bool = false, isIndexed: Bool = false, isIndexedBySpotlight: Bool = false,
    isStoredInTruthFile: Bool = false,
    allowsExternalBinaryDataStorage: Bool = false,
    preservesValueInHistoryOnDeletion: Bool = false, defaultValue: DefaultValue? = nil,
    validations: [AttributeValidation] = [], usesScalarValueType: Bool? = nil,
    valueTransformerName: String? = nil, valueClassName: String? = nil,
    versionHashModifier: String? = nil, renamingIdentifier: String? = nil,
    userInfo: [String: ArchivedValue] = [:], derivation: Derivation? = nil,
    elements: [Attribute] = [], compositeName: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.isTransient = isTransient
    self.isReadOnly = isReadOnly
    self.isIndexed = isIndexed
    self.isIndexedBySpotlight = isIndexedBySpotlight
    self.isStoredInTruthFile = isStoredInTruthFile
    self.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
    self.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
    self.defaultValue = defaultValue
    self.validations = validations
    self.usesScalarValueType = usesScalarValueType
    self.valueTransformerName = valueTransformerName
    self.valueClassName = valueClassName
    self.versionHashModifier = versionHashModifier
    self.renamingIdentifier = renamingIdentifier
    self.userInfo = userInfo
    self.derivation = derivation
    self.elements = elements
    self.compositeName = compositeName
  }

  package var isDerived: Bool { derivation != nil }
}
